"""What adding or removing one parent of a variable would be worth, from counts that grow by blocks.

Every move (one more parent, or one less) has its own table of counts. All tables of a variable lie
in one array, so that a block of rows is counted by a single bincount.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines.limits import Limits
from sqlbn.search.contest import UNSEEN_FACTOR, Estimates

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Move:
    """One parent more, or one less (`removes`)."""

    parent: int
    removes: bool = False


class Tally:
    """Counts of a variable's moves.

    `fixed` are parents that never change, such as the class. Gains are mean differences of the
    log-likelihood of a row, against the present parents.
    """

    def __init__(
        self,
        child: int,
        parents: Sequence[int],
        fixed: Sequence[int],
        moves: Sequence[Move],
        cards: Sequence[int],
        stopping_care: float = Limits.stopping_care,
    ) -> None:
        self._stopping_care = stopping_care
        self.child, self.moves, self.n = child, list(moves), 0
        self._family = (*fixed, *parents, child)
        self._cards = cards
        self._lay_out()
        self._counts: Array = np.zeros(self.cells, np.int64)

    # -- layout --------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Where every move's cells lie, and for each cell those of the three coarser tables."""
        shape = [self._cards[v] for v in self._family]
        self._factors = [1 if m.removes else self._cards[m.parent] for m in self.moves]
        self._columns = [-1 if m.removes else m.parent for m in self.moves]
        self._signs = np.array([-1.0 if m.removes else 1.0 for m in self.moves])
        sizes = [math.prod(shape) * r for r in self._factors]
        self._starts = np.cumsum([0, *sizes])[:-1]
        self.cells = sum(sizes)
        self._move_of = np.repeat(np.arange(len(sizes)), sizes)
        self._nominal = np.array([self._parameters(m, shape) for m in self.moves], float)
        coarser = [
            _coarser(shape, self._axis(m), r)
            for m, r in zip(self.moves, self._factors, strict=True)
        ]
        self._coarse = [
            _stacked([places[which] for places in coarser], sign)
            for which, sign in enumerate((-1.0, -1.0, 1.0))
        ]

    def _parameters(self, move: Move, shape: list[int]) -> int:
        """Free parameters that a move adds, or takes away, whether rows fell into them or not."""
        rows, size = math.prod(shape[:-1]), self._cards[move.parent]
        if move.removes:
            rows //= size
        return rows * (size - 1) * (shape[-1] - 1)

    def _axis(self, move: Move) -> int | None:
        """The place of the parent that a move removes; None where it adds one."""
        return self._family.index(move.parent) if move.removes else None

    def keep(self, wanted: Array) -> None:
        """Go on with some of the moves only; `wanted` says which."""
        kept = wanted[self._move_of]
        counts = self._counts[kept]
        self.moves = [m for m, w in zip(self.moves, wanted.tolist(), strict=True) if w]
        self._lay_out()
        self._counts = counts

    # -- counting ------------------------------------------------------------------------------

    def _keys(self, block: Array) -> Array:
        """For every move and row the cell it falls into; a block has one row a variable."""
        base = np.zeros(block.shape[1], np.int64)
        for v in self._family:
            base *= self._cards[v]
            base += block[v]
        keys = np.empty((len(self.moves), block.shape[1]), np.int64)
        for at, (start, r, column) in enumerate(
            zip(self._starts.tolist(), self._factors, self._columns, strict=True)
        ):
            if column < 0:
                np.add(base, start, out=keys[at])
            else:
                np.multiply(base, r, out=keys[at])
                keys[at] += start
                keys[at] += block[column]
        return keys

    def add(self, block: Array, sign: int = 1) -> None:
        """Count the rows of a block, or take them out again."""
        if self.moves:
            keys = self._keys(block)
            self._counts += sign * np.bincount(keys.reshape(-1), minlength=self.cells)
        self.n += sign * block.shape[1]

    # -- what the counts say -------------------------------------------------------------------

    def _coarse_sums(self) -> list[Array]:
        """The counts of the three coarser tables."""
        return [
            np.bincount(table.places, weights=self._counts, minlength=len(table.owner))
            for table in self._coarse
        ]

    def gains(self) -> Array:
        """For every cell what its rows gain by its move."""
        return self._gains(self._coarse_sums())

    def _gains(self, sums: list[Array]) -> Array:
        logs = np.log(np.maximum(self._counts, 1))
        for table, counts in zip(self._coarse, sums, strict=True):
            logs += (table.sign * np.log(np.maximum(counts, 1.0)))[table.places]
        logs *= self._signs[self._move_of]
        logs[self._counts == 0] = 0.0
        return logs

    def estimates(
        self, recent: Array, rivals: int, ranged: bool = True, final: bool = False
    ) -> Estimates:
        """Means and deviations (and ranges, where `ranged`) of the moves and, last, of none.

        `recent` are rows by which two moves are compared, `rivals` how many candidates there are.
        Where no more rows will come, `final`, cells that no row fell into are not for free either.
        """
        m, n = len(self.moves), self.n
        coarse = self._coarse_sums()
        gains = self._gains(coarse)
        weighed = self._counts * gains
        sums = np.bincount(self._move_of, weights=weighed, minlength=m) / n
        squares = np.bincount(self._move_of, weights=weighed * gains, minlength=m) / n
        # The likelihood of the rows that made it flatters a table by half a row's weight for every
        # free cell that was filled (Miller and Madow): taken off, and not trusted either.
        free = self._free_cells(coarse)
        bias = free / (2 * n)
        deviations = np.sqrt(np.maximum(squares - sums**2, 0.0))
        # What was observed is the BD score to its leading terms. The best of many that are worth
        # nothing looks good by chance: an addition must make up for how many there were to choose.
        chosen = np.where(self._signs > 0, math.log(max(1, rivals)) / n, 0.0)
        penalty = (self._nominal if final else free) * math.log(n) / (2 * n) + chosen
        return Estimates(
            means=np.append(sums - self._signs * bias, 0.0),
            deviations=np.append(deviations, 0.0),
            observed=np.append(sums - self._signs * penalty, 0.0),
            slack=np.append(bias, 0.0),
            ranges=np.append(self._ranges(coarse[0]), 0.0) if ranged else None,
            care=np.append(np.ones(m), self._stopping_care),
            correlation=_Correlation(self, gains, recent),
        )

    def _free_cells(self, coarse: list[Array]) -> Array:
        """Free parameters that a move adds (or would take away), of cells that rows fell into."""
        m = len(self.moves)
        found = np.bincount(self._move_of[self._counts > 0], minlength=m)
        for table, counts in zip(self._coarse, coarse, strict=True):
            found = found + table.sign * np.bincount(table.owner[counts > 0], minlength=m)
        free: Array = np.maximum(found, 0.0)
        return free

    def _ranges(self, above: Array) -> Array:
        """The range of a row's gain, by the smallest probability that was seen."""
        p = np.ones(self.cells)
        places = self._coarse[0].places
        np.divide(self._counts, above[places], out=p, where=self._counts > 0)
        smallest = np.ones(len(self.moves))
        np.minimum.at(smallest, self._move_of, p)
        found: Array = np.log(UNSEEN_FACTOR / smallest)
        return found

    def row_gains(self, gains: Array, rows: Array) -> Array:
        """For every move and row of a block what the row gains."""
        found: Array = gains[self._keys(rows)]
        return found


def _coarser(shape: list[int], removed: int | None, r: int) -> tuple[Array, Array, Array]:
    """For each cell of a move the cells without x, without the parent, and without both.

    The move's table has the parents, x and, where a parent is added, its r values behind.
    """
    cells = np.arange(math.prod(shape))
    if removed is None:
        own, above = cells.repeat(r), (cells // shape[-1]).repeat(r)
        return above * r + np.tile(np.arange(r), len(cells)), own, above
    smaller = [1 if axis == removed else size for axis, size in enumerate(shape)]
    kept = np.broadcast_to(np.arange(math.prod(smaller)).reshape(smaller), shape).reshape(-1)
    return cells // shape[-1], kept, kept // shape[-1]


@dataclass(frozen=True)
class _CoarseTable:
    """Sums of a tally's cells: where each cell goes, whose move each sum is, how it counts."""

    places: Array
    owner: Array
    sign: float


def _stacked(places: list[Array], sign: float) -> _CoarseTable:
    """Places of several tables, one behind the other."""
    sizes = [int(p.max()) + 1 for p in places]
    starts = np.cumsum([0, *sizes])[:-1]
    moved = [p + start for p, start in zip(places, starts, strict=True)]
    joined = np.concatenate(moved) if moved else np.zeros(0, np.int64)
    return _CoarseTable(joined, np.repeat(np.arange(len(sizes)), sizes), sign)


class _Correlation:
    """How the gains of two moves go together, over some rows; worked out when it is asked for."""

    def __init__(self, tally: Tally, gains: Array, rows: Array) -> None:
        self._tally, self._gains, self._rows = tally, gains, rows
        self._standard: Array | None = None

    def __call__(self, one: int, others: Array) -> Array:
        if self._standard is None:
            found = self._tally.row_gains(self._gains, self._rows)
            self._standard = np.vstack([standardised(found), np.zeros(found.shape[1])])
        clipped: Array = np.clip(self._standard[others] @ self._standard[one], -1.0, 1.0)
        return clipped


def standardised(values: Array) -> Array:
    """Each line less its mean and of length one, or zero where it does not vary."""
    centred = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    found: Array = np.divide(centred, length, out=np.zeros_like(centred), where=length > 1e-12)
    return found
