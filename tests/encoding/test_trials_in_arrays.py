"""Trials of encodings on halves, in arrays: the losses are those of stored models of the halves.

Random tables with missing values, values and classes that only one half has, and weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.evaluation import auto_encoding
from sqlbn.evaluation.auto_encoding import Field

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


def both_ways(patch: pytest.MonkeyPatch) -> tuple[list[Losses | None], list[Losses]]:
    """The losses of halves in arrays, and those of models of them, of all trials to come."""
    in_arrays: list[Losses | None] = []
    of_models: list[Losses] = []
    quick, crossed = auto_encoding.cross_encoding, Field.crossed

    def noted(*args: Any) -> None:
        in_arrays.append(quick(*args))

    def also_noted(field: Field, *args: Any) -> Losses:
        of_models.append(crossed(field, *args))
        return of_models[-1]

    patch.setattr(auto_encoding, "cross_encoding", noted)
    patch.setattr(Field, "crossed", also_noted)
    return in_arrays, of_models


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
        in_arrays, of_models = both_ways(patch)
        fit(table, **options, limits=Limits(loo_few_estimates=0))
    assert len(in_arrays) == len(of_models) == 4
    for quick, slow in zip(in_arrays, of_models, strict=True):
        assert quick == pytest.approx(slow, rel=0, abs=1e-9)


def test_only_few_rows_are_tried_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = both_ways(monkeypatch)
    table = noisy(0, 100, 2, "none")
    for options in ({}, {"limits": BY_QUERIES}, {"loocv_sample": 20}):
        fit(table, learner="skdb", exclude=["w"], **options)
    assert [losses is not None for losses in found] == [True] * 4 + [False] * 8
