"""The leave-one-out surface of skdb: every cell against retraining, and wide tables in log space.

Random tables come from random_tables.py; SQLBN_SOAK works here too.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from loo_cases import REPORTED, forced, loocv, same_surface, selections
from random_tables import TARGET, WEIGHT, Case, as_if_large, examples

import sqlbn
from sqlbn.kinds.losses import LEAST_PROBABILITY

WIDE_TOLERANCE = 1e-9


# ---- random tables with a selection to make


@examples(70, 25)
@given(selections())
def test_every_cell_is_that_of_retraining(case: Case) -> None:
    same_surface(case)


# ---- the ways of large and wide tables


WAYS: dict[str, dict[str, Any]] = {
    "sparse": {"loo_dense_values": 0},
    "dense, then sparse": {"loo_dense_values": 30},
    "state after two joins": {"joins_at_once": 2},
    "kept after two joins": {"joins_at_once": 2, "joins_once": True},
    "state after little change": {"loo_first_bound": 1.0, "loo_bound": 0.5},
    "one attribute a step": {"loo_step": 1},
    "two attributes a step": {"loo_step": 2},
    "scratch files": {"loo_tables_share": 0},
    "long": {"loo_form": "long"},
    "long, sparse": {"loo_form": "long", "loo_dense_values": 0},
    "long, dense and sparse": {"loo_form": "long", "loo_dense_values": 30},
    "arrays": {"loo_form": "arrays", "loo_few_estimates": 1 << 21},
    "arrays, seven rows at a time": {
        "loo_form": "arrays",
        "loo_few_estimates": 0,
        "loo_chunk_values": 21,
    },
    "scratch files, sparse and dense": {"loo_tables_share": 0, "loo_dense_values": 30},
    "all of it": {
        "loo_dense_values": 30,
        "loo_tables_share": 0,
        "joins_at_once": 2,
        "loo_bound": 3.0,
        "loo_step": 2,
    },
}


@examples(80, 25)
@given(selections(), st.sampled_from(sorted(WAYS)), st.sampled_from((None, 1, 30)))
def test_every_cell_by_other_ways(case: Case, way: str, large: int | None) -> None:
    with ExitStack() as stack:
        stack.enter_context(forced(**WAYS[way]))
        if large is not None:
            stack.enter_context(as_if_large(large))
        same_surface(case)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", reference.LOSSES)
def test_every_way_with_every_loss(fruit: pa.Table, loss: str, way: str) -> None:
    options = {"learner": "skdb", "kmax": 3, "loss": loss}
    with sqlbn.fit(fruit, "kind", **options) as model:
        wanted = loocv(model)
    with forced(**WAYS[way]), sqlbn.fit(fruit, "kind", **options) as model:
        got = loocv(model)
    assert set(got) == set(wanted) == REPORTED[loss]
    for name in got:
        assert got[name] == pytest.approx(wanted[name], rel=0, abs=1e-12)


def test_nothing_is_left_behind(fruit: pa.Table) -> None:
    """No table of the pass stays in the engine."""
    for way in WAYS.values():
        with forced(**way), sqlbn.fit(fruit, "kind", "skdb", kmax=2) as model:
            tables = {
                t for (t,) in model._session.rows("SELECT table_name FROM duckdb_tables()")
            } - set(model._workspace.names())
            assert tables == set()


# ---- wide tables, in log space


def coded(table: pa.Table, names: list[str]) -> Any:
    columns = [np.unique(table[name].to_numpy(), return_inverse=True)[1] for name in names]
    return np.column_stack(columns)


def cell_ids(codes: Any) -> Any:
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)


def left_out(ids: Any, y: Any, weight: Any, n_classes: int) -> Any:
    """For each row the counts of its cell by class, itself left out."""
    counts = np.zeros((ids.max() + 1, n_classes))
    np.add.at(counts, (ids, y), weight)
    return np.maximum(counts[ids] - np.eye(n_classes)[y], 0)


def log_estimates(codes: Any, y: Any, weight: Any, n_classes: int, smoothed: bool) -> Any:
    """ln P'(x | parents, class) for each row and class; codes: value, then parents.

    0 where no other row has the value, unless smoothed.
    """
    m, v = 1.0, codes[:, 0].max() + 1
    best = np.zeros((len(y), n_classes))
    usable = np.ones(len(y), bool)
    for level in range(codes.shape[1]):
        cell = left_out(cell_ids(codes[:, : level + 1]), y, weight, n_classes)
        above = np.zeros(len(y), int) if level == 0 else cell_ids(codes[:, 1 : level + 1])
        parents = left_out(above, y, weight, n_classes)
        usable &= (cell.sum(axis=1) > 0) | (smoothed and level == 0)
        best[usable] = np.log((cell + m / v) / (parents + m))[usable]
    return best


def losses_in_log_space(scores: Any, y: Any, weight: Any) -> dict[str, float]:
    top = scores.max(axis=1, keepdims=True)
    logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    p, own = np.exp(logs), logs[np.arange(len(y)), y]
    said = np.argmax(scores >= top - 1e-10, axis=1)
    classes = range(scores.shape[1])

    def mean(terms: Any) -> float:
        return float((weight * terms).sum() / weight.sum())

    return {
        "rmse": mean((1 - np.exp(own)) ** 2) ** 0.5,
        "zero_one": mean(said != y),
        "log_loss": mean(-np.maximum(own, np.log(LEAST_PROBABILITY))),
        "brier": mean(sum((p[:, j] - (y == j)) ** 2 for j in classes)),
        "mcc": reference.mcc(list(zip(y.tolist(), said.tolist(), weight.tolist(), strict=True))),
    }


def check_wide(table: pa.Table, kmax: int, loss: str, **options: Any) -> None:
    """The surface against numpy; the parents are those of a KDB fit."""
    used = [n for n in table.column_names if n not in (TARGET, WEIGHT)]
    with sqlbn.fit(
        table, TARGET, "skdb", kmax=kmax, loss=loss, categorical=used, **options
    ) as model:
        got = loocv(model)
        ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    parents: dict[str, list[str]] = {row["attribute"]: [] for row in ranked}
    if kmax:
        with sqlbn.fit(table, TARGET, "kdb", k=kmax, categorical=used, **options) as model:
            for row in model.parents.to_pylist():
                parents[row["attribute"]].append(row["parent"])
    names = list(parents)
    codes, y = coded(table, names), coded(table, [TARGET])[:, 0]
    weight = table[WEIGHT].to_numpy().astype(float) if WEIGHT in options.values() else 1.0 + 0 * y
    n_classes, smoothed = y.max() + 1, options.get("unseen") == "smoothed"
    prior = np.log(left_out(0 * y, y, weight, n_classes) + 1 / n_classes)
    for k in range(kmax + 1):
        scores = prior.copy()
        for n in range(len(names) + 1):
            if n:
                family = [n - 1, *(names.index(p) for p in parents[names[n - 1]][:k])]
                scores += log_estimates(codes[:, family], y, weight, n_classes, smoothed)
            wanted = losses_in_log_space(scores, y, weight)
            for name in got:
                value = got[name][k, n]
                assert np.isfinite(value), (name, k, n)
                assert value == pytest.approx(wanted[name], rel=0, abs=WIDE_TOLERANCE), (name, k, n)


def wide(n_classes: int, width: int = 300, rows: int = 200, noise: float = 1.0) -> pa.Table:
    """Text columns: random, or with less noise, near the class."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, rows)
    data = {}
    for i in range(width):
        x = np.where(rng.random(rows) < noise, rng.integers(0, n_classes, rows), y)
        data[f"x{i}"] = pa.array(x.astype(str))
    return pa.table({**data, TARGET: pa.array(y.astype(str))})


def test_hundreds_of_random_attributes() -> None:
    check_wide(wide(2), 0, "rmse")


@pytest.mark.slow
def test_hundreds_of_random_attributes_and_five_classes() -> None:
    check_wide(wide(5), 0, "mcc")


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.0, 0.2])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("loss", reference.LOSSES)
def test_hundreds_of_attributes(loss: str, n_classes: int, noise: float) -> None:
    check_wide(wide(n_classes, noise=noise), 1, loss)


def again_and_again(width: int = 130, others: int = 40) -> pa.Table:
    """Copies of one column, then of another: the last row, of class a, is taken for c by the first
    and, less so, for b; the second speaks for b, but not loud enough."""
    y = ["a"] * 60 + ["b"] * 60 + ["c"] * 60 + ["a"]
    x = ["a"] * 60 + ["b"] * 40 + ["c"] * 80 + ["c"]
    z = ["u", "u", "u", "v", "v"] * 12 + ["u", "u", "u", "u", "v"] * 12 + ["u", "u", "v"] * 20
    data = {f"x{i}": x for i in range(width)} | {f"z{i}": [*z, "u"] for i in range(others)}
    return pa.table({**data, TARGET: y})


@pytest.mark.parametrize("loss", ["log_loss", "brier", "mcc"])
def test_attributes_again_and_again(loss: str) -> None:
    """The ratios of two classes pass e^360, past which the state between batches is cut."""
    check_wide(again_and_again(), 0, loss)


def contradicted(weight: float) -> pa.Table:
    """A row of weight 1 that 60 attributes judge right and 80 wrong, among heavy rows."""
    y = [0] * 20 + [1] * 20 + [0]
    right, wrong = [*y[:-1], 0], [*y[:-1], 1]
    data = {f"x{i}": [str(v) for v in (right if i < 60 else wrong)] for i in range(140)}
    return pa.table({**data, TARGET: [str(v) for v in y], WEIGHT: [weight] * 40 + [1.0]})


@pytest.mark.parametrize("way", [{}, {"loo_dense_values": 0}], ids=["dense", "sparse"])
def test_heavy_rows(way: dict[str, Any]) -> None:
    with forced(**way):
        check_wide(contradicted(1e12), 0, "rmse", weight=WEIGHT)


@pytest.mark.parametrize("unseen", ["neutral", "smoothed"])
@pytest.mark.parametrize("width", [8, 10])
def test_keys_past_64_bits(width: int, unseen: str) -> None:
    """200 values an attribute: 8 of them fit in 63 bits, but not with the 4 classes; 10 do not."""
    rng = np.random.default_rng(width)
    data = {f"x{i}": pa.array(rng.permutation(200).astype(str)) for i in range(width)}
    table = pa.table({**data, TARGET: pa.array(rng.integers(0, 4, 200).astype(str))})
    check_wide(table, width - 1, "rmse", unseen=unseen)
