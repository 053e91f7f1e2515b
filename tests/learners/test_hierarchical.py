"""Hierarchical smoothing and weights of levels: random tables against brute force."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from loo_cases import forced, selections
from random_tables import (
    TARGET,
    Case,
    as_if_large,
    cases,
    examples,
    learn,
    near,
    refer,
    rounds_the_same,
    same_losses,
    same_model,
    same_predictions,
)

import sqlbn
from sqlbn.kinds.product.seen_chain import best_strength

TOLERANCE = 1e-12


def mixed(case: Case, **more: Any) -> Case:
    options = {key: value for key, value in case.options.items() if key != "backoff"}
    return replace(case, options={**options, "smoothing": "hierarchical", **more})


def by_level(table: pa.Table, column: str, model: Any) -> dict[int, list[float]]:
    found: dict[str, list[float]] = {}
    for row in sorted(table.to_pylist(), key=lambda r: (r["attribute"], r["level"])):
        found.setdefault(row["attribute"], []).append(row[column])
    names = model.attributes["attribute"].to_pylist()
    return {i: found.get(name, []) for i, name in enumerate(names)}


def brute(case: Case, model: Any) -> reference.Model:
    """The reference with the strengths that the model found."""
    plain = {key: value for key, value in case.options.items() if key != "smoothing"}
    ref = refer(replace(case, options=plain))
    return replace(ref, strengths=by_level(model.strengths, "strength", model))


@examples(60, 20)
@given(cases(), st.sampled_from((None, 1, 30)))
def test_predictions_are_those_of_the_reference(case: Case, limit: int | None) -> None:
    case = mixed(case)
    with ExitStack() as stack:
        if limit is not None:
            stack.enter_context(as_if_large(limit))
        with learn(case) as model:
            ref = brute(case, model)
            assume(rounds_the_same(ref))
            same_predictions(model, ref, case)
            same_losses(model, ref, case)


def most_likely(n: list[float], t: list[float], above: list[float]) -> float:
    return best_strength(np.array(n), np.array(t), np.array(above))


@examples(30, 15)
@given(cases(always_whole_weights=True))
def test_strengths_are_the_most_likely_ones(case: Case) -> None:
    case = mixed(case, learner="kdb", k=2)
    with learn(case) as model:
        ref = brute(case, model)
        assume(rounds_the_same(ref))
        wanted = reference.strengths(ref, most_likely)
        assert ref.strengths is not None
        for i, found in wanted.items():
            assert list(found) == pytest.approx(ref.strengths[i], rel=1e-3)


def test_a_strength_is_a_maximum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = rng.integers(1, 20, 8).astype(float)
        t = n + rng.integers(0, 30, 8)
        above = rng.random(8)
        best = best_strength(n, t, above)

        def value(s: float, n: Any = n, t: Any = t, above: Any = above) -> float:
            return float(n @ np.log((n - 1 + s * above) / (t - 1 + s)))

        grid = 2.0 ** np.linspace(-5, 13, 200)
        assert value(best) >= max(value(s) for s in grid) - 1e-3 * abs(value(best)) / n.sum()


# ---- leave-one-out


def selected(case: Case) -> tuple[dict[str, Any], Any]:
    with learn(case) as model:
        return {"loocv": model.loocv.to_pylist(), "meta": dict(model.meta)}, model


WAYS: dict[str, dict[str, Any]] = {
    "dense": {},
    "sparse": {"loo_dense_values": 0},
    "dense, then sparse": {"loo_dense_values": 30},
    "arrays": {"loo_form": "arrays", "loo_few_estimates": 1 << 21},
    "arrays, some rows at a time": {"loo_form": "arrays", "loo_chunk_values": 21},
    "long": {"loo_form": "long"},
    "long, sparse": {"loo_form": "long", "loo_dense_values": 0},
    "scratch files, two joins": {"loo_tables_share": 0, "joins_at_once": 2},
}


@examples(60, 20)
@given(selections(), st.sampled_from(sorted(WAYS)), st.sampled_from((None, 1, 30)))
def test_every_cell_is_that_of_retraining(case: Case, way: str, large: int | None) -> None:
    """With the strengths of all rows: a row is taken out of every level of its own class."""
    case = mixed(case)
    kmax, loss = case.options["kmax"], case.options["loss"]
    plain = {
        key: value
        for key, value in case.options.items()
        if key not in ("smoothing", "kmax", "select", "loss", "learner")
    }
    ref = refer(replace(case, options={**plain, "learner": "kdb", "k": kmax}))
    assume(rounds_the_same(ref))
    with sqlbn.fit(
        case.train_table, TARGET, learner="kdb", k=kmax, smoothing="hierarchical", **plain
    ) as whole:
        ref = replace(ref, strengths=by_level(whole.strengths, "strength", whole))
    with ExitStack() as stack:
        stack.enter_context(forced(**WAYS[way]))
        if large is not None:
            stack.enter_context(as_if_large(large))
        with learn(case) as model:
            rows = model.loocv.to_pylist()
    assert {row["smoothing"] for row in rows} <= {"hierarchical"}
    wanted = reference.loocv_surfaces(ref, kmax)
    for row in rows:
        value = wanted[row["loss"]][min(row["k"], kmax)][row["n_attributes"]]
        assert row["value"] == pytest.approx(value, rel=0, abs=TOLERANCE), (row, loss)


@examples(20, 10)
@given(cases())
def test_threads_and_the_order_of_rows_do_not_matter(case: Case) -> None:
    case = mixed(case)
    shuffled = random.Random(1).sample(case.train, len(case.train))
    same_model(learn(case, threads=1), learn(replace(case, train=shuffled), threads=2), case)


# ---- weights


def table_of(rows: int, seed: int = 0) -> pa.Table:
    """Two columns that say the same, one that says something else, and 1,000 values of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    said = np.where(rng.random(rows) < 0.8, y, rng.integers(0, 2, rows))
    other = np.where(rng.random(rows) < 0.7, y, rng.integers(0, 2, rows))
    noise = rng.integers(0, 1000, rows)
    words = [pa.array([f"v{v}" for v in column]) for column in (said, said, other, noise)]
    return pa.table([*words, pa.array([f"c{v}" for v in y])], names=[*"abcz", TARGET])


@pytest.mark.parametrize("smoothing", ["backoff", "hierarchical"])
def test_noise_of_many_values_gets_a_weight_near_0(smoothing: str) -> None:
    with sqlbn.fit(
        table_of(3000), TARGET, learner="nb", weights="attributes", smoothing=smoothing
    ) as model:
        found = {r["attribute"]: r["weight"] for r in model.weights.to_pylist()}
    assert found["z"] < 0.1
    # What is said twice counts once.
    assert found["a"] + found["b"] == pytest.approx(1, abs=0.15)
    assert found["c"] == pytest.approx(1, abs=0.15)


@examples(40, 20)
@given(cases(), st.sampled_from((None, 1, 30)), st.sampled_from(("backoff", "hierarchical")))
def test_weighted_predictions_are_those_of_the_reference(
    case: Case, limit: int | None, smoothing: str
) -> None:
    case = mixed(case, weights="levels", smoothing=smoothing)
    with ExitStack() as stack:
        stack.enter_context(forced(choice_rows=1))
        if limit is not None:
            stack.enter_context(as_if_large(limit))
        with learn(case) as model:
            plain = {k: v for k, v in case.options.items() if k not in ("smoothing", "weights")}
            ref = refer(replace(case, options=plain))
            assume(rounds_the_same(ref))
            if smoothing == "hierarchical":
                ref = replace(ref, strengths=by_level(model.strengths, "strength", model))
            weights = by_level(model.weights, "weight", model)
            shifts = model.class_shifts["shift"].to_pylist()
            ref = replace(ref, weights=weights, shifts=shifts)
            got = model.predict(case.new_table).to_pylist()
    for row, wanted in zip(got, reference.weighted_probabilities(ref, case.new), strict=True):
        for p, q in zip(list(row.values())[-len(wanted) :], wanted, strict=True):
            assert near(p, q), (row, wanted)


def test_weights_that_do_not_help_are_not_kept() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2000)
    columns = [np.where(rng.random(2000) < 0.7, y, rng.integers(0, 2, 2000)) for _ in range(3)]
    table = pa.table(
        [pa.array([f"v{v}" for v in c]) for c in (*columns, y)], names=[*"abc", TARGET]
    )
    with sqlbn.fit(table, TARGET, learner="nb", weights="auto") as model:
        losses = model.meta["weights_losses"]
        assert model.meta["weights"] == min(losses, key=losses.__getitem__)
        assert losses["none"] <= min(losses.values()) * 1.001


def test_few_rows_are_not_weighted() -> None:
    with sqlbn.fit(table_of(40), TARGET, learner="nb", weights="auto") as model:
        assert model.weights is None
        assert model.meta["weights"] == "none"
