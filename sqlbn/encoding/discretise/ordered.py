"""The cheapest partition of ordered cells into runs: reduce, solve exactly, post-optimise.

1. OrderedCells are merged bottom-up, many non-neighbouring pairs in a vectorised round, until few
   hundred remain.
2. The partition of those is optimal, by dynamic programming over all numbers of runs.
3. Bounds are then improved on the original cells: a bound moved (merge-split), a run cut, two
   runs merged, three made two (merge-merge-split), until nothing helps; 2 and 3 alternate.

At most `Limits.exact_cells` cells skip 1, and 2 alone is the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.encoding.discretise.log_factorials import Floats, log_factorial
from sqlbn.engines.limits import Limits

Ints = npt.NDArray[np.intp]
Counts = npt.NDArray[Any]


def whole_where_possible(counts: npt.ArrayLike) -> Counts:
    """The counts (values, classes) as whole numbers where they are: those are looked up."""
    array = np.asarray(counts)
    if array.ndim != 2:
        raise ValueError(f"counts must have two axes, value and class, not {array.ndim}")
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    array = array.astype(np.float64)
    whole = array.astype(np.int64)
    return whole if np.array_equal(whole, array) else array


def run_cost(counts: Counts) -> Floats:
    """The cost of runs whose counts are the columns of `counts`, classes along the first axis."""
    n_classes = len(counts)
    rows = counts.sum(axis=0)
    prior = log_factorial(rows + (n_classes - 1)) - log_factorial(np.array([n_classes - 1]))
    return np.asarray(prior - log_factorial(counts).sum(axis=0))


class OrderedCells:
    """Ordered cells by their running totals, so that any run of cells costs one subtraction."""

    def __init__(self, counts: Counts, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        n_cells, n_classes = counts.shape
        self.n_cells = n_cells
        # Classes first: sums over them are then sums of long vectors.
        self.below = np.zeros((n_classes, n_cells + 1), dtype=counts.dtype)
        np.cumsum(counts.T, axis=1, out=self.below[:, 1:])

    def cost(self, starts: Ints, ends: Ints) -> Floats:
        """What the runs [start, end) cost."""
        step = max(1, self.limits.partition_window // len(self.below))
        if len(starts) <= step:
            return run_cost(self.below.take(ends, axis=1) - self.below.take(starts, axis=1))
        parts = range(0, len(starts), step)
        return np.concatenate([self.cost(starts[i : i + step], ends[i : i + step]) for i in parts])

    def partition_cost(self, bounds: Ints) -> float:
        """What the runs between bounds (0 and the number of cells included) cost together."""
        return float(self.cost(bounds[:-1], bounds[1:]).sum())

    def best_splits(self, starts: Ints, ends: Ints) -> tuple[Ints, Floats]:
        """Where to cut each run in two at least cost, and that cost; inf for a single cell."""
        sizes = ends - starts - 1
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(starts + 1 - offsets[:-1], sizes) + np.arange(offsets[-1])
        left = self.cost(np.repeat(starts, sizes), at)
        both = left + self.cost(at, np.repeat(ends, sizes))
        best = np.full(len(starts), np.inf)
        where = starts.copy()
        some = np.flatnonzero(sizes)
        if len(some):
            both = both.round(12)
            best[some] = np.minimum.reduceat(both, offsets[:-1][some])
            hits = np.flatnonzero(both == np.repeat(best, sizes))
            run = np.repeat(np.arange(len(starts)), sizes)[hits]
            first = np.unique(run, return_index=True)[1]
            where[some] = at[hits[first]]
        return where, best

    def regrouped(self, bounds: Ints) -> OrderedCells:
        """Coarser cells, the runs between the bounds."""
        coarse = OrderedCells.__new__(OrderedCells)
        coarse.limits, coarse.n_cells = self.limits, len(bounds) - 1
        coarse.below = self.below.take(bounds, axis=1)
        return coarse


def distinct_neighbours(counts: Counts) -> Ints:
    """Bounds of the runs of neighbouring cells with proportional counts; no row lies outside.

    A cut inside such a run is never needed. Cells without rows belong to the run before them.
    """
    filled = np.flatnonzero(counts.sum(axis=1) > 0)
    if len(filled) == 0:
        return np.array([0, len(counts)])
    kept = counts[filled]
    shares = kept / kept.sum(axis=1, keepdims=True)
    # A quotient of proportional counts is the same number before rounding, so also after it.
    new = np.flatnonzero((shares[1:] != shares[:-1]).any(axis=1))
    inner = filled[new] + 1
    return np.concatenate(([0], inner, [len(counts)]))


# What a number of runs costs, for an array of such numbers: concave, rising.
Prior = Callable[[Ints], Floats]


def cheapest_runs(cells: OrderedCells, prior: Prior) -> tuple[Ints, float]:
    """Bounds of the runs (0 and the number of cells included) and their cost, prior included."""
    most = cells.limits.exact_cells
    if cells.n_cells <= most:
        return exact_runs(cells, prior)
    grid, best = merged_down(cells, most, prior)
    if len(best) - 1 > most:
        # More runs pay than the dynamic programme has cells: its grid would be too coarse.
        return post_optimised(cells, best, prior)
    best, least = grid, np.inf
    for _ in range(cells.limits.partition_rounds):
        candidates = np.union1d(grid, best)
        if len(candidates) > 2 * most:
            break
        chosen, _ = exact_runs(cells.regrouped(candidates), prior)
        bounds, cost = post_optimised(cells, candidates[chosen], prior)
        if not cost < least - 1e-9 * max(1.0, abs(cost)):
            break
        best, least = bounds, cost
    return best, least


def merged_down(cells: OrderedCells, most: int, prior: Prior) -> tuple[Ints, Ints]:
    """Bounds of `most` runs from merging neighbours whose union costs least more.

    Second come those of the cheapest partition met on the way, prior included.

    A round merges every pair that is cheaper to merge than both pairs it overlaps, if it is in
    the cheaper half of all pairs: what merging one pair at a time would nearly always come to.
    """
    bounds = np.arange(cells.n_cells + 1)
    single = cells.cost(bounds[:-1], bounds[1:])
    pair = cells.cost(bounds[:-2], bounds[2:])
    best, least = bounds, np.inf
    while True:
        cost = float(single.sum() + prior(np.array([len(single)]))[0])
        if cost < least:
            best, least = bounds, cost
        if len(single) <= most:
            return bounds, best
        rise = (pair - single[:-1] - single[1:]).round(12)
        merged = _cheap_pairs(rise, len(single) - most, cells.limits.merged_share)
        single[merged] = pair[merged]
        fresh = np.zeros(len(single), dtype=bool)
        fresh[merged] = True
        kept = np.delete(np.arange(len(single)), merged + 1)
        bounds = np.delete(bounds, merged + 1)
        single, fresh, pair = single[kept], fresh[kept], pair[kept[:-1]]
        # A pair costs what it did unless one of its runs has grown.
        changed = np.flatnonzero(fresh[:-1] | fresh[1:])
        pair[changed] = cells.cost(bounds[changed], bounds[changed + 2])


def _cheap_pairs(rise: Floats, most: int, share: float) -> Ints:
    """Up to `most` pairs to merge in one round, ascending."""
    padded = np.concatenate(([np.inf], rise, [np.inf]))
    lowest = np.flatnonzero((rise < padded[:-2]) & (rise <= padded[2:]))
    ranked = lowest[np.argsort(rise[lowest], kind="stable")]
    cheap = int((rise[ranked] <= np.quantile(rise, share)).sum())
    return np.sort(ranked[: max(1, min(cheap, most))])


def exact_runs(cells: OrderedCells, prior: Prior) -> tuple[Ints, float]:
    """The optimum by dynamic programming: quadratic in the cells for each number of runs."""
    n = cells.n_cells
    ends, starts = np.tril_indices(n + 1, -1)
    run = np.full((n + 1, n + 1), np.inf)
    run[ends, starts] = cells.cost(starts, ends)
    unlimited = _least_of_any_number(run)
    priors = prior(np.arange(1, n + 1))
    layers = [run[:, 0]]
    best, least = 1, float(run[n, 0] + priors[0])
    for k in range(2, n + 1):
        # No partition costs less than the least without a prior: stop when the prior eats it up.
        if priors[k - 1] + unlimited >= least:
            break
        layers.append((run + layers[-1]).min(axis=1))
        cost = float(layers[-1][n] + priors[k - 1])
        if round(cost - least, 12) < 0:
            best, least = k, cost
    bounds = [n]
    for layer in layers[best - 2 :: -1] if best > 1 else []:
        bounds.append(int((run[bounds[-1]] + layer).round(12).argmin()))
    return np.array([0, *bounds[::-1]]), least


def _least_of_any_number(run: Floats) -> float:
    """The least cost of a partition where runs themselves are free."""
    least = np.zeros(len(run))
    for end in range(1, len(run)):
        least[end] = (least[:end] + run[end, :end]).min()
    return float(least[-1])


def post_optimised(cells: OrderedCells, bounds: Ints, prior: Prior) -> tuple[Ints, float]:
    """Bounds that no single move improves, from those given; never costlier than they are."""
    search = _Moves(cells, prior)
    cost = search.total(bounds)
    while True:
        for moves in (search.moved_bounds, search.cuts, search.merges):
            changed = moves(bounds)
            if changed is None:
                continue
            found = search.total(changed)
            if found < cost - 1e-9 * max(1.0, abs(cost)):
                bounds, cost = changed, found
                break
        else:
            return bounds, cost


class _Moves:
    """Moves around a partition; the best cut of a run is remembered for when it comes again."""

    def __init__(self, cells: OrderedCells, prior: Prior) -> None:
        self.cells, self.prior = cells, prior
        self.known: dict[tuple[int, int], tuple[int, float]] = {}

    def total(self, bounds: Ints) -> float:
        runs = np.array([len(bounds) - 1])
        return self.cells.partition_cost(bounds) + float(self.prior(runs)[0])

    def _splits(self, starts: Ints, ends: Ints) -> tuple[Ints, Floats]:
        windows = list(zip(starts.tolist(), ends.tolist(), strict=True))
        new = [w for w in windows if w not in self.known]
        if new:
            pairs = np.array(new)
            at, cost = self.cells.best_splits(pairs[:, 0], pairs[:, 1])
            self.known.update(zip(new, zip(at.tolist(), cost.tolist(), strict=True), strict=True))
        found = [self.known[w] for w in windows]
        return np.array([f[0] for f in found]), np.array([f[1] for f in found])

    def moved_bounds(self, bounds: Ints) -> Ints | None:
        """Two neighbouring runs cut elsewhere."""
        if len(bounds) < 3:
            return None
        single = self.cells.cost(bounds[:-1], bounds[1:])
        at, cost = self._splits(bounds[:-2], bounds[2:])
        chosen = _disjoint(single[:-1] + single[1:] - cost, width=2)
        if len(chosen) == 0:
            return None
        changed = bounds.copy()
        changed[chosen + 1] = at[chosen]
        return changed

    def cuts(self, bounds: Ints) -> Ints | None:
        """One run made two."""
        runs = len(bounds) - 1
        price = float(np.diff(self.prior(np.array([runs, runs + 1])))[0])
        at, cost = self._splits(bounds[:-1], bounds[1:])
        gain = self.cells.cost(bounds[:-1], bounds[1:]) - cost - price
        chosen = _disjoint(gain, width=1)
        return np.union1d(bounds, at[chosen]) if len(chosen) else None

    def merges(self, bounds: Ints) -> Ints | None:
        """Two runs made one, or three made two."""
        runs = len(bounds) - 1
        if runs < 2:
            return None
        saved = float(np.diff(self.prior(np.array([runs - 1, runs])))[0])
        single = self.cells.cost(bounds[:-1], bounds[1:])
        pairs = single[:-1] + single[1:] - self.cells.cost(bounds[:-2], bounds[2:]) + saved
        chosen = _disjoint(pairs, width=2)
        if len(chosen):
            return np.delete(bounds, chosen + 1)
        if runs < 3:
            return None
        at, cost = self._splits(bounds[:-3], bounds[3:])
        triples = single[:-2] + single[1:-1] + single[2:] - cost + saved
        chosen = _disjoint(triples, width=3)
        if len(chosen) == 0:
            return None
        kept = np.delete(bounds, np.concatenate((chosen + 1, chosen + 2)))
        return np.union1d(kept, at[chosen])


def _disjoint(gains: Floats, width: int) -> Ints:
    """Windows of `width` runs with a gain, the largest gains first, none overlapping another."""
    gains = gains.round(12)
    ranked = np.flatnonzero(gains > 0)
    ranked = ranked[np.argsort(-gains[ranked], kind="stable")]
    taken = np.zeros(len(gains) + width, dtype=bool)
    chosen = []
    for start in ranked.tolist():
        if not taken[start : start + width].any():
            taken[start : start + width] = True
            chosen.append(start)
    return np.array(sorted(chosen), dtype=np.intp)
