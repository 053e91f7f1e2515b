"""Losses of left-out rows, added up over queries that hold what `terms` leaves for every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.row_engine import RowEngine
from sqlbn.engines.sql import literal, select_sql


def matthews(confusion: Sequence[Sequence[float]]) -> float:
    """The multi-class Matthews correlation; 0 where all rows are of one class or predicted so.

    >>> matthews([[2, 0], [0, 3]])
    1.0
    """
    n = range(len(confusion))
    truth = [math.fsum(confusion[i]) for i in n]
    guess = [math.fsum(confusion[i][j] for i in n) for j in n]
    total = math.fsum(truth)
    correct = math.fsum(confusion[i][i] for i in n)
    above = correct * total - math.fsum(t * g for t, g in zip(truth, guess, strict=True))
    below = (total**2 - math.fsum(g * g for g in guess)) * (
        total**2 - math.fsum(t * t for t in truth)
    )
    return above / math.sqrt(below) if below > 0 else 0.0


def against_rest(confusion: Sequence[Sequence[float]], code: int) -> list[list[float]]:
    """The confusion of all other classes, as one, and the class.

    >>> against_rest([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1)
    [[20.0, 10.0], [10.0, 5.0]]
    """
    sides = ([i for i in range(len(confusion)) if i != code], [code])
    return [[math.fsum(confusion[i][j] for i in y for j in z) for z in sides] for y in sides]


Loss = Literal["rmse", "zero_one", "log_loss", "brier", "mcc"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
# Scores closer than this are a tie, and go to the class with the lowest code: the last bits of a
# sum of logarithms depend on how factors were fused.
TIE = 1e-10

# A left-out row is never thought less likely than this: its log loss is at most 690.8.
LEAST_PROBABILITY = 1e-300

# What a row adds at most to losses that are means of rows (rmse: to the mean square); of the
# others nothing is known before all rows are there.
MOST: dict[Loss, float] = {
    "rmse": 1.0,
    "zero_one": 1.0,
    "log_loss": -math.log(LEAST_PROBABILITY),
    "brier": 2.0,
}


def needs_classes(loss: Loss) -> bool:
    """Whether the predicted class itself is needed, so that ratios must be in class order."""
    return loss in ("zero_one", "mcc")


def companions(loss: Loss) -> tuple[Loss, ...]:
    """The losses that one pass reports when this one is asked for."""
    if loss == "rmse":
        return ("rmse",)
    return ("rmse", "zero_one", "mcc") if loss == "mcc" else ("rmse", loss)


def terms(
    losses: Sequence[Loss],
    ratios: Sequence[str],
    own: str,
    shift: str,
    rotated: bool,
    dialect: Dialect = DUCKDB,
) -> dict[str, str]:
    """For a prefix of the attributes: expressions to keep for every row, by a short name.

    `ratios` are those of the slots and `own` that of the row's class, all divided by exp(`shift`).
    """
    total = " + ".join([own, *ratios] if rotated else ratios)
    found = {"e": f"1 - {own} / ({total})"}
    if "log_loss" in losses:
        most = literal(-math.log(LEAST_PROBABILITY))
        found["g"] = f"least(ln({total}) + {shift}, {most})"
    if "brier" in losses:
        # Shares, not ratios, are squared: a ratio may be near the largest number there is.
        others = " + ".join(f"pow({r} / ({total}), 2)" for r in ratios) or "0"
        found["b"] = f"{others} + pow(1 - {own} / ({total}), 2)"
    if any(needs_classes(loss) for loss in losses):
        top = f"{dialect.greatest(ratios)} * {literal(1 - TIE)}"
        cases = " ".join(f"WHEN {r} >= {top} THEN {j}" for j, r in enumerate(ratios))
        found["h"] = f"CASE {cases} END::USMALLINT"
    return found


def total_sql(loss: Loss, place: int | str, weight: str | None) -> str:
    """The sum over rows that a loss is made of, after `place` attributes."""
    times = f"{weight} * " if weight is not None else ""
    if loss == "rmse":
        return f"sum({times}e{place} * e{place})"
    if loss == "log_loss":
        return f"sum({times}g{place})"
    if loss == "brier":
        return f"sum({times}b{place})"
    return f"sum({times}CAST(h{place} <> y AS INTEGER))"


def finished(loss: Loss, total: float, weight: float) -> float:
    """The loss itself from its sum."""
    mean = total / weight
    return float(mean**0.5) if loss == "rmse" else float(mean)


class LossTotals:
    """Sums for every loss and prefix of the attributes.

    Wide ones have columns y, w, e0, e1, …; long ones y, w, e, and a row for each prefix, `place`.
    """

    def __init__(
        self, row_engine: RowEngine, losses: Sequence[Loss], n_prefixes: int, n_classes: int
    ) -> None:
        self._row_engine, self._losses, self._n_classes = row_engine, losses, n_classes
        self._sums: dict[Loss, npt.NDArray[np.float64]] = {
            loss: np.zeros(n_prefixes) for loss in losses
        }
        self._confusion = np.zeros((n_prefixes if "mcc" in losses else 0, n_classes, n_classes))

    def add(self, query: str, prefixes: Sequence[int], weight: str | None) -> None:
        """Add the rows of a query for some prefixes."""
        if "mcc" in self._losses:
            self._add_confusion(query, prefixes, weight)
            return
        items = [total_sql(loss, p, weight) for loss in self._losses for p in prefixes]
        values = iter(self._row_engine.row(select_sql(f"({query})", ", ".join(items))))
        for loss in self._losses:
            for p in prefixes:
                self._sums[loss][p] += float(next(values))

    def add_long(self, query: str, prefixes: Sequence[int], weight: str | None) -> None:
        """The same of a query with a row for every row and prefix."""
        if "mcc" in self._losses:
            items = [f"sum({weight})" if weight else "count(*)", total_sql("rmse", "", weight)]
            found = select_sql(f"({query})", ", ".join(["place", "y", "h", *items]), group="ALL")
            for place, y, h, n, squared in self._row_engine.rows(found):
                if place in prefixes:
                    self._confusion[place, y, h] += float(n)
                    self._sums["rmse"][place] += float(squared)
            return
        items = [total_sql(loss, "", weight) for loss in self._losses]
        found = select_sql(f"({query})", ", ".join(["place", *items]), group="place")
        for place, *values in self._row_engine.rows(found):
            if place in prefixes:
                for loss, value in zip(self._losses, values, strict=True):
                    self._sums[loss][place] += float(value)

    def _add_confusion(self, query: str, prefixes: Sequence[int], weight: str | None) -> None:
        """Losses that need confusion matrices: predictions are kept, then counted by prefix."""
        kept = self._row_engine.persist(query, "loo_classes")
        table = kept.relation
        count = f"sum({weight})" if weight else "count(*)"
        for p in prefixes:
            confusion = select_sql(table, f"y, h{p}, {count}", group="ALL")
            for y, h, n in self._row_engine.rows(confusion):
                self._confusion[p, y, h] += float(n)
            squared = self._row_engine.row(select_sql(table, total_sql("rmse", p, weight)))
            self._sums["rmse"][p] += float(squared[0])
        self._row_engine.unpersist(kept)

    def losses(self, total: float) -> dict[Loss, list[float]]:
        """Every loss by prefix; `total` is the weight of all rows."""
        if "mcc" in self._losses:
            right = np.trace(self._confusion, axis1=1, axis2=2)
            return {
                "rmse": [finished("rmse", float(s), total) for s in self._sums["rmse"]],
                "zero_one": [float(total - r) / total for r in right],
                "mcc": [matthews(matrix.tolist()) for matrix in self._confusion],
            }
        return {
            loss: [finished(loss, float(s), total) for s in self._sums[loss]]
            for loss in self._losses
        }
