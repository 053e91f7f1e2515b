"""The chain of one attribute in arrays: its cells that were seen, level by level, and strengths.

A level of the chain is the attribute with its first parents. From the counts alone come the
strengths of hierarchical smoothing, the estimates of every class, and those of leave-one-out. What
a complete table holds is made by `estimates.log_factor`; this is for what is found by its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.kinds.estimates import Chain, MEstimate, Smoothing, mixed

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SeenLevel:
    """One level: a row for every cell (value, first parents) that was seen, a column a class.

    `codes` are those of the value and the parents, `n` the counts of a cell, `t` those of its
    parents' values, `group` the number of these; `lower` is the cell of the level above, with one
    parent less.
    """

    codes: tuple[Array, ...]
    n: Array
    t: Array
    group: Array
    lower: Array

    def groups(self) -> tuple[list[Array], Array]:
        """The parents' values that were seen, their codes and their counts."""
        first = np.unique(self.group, return_index=True)[1]
        return [codes[first] for codes in self.codes[1:]], self.t[first]


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
        n_values = cards[0] - sum(code < cards[0] for code in ignored[0])
        self.estimate: MEstimate = smoothing.of(n_values)
        self.smoothing = smoothing
        self.levels = list(_levels(codes, n, cards, ignored))

    @staticmethod
    def of(
        counts: FamilyCounts,
        position: int,
        smoothing: Smoothing,
        ignored: Sequence[Sequence[int]] | None = None,
    ) -> SeenChain:
        """That of an attribute whose family was counted."""
        codes, n = counts.seen_cells(position)
        family = counts.families[position]
        cards = [counts.encoded.cards[v] for v in family]
        return SeenChain(codes, n, cards, ignored or [()] * len(family), smoothing)

    def strengths(self, most_cells: int) -> tuple[float, ...]:
        """Of each level with parents the strength of the highest leave-one-out likelihood.

        It is that of the attribute's own values, each row left out once: counts are enough. Of
        more cells than `most_cells` an even part is looked at.
        """
        found: list[float] = []
        own = self.estimate.left_out(self.levels[0].n, self.levels[0].t)
        for level in self.levels[1:]:
            above = own[level.lower]
            cells = np.flatnonzero(level.n)
            cells = cells[:: max(1, len(cells) // most_cells)]
            picked = [np.ravel(values)[cells] for values in (level.n, level.t, above)]
            found.append(best_strength(*picked))
            left = np.maximum(level.n - 1.0, 0.0), np.maximum(level.t - 1.0, 0.0)
            own = mixed(*left, found[-1], above)
        return tuple(found)

    def estimates(self, chain: Chain, out: float = 0.0) -> list[Array]:
        """P(x | first parents, y) of the cells of every level, by class.

        Levels are mixed by the chain's strengths, or stand for themselves: their cells were seen.
        With `out` without a row of that weight and of the class itself.
        """
        found: list[Array] = []
        for place, level in enumerate(self.levels):
            n, t = np.maximum(level.n - out, 0.0), np.maximum(level.t - out, 0.0)
            if place and self.smoothing.is_hierarchical:
                found.append(mixed(n, t, chain.strengths[place - 1], found[-1][level.lower]))
            else:
                found.append(self.estimate.of(n, t))
        return found

    def log_cells(self, level: int, chain: Chain) -> Array:
        """Weighted logarithms of the cells of a level, which stands for the deeper ones, too."""
        cut = chain.cut(level)
        estimates = self.estimates(chain)
        if cut.weights is None:
            return np.asarray(np.log(estimates[level]))
        at = np.arange(len(self.levels[level].n))
        total = np.zeros_like(estimates[level])
        for place in range(level, -1, -1):
            if cut.weights[place]:
                total += cut.weights[place] * np.log(estimates[place][at])
            at = self.levels[place].lower[at] if place else at
        return total

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
    rows = np.arange(len(n))
    cell, group = np.zeros(len(n), np.int64), np.zeros(len(n), np.int64)
    for level, (code, card) in enumerate(zip(codes, cards, strict=True)):
        present = ~np.isin(code[rows], list(ignored[level])) if ignored[level] else slice(None)
        rows, cell, group = rows[present], cell[present], group[present]
        own = code[rows].astype(np.int64)
        before = cell
        first, cell = np.unique(cell * card + own, return_index=True, return_inverse=True)[1:]
        if level:
            group = np.unique(group * card + own, return_inverse=True)[1]
        inside = group_sums(n[rows], cell, len(first))
        of_cell = group[first]
        around = group_sums(inside, of_cell, int(of_cell.max(initial=-1)) + 1)
        seen = rows[first]
        yield SeenLevel(
            tuple(c[seen] for c in codes[: level + 1]),
            inside,
            around[of_cell],
            of_cell,
            before[first],
        )


def group_sums(n: Array, groups: Array, n_groups: int) -> Array:
    """Sums of rows by group, a column at a time."""
    found = np.zeros((n_groups, n.shape[1]))
    for j in range(n.shape[1]):
        found[:, j] = np.bincount(groups, n[:, j], minlength=n_groups)
    return found


# Strengths are looked for between these powers of 2, and kept to so many digits: what the order of
# a sum changes must not show.
_POWERS = range(-5, 15, 2)
_HALVINGS = 24
_DIGITS = 4


def best_strength(n: Array, t: Array, above: Array) -> float:
    """The s of the highest sum of n ln((n - 1 + s above) / (t - 1 + s)).

    >>> best_strength(np.array([9.0, 1.0]), np.array([10.0, 10.0]), np.array([0.9, 0.1])) > 1000
    True
    """
    left, around = np.maximum(n - 1.0, 0.0), np.maximum(t - 1.0, 0.0)

    def value(s: float) -> float:
        return float(n @ (np.log(left + s * above) - np.log(around + s)))

    def slope(s: float) -> float:
        return float(n @ (above / (left + s * above) - 1.0 / (around + s)))

    tried = [2.0**power for power in _POWERS]
    best = int(np.argmax([round(value(s), 6) for s in tried])) if len(n) else 0
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    if not len(n) or slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return float(f"{(low * high) ** 0.5:.{_DIGITS}g}")


def find_chains(
    counts: FamilyCounts,
    smoothing: Smoothing,
    ignored: Sequence[Sequence[int]],
    weights: Mapping[int, tuple[float, ...]] | None = None,
) -> dict[int, Chain]:
    """The chain of every attribute: strengths from its counts where levels are mixed."""
    most, found = counts.limits.strength_cells, {}
    for position, family in counts.families.items():
        strengths: tuple[float, ...] = ()
        if smoothing.is_hierarchical and len(family) > 1:
            chain = SeenChain.of(counts, position, smoothing, [ignored[v] for v in family])
            strengths = chain.strengths(most)
        found[position] = Chain(strengths, weights[position] if weights is not None else None)
    return found
