"""One formula, two spellings: what estimates are in arrays they are in SQL."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from sqlbn.kinds.estimates import (
    MEstimate,
    Smoothing,
    importance_columns,
    loo_ratios,
    ratio_sql,
    slots_of,
)

ESTIMATES = [Smoothing(m=1.0).of(4), Smoothing(m=0.3).of(7), Smoothing(estimate="laplace").of(5)]


def by_sql(expression: str, **values: float) -> float:
    given = ", ".join(f"{value!r}::DOUBLE AS {name}" for name, value in values.items())
    found = duckdb.sql(f"SELECT {expression} FROM (SELECT {given}) AS c").fetchall()
    return float(found[0][0])


@pytest.mark.parametrize("estimate", ESTIMATES, ids=str)
@pytest.mark.parametrize(("n", "t"), [(0, 0), (0, 5), (1, 1), (3, 8), (17, 1000)])
def test_arrays_and_sql(estimate: MEstimate, n: int, t: int) -> None:
    m, share = Fraction(estimate.m), Fraction(estimate.share)
    ways: list[tuple[float, str, Fraction]] = [
        (estimate.of(n, t), estimate.sql("n", "t"), (n + share) / (t + m)),
        (estimate.unseen(t), estimate.unseen_sql("t"), share / (t + m)),
        (
            float(estimate.left_out(n, t)),
            estimate.left_out_sql("n", "t"),
            (max(n - 1, 0) + share) / (max(t - 1, 0) + m),
        ),
    ]
    if n:
        parts = estimate.left_out_parts_sql("n", "t", "w")
        left = (n - Fraction(1, 2) + share) / (t - Fraction(1, 2) + m)
        ways.append((float(estimate.left_out(n, t, 0.5)), f"{parts.above} / {parts.below}", left))
        assert np.exp(estimate.log_left_out(n, t, 0.5)) == pytest.approx(float(left), rel=1e-13)
    for array, sql, exact in ways:
        assert array == pytest.approx(float(exact), rel=1e-14)
        assert by_sql(sql, n=n, t=t, w=0.5) == array


RULES: dict[str, Callable[[], Smoothing]] = {
    "cell": lambda: Smoothing(),
    "parents": lambda: Smoothing(backoff="parents-both"),
    "smoothed": lambda: Smoothing(unseen="smoothed"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rotated", [True, False])
def test_a_ratio_of_weight_one_is_that_of_importances(rule: str, rotated: bool) -> None:
    """Every cell of a table: what a query makes of counts and a weight is what arrays have."""
    smoothing = RULES[rule]()
    counts = np.random.default_rng(3).integers(0, 4, (3, 4, 2)).astype(float)
    ratios = loo_ratios(counts, smoothing, rotated).reshape(counts.size, -1)
    columns = importance_columns(counts, smoothing, rotated)
    estimate, slots = smoothing.of(counts.shape[0]), slots_of(2, rotated)
    for cell in np.flatnonzero(counts.reshape(-1)):
        values = {name: float(column[cell]) for name, column in columns.items()}
        for place, j in enumerate(slots):
            sql = ratio_sql(estimate, "c", "c", j, importance=True, rotated=rotated)
            found = by_sql(sql, **values, w=1.0, y=float(cell % 2))
            assert found == pytest.approx(ratios[cell, place], rel=1e-12)
