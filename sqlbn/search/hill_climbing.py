"""Hill climbing over networks (HGC), and its scores of all rows: BDeu, K2, BIC."""

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
from sqlbn.engines import Session
from sqlbn.engines.relations import Encoded
from sqlbn.search.decisions import (
    ArcChange,
    ArcLimits,
    Decision,
    Graph,
    Log,
    changes_of,
    new_parents,
)
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


# Gains below this share of a row are rounding, not knowledge.
_LEAST_GAIN = 1e-9


def hgc(
    scores: LocalScores,
    rows: int,
    limits: ArcLimits,
    log: Log,
    graph: Graph,
    advance: Callable[[], None],
) -> None:
    """Improve a graph by the best single change, until none is left that improves it."""
    while True:
        changes = list(changes_of(graph, limits))
        wanted = {c: new_parents(graph, c) for c in changes}
        present = {i: tuple(sorted(p)) for i, p in enumerate(graph.parents)}
        asked = [pair for touched in wanted.values() for pair in touched.items()]
        scores.count([*present.items(), *asked], lambda: None)
        log.rows_read += rows
        best, gain, second = ArcChange("none", 0), 0.0, 0.0
        for change in changes:
            value = sum(scores(i, p) - scores(i, present[i]) for i, p in wanted[change].items())
            # A later change must be better by more than rounding: ties go to the first.
            if value > gain + _LEAST_GAIN:
                best, gain, second = change, value, gain
            elif value > second:
                second = value
        if best.action == "none":
            return
        graph.apply(best)
        limits.changed(best)
        log.decisions.append(
            Decision(
                best,
                len(changes),
                rows,
                log.rows_read,
                1,
                (gain - second) / rows,
                0.0,
                0.0,
                "score",
            )
        )
        advance()
