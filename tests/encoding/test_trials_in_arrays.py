"""Trials of encodings on halves, in arrays: the losses are those of stored models of the halves.

Random tables with missing values, values and classes that only one half has, and weights.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.evaluation.auto_encoding import Field
from sqlbn.evaluation.encoding_trials import Trial

pytestmark = pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
LEARNERS: list[dict[str, Any]] = [
    {"learner": "nb"},
    {"learner": "tan"},
    {"learner": "kdb", "k": 2},
    {"learner": "skdb", "kmax": 3},
    {"learner": "skdb", "kmax": 2, "select": "attributes"},
    {"learner": "skdb", "kmax": 2, "select": "k"},
]
RULES: list[dict[str, Any]] = [
    {},
    {"backoff": "parents"},
    {"backoff": "parents-both", "m": 0.3},
    {"smoothing": "hierarchical"},
    {"smoothing": "auto", "weights": "auto"},
]
# What makes every trial one in the database.
BY_QUERIES = Limits(loo_array_estimates=0, loo_few_estimates=0)
Losses = tuple[float, float]


def noisy(seed: int, size: int, n_classes: int, weights: str) -> pa.Table:
    """Quantities and categories, some of one row, that depend on each other and on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=size)
    a = y + rng.normal(size=size)
    b = np.where(rng.random(size) < 0.15, np.nan, a * rng.choice([-1, 1], size) + rng.random(size))
    c = (y + rng.integers(3, size=size)) % 4
    names = [f"n{i}" for i in rng.integers(size, size=size)]
    d = [None if rng.random() < 0.1 else "xyz"[(i + rng.integers(2)) % 3] for i in c.tolist()]
    w = {
        "none": np.ones(size),
        "frequency": rng.integers(0, 4, size).astype(float),
        "importance": rng.choice([0.25, 1.0, 2.5], size),
    }[weights]
    classes = [f"c{i}" for i in y.tolist()]
    classes[0] = "rare"
    return (
        pa.table({"a": a, "b": pa.array(b, from_pandas=True), "c": c, "d": d, "e": names})
        .append_column("w", pa.array(w))
        .append_column("y", pa.array(classes))
    )


def fit(table: pa.Table, **options: Any) -> None:
    """A model whose encoding is chosen."""
    asked = {"discretise": "auto", "encodings": ["ef:3", "modl"], "threads": 1}
    sqlbn.fit(table, "y", **asked, **options).close()


def noted(patch: pytest.MonkeyPatch) -> tuple[list[tuple[Trial, bool]], list[Losses]]:
    """The trials to come, and whether they are made in arrays; the losses of models of halves."""
    trials, halves = list[tuple[Trial, bool]](), list[Losses]()
    tried, crossed = Field.tried, Field.crossed

    def also_tried(field: Field, *args: Any) -> Trial:
        trials.append((tried(field, *args), field.columns is not None))
        return trials[-1][0]

    def also_crossed(field: Field, *args: Any) -> Losses:
        halves.append(crossed(field, *args))
        return halves[-1]

    patch.setattr(Field, "tried", also_tried)
    patch.setattr(Field, "crossed", also_crossed)
    return trials, halves


@examples(12, 4)
@given(
    st.integers(0, 1000),
    st.integers(110, 200),
    st.integers(2, 4),
    st.sampled_from(("none", "frequency", "importance")),
    st.sampled_from(LEARNERS),
    st.sampled_from(RULES),
    st.sampled_from(("neutral", "smoothed")),
)
def test_crossed_losses_are_those_of_models(
    seed: int,
    size: int,
    n_classes: int,
    weights: str,
    learner: dict[str, Any],
    rules: dict[str, Any],
    unseen: str,
) -> None:
    table = noisy(seed, size, n_classes, weights)
    options = {**learner, **rules, "unseen": unseen, "keep": ["e"]}
    options |= {"exclude": ["w"]} if weights == "none" else {"weight": "w"}
    with pytest.MonkeyPatch.context() as patch:
        trials, halves = noted(patch)
        fit(table, **options)
        fit(table, **options, limits=BY_QUERIES)
    assert [in_arrays for _, in_arrays in trials] == [True] * 2 + [False] * 2
    for (quick, _), (slow, _) in zip(trials[:2], trials[2:], strict=True):
        # A trial of all rows gives up numbers of parents early: only what it is of must agree.
        assert (quick.encoding, quick.rows, quick.n_codes, quick.numeric) == (
            slow.encoding,
            slow.rows,
            slow.n_codes,
            slow.numeric,
        )
    assert len(halves) == 8
    for quick_losses, slow_losses in zip(halves[:4], halves[4:], strict=True):
        assert quick_losses == pytest.approx(slow_losses, rel=0, abs=1e-9)


def test_only_few_rows_are_tried_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = noted(monkeypatch)
    table = noisy(0, 100, 2, "none")
    for options in ({}, {"limits": BY_QUERIES}, {"loocv_sample": 20}):
        fit(table, learner="skdb", exclude=["w"], **options)
    assert [in_arrays for _, in_arrays in found] == [True] * 2 + [False] * 4


def odd_columns(size: int) -> pa.Table:
    """Types whose values are compared in another one, or that arrays have no type for."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=size)
    small, noise = (y + rng.integers(2, size=size)).tolist(), rng.normal(size=size)
    days = [None if i == 3 else 86_400 * 365 * int(i) for i in small]
    return pa.table(
        {
            "flag": [bool(i % 2) for i in small],
            "zero": pa.array([-0.0 if i % 2 else 0.0 for i in small]),
            "single": pa.array(y + noise, pa.float32()),
            "cents": pa.array([Decimal(i) / 10 for i in small], pa.decimal128(9, 2)),
            "unsigned": pa.array([2**63 + i for i in small], pa.uint64()),
            "when": pa.array(days, pa.timestamp("s")),
            "word": pa.array([f"ä{i}" for i in small]).dictionary_encode(),
            "empty": pa.array([None] * size, pa.string()),
            "y": y,
        }
    )


@pytest.mark.parametrize("kinds", [{}, {"categorical": ["single", "cents", "when", "zero"]}])
def test_every_type_has_the_same_codes(
    monkeypatch: pytest.MonkeyPatch, kinds: dict[str, Any]
) -> None:
    trials, halves = noted(monkeypatch)
    kept = {"keep": ["empty", "zero", "unsigned"], **kinds}
    for limits in (Limits(), BY_QUERIES):
        asked = {"encodings": ["ef:4", "mdl", "modl"], "discretise": "auto", "limits": limits}
        sqlbn.fit(odd_columns(150), "y", "tan", threads=1, **asked, **kept).close()
    codes, n = [trial.n_codes for trial, _ in trials], len(halves) // 2
    assert codes[: len(codes) // 2] == codes[len(codes) // 2 :]
    for quick, slow in zip(halves[:n], halves[n:], strict=True):
        assert quick == pytest.approx(slow, rel=0, abs=1e-9)
