"""Ensembles of selective KDB against brute force; what they promise as models in a store."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
import reference_ensemble
from hypothesis import assume, given
from hypothesis import strategies as st
from limited import limited
from random_tables import (
    TARGET,
    Case,
    as_if_large,
    cases,
    examples,
    label,
    learn,
    near,
    rounds_the_same,
    same_classes,
    same_model,
)
from update_cases import apply, changes, refit, same_tables, start, table

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError
from sqlbn.kinds.ensemble.ensemble_mean import means_of
from sqlbn.kinds.ensemble.members import drawn_links, drawn_order

SEED = 0
BEYOND = ("smoothing", "weights")
LEVELS = ("member", "attribute", "strength", "weight")


def ensembles(rng: random.Random, case: Case) -> Case:
    """The case with the options of an ensemble in place of its learner's."""
    own = {
        "learner": "eskdb",
        "members": rng.randint(1, 4),
        "kmax": rng.randint(0, 2),
        "select": rng.choice(("both", "both", "k", "attributes")),
        "loss": rng.choice(("rmse", "rmse", "log_loss", "zero_one", "brier", "mcc")),
    }
    return replace(case, options={**case.options, **own} | {"k": None})


def told(case: Case) -> dict[str, Any]:
    own = ("learner", "members", "kmax", "select", "loss", "k")
    return {key: value for key, value in case.options.items() if key not in own}


def cut_as(model: Any, member: int, case: Case) -> reference.Model:
    """The reference in the cuts, the order and with the random CMI of a member."""
    books = {book.name: book for book in model.spec.books}
    rows = model._workspace.read("member_attributes", "member", "attribute", order=["rank"])
    own = [books[name] for m, name in rows if m == member]
    cuts = {book.column: book.cuts for book in own if book.kind == "numeric"}
    options = told(case)
    # Whole numbers that are few are categories in the first member, intervals in the others.
    cut = [name for name in cuts if name in books and books[name].kind == "categorical"]
    options["numeric"] = [*options.get("numeric", ()), *cut]
    ref = reference.fit(
        case.train, case.attributes, TARGET, learner="kdb", k=2, cuts=cuts, **options
    )
    assume(rounds_the_same(ref))
    names = [a.name for a in ref.attributes]
    d = len(names)
    cmi = np.array([[ref.cmi.get((i, j), 0.0) for j in range(d)] for i in range(d)])
    links = drawn_links(cmi.reshape(d, d), member, SEED, Limits.parents_spread)
    drawn = {(i, j): float(links[i, j]) for i in range(d) for j in range(d) if i != j}
    order = [names.index(book.column) for book in own]
    return reference_ensemble.drawn(ref, order, drawn)


def members_of(model: Any, case: Case) -> list[reference.Model]:
    """The members by brute force, in the orders that the model has drawn."""
    asked = (case.options[name] for name in ("kmax", "select", "loss"))
    kmax, select, loss = asked
    return [
        reference_ensemble.member(cut_as(model, m, case), kmax, select, loss)
        for m in range(case.options["members"])
    ]


def same(case: Case) -> None:
    ref = reference.fit(case.train, case.attributes, TARGET, learner="kdb", k=2, **told(case))
    assume(rounds_the_same(ref))
    with learn(case) as model:
        same_classes(model, ref)
        members = members_of(model, case)
        same_members(model, members)
        mean, loss = model.spec.meta["mean"], case.options["loss"]
        losses = json.loads(model.spec.meta["mean_losses"])
        # Back-off by parents has no exponents, so no geometric mean.
        assert set(losses) == set(means_of(model.spec.smoothing))
        for each in losses:
            wanted = reference_ensemble.loss_of(members, each, loss)
            assert near(losses[each][loss], wanted), each
        sign = -1 if loss == "mcc" else 1
        assert sign * losses[mean][loss] <= min(sign * v[loss] for v in losses.values()) + 1e-12
        same_predictions(model, ref, members, mean, case)


def same_members(model: Any, members: list[reference.Model]) -> None:
    books = {book.name: book.column for book in model.spec.books}
    columns = ("member", "attribute", "selected", "parents")
    for m, name, selected, parents in model._workspace.read("member_attributes", *columns):
        names = [a.name for a in members[m].attributes]
        i = names.index(books[name])
        assert selected == (i in members[m].order), (m, name)
        wanted = [names[j] for j in members[m].parents[i]] if selected else []
        assert [books[parent] for parent in parents] == wanted, (m, name)


def same_predictions(
    model: Any, ref: reference.Model, members: list[reference.Model], mean: str, case: Case
) -> None:
    got = model.predict(case.new_table).to_pylist()
    wanted = reference_ensemble.probabilities(members, case.new, mean)
    for row, p in zip(got, wanted, strict=True):
        for outcome, q in zip(ref.classes, p, strict=True):
            assert near(row[f"p_{label(outcome)}"], q), (row, q)


@examples(30, 12)
@given(cases(), st.randoms(use_true_random=False))
def test_an_ensemble_is_the_mean_of_brute_force_members(case: Case, rng: random.Random) -> None:
    same(ensembles(rng, case))


@examples(20, 8)
@given(cases(), st.randoms(use_true_random=False), st.sampled_from((1, 30)))
def test_the_ways_of_large_tables_give_the_same(case: Case, rng: random.Random, limit: int) -> None:
    with as_if_large(limit), limited(scoring_joins=3, step_joins=2, loo_form="arrays"):
        same(ensembles(rng, case))


@examples(20, 8)
@given(
    cases(), st.randoms(use_true_random=False), st.sampled_from(("backoff", "hierarchical", "auto"))
)
def test_weighted_members_are_one_product(case: Case, rng: random.Random, smoothing: str) -> None:
    case = ensembles(rng, case)
    # With auto some of several members may be enough.
    weights = "auto" if case.options["members"] > 1 and rng.random() < 0.5 else "levels"
    options = {**case.options, "smoothing": smoothing, "weights": weights} | {"backoff": "cell"}
    case = replace(case, options=options)
    brute = replace(case, options={k: v for k, v in options.items() if k not in BEYOND})
    with limited(choice_rows=1, members_least=1), learn(case) as model:
        levels = model._workspace.read(
            "member_levels", *LEVELS, order=("member", "attribute", "level")
        )
        books = {book.name: book.column for book in model.spec.books}
        members = []
        assert model.members is not None
        for m in range(model.members.num_rows):
            ref = cut_as(model, m, brute)
            names = [a.name for a in ref.attributes]
            weights: dict[int, list[float]] = {}
            strengths: dict[int, list[float]] = {}
            for _, name, strength, weight in (row for row in levels if row[0] == m):
                weights.setdefault(names.index(books[name]), []).append(weight)
                found = strengths.setdefault(names.index(books[name]), [])
                found += [] if strength is None else [strength]
            mixed = strengths if model.spec.smoothing.is_hierarchical else None
            members.append(replace(with_parents(ref, model, m), weights=weights, strengths=mixed))
        shifts = [model.spec.shifts[name] for name in model.spec.class_names]
        got = model.predict(case.new_table).to_pylist()
        wanted = reference_ensemble.pooled(members, case.new, shifts)
        for row, p in zip(got, wanted, strict=True):
            for outcome, q in zip(ref.classes, p, strict=True):
                assert near(row[f"p_{label(outcome)}"], q), (row, q)


@examples(20, 8)
@given(cases(), st.randoms(use_true_random=False), st.sampled_from(("nb", "tan", "kdb")))
def test_other_products_are_averaged(case: Case, rng: random.Random, learner: str) -> None:
    own = {"learner": learner, "members": rng.randint(2, 3)}
    case = replace(case, options={**told(case), **own, **({"k": 2} if learner == "kdb" else {})})
    with learn(case) as model:
        members = [with_parents(cut_as(model, m, case), model, m) for m in range(own["members"])]
        mean = model.spec.meta["mean"]
        losses = json.loads(model.spec.meta["mean_losses"])
        for each, found in losses.items():
            assert near(found["rmse"], reference_ensemble.loss_of(members, each, "rmse")), each
        same_predictions(model, members[0], members, mean, case)
    single = {key: value for key, value in case.options.items() if key != "members"}
    with learn(replace(case, options=single)) as alone:
        # The first member is what the learner finds without others.
        names = [a.name for a in members[0].attributes]
        found = alone._workspace.read("attributes", "attribute", order=["rank"])
        assert [row[0] for row in found] == [names[i] for i in members[0].order]
        linked = alone._workspace.read("parents", "attribute", "parent", order=["rank"])
        for i, name in enumerate(names):
            above = [names[j] for j in members[0].parents[i]]
            assert [parent for attribute, parent in linked if attribute == name] == above


def with_parents(ref: reference.Model, model: Any, member: int) -> reference.Model:
    """The reference with the parents that a member of the model has."""
    names = [a.name for a in ref.attributes]
    books = {book.name: book.column for book in model.spec.books}
    rows = model._workspace.read("member_attributes", "member", "attribute", "parents")
    parents = {
        names.index(books[name]): tuple(names.index(books[p]) for p in above)
        for m, name, above in rows
        if m == member
    }
    return replace(ref, parents=parents)


@examples(12, 5)
@given(cases(always_whole_weights=True), st.randoms(use_true_random=False))
def test_after_changes_it_is_the_ensemble_of_the_rows_that_are_left(
    case: Case, rng: random.Random
) -> None:
    case = ensembles(rng, case)
    inside = start(case, rng)
    with sqlbn.fit(table(case, inside), TARGET, **case.options) as model:
        mean = model.spec.meta["mean"]
        for action, batch in changes(rng, case, inside):
            getattr(model, action)(table(case, batch), again=True)
            apply(inside, action, batch)
            assert model.spec.meta["mean"] == mean
            with refit(case, inside, model) as other:
                same_tables(model, other)


@examples(12, 5)
@given(cases(), st.randoms(use_true_random=False))
def test_one_thread_or_two_the_same_members(case: Case, rng: random.Random) -> None:
    case = ensembles(rng, case)
    same_model(learn(case, threads=1), learn(case, threads=2), case)


# ---- what is drawn


def test_orders_are_drawn_in_proportion_to_mi() -> None:
    mi, by_mi = np.array([0.5, 0.25, 0.25, 0.0]), [0, 1, 2, 3]
    orders = [drawn_order(mi, by_mi, member, 7) for member in range(1, 2001)]
    assert all(sorted(order) == [0, 1, 2, 3] and order[-1] == 3 for order in orders)
    assert abs(np.mean([order[0] == 0 for order in orders]) - 0.5) < 0.04
    assert drawn_order(mi, by_mi, 0, 7) == (0, 1, 2, 3)
    assert orders != [drawn_order(mi, by_mi, member, 8) for member in range(1, 2001)]


# ---- as a model in a store


def fruit(n: int = 400, seed: int = 3) -> pa.Table:
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.randrange(3)
        rows.append(
            {
                "kind": "abc"[y],
                "size": rng.gauss(y, 1.0),
                "mass": rng.choice([None, rng.gauss(-y, 2.0)]),
                "skin": rng.choice(["red", "green", "wax"[: y + 1]]),
                "many": f"v{rng.randrange(40)}",
            }
        )
    return pa.Table.from_pylist(rows)


def test_a_single_member_is_skdb() -> None:
    data = fruit()
    with (
        sqlbn.fit(data, "kind", learner="eskdb", members=1) as one,
        sqlbn.fit(data, "kind", learner="skdb") as other,
    ):
        assert one.members is not None and one.members.num_rows == 1 and other.members is None
        got, wanted = (m.predict(fruit(50, 4)).to_pylist() for m in (one, other))
        for a, b in zip(got, wanted, strict=True):
            assert a["prediction"] == b["prediction"]
            assert all(abs(a[p] - b[p]) < 1e-12 for p in ("p_a", "p_b", "p_c"))


@pytest.mark.parametrize("loss", ["rmse", "log_loss"])
def test_plain_sql_predicts_the_same(tmp_path: Path, loss: str) -> None:
    store, new = tmp_path / "s.duckdb", tmp_path / "new.parquet"
    data = fruit(60, 5)
    pq.write_table(data, new)
    with sqlbn.fit(fruit(), "kind", learner="eskdb", members=3, loss=loss) as model:
        model.save(store, "m")
        wanted = model.predict(data).to_pylist()
    with duckdb.connect(str(store), read_only=True) as connection:
        connection.execute('USE "m"')
        found = connection.execute(f"FROM predict('{new}')")
        names = [column[0] for column in found.description]
        got = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        views = connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'cpt_%'"
        ).fetchall()
    for a, b in zip(got, wanted, strict=True):
        assert all(abs(a[p] - b[p]) < 1e-9 for p in ("p_a", "p_b", "p_c"))
    assert ("cpt_0_size",) in views and ("cpt_2_size#2",) in views


def test_two_ensembles_with_the_same_members_are_merged() -> None:
    one, two = fruit(300, 1), fruit(300, 2)
    with (
        sqlbn.fit(one, "kind", learner="eskdb", members=3) as first,
        sqlbn.fit(two, "kind", like=first, same_structure=True) as second,
        sqlbn.fit(pa.concat_tables([one, two]), "kind", like=first, same_structure=True) as both,
    ):
        first.merge(second)
        same_tables(first, both)


def test_bad_numbers_of_members_are_one_line() -> None:
    with pytest.raises(OptionError, match="members") as error:
        sqlbn.fit(fruit(), "kind", learner="eskdb", members=0)
    assert "\n" not in str(error.value)
    with pytest.raises(OptionError, match="eskdb"):
        sqlbn.fit(fruit(), "kind", learner="skdb", members=2)


def test_one_class_and_few_rows_work() -> None:
    one = pa.table({"x": ["a", "b", "a"], "kind": ["p", "p", "p"]})
    with sqlbn.fit(one, "kind", learner="eskdb", members=2) as model:
        assert model.predict(one)["p_p"].to_pylist() == [1.0] * 3
    few = pa.table({"x": ["a", "b"], "z": ["u", "v"], "kind": ["p", "q"]})
    with sqlbn.fit(few, "kind", learner="eskdb", members=2) as model:
        assert model.predict(few).num_rows == 2


def test_the_encoding_is_chosen_by_one_member_and_others_have_their_own_cuts() -> None:
    with sqlbn.fit(
        fruit(), "kind", learner="eskdb", members=3, discretise="auto", encodings="ef:3,ef:7"
    ) as model:
        assert model.encoding is not None
        found = {b.name: (b.column, b.cuts) for b in model.spec.books if b.kind == "numeric"}
    sizes = [cuts for column, cuts in found.values() if column == "size"]
    assert len(sizes) == len(set(sizes)) >= 2
    assert {column for column, _ in found.values()} == {"size", "mass"}


def crossed(n: int, seed: int) -> pa.Table:
    """A class that neither number tells anything of by itself, and whole numbers that are few."""
    rng = np.random.default_rng(seed)
    a, b, few = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 9, n)
    y = np.where((a > 0) ^ (b > 0), "in", "out")
    return pa.table({"a": a, "b": b, "few": few, "y": y})


def test_few_whole_numbers_are_categories_and_intervals(tmp_path: Path) -> None:
    data, new = crossed(500, 3), crossed(60, 4)
    options = {"learner": "eskdb", "members": 3, "smoothing": "hierarchical", "weights": "levels"}
    with sqlbn.fit(data, "y", **options) as model:
        kinds = {book.name: book.kind for book in model.spec.books}
        assert (kinds["few"], kinds["few#1"]) == ("categorical", "numeric")
        wanted = model.predict(new).column("p_in").to_pylist()
        csv = tmp_path / "new.csv"
        csv.write_text(new.to_pandas().to_csv(index=False))
        assert model.predict(csv).column("p_in").to_pylist() == pytest.approx(wanted, abs=1e-12)
        model.save(tmp_path / "s.duckdb", "m")
    with duckdb.connect(str(tmp_path / "s.duckdb"), read_only=True) as connection:
        connection.execute("USE m")
        got = connection.sql(f"SELECT p_in FROM predict('{csv}')").fetchall()
    assert [row[0] for row in got] == pytest.approx(wanted, abs=1e-9)
    with sqlbn.fit(data, "y", categorical="few", **options) as model:
        assert "few#1" not in {book.name for book in model.spec.books}


def test_names_of_cuts_do_not_meet_columns() -> None:
    data = fruit()
    data = data.append_column("SIZE#1", data["mass"])
    with sqlbn.fit(data, "kind", learner="eskdb", members=2) as model:
        names = [book.name.lower() for book in model.spec.books]
        assert len(names) == len(set(names))
        assert model.predict(data).num_rows == data.num_rows


def test_as_many_members_are_kept_as_predict_best(tmp_path: Path) -> None:
    kept = set()
    for seed in range(4):
        options: dict[str, Any] = {"learner": "eskdb", "kmax": 1, "bins": 3, "loss": "log_loss"}
        options |= {"seed": seed, "members": 8, "weights": "auto"}
        data = crossed(250, seed)
        with sqlbn.fit(data, "y", limits=Limits(members_least=2), **options) as model:
            losses = {int(n): value for n, value in model.meta["members_losses"].items()}
            assert list(losses) == [2, 4, 8]
            assert model.members is not None
            kept.add(model.members.num_rows)
            assert model.members.num_rows == min(losses, key=losses.__getitem__)
            table = model.members
            model.save(tmp_path / "m.duckdb", f"m{seed}")
        sqlbn.update(tmp_path / "m.duckdb", f"m{seed}", data.slice(0, 20))
        with sqlbn.load(tmp_path / "m.duckdb", f"m{seed}") as changed:
            assert changed.members is not None and changed.members.equals(table)
    assert len(kept) > 1


def test_all_members_are_kept_that_are_asked_for() -> None:
    options: dict[str, Any] = {"learner": "eskdb", "kmax": 1, "limits": Limits(members_least=1)}
    with sqlbn.fit(crossed(250, 1), "y", members=4, weights="levels", **options) as model:
        assert model.members is not None and model.members.num_rows == 4
        assert "members_losses" not in model.meta


def test_weights_of_members_stay_and_are_refitted() -> None:
    data, more = fruit(400, 1), fruit(300, 2)
    with sqlbn.fit(
        data, "kind", learner="eskdb", members=3, weights="levels", smoothing="hierarchical"
    ) as model:
        before = model._workspace.read("member_levels", "member", "attribute", "level", "weight")
        change = model.update(more)
        assert any("weights stay" in note for note in change.notes)
        assert sorted(before) == sorted(
            model._workspace.read("member_levels", "member", "attribute", "level", "weight")
        )
        model.forget(more)
        model.update(more, again=True, refit_weights=True)
        assert sorted(before) != sorted(
            model._workspace.read("member_levels", "member", "attribute", "level", "weight")
        )
        assert model.predict(more).num_rows == 300
