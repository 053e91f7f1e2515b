"""The chain of one attribute in arrays: its cells that were seen, level by level, and strengths.

A level of the chain is the attribute with its first parents. From the counts alone come the
strengths of hierarchical smoothing, the estimates of every class, and those of leave-one-out. What
a complete table holds is made by `estimates.log_factor`; this is for what is found by its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.threads import ahead
from sqlbn.kinds.estimates import Chain, MEstimate, Smoothing, mixed
from sqlbn.kinds.row_sums import dot

Array = npt.NDArray[Any]
Point = tuple[float, float]


@dataclass(frozen=True)
class SeenLevel:
    """One level: a row for every cell (value, first parents) that was seen, a column a class.

    `codes` are those of the value and the parents, `n` the counts of a cell; `group` is the number
    of its parents' values, `around` has the counts of each of these; `lower` is the cell of the
    level above, with one parent less.
    """

    codes: tuple[Array, ...]
    n: Array
    around: Array
    group: Array
    lower: Array

    @cached_property
    def t(self) -> Array:
        """Of every cell the counts of its parents' values."""
        found: Array = self.around[self.group]
        return found

    def groups(self) -> tuple[list[Array], Array]:
        """The parents' values that were seen, their codes and their counts."""
        first = np.unique(self.group, return_index=True)[1]
        return [codes[first] for codes in self.codes[1:]], self.around


@dataclass(frozen=True)
class CountedCells:
    """The distinct cells of a family as they were counted: see `SeenChain`."""

    codes: Sequence[Array]
    n: Array
    cards: Sequence[int]

    def chain(
        self,
        smoothing: Smoothing,
        ignored: Sequence[Sequence[int]] | None = None,
        n_levels: int | None = None,
    ) -> SeenChain:
        """So many levels, all where that is not said; the work that takes time."""
        codes, cards = self.codes[:n_levels], self.cards[:n_levels]
        return SeenChain(codes, self.n, cards, ignored or [()] * len(cards), smoothing)


class SeenChain:
    """All levels of an attribute.

    `codes` are those of the distinct cells, value first, then the parents; `n` their counts by
    class; `cards` how many codes there are of each; `ignored` the codes that are no values.
    """

    def __init__(
        self,
        codes: Sequence[Array],
        n: Array,
        cards: Sequence[int],
        ignored: Sequence[Sequence[int]],
        smoothing: Smoothing,
    ) -> None:
        self._n_values = cards[0] - sum(code < cards[0] for code in ignored[0])
        self.smoothing, self.cards = smoothing, cards
        self.levels = list(_levels(codes, n, cards, ignored))

    @property
    def estimate(self) -> MEstimate:
        """That of a level by itself."""
        return self.smoothing.of(self._n_values)

    def smoothed(self, smoothing: Smoothing) -> SeenChain:
        """The same levels by another smoothing."""
        found = copy(self)
        found.smoothing = smoothing
        return found

    @staticmethod
    def of(
        counts: FamilyCounts,
        position: int,
        smoothing: Smoothing,
        ignored: Sequence[Sequence[int]] | None = None,
        n_levels: int | None = None,
    ) -> SeenChain:
        """That of an attribute whose family was counted."""
        return SeenChain.cells_of(counts, position).chain(smoothing, ignored, n_levels)

    @staticmethod
    def cells_of(counts: FamilyCounts, position: int) -> CountedCells:
        """What was counted of the family of an attribute, which is read from tables."""
        codes, n = counts.seen_cells(position)
        return CountedCells(codes, n, [counts.encoded.cards[v] for v in counts.families[position]])

    def strengths(self, most_cells: int) -> tuple[float, ...]:
        """Of each level with parents the strength of the highest leave-one-out likelihood.

        It is that of the attribute's own values, each row left out once: counts are enough. Of
        more cells than `most_cells` an even part is looked at.
        """
        levels = [(level.n, level.t, level.lower) for level in self.levels]
        return best_strengths(levels, self.estimate, most_cells)

    def estimates(self, chain: Chain, out: float = 0.0, level: int | None = None) -> list[Array]:
        """P(x | first parents, y) of the cells of every level, or up to one, by class.

        Levels are mixed by the chain's strengths, or stand for themselves: their cells were seen.
        With `out` without a row of that weight and of the class itself.
        """
        found: list[Array] = []
        for place, cells in enumerate(self.levels[: None if level is None else level + 1]):
            n, t = (np.maximum(n - out, 0.0) if out else n for n in (cells.n, cells.t))
            if place and self.smoothing.is_hierarchical:
                found.append(mixed(n, t, chain.strengths[place - 1], found[-1][cells.lower]))
            else:
                found.append(self.estimate.of(n, t))
        return found

    def log_cells(self, level: int, chain: Chain) -> Array:
        """Weighted logarithms of the cells of a level, which stands for the deeper ones, too."""
        weights = chain.cut(level).weights or (*(0.0,) * level, 1.0)
        total = np.zeros_like(self.levels[level].n)
        for place, estimate in enumerate(self.estimates(chain, level=level)):
            if weights[place]:
                total += weights[place] * np.log(estimate)[self._above(level, place)]
        return total

    def _above(self, level: int, place: int) -> Array:
        """Of every cell of a level its cell in a level above."""
        at = np.arange(len(self.levels[level].n))
        for deeper in range(level, place, -1):
            at = self.levels[deeper].lower[at]
        return at

    def log_discounts(self, level: int, chain: Chain) -> tuple[list[Array], Array]:
        """What a value that was not seen with its parents leaves of the level above: ln s/(t + s).

        The codes of the parents' values, and the logarithms by class.
        """
        codes, t = self.levels[level].groups()
        s = chain.strengths[level - 1]
        return codes, chain.weight_from(level) * np.log(s / (t + s))


def _levels(
    codes: Sequence[Array], n: Array, cards: Sequence[int], ignored: Sequence[Sequence[int]]
) -> Iterator[SeenLevel]:
    """Level after level, as runs of cells in the order of their keys: nothing is sorted for it."""
    ordered = np.lexsort(codes[::-1]) if not _is_ordered(codes) else None
    codes = [np.asarray(code if ordered is None else code[ordered], np.int64) for code in codes]
    n = n if ordered is None else n[ordered]
    cell, group = np.zeros(len(n), np.int64), np.zeros(len(n), np.int64)
    for level, card in enumerate(cards):
        if ignored[level]:
            present = ~np.isin(codes[level], list(ignored[level]))
            codes, n = [code[present] for code in codes], n[present]
            cell, group = cell[present], group[present]
        own, is_new = codes[level], np.ones(len(n), bool)
        is_new[1:] = (cell[1:] != cell[:-1]) | (own[1:] != own[:-1])
        first = np.flatnonzero(is_new)
        inside = n if len(first) == len(n) else np.add.reduceat(n, first, axis=0)
        of_cell = numbered(group[first] * card + own[first]) if level else group[first]
        around = group_sums(inside, of_cell, int(of_cell.max(initial=-1)) + 1)
        yield SeenLevel(
            tuple(code[first] for code in codes[: level + 1]), inside, around, of_cell, cell[first]
        )
        cell = np.cumsum(is_new) - 1
        group = of_cell[cell]


def _is_ordered(codes: Sequence[Array]) -> bool:
    """Whether cells come in the order of their keys, as counts are stored."""
    tied = np.ones(max(len(codes[0]) - 1, 0), bool)
    for code in codes:
        if (code[1:] < code[:-1])[tied].any():
            return False
        tied &= code[1:] == code[:-1]
    return True


def group_sums(n: Array, groups: Array, n_groups: int) -> Array:
    """Sums of rows by group; most cells have few classes, so what is 0 is left out."""
    n_columns = n.shape[1]
    row, column = np.nonzero(n)
    found = np.bincount(groups[row] * n_columns + column, n[row, column], n_groups * n_columns)
    return found.reshape(n_groups, n_columns)


def numbered(keys: Array) -> Array:
    """The keys as numbers without gaps, in their order."""
    return present_keys(keys)[2]


def present_keys(keys: Array) -> tuple[Array, Array, Array]:
    """The keys that there are, in order, a place of each, and which of them every place has.

    Where keys are not much larger than they are many a table of them is faster than sorting.
    """
    n = len(keys)
    size = int(keys.max(initial=-1)) + 1
    if size > Limits.loo_keys_per_row * n:
        return np.unique(keys, return_index=True, return_inverse=True)
    is_there = np.zeros(size, bool)
    is_there[keys] = True
    found = np.flatnonzero(is_there)
    number = np.empty(size, np.int64)
    number[found] = np.arange(len(found))
    inverse = number[keys]
    places = np.empty(len(found), np.int64)
    places[inverse] = np.arange(n)
    return found, places, inverse


# Strengths are looked for between these powers of 2, and kept to so many digits: what the order of
# a sum changes must not show. A step between two of them that is so short is the last.
_POWERS = range(-5, 15, 2)
_DIGITS = 4
_CLOSE = 1e-8


def best_strengths(
    levels: Sequence[tuple[Array, Array, Array]], estimate: MEstimate, most_cells: int
) -> tuple[float, ...]:
    """Those of the levels 1, 2, … of a chain, see `SeenChain.strengths`.

    A level has for every cell its counts by class, those of its parents' values, and its cell in
    the level above.
    """
    return tuple(strengths_in_turn(levels, estimate, most_cells))


def strengths_in_turn(
    levels: Iterable[tuple[Array, Array, Array]], estimate: MEstimate, most_cells: int
) -> Iterator[float]:
    """The same one after the other: a level that is not asked for is not looked at."""
    own = np.zeros(0)
    for place, (n, t, lower) in enumerate(levels):
        if place == 0:
            own = estimate.left_out(n, t)
            continue
        above = own[lower]
        cells = np.flatnonzero(n)
        cells = cells[:: max(1, len(cells) // most_cells)]
        found = best_strength(*(np.ravel(values)[cells] for values in (n, t, above)))
        own = mixed(np.maximum(n - 1.0, 0.0), np.maximum(t - 1.0, 0.0), found, above)
        yield found


def best_strength(n: Array, t: Array, above: Array) -> float:
    """The s of the highest sum of n ln((n - 1 + s above) / (t - 1 + s)).

    >>> best_strength(np.array([9.0, 1.0]), np.array([10.0, 10.0]), np.array([0.9, 0.1])) > 1000
    True
    """
    # Where the parents' values have one row, all strengths say the same of it.
    n, t, above = (values[t > 1.0] for values in (n, t, above))
    left, around = np.maximum(n - 1.0, 0.0), t - 1.0
    tried = [2.0**power for power in _POWERS]
    if not len(n):
        return tried[0]

    def slope(s: float) -> float:
        return dot(n, above / (left + s * above) - 1.0 / (around + s))

    # Of few cells all at once: most of the time would go to calls.
    values = list[float]()
    for some in in_blocks(tried, max(1, Limits.strength_block // len(n))):
        s = np.array(some)[:, None]
        values += np.einsum("sn,n->s", np.log((left + s * above) / (around + s)), n).tolist()
    best = int(np.argmax(np.round(values, 6)))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    down, up = slope(low), slope(high)
    if down <= 0:
        return low
    if up >= 0:
        return high
    found = math.exp(
        _root(lambda x: slope(math.exp(x)), (math.log(low), down), (math.log(high), up))
    )
    return float(f"{found:.{_DIGITS}g}")


def _root(slope: Callable[[float], float], low: Point, high: Point) -> float:
    """Where a slope is 0 between two points, of which it is above 0 at the first.

    By false position; what stays at one end counts half, or the other end would creep (Illinois).
    """
    (a, down), (b, up) = low, high
    side, before, x = 0, a, b
    while abs(x - before) > _CLOSE:
        before, x = x, (a * up - b * down) / (up - down)
        found = slope(x)
        if found > 0:
            a, down, up, side = x, found, up / 2 if side > 0 else up, 1
        else:
            b, up, down, side = x, found, down / 2 if side < 0 else down, -1
    return x


def find_chains(
    counts: FamilyCounts,
    smoothing: Smoothing,
    ignored: Sequence[Sequence[int]],
    weights: Mapping[int, tuple[float, ...]] | None = None,
) -> dict[int, Chain]:
    """The chain of every attribute: strengths from its counts where levels are mixed."""
    most, families = counts.limits.strength_cells, counts.families
    mixed_levels = [i for i, f in families.items() if smoothing.is_hierarchical and len(f) > 1]

    def job(position: int) -> Callable[[], tuple[float, ...]]:
        own = [ignored[v] for v in families[position]]
        cells = SeenChain.cells_of(counts, position)
        return lambda: cells.chain(smoothing, own).strengths(most)

    found = ahead(counts.workspace.session.threads, map(job, mixed_levels))
    strengths = dict(zip(mixed_levels, found, strict=True))
    return {
        i: Chain(strengths.get(i, ()), weights[i] if weights is not None else None)
        for i in families
    }
