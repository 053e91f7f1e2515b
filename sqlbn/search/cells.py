"""Mean, deviation and range of what two variables tell of each other, from the cells of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# A probability may be so many times smaller than the smallest that was seen: the small integer of
# the paper's range for Hoeffding's bound.
_UNSEEN_FACTOR = 2.0


@dataclass(frozen=True)
class Told:
    """What two variables tell of each other, and how much a row's value may vary.

    `observed` is the value as a fit on all rows has it, rounded; `bias` what the rows that filled
    the cells flatter it by (Miller and Madow).
    """

    observed: float
    deviation: float
    spread: float
    bias: float


@dataclass(frozen=True)
class Cells:
    """The filled cells of a family, and for each the counts of its margins.

    The first two variables are those compared; the margins are with what is given (the class, or
    nothing), of which the last is alone.
    """

    n: Array
    first: Array
    second: Array
    given: Array
    filled: tuple[int, int, int]

    @staticmethod
    def of_array(counts: Array) -> tuple[Cells, tuple[Array, ...]]:
        """Those of an array first x second x given, and where in it they are."""
        places = np.nonzero(counts)
        x, z, g = places
        first, second, given = counts.sum(axis=1), counts.sum(axis=0), counts.sum(axis=(0, 1))
        filled = (
            int(np.count_nonzero(first)),
            int(np.count_nonzero(second)),
            int(np.count_nonzero(given)),
        )
        return Cells(counts[places], first[x, g], second[z, g], given[g], filled), places

    @staticmethod
    def of_codes(n: Array, x: Array, z: Array, g: Array) -> Cells:
        """Those of a table that is too large for an array, cell by cell."""
        margins, filled = [], []
        for codes in ((x, g), (z, g), (g,)):
            _, at = np.unique(np.stack(codes), axis=1, return_inverse=True)
            sums = np.bincount(at.reshape(-1), weights=n)
            margins.append(sums[at.reshape(-1)])
            filled.append(len(sums))
        return Cells(n, margins[0], margins[1], margins[2], (filled[0], filled[1], filled[2]))

    @property
    def values(self) -> Array:
        """What a row of each cell adds to the mean."""
        n, first, second, given = (
            np.log(part.astype(float)) for part in (self.n, self.first, self.second, self.given)
        )
        found: Array = n + given - (first + second)
        return found

    def told(self, observed: float) -> Told:
        """Deviation, range and bias around an observed value."""
        n, values, total = self.n.astype(float), self.values, float(self.n.sum())
        mean = float(n @ values) / total
        variance = float(n @ (values - mean) ** 2) / total
        # One more row may be of a kind that was never seen: without it, what is too rare for the
        # sample would pass for known.
        variance += math.log(total) ** 2 / total if total > 1 else 1.0
        smallest = min(float((n / self.first).min()), float((n / self.second).min()))
        free = len(n) - self.filled[0] - self.filled[1] + self.filled[2]
        return Told(
            observed,
            math.sqrt(variance),
            2 * math.log(_UNSEEN_FACTOR / smallest),
            max(0, free) / (2 * total),
        )
