"""Losses of left-out rows, added up over queries that hold what `terms` leaves for every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sqlbn.engines.lake import Lake
from sqlbn.scoring.confusion import matthews
from sqlbn.scoring.loo_losses import Loss, finished, total_sql


class LossTotals:
    """Sums for every loss and prefix of the attributes; queries have columns y, w, e0, e1, …"""

    def __init__(self, lake: Lake, losses: Sequence[Loss], n_prefixes: int, n_classes: int) -> None:
        self._lake, self._losses, self._n_classes = lake, losses, n_classes
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
        values = iter(self._lake.row(f"SELECT {', '.join(items)} FROM ({query})"))
        for loss in self._losses:
            for p in prefixes:
                self._sums[loss][p] += float(next(values))

    def _add_confusion(self, query: str, prefixes: Sequence[int], weight: str | None) -> None:
        """Losses that need confusion matrices: predictions are kept, then counted by prefix."""
        kept = self._lake.keep(query, "loo_classes")
        table = kept.relation
        count = f"sum({weight})" if weight else "count(*)"
        for p in prefixes:
            for y, h, n in self._lake.rows(f"SELECT y, h{p}, {count} FROM {table} GROUP BY ALL"):
                self._confusion[p, y, h] += float(n)
            squared = self._lake.row(f"SELECT {total_sql('rmse', p, weight)} FROM {table}")
            self._sums["rmse"][p] += float(squared[0])
        self._lake.forget(kept)

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
