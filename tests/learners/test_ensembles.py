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
from sqlbn.errors import OptionError
from sqlbn.kinds.ensemble.members import drawn_order
from sqlbn.structure.information import Information


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


def members_of(model: Any, ref: reference.Model, case: Case) -> list[reference.Model]:
    """The members by brute force, in the orders that the model has drawn."""
    names = [a.name for a in ref.attributes]
    rows = model._workspace.read("member_attributes", "member", "attribute", order=["rank"])
    found = []
    for m in range(case.options["members"]):
        order = [names.index(name) for member, name in rows if member == m]
        options = case.options
        found.append(
            reference_ensemble.member(
                ref, order, options["kmax"], options["select"], options["loss"]
            )
        )
    return found


def same(case: Case) -> None:
    ref = reference.fit(case.train, case.attributes, TARGET, learner="kdb", k=2, **told(case))
    assume(rounds_the_same(ref))
    with learn(case) as model:
        same_classes(model, ref)
        members = members_of(model, ref, case)
        same_members(model, ref, members)
        mean, loss = model.spec.meta["mean"], case.options["loss"]
        losses = json.loads(model.spec.meta["mean_losses"])
        for each in ("geometric", "arithmetic"):
            wanted = reference_ensemble.loss_of(members, each, loss)
            assert near(losses[each][loss], wanted), each
        sign = -1 if loss == "mcc" else 1
        assert sign * losses[mean][loss] <= min(sign * v[loss] for v in losses.values()) + 1e-12
        same_predictions(model, ref, members, mean, case)


def same_members(model: Any, ref: reference.Model, members: list[reference.Model]) -> None:
    names = [a.name for a in ref.attributes]
    columns = ("member", "attribute", "selected", "parents")
    for m, name, selected, parents in model._workspace.read("member_attributes", *columns):
        i = names.index(name)
        assert selected == (i in members[m].order), (m, name)
        wanted = [names[j] for j in members[m].parents[i]] if selected else []
        assert parents == wanted, (m, name)


def same_predictions(
    model: Any, ref: reference.Model, members: list[reference.Model], mean: str, case: Case
) -> None:
    got = model.predict(case.new_table).to_pylist()
    wanted = reference_ensemble.probabilities(members, case.new, mean)
    for row, p in zip(got, wanted, strict=True):
        for outcome, q in zip(ref.classes, p, strict=True):
            assert near(row[f"p_{label(outcome)}"], q), (row, q)


@examples(60)
@given(cases(), st.randoms(use_true_random=False))
def test_an_ensemble_is_the_mean_of_brute_force_members(case: Case, rng: random.Random) -> None:
    same(ensembles(rng, case))


@examples(30)
@given(cases(), st.randoms(use_true_random=False), st.sampled_from((1, 30)))
def test_the_ways_of_large_tables_give_the_same(case: Case, rng: random.Random, limit: int) -> None:
    with as_if_large(limit), limited(scoring_joins=3, step_joins=2, loo_lookups=(limit, limit)):
        same(ensembles(rng, case))


@examples(40)
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


@examples(25)
@given(cases(), st.randoms(use_true_random=False))
def test_one_thread_or_two_the_same_members(case: Case, rng: random.Random) -> None:
    case = ensembles(rng, case)
    same_model(learn(case, threads=1), learn(case, threads=2), case)


# ---- what is drawn


def test_orders_are_drawn_in_proportion_to_mi() -> None:
    info = Information(np.array([0.5, 0.25, 0.25, 0.0]), None)
    orders = [drawn_order(info, member, 7) for member in range(1, 2001)]
    assert all(sorted(order) == [0, 1, 2, 3] and order[-1] == 3 for order in orders)
    assert abs(np.mean([order[0] == 0 for order in orders]) - 0.5) < 0.04
    assert drawn_order(info, 0, 7) == (0, 1, 2, 3)
    assert orders != [drawn_order(info, member, 8) for member in range(1, 2001)]


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
    assert ("cpt_0_size",) in views and ("cpt_2_size",) in views


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


def test_attributes_are_cut_once_for_all_members_and_chosen_by_the_first() -> None:
    with sqlbn.fit(
        fruit(), "kind", learner="eskdb", members=2, discretise="auto", encodings="ef:3,ef:7"
    ) as model:
        assert model.encoding is not None
