"""Losses from sums by true and predicted class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlbn.errors import OptionError
from sqlbn.evaluation.ranking import RANKINGS, Ranking, pooled_rankings
from sqlbn.scoring.confusion import matthews


@dataclass
class Evaluation:
    """Losses of predictions whose truth is known.

    `confusion[i][j]` is the weight of rows of class i that were predicted as class j. Rows whose
    class the training rows did not have, or that have none, are `skipped`. `ranking` is None where
    nobody asked for it.
    """

    classes: tuple[str, ...]
    confusion: list[list[float]] = field(default_factory=list)
    squared: float = 0.0
    log_loss: float = 0.0
    brier: float = 0.0
    rows: int = 0
    skipped: int = 0
    ranking: Ranking | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """Total weight of the rows; their number where there are no weights."""
        return math.fsum(map(math.fsum, self.confusion))

    @property
    def losses(self) -> dict[str, float]:
        """Every loss by its name; NaN where there was no row."""
        found = self._losses()
        if self.ranking is not None:
            found |= {"auc": self.ranking.auc, "aoprc": self.ranking.aoprc}
        return found

    def _losses(self) -> dict[str, float]:
        total = self.weight
        if not total:
            return dict.fromkeys(LOSSES, math.nan)
        correct = math.fsum(self.confusion[i][i] for i in range(len(self.classes)))
        return {
            "rmse": math.sqrt(self.squared / total),
            "zero_one": (total - correct) / total,
            "log_loss": self.log_loss / total,
            "brier": self.brier / total,
            "mcc": matthews(self.confusion),
            "accuracy": correct / total,
        }

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, numbers and text; None where a loss is NaN."""
        return {
            **without_nan(self.losses),
            "rows": self.rows,
            "rows_skipped": self.skipped,
            "classes": list(self.classes),
            "confusion": self.confusion,
            "seconds": {k: round(v, 4) for k, v in self.seconds.items()},
        }


LOSSES = ("rmse", "zero_one", "log_loss", "brier", "mcc", "accuracy")
MEASURES = (*LOSSES, *RANKINGS)
HIGHER_IS_BETTER = ("mcc", "accuracy", "auc")


def check_measure(name: str) -> None:
    """An error that lists the names there are."""
    if name not in MEASURES:
        raise OptionError(f"--measure {name}: choose one of {', '.join(MEASURES)}")


def without_nan(losses: dict[str, float]) -> dict[str, float | None]:
    """Losses for JSON, which has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in losses.items()}


def from_sums(
    classes: tuple[str, ...], sums: Sequence[tuple[Any, ...]], seconds: float
) -> Evaluation:
    """An evaluation from the rows of `sql/losses.sql`."""
    n = len(classes)
    result = Evaluation(classes, [[0.0] * n for _ in range(n)], seconds={"predict": seconds})
    sums_of: tuple[list[float], list[float], list[float]] = ([], [], [])
    for y, predicted, weight, *losses, rows in sums:
        if y >= n:
            result.skipped += rows
            continue
        result.confusion[y][predicted] += weight
        result.rows += rows
        for column, value in zip(sums_of, losses, strict=True):
            column.append(value)
    result.squared, result.log_loss, result.brier = map(math.fsum, sums_of)
    return result


def pooled(parts: Sequence[Evaluation]) -> Evaluation:
    """One evaluation of all rows of several; classes may differ from part to part.

    Rankings are means by the weight of the rows.
    """
    classes = tuple(sorted({c for part in parts for c in part.classes}))
    place = {c: i for i, c in enumerate(classes)}
    result = Evaluation(classes, [[0.0] * len(classes) for _ in classes])
    for part in parts:
        for i, row in enumerate(part.confusion):
            for j, weight in enumerate(row):
                result.confusion[place[part.classes[i]]][place[part.classes[j]]] += weight
        result.rows += part.rows
        result.skipped += part.skipped
        for name, taken in part.seconds.items():
            result.seconds[name] = result.seconds.get(name, 0.0) + taken
    result.squared = math.fsum(p.squared for p in parts)
    result.log_loss = math.fsum(p.log_loss for p in parts)
    result.brier = math.fsum(p.brier for p in parts)
    rankings = [p.ranking for p in parts if p.ranking is not None]
    result.ranking = pooled_rankings(rankings) if len(rankings) == len(parts) else None
    return result
