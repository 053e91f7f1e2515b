"""MODL value grouping: the groups of categories most informative about the target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sqlbn.encoding.discretise.log_factorials import Floats, log_partitions
from sqlbn.encoding.discretise.ordered import (
    Counts,
    Ints,
    OrderedCells,
    cheapest_runs,
    run_cost,
    whole_where_possible,
)
from sqlbn.engines.limits import Limits


@dataclass(frozen=True)
class Grouping:
    """Groups of profiles: `labels` without gaps, (classes, groups) counts, cost with prior."""

    labels: Ints
    counts: Counts
    cost: float

    @property
    def n_groups(self) -> int:
        return int(self.counts.shape[1])


def cheapest_groups(
    profiles: Counts, priors: Floats, limits: Limits | None = None
) -> tuple[Ints, float]:
    """The group of each profile and the cost of the groups with the prior of their number."""
    limits = limits or Limits()
    search = _Search(profiles, priors, limits)
    best = search.grouping(np.zeros(len(profiles), dtype=np.intp))
    dearer = 0
    cells, cell_of = pooled(profiles, limits.separate_profiles)
    tree = merge_tree(cells)
    for n_groups in _ladder(tree, run_cost(cells.T).sum(), priors, limits.most_groups):
        found = search.refined(tree_cut(tree, len(cells), n_groups)[cell_of], search.small)
        dearer = dearer + 1 if found.cost > best.cost else 0
        best = min(best, found, key=lambda g: round(g.cost, 9))
        if dearer == 3:
            break
    best = search.improved(search.refined(best.labels, thorough=True))
    return best.labels, best.cost


def pooled(profiles: Counts, most: int) -> tuple[Counts, Ints]:
    """The profiles with the rarest of them added up where there are more than `most`.

    Greedy merges are quadratic; a profile that few rows have decides little about which groups
    there are. It is not bound to the pool: refining moves it to the group that suits it.
    """
    if len(profiles) <= most:
        return profiles, np.arange(len(profiles))
    frequent = np.argsort(-profiles.sum(axis=1), kind="stable")[: most - 1]
    cell_of = np.full(len(profiles), most - 1)
    cell_of[frequent] = np.arange(most - 1)
    cells = np.zeros((most, profiles.shape[1]), dtype=profiles.dtype)
    np.add.at(cells, cell_of, profiles)
    return cells, cell_of


@dataclass(frozen=True)
class MergeTree:
    """Greedy merges in order: `second` goes into `first` and raises the cost by `rise`."""

    first: Ints
    second: Ints
    rise: Floats


def merge_tree(cells: Counts) -> MergeTree:
    """The merges that cost least more, one after the other, down to one group."""
    n = len(cells)
    counts = cells.T.copy()
    single = run_cost(counts)
    rise = np.full((n, n), np.inf)
    for i in range(n - 1):
        union = counts[:, i + 1 :] + counts[:, i : i + 1]
        rise[i, i + 1 :] = (run_cost(union) - single[i] - single[i + 1 :]).round(12)
    nearest = rise.argmin(axis=1)
    least = rise[np.arange(n), nearest]
    first, second, rises = [], [], []
    for _ in range(n - 1):
        a = int(least.argmin())
        b = int(nearest[a])
        first.append(a)
        second.append(b)
        rises.append(least[a])
        counts[:, a] += counts[:, b]
        single[a] = run_cost(counts[:, a : a + 1])[0]
        rise[b, :] = rise[:, b] = np.inf
        single[b] = np.inf
        fresh = (run_cost(counts + counts[:, a : a + 1]) - single[a] - single).round(12)
        fresh[~np.isfinite(single)] = np.inf
        rise[:a, a] = fresh[:a]
        rise[a, a + 1 :] = fresh[a + 1 :]
        stale = (nearest == a) | (nearest == b)
        stale[a] = stale[b] = True
        stale |= np.concatenate((fresh[:a] <= least[:a], np.zeros(n - a, dtype=bool)))
        again = np.flatnonzero(stale)
        nearest[again] = rise[again].argmin(axis=1)
        least[again] = rise[again, nearest[again]]
    return MergeTree(np.array(first), np.array(second), np.array(rises))


def tree_cut(tree: MergeTree, n_cells: int, n_groups: int) -> Ints:
    """The group of each cell where merging stops at `n_groups`."""
    labels = np.arange(n_cells)
    done = n_cells - n_groups
    # A group is merged into an older one only later: going backwards, each finds its final name.
    for a, b in zip(tree.first[:done][::-1], tree.second[:done][::-1], strict=True):
        labels[b] = labels[a]
    return labels


def _ladder(tree: MergeTree, start: float, priors: Floats, most: int) -> list[int]:
    """Numbers of groups to refine, ascending: around the tree's best, and steps of a third.

    The tree's own optimum is no guide where most profiles are in the pool: they share no group
    with their like yet, while the prior counts them all.
    """
    n_cells = len(tree.rise) + 1
    after = start + np.concatenate(([0.0], np.cumsum(tree.rise)))
    groups = np.arange(n_cells, 0, -1)
    best = int(groups[(after + priors[groups - 1]).argmin()])
    steps = {best + d for d in range(-3, 4)} | {2, 3}
    size = 4
    while size <= min(most, 4 * best + 64):
        steps.add(size)
        size += size // 3
    return sorted(s for s in steps if 2 <= s <= n_cells)


class _Search:
    """Refines groupings of a fixed set of profiles; classes along the first axis throughout."""

    def __init__(self, profiles: Counts, priors: Floats, limits: Limits) -> None:
        self.limits = limits
        self.profiles = np.ascontiguousarray(profiles.T)
        self.weights = self.profiles.astype(np.float64)
        self.rows = float(self.weights.sum())
        # One more, so that a group more than there are profiles has a price.
        self.priors = np.append(priors, priors[-1])
        self.small = len(profiles) <= limits.separate_profiles

    def grouping(self, labels: Ints) -> Grouping:
        used = np.bincount(labels) > 0
        labels = (np.cumsum(used) - 1)[labels]
        # Sums of whole numbers below 2^53 are exact in float64.
        sums = np.array([np.bincount(labels, weight) for weight in self.weights])
        counts = sums.astype(self.profiles.dtype)
        cost = float(run_cost(counts).sum() + self.priors[counts.shape[1] - 1])
        return Grouping(labels, counts, cost)

    def _cheaper(self, found: Grouping, than: Grouping) -> bool:
        return round((than.cost - found.cost) / self.rows, 12) > 0

    def refined(self, labels: Ints, thorough: bool) -> Grouping:
        """The grouping after moves of profiles; never costlier."""
        best = self.grouping(labels)
        enough = 0.0 if thorough else self.limits.grouping_rough * best.cost
        for _ in range(self.limits.grouping_sweeps):
            found = self.grouping(_lowest(_slopes(best.counts) @ self.weights))
            if not self._cheaper(found, best):
                break
            saved, best = best.cost - found.cost, found
            if saved < enough:
                break
        return self._moved(best) if thorough else best

    def _moved(self, best: Grouping) -> Grouping:
        """Moves by exact differences, half as many at a time whenever they disturb each other."""
        lookups = self.profiles.size * best.n_groups
        for _ in range(min(self.limits.grouping_sweeps, self.limits.grouping_lookups // lookups)):
            gain, to = self._gains(best)
            ranked = np.flatnonzero(gain > 0)
            ranked = ranked[np.argsort(-gain[ranked], kind="stable")]
            size = len(ranked)
            while size:
                labels = best.labels.copy()
                labels[ranked[:size]] = to[ranked[:size]]
                found = self.grouping(labels)
                if self._cheaper(found, best):
                    break
                size //= 2
            if size == 0:
                return best
            best = found
        return best

    def _gains(self, state: Grouping) -> tuple[Floats, Ints]:
        """What moving each profile to its best other group, or to one of its own, saves."""
        n_groups, own = state.n_groups, state.labels
        single = run_cost(state.counts)
        leaving = single[own] - run_cost(state.counts[:, own] - self.profiles)
        entering = np.empty((n_groups + 1, len(own)))
        for g in range(n_groups):
            entering[g] = run_cost(state.counts[:, g : g + 1] + self.profiles) - single[g]
        entering[own, np.arange(len(own))] = np.inf
        price = np.diff(self.priors[max(0, n_groups - 2) : n_groups + 1])
        entering[n_groups] = run_cost(self.profiles) + price[-1]
        # A profile alone in its group gives the group up when it leaves.
        alone = np.bincount(own)[own] == 1
        entering[n_groups, alone] = np.inf
        leaving[alone] += price[0]
        to = _lowest(entering.round(12))
        return (leaving - entering[to, np.arange(len(own))]).round(12), to

    def improved(self, best: Grouping) -> Grouping:
        """Groups cut or merged, then refined, as long as that helps."""
        for _ in range(self.limits.grouping_sweeps):
            starts = [t for t in (self._cut(best), self._merged(best)) if t is not None]
            tries = [self.refined(t, self.small) for t in starts]
            found = min([best, *tries], key=lambda g: round(g.cost, 9))
            if not self._cheaper(found, best):
                break
            best = self.refined(found.labels, thorough=True)
        return best

    def _merged(self, state: Grouping) -> Ints | None:
        """The two groups in one whose union costs least."""
        if state.n_groups < 2:
            return None
        a, b = np.triu_indices(state.n_groups, 1)
        single = run_cost(state.counts)
        rise = run_cost(state.counts[:, a] + state.counts[:, b]) - single[a] - single[b]
        pair = int(rise.round(12).argmin())
        return np.where(state.labels == b[pair], a[pair], state.labels)

    def _cut(self, state: Grouping) -> Ints | None:
        """The group whose cut in two saves most: by the share of some class, at some share."""
        single = run_cost(state.counts)
        sizes = np.bincount(state.labels)
        ends = np.cumsum(sizes)
        saved, labels = -np.inf, None
        for share in self.weights / self.weights.sum(axis=0):
            order = np.lexsort((share, state.labels))
            cells = OrderedCells(self.profiles[:, order].T, self.limits)
            at, cost = cells.best_splits(ends - sizes, ends)
            gain = (single - cost).round(12)
            g = int(gain.argmax())
            if gain[g] > saved:
                saved, labels = float(gain[g]), state.labels.copy()
                labels[order[at[g] : ends[g]]] = state.n_groups
        return labels


def _slopes(counts: Counts) -> Floats:
    """The derivative of each group's cost in each class count, groups along the first axis.

    psi(N + J) - psi(N_j + 1), with psi(x) close to ln(x - 1/2). What the approximation proposes
    is only taken if the cost does fall.
    """
    rows = counts.sum(axis=0) + (len(counts) - 0.5)
    return np.asarray((np.log(rows) - np.log(counts + 0.5)).T)


def _lowest(scores: Floats) -> Ints:
    """argmin along the first axis, the first of equals; a loop beats numpy's while it is short."""
    lowest, least = np.zeros(scores.shape[1], dtype=np.intp), scores[0]
    for row, score in enumerate(scores[1:], start=1):
        lowest[score < least] = row
        least = np.minimum(least, score)
    return lowest


@dataclass(frozen=True)
class Groups:
    """A grouping: `group` is the group of each value, groups numbered as they first occur.

    `cost` is that of the grouping, `null_cost` that of one group. Not `informative` means that
    one group is not dearer: the variable says nothing about the target.
    """

    group: Ints
    cost: float
    null_cost: float

    @property
    def level(self) -> float:
        """1 - cost / null cost, from 0 (no information) towards 1."""
        return 1.0 - self.cost / self.null_cost if self.informative else 0.0

    @property
    def informative(self) -> bool:
        return self.cost < self.null_cost


def modl_groups(counts: npt.ArrayLike, limits: Limits | None = None) -> Groups:
    """The groups of least cost for the values of a category, in any order.

    `counts` is (values, classes): rows, or their weight, of each class with each value; missing
    may be one of the values. V and J of the criterion are the numbers of rows and columns of
    `counts`, also of those that are empty; a value without rows joins the largest group.

    Values whose counts are proportional are put together first: an optimum that does so exists.
    With two classes what remains is a problem of intervals (ordered.py); else few profiles are
    solved exactly and many are searched (`cheapest_groups`).
    """
    values = whole_where_possible(counts)
    alone = np.zeros(len(values), dtype=np.intp)
    rows = float(values.sum())
    if rows <= 0:
        return Groups(alone, 0.0, 0.0)
    always = math.log(len(values))
    null_cost = always + float(run_cost(values.sum(axis=0)[:, None])[0])
    profiles, profile_of = _profiles(values)
    if len(profiles) == 1:
        return Groups(alone, null_cost, null_cost)
    priors = log_partitions(len(values), len(profiles))
    labels, cost = _grouped(profiles, priors, limits or Limits())
    cost += always
    if round((cost - null_cost) / rows, 12) >= 0:
        return Groups(alone, null_cost, null_cost)
    group = np.where(profile_of < 0, _largest(profiles, labels), labels[profile_of])
    return Groups(_numbered(group), cost, null_cost)


def _profiles(values: Counts) -> tuple[Counts, Ints]:
    """Counts of the different class distributions, sorted, and which one each value has.

    Values without rows have profile -1.
    """
    filled = np.flatnonzero(values.sum(axis=1) > 0)
    kept = values[filled]
    shares = kept / kept.sum(axis=1, keepdims=True)
    order = np.lexsort(shares.T[::-1])
    new = np.ones(len(order), dtype=bool)
    new[1:] = (shares[order][1:] != shares[order][:-1]).any(axis=1)
    profiles = np.add.reduceat(kept[order], np.flatnonzero(new))
    profile_of = np.full(len(values), -1, dtype=np.intp)
    profile_of[filled[order]] = np.cumsum(new) - 1
    return profiles, profile_of


def _grouped(profiles: Counts, priors: Floats, limits: Limits) -> tuple[Ints, float]:
    """The group of each profile and the cost of the groups with the prior of their number."""
    present = np.flatnonzero(profiles.any(axis=0))
    if len(present) == 2:

        def prior(groups: Ints) -> Floats:
            return np.asarray(priors[np.minimum(groups, len(priors)) - 1])

        bounds, cost = cheapest_runs(OrderedCells(profiles, limits), prior)
        return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)), cost
    if len(profiles) <= limits.exact_profiles:
        return exact_groups(profiles, priors)
    return cheapest_groups(profiles, priors, limits)


def exact_groups(profiles: Counts, priors: Floats) -> tuple[Ints, float]:
    """The optimum over all set partitions, by dynamic programming over sets of profiles."""
    n = len(profiles)
    masks, subsets, offsets = _subsets(n)
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    block = run_cost((member @ profiles).T)
    layers = [block]
    for _ in range(n - 1):
        split = block[subsets] + layers[-1][masks ^ subsets]
        split[masks == subsets] = np.inf
        layers.append(np.concatenate(([np.inf], np.minimum.reduceat(split, offsets))))
    totals = np.array([layer[-1] for layer in layers]) + priors[:n]
    used = int(totals.round(12).argmin())
    labels, left = np.zeros(n, dtype=np.intp), (1 << n) - 1
    for k in range(used, 0, -1):
        inside = subsets[(masks == left) & (subsets != left)]
        best = inside[(block[inside] + layers[k - 1][left ^ inside]).round(12).argmin()]
        labels[member[best] == 1] = k
        left ^= int(best)
    return labels, float(totals[used])


@lru_cache(maxsize=Limits.exact_profiles)
def _subsets(n: int) -> tuple[Ints, Ints, Ints]:
    """Every non-empty set of n things with each subset that has its lowest member, set by set."""
    every = np.arange(1, 1 << n)
    masks, subsets = np.nonzero((every[None, :] & ~every[:, None]) == 0)
    masks, subsets = every[masks], every[subsets]
    kept = (subsets & (masks & -masks)) != 0
    masks, subsets = masks[kept], subsets[kept]
    return masks, subsets, np.searchsorted(masks, every)


def _largest(profiles: Counts, labels: Ints) -> int:
    return int(np.bincount(labels, profiles.sum(axis=1)).argmax())


def _numbered(group: Ints) -> Ints:
    """Groups renumbered in the order of their first values."""
    _, first, which = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which]
