"""Networks of stored models: the same probabilities as predictions, and what is none."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from random_tables import TARGET, Case, as_if_large, cases, examples, label, learn, refer

import sqlbn
from sqlbn.data import open_source
from sqlbn.encoding.codebook import code_sql, column_sql
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.errors import NetworkError, OptionError, SqlbnWarning
from sqlbn.networks import Network
from sqlbn.networks.inference import posterior
from sqlbn.networks.likelihood import model_likelihood
from sqlbn.networks.stored_networks import MISSING, network_of, read_network
from sqlbn.store.spec import read_spec


def network(model: sqlbn.Model) -> Network:
    return network_of(model._workspace, model.spec)


def states_of(model: sqlbn.Model, rows: pa.Table) -> list[dict[str, str] | None]:
    """Rows as states of the model's network, by its own codes; None where a value is new."""
    spec, found = model.spec, network(model)
    books = [spec.books[i] for i in spec.selected]
    codes = [code_sql(book, column_sql("i", book.name)) for book in books]
    view = model._session.register(rows)
    coded = model._session.rows(f"SELECT {', '.join(['0', *codes])} FROM {view} AS i")
    model._session.unregister(view)
    answer: list[dict[str, str] | None] = []
    for row in coded:
        pairs = list(zip(books, row[1:], strict=True))
        known = all(code < len(found[book.name].states) for book, code in pairs)
        answer.append({b.name: found[b.name].states[c] for b, c in pairs} if known else None)
    return answer


NO_BACKOFF = {"k": None, "m": None, "backoff": None}
WAYS: dict[str, dict[str, Any]] = {
    "as it is": {"backoff": "parents"},
    "laplace": {"backoff": "parents", "estimate": "laplace", "m": None},
    "fan": {**NO_BACKOFF, "learner": "fan", "score": "aic"},
    "superparent": {**NO_BACKOFF, "learner": "superparent", "missing": "value"},
}


@examples(14)
@given(case=cases(), way=st.sampled_from(("as it is", *WAYS)))
def test_the_class_given_the_attributes_is_the_prediction(case: Case, way: str) -> None:
    rows = pa.concat_tables([case.train_table, case.new_table])
    more = WAYS[way]
    with learn(case, **more) as model:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing had to be divided
            found = network(model)
        wanted = model.predict(rows).to_pylist()
        for states, row in zip(states_of(model, rows), wanted, strict=True):
            if states is not None:
                got = posterior(found, [TARGET], states)
                shown = [row[column] for column in model.spec.probability_columns]
                assert np.abs(got - shown).max() < 1e-9


def test_back_off_cell_by_cell_is_divided_by_its_sum(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, target="kind", learner="kdb", k=2) as model:
        with pytest.warns(SqlbnWarning, match=r"back off cell by cell .* backoff='parents'"):
            found = network(model)
        for name in ("spots", "ripe"):
            seen = model.cpt(name).to_pylist()
            for row in seen:
                parents = [p for p in found[name].parents if p != "kind"]
                at = [found["kind"].states.index(row["class"])]
                at += [_place(found, p, row[p]) for p in parents]
                share = found[name].table[(*at, _place(found, name, row[name]))]
                line = found[name].table[tuple(at)]
                whole = [
                    r["probability"]
                    for r in seen
                    if all(r[k] == row[k] for k in (*parents, "class"))
                ]
                if len(whole) == len(line):  # all seen: nothing backs off
                    assert share == pytest.approx(row["probability"], abs=1e-12)


def _place(found: Network, name: str, value: Any) -> int:
    return found[name].states.index(MISSING if value is None else label(value))


@pytest.mark.parametrize("learner", ["nb", "tan", "fan", "superparent", "skdb"])
def test_states_parents_and_class_of_every_product(fruit: pa.Table, learner: str) -> None:
    with sqlbn.fit(fruit, target="kind", learner=learner) as model:
        found = network(model)
        assert found.names[0] == "kind"
        assert found["kind"].states == ("apple", "pear", "plum")
        names = [r["attribute"] for r in model.attributes.to_pylist() if r["selected"]]
        assert found.names[1:] == tuple(names)
        for name in names:
            above = sorted(
                (r["rank"], r["parent"])
                for r in model.parents.to_pylist()
                if r["attribute"] == name
            )
            assert found[name].parents == ("kind", *(p for _, p in above))
    ignores = learner in ("fan", "superparent")
    if "colour" in names:
        colours = ("blue", "green", "red")
        assert found["colour"].states == (colours if ignores else (*colours, MISSING))
    if "weight" in names:
        assert found["weight"].states[0].startswith("(-inf, ")


def test_groups_are_states_and_labels_do_not_clash() -> None:
    rows = [{"g": v, "y": v in "ab"} for v in "abcd" * 30] + [{"g": "?", "y": True}]
    rows += [{"g": None, "y": False}]
    with sqlbn.fit(pa.Table.from_pylist(rows), target="y", learner="nb") as model:
        assert network(model)["g"].states == ("?", "a", "b", "c", "d", "?_")
    table = pa.Table.from_pylist(rows)
    with sqlbn.fit(table, target="y", learner="nb", discretise="modl") as model:
        groups = network(model)["g"].states
        assert any("a, b" in state for state in groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "a1de"}, "a model of ande is the mean of many networks"),
        ({"learner": "fanc"}, "a model of fanc is a sum over many networks"),
        ({"learner": "snb"}, r"counts with weight 0\.\d+ in this model of snb"),
    ],
)
def test_models_that_are_no_network(fruit: pa.Table, options: dict[str, Any], message: str) -> None:
    with (
        sqlbn.fit(fruit, target="kind", **options) as model,
        pytest.raises(NetworkError, match=message),
    ):
        network(model)


def test_one_of_the_best_subset_is_a_network(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, target="kind", learner="snb", map=True) as model:
        assert len(network(model).arcs) == len(model.spec.selected)


def test_a_table_that_is_too_large_is_named(fruit: pa.Table) -> None:
    few = Limits(network_cells=30)
    with (
        sqlbn.fit(fruit, target="kind", learner="tan", limits=few) as model,
        pytest.raises(NetworkError, match=r"'\w+' given 1 others would have [0-9]+ numbers"),
    ):
        network(model)


# -- likelihood -----------------------------------------------------------------------------------


def joint(model: reference.Model, row: reference.Row) -> float:
    """ln P(x, y) by fractions; only for a class that the model knows."""
    n, y = reference.tally(model), model.classes.index(row[TARGET])
    p = reference.prior(model, n)[y]
    codes = model.codes(row)
    for i in model.order:
        p *= reference.factor(model, n, i, codes, len(model.parents[i]), model.backoff)[y]
    return math.log(p)


def likelihood(model: sqlbn.Model, rows: pa.Table) -> Any:
    source = open_source(model._session, rows)
    return model_likelihood(model._workspace, model.spec, source, Progress())


@pytest.mark.parametrize("limit", [None, 1, 20])
@examples(8)
@given(case=cases())
def test_log_likelihood_is_that_of_the_scores(limit: int | None, case: Case) -> None:
    """Values never seen are smoothed, whatever prediction does with them."""
    ref = refer(replace(case, options=case.options | {"unseen": "smoothed"}))
    rows = case.train + case.new
    known = [r for r in rows if r[TARGET] in ref.classes and r[TARGET] is not None]
    table = pa.concat_tables([case.train_table, case.new_table])
    if limit is None:
        with learn(case) as model:
            found = likelihood(model, table)
    else:
        with as_if_large(limit), learn(case) as model:
            found = likelihood(model, table)
    assert (found.rows, found.impossible_rows) == (len(rows), len(rows) - len(known))
    wanted = math.fsum(joint(ref, r) for r in known) / len(known)
    assert math.isclose(found.mean, wanted, rel_tol=1e-12)


def test_missing_values_that_are_ignored_say_nothing(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, target="kind", learner="fan") as model:
        some = fruit.slice(0, 1)
        assert some["colour"].to_pylist() != [None]
        gone = some
        for place, name in enumerate(fruit.column_names[:-1]):
            nothing = pa.nulls(1, some.schema.field(name).type)
            gone = gone.set_column(place, name, nothing)
        prior = dict(zip(model.spec.class_names, model.spec.log_prior, strict=True))
        kind = some["kind"].to_pylist()[0]
        assert likelihood(model, gone).mean == pytest.approx(prior[kind])
        assert likelihood(model, some).mean < prior[kind]


def unsupervised(fruit: pa.Table, path: Path) -> None:
    """A model without a target as structure learning stores it: one class, of no name."""
    table = fruit.append_column("", pa.array([""] * fruit.num_rows))
    with sqlbn.fit(
        table.rename_columns([*fruit.column_names, "none"]),
        target="none",
        learner="superparent",
        superparent="spots",
        missing="value",
        order="schema",
    ) as model:
        engine, workspace = model._session, model._workspace
        engine.execute(f"UPDATE {workspace.table('meta')} SET value = '' WHERE key = 'target'")
        model._spec = read_spec(workspace)
        model.save(path, "no class", replace=True)


def test_a_network_without_a_class(fruit: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "m.duckdb"
    unsupervised(fruit, path)
    found = read_network(store=path, name="no class")
    assert found.target is None
    assert found.network.names == tuple(fruit.column_names)
    assert found.network["spots"].parents == ()
    assert found.network["kind"].parents == ("spots",)
    assert found.network["kind"].table.sum(axis=-1).tolist() == pytest.approx([1.0] * 4)
    score = sqlbn.networks.score(fruit, store=path, name="no class")
    assert (score.variables, score.arcs, score.impossible_rows) == (6, 5, 0)
    text = fruit.select(["colour", "spots", "ripe", "kind"]).to_pylist()
    net = found.network
    wanted = []
    for row, numbers in zip(text, fruit.select(["weight", "width"]).to_pylist(), strict=True):
        total = 0.0
        spots = net["spots"].states.index(str(row["spots"]))
        total += math.log(net["spots"].table[spots])
        for name in ("colour", "ripe", "kind"):
            total += math.log(net[name].table[spots, _place(net, name, row[name])])
        for name in ("weight", "width"):
            total += math.log(net[name].table[spots, _interval(net[name].states, numbers[name])])
        wanted.append(total)
    assert score.log_likelihood == pytest.approx(math.fsum(wanted) / len(wanted), rel=1e-12)


def _interval(states: tuple[str, ...], value: float) -> int:
    """The place of the interval '(low, high]' that holds a number; NaN is missing."""
    if math.isnan(value):
        return states.index(MISSING)
    highs = [float(s.rstrip(")]").split(", ")[1]) for s in states if s != MISSING]
    return next(i for i, high in enumerate(highs) if value <= high)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "say which network: bif, or store with name"),
        ({"bif": "a.bif", "store": "m.duckdb"}, "not both"),
        ({"bif": "a.bif", "name": "m"}, "not both"),
        ({"store": "m.duckdb"}, "store='m.duckdb': say which of its models"),
        ({"name": "m"}, "name='m': say which file"),
    ],
)
def test_which_network(words: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_network(**words)
    assert message in str(caught.value)
