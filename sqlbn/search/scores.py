"""Decomposable scores of a variable given its parents: BDeu, K2, BIC; each set counted once.

Every score is a difference of two sums over cells: those of the family, those of the parents. The
sums are kept, the counts are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import (
    entropies,
    n_log_n,
    plan,
    spectrum,
)
from sqlbn.counts.cover import Family, cells_of
from sqlbn.encoding.encoded import Encoded
from sqlbn.engines import Session
from sqlbn.search.search_options import ScoreName

Array = npt.NDArray[Any]


class LocalScores:
    """Scores over all rows. `fixed` are parents that every variable has, such as the class."""

    def __init__(
        self,
        session: Session,
        encoded: Encoded,
        fixed: Sequence[int],
        score: ScoreName,
        ess: float,
    ) -> None:
        self._session, self._encoded, self._fixed = session, encoded, tuple(fixed)
        self._score, self._ess = score, ess
        # Of each set: the sum over it as a family, and as parents of a child with so many values.
        self._families: dict[Family, float] = {}
        self._parents: dict[tuple[Family, int], float] = {}
        self._child_sizes = sorted(set(encoded.cards))
        self._note((), np.array([encoded.rows]), None)

    def count(
        self, wanted: Iterable[tuple[int, tuple[int, ...]]], advance: Callable[[], None]
    ) -> None:
        """Count what these variables with these parents need, in as few scans as will do."""
        families: dict[Family, None] = {}
        for child, parents in wanted:
            above = self._set(parents)
            for family in (self._set((*parents, child)), above):
                if family not in self._families:
                    families[family] = None
        if families:
            blocks = plan(list(families), self._encoded)
            entropies(self._session, self._encoded, blocks, advance, self._note)

    def __call__(self, child: int, parents: tuple[int, ...]) -> float:
        """The score; what it needs was counted before."""
        above, family = self._set(parents), self._set((*parents, child))
        size = self._encoded.cards[child]
        found = self._families[family] - self._parents[above, size]
        if self._score == "bic":
            free = cells_of(above, self._encoded.cards) * (size - 1)
            found -= free * math.log(max(2, self._encoded.rows)) / 2
        return found

    def _set(self, variables: tuple[int, ...]) -> Family:
        return tuple(sorted((*variables, *self._fixed)))

    def _note(self, family: Family, counts: Array, cells: Array | None) -> None:
        if self._score == "bic":
            total = n_log_n(counts, cells)
            self._families[family] = total
            for size in self._child_sizes:
                self._parents[family, size] = total
            return
        numbers = [a.tolist() for a in spectrum(counts, cells)]
        if self._score == "bdeu":
            prior = self._ess / cells_of(family, self._encoded.cards)
            total = _gammas(prior, numbers)
            self._families[family] = total
            for size in self._child_sizes:
                self._parents[family, size] = total
            return
        self._families[family] = _gammas(1.0, numbers)
        for size in self._child_sizes:
            self._parents[family, size] = _gammas(float(size), numbers)


def _gammas(prior: float, numbers: list[list[float]]) -> float:
    """Sum of ln Gamma(prior + n) - ln Gamma(prior) over cells, by their spectrum."""
    empty = math.lgamma(prior)
    return math.fsum(
        cells * (math.lgamma(prior + n) - empty) for n, cells in zip(*numbers, strict=True)
    )
