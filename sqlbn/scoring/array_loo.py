"""Leave-one-out of few rows in memory: the losses of leave_one_out.py without a query an attribute.

Trials of encodings look at a few thousand rows, for which planning queries takes longer than
running them. Row by row and class by class, with the row itself left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.encode.encoded import Encoded
from sqlbn.engines import DuckDBEngine
from sqlbn.scoring.loo_losses import Loss, finished
from sqlbn.scoring.smoothing import Smoothing

Array = npt.NDArray[Any]

# Estimates (row, class, attribute) that are kept from one k' to the next: with their logarithms
# 64 MB.
_MOST_ESTIMATES = 1 << 22


def suits_arrays(encoded: Encoded) -> bool:
    """Whether rows are few enough."""
    return encoded.rows * encoded.cards[-1] * max(encoded.n_attributes, 1) <= _MOST_ESTIMATES


class ArrayLoo:
    """The RMSE of KDB models over the first attributes of an order, for rising k'."""

    def __init__(
        self,
        engine: DuckDBEngine,
        encoded: Encoded,
        families: Mapping[int, Sequence[int]],
        order: Sequence[int],
        class_counts: Sequence[float],
        smoothing: Smoothing,
    ) -> None:
        self._families, self._order, self._cards = families, order, encoded.cards
        self._m, self._neutral = smoothing.m, smoothing.is_neutral
        self._by_parents = smoothing.left_out_by_parents
        self._n_classes = len(class_counts)
        names = [encoded.column(v) for v in range(len(encoded.cards))]
        weights = ["w"] if encoded.weighted else []
        found = engine.lake.arrays(
            f"SELECT {', '.join([*names, *weights])} FROM {encoded.relation}"
        )
        self._codes = [np.asarray(found[name], dtype=np.int64) for name in names]
        self._y = self._codes[-1]
        self._rows = np.arange(len(self._y))
        self._w = np.asarray(found["w"], float) if weights else None
        self._out = self._w if encoded.importance and self._w is not None else 1.0
        self._prior = self._prior_logs(np.asarray(class_counts, float))
        self._at: dict[int, Level] = {}

    def surface(
        self, ks: Sequence[int], is_enough: Callable[[dict[Loss, Array]], bool] | None = None
    ) -> dict[Loss, Array]:
        """An array (k' in the order of `ks`, number of attributes); see LeaveOneOut.surface."""
        found: dict[Loss, Array] = {"rmse": np.zeros((0, len(self._order) + 1))}
        for k in ks:
            found["rmse"] = np.vstack([found["rmse"], self._losses_at(k)])
            if is_enough is not None and is_enough(found):
                break
        return found

    def _losses_at(self, k: int) -> list[float]:
        logs, losses = self._prior.copy(), [self._loss(self._prior)]
        for position in self._order:
            logs += self._level(position, min(k, len(self._families[position]) - 1)).logs
            losses.append(self._loss(logs))
        return losses

    def _loss(self, logs: Array) -> float:
        with np.errstate(over="ignore"):
            wrong = 1.0 - 1.0 / np.exp(logs).sum(axis=1)
        squares = np.square(wrong)
        if self._w is not None:
            return finished("rmse", float(squares @ self._w), float(self._w.sum()))
        return finished("rmse", float(squares.sum()), float(len(self._y)))

    def _prior_logs(self, class_counts: Array) -> Array:
        share = self._m / self._n_classes
        left = self._without_own(np.broadcast_to(class_counts, (len(self._y), self._n_classes)))
        return self._against_own(np.log(left + share))

    def _level(self, position: int, level: int) -> Level:
        """The estimates of an attribute with its first parents; those with fewer come first."""
        known = self._at.get(position)
        if known is None:
            known = self._deeper(position, None)
        while known.depth < level:
            known = self._deeper(position, known)
        self._at[position] = known
        return known

    def _deeper(self, position: int, before: Level | None) -> Level:
        card = self._cards[position]
        if before is None:
            depth, parents = 0, np.zeros(len(self._y), dtype=np.int64)
        else:
            depth = before.depth + 1
            parent = self._families[position][depth]
            parents = _numbered(before.parents * self._cards[parent] + self._codes[parent])
        cells = _numbered(parents * card + self._codes[position])
        left, around = self._left(cells), self._left(parents)
        estimates = (left + self._m / card) / (around + self._m)
        others = left.sum(axis=1, keepdims=True) > 0
        if before is None:
            # A value that only the row itself has says nothing.
            is_seen = others | (not self._neutral)
            estimates = np.where(is_seen, estimates, 1.0)
        else:
            is_seen = before.is_seen
            used = around.sum(axis=1, keepdims=True) > 0 if self._by_parents else others
            estimates = np.where(used & is_seen, estimates, before.estimates)
        return Level(depth, parents, estimates, self._against_own(np.log(estimates)), is_seen)

    def _left(self, cells: Array) -> Array:
        """For every row the classes of the others in its cell."""
        n = self._n_classes
        size = n * (int(cells.max(initial=0)) + 1)
        counts = np.bincount(cells * n + self._y, self._w, minlength=size)
        return self._without_own(counts.reshape(-1, n)[cells].astype(float))

    def _without_own(self, counts: Array) -> Array:
        left = counts.copy()
        left[self._rows, self._y] = np.maximum(left[self._rows, self._y] - self._out, 0.0)
        return left

    def _against_own(self, logs: Array) -> Array:
        own: Array = logs - logs[self._rows, self._y][:, None]
        return own


class Level:
    """One attribute with some of its parents: cells of these, P(x | parents, class), log ratios.

    `is_seen`: whether the value is one where the row is left out.
    """

    def __init__(
        self, depth: int, parents: Array, estimates: Array, logs: Array, is_seen: Array
    ) -> None:
        self.depth, self.parents, self.estimates, self.logs = depth, parents, estimates, logs
        self.is_seen = is_seen


def _numbered(keys: Array) -> Array:
    """The keys as numbers without gaps."""
    return np.unique(keys, return_inverse=True)[1]
