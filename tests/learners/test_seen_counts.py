"""Families too large for an array: few rows are counted in arrays as they are by queries."""

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

# Nothing fits into an array; with no rows for arrays of cells there is a query a family.
BY_CELLS = Limits(block_cells=0, array_cells=0)
BY_QUERIES = Limits(block_cells=0, array_cells=0, seen_array_rows=0)
TABLES = ("counts", "strengths", "loocv", "factors")


def drawn(seed: int, size: int, weights: str) -> pa.Table:
    """Categories that depend on each other, with missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=size)
    found: dict[str, Any] = {"y": [f"c{i}" for i in y.tolist()]}
    before = y
    for name in "abcd":
        before = (before + rng.integers(3, size=size)) % 4
        missing = rng.random(size) < 0.1
        found[name] = [None if m else int(v) for v, m in zip(before, missing, strict=True)]
    found["w"] = rng.integers(1, 4, size) / (4 if weights == "importance" else 1)
    return pa.table(found)


@examples(6, 2)
@given(
    st.integers(0, 1000),
    st.sampled_from(("none", "frequency", "importance")),
    st.sampled_from(
        (
            {"learner": "skdb", "kmax": 3},
            {"learner": "kdb", "k": 2, "smoothing": "hierarchical"},
            {"learner": "eskdb", "members": 2, "weights": "levels"},
        )
    ),
)
@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
def test_the_same_model(seed: int, weights: str, options: dict[str, Any]) -> None:
    table = drawn(seed, 90, weights)
    asked = {"exclude": ["w"]} if weights == "none" else {"weight": "w"}
    found = []
    for limits in (BY_CELLS, BY_QUERIES):
        with sqlbn.fit(table, "y", **options, **asked, limits=limits, threads=1) as model:
            names = [name for name in TABLES if name in model._workspace.names()]
            found.append({name: model._workspace.arrow(name, "ALL") for name in names})
            found[-1]["predictions"] = model.predict(table)
    assert found[0] == found[1]
