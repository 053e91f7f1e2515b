"""Losses of a left-out row as SQL over its ratios: what to keep after an attribute, what to sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from sqlbn.dialects import DUCKDB, Dialect
from sqlbn.quoting import literal
from sqlbn.scoring.query import TIE

Loss = Literal["rmse", "zero_one", "log_loss", "brier", "mcc"]
LOSSES: tuple[Loss, ...] = get_args(Loss)

# A left-out row is never thought less likely than this: its log loss is at most 690.8.
LEAST_PROBABILITY = 1e-300


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


def total_sql(loss: Loss, place: int, weight: str | None) -> str:
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
