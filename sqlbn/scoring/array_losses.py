"""Losses of left-out rows from arrays of their log ratios, added up by k' and number of attributes.

The same as loo_losses.py and loo_totals.py say in SQL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.scoring.confusion import matthews
from sqlbn.scoring.loo_losses import LEAST_PROBABILITY, Loss, finished
from sqlbn.scoring.query import TIE

Array = npt.NDArray[Any]


class ArrayLosses:
    """Sums over rows for every loss, k' and prefix of the attributes."""

    def __init__(self, losses: Sequence[Loss], n_ks: int, n_prefixes: int, n_classes: int) -> None:
        self._losses, self._shape = losses, (n_ks, n_prefixes)
        self._sums: dict[Loss, Array] = {loss: np.zeros(self._shape) for loss in losses}
        self._weights = np.zeros(self._shape)
        matrix = (n_classes, n_classes) if "mcc" in losses else (0, 0)
        self._confusion = np.zeros((*self._shape, *matrix))

    def add(self, k: int, prefix: int, logs: Array, y: Array, w: Array | None) -> None:
        """Some rows: the logarithms of their classes' ratios to their own, which is 0."""
        weights = np.ones(len(y)) if w is None else w
        self._weights[k, prefix] += weights.sum()
        top = logs.max(axis=1)
        ratios = np.exp(logs - top[:, None])
        total, own = ratios.sum(axis=1), np.exp(-top)
        for loss in self._losses:
            if loss == "rmse":
                values = np.square(1.0 - own / total)
            elif loss == "log_loss":
                values = np.minimum(np.log(total) + top, -math.log(LEAST_PROBABILITY))
            elif loss == "brier":
                shares = ratios / total[:, None]
                p = own / total
                values = np.square(shares).sum(axis=1) - np.square(p) + np.square(1.0 - p)
            else:
                predicted = (ratios >= 1.0 - TIE).argmax(axis=1)
                values = predicted != y
                if loss == "mcc":
                    np.add.at(self._confusion[k, prefix], (y, predicted), weights)
            self._sums[loss][k, prefix] += float(values @ weights)

    def losses(self, n_ks: int) -> dict[Loss, Array]:
        """Every loss of the first k', by prefix; 0 where nothing was added."""
        found: dict[Loss, Array] = {}
        for loss in self._losses:
            values = np.zeros((n_ks, self._shape[1]))
            for at in zip(*np.nonzero(self._weights[:n_ks]), strict=True):
                if loss == "mcc":
                    values[at] = matthews(self._confusion[at].tolist())
                else:
                    values[at] = finished(
                        loss, float(self._sums[loss][at]), float(self._weights[at])
                    )
            found[loss] = values
        return found
