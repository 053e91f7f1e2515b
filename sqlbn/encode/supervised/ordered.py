"""The cheapest partition of ordered cells into runs: reduce, solve exactly, post-optimise.

1. Cells are merged bottom-up, many non-neighbouring pairs in a vectorised round, until few
   hundred remain.
2. The partition of those is optimal, by dynamic programming over all numbers of runs.
3. Bounds are then improved on the original cells: a bound moved (merge-split), a run cut, two
   runs merged, three made two (merge-merge-split), until nothing helps; 2 and 3 alternate.

At most `EXACT_CELLS` cells skip 1, and 2 alone is the optimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlbn.encode.supervised.cells import Cells, Ints
from sqlbn.encode.supervised.log_factorials import Floats

# What a number of runs costs, for an array of such numbers: concave, rising.
Prior = Callable[[Ints], Floats]

EXACT_CELLS = 512
_SHARE_A_ROUND = 0.5
_MOST_ROUNDS = 8


def cheapest_runs(cells: Cells, prior: Prior) -> tuple[Ints, float]:
    """Bounds of the runs (0 and the number of cells included) and their cost, prior included."""
    if cells.n_cells <= EXACT_CELLS:
        return exact_runs(cells, prior)
    grid, best = merged_down(cells, EXACT_CELLS, prior)
    if len(best) - 1 > EXACT_CELLS:
        # More runs pay than the dynamic programme has cells: its grid would be too coarse.
        return post_optimised(cells, best, prior)
    best, least = grid, np.inf
    for _ in range(_MOST_ROUNDS):
        candidates = np.union1d(grid, best)
        if len(candidates) > 2 * EXACT_CELLS:
            break
        chosen, _ = exact_runs(cells.regrouped(candidates), prior)
        bounds, cost = post_optimised(cells, candidates[chosen], prior)
        if not cost < least - 1e-9 * max(1.0, abs(cost)):
            break
        best, least = bounds, cost
    return best, least


def merged_down(cells: Cells, most: int, prior: Prior) -> tuple[Ints, Ints]:
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
        merged = _cheap_pairs((pair - single[:-1] - single[1:]).round(12), len(single) - most)
        single[merged] = pair[merged]
        fresh = np.zeros(len(single), dtype=bool)
        fresh[merged] = True
        kept = np.delete(np.arange(len(single)), merged + 1)
        bounds = np.delete(bounds, merged + 1)
        single, fresh, pair = single[kept], fresh[kept], pair[kept[:-1]]
        # A pair costs what it did unless one of its runs has grown.
        changed = np.flatnonzero(fresh[:-1] | fresh[1:])
        pair[changed] = cells.cost(bounds[changed], bounds[changed + 2])


def _cheap_pairs(rise: Floats, most: int) -> Ints:
    """Up to `most` pairs to merge in one round, ascending."""
    padded = np.concatenate(([np.inf], rise, [np.inf]))
    lowest = np.flatnonzero((rise < padded[:-2]) & (rise <= padded[2:]))
    ranked = lowest[np.argsort(rise[lowest], kind="stable")]
    cheap = int((rise[ranked] <= np.quantile(rise, _SHARE_A_ROUND)).sum())
    return np.sort(ranked[: max(1, min(cheap, most))])


def exact_runs(cells: Cells, prior: Prior) -> tuple[Ints, float]:
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


def post_optimised(cells: Cells, bounds: Ints, prior: Prior) -> tuple[Ints, float]:
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

    def __init__(self, cells: Cells, prior: Prior) -> None:
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
