"""MODL value grouping: the groups of categories that tell most about the target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sqlbn.encode.supervised.cells import (
    Cells,
    Counts,
    Ints,
    run_cost,
    whole_where_possible,
)
from sqlbn.encode.supervised.log_factorials import Floats, log_partitions
from sqlbn.encode.supervised.ordered import cheapest_runs
from sqlbn.encode.supervised.regrouping import cheapest_groups

# So many different profiles are grouped by trying every set of them: 3^10 / 2 steps a group.
EXACT_PROFILES = 10


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


def modl_groups(counts: npt.ArrayLike) -> Groups:
    """The groups of least cost for the values of a category, in any order.

    `counts` is (values, classes): rows, or their weight, of each class with each value; missing
    may be one of the values. V and J of the criterion are the numbers of rows and columns of
    `counts`, also of those that are empty; a value without rows joins the largest group.

    Values whose counts are proportional are put together first: an optimum that does so exists.
    With two classes what remains is a problem of intervals (see cells.py); else few profiles are
    solved exactly and many are searched (regrouping.py).
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
    labels, cost = _grouped(profiles, priors)
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


def _grouped(profiles: Counts, priors: Floats) -> tuple[Ints, float]:
    """The group of each profile and the cost of the groups with the prior of their number."""
    present = np.flatnonzero(profiles.any(axis=0))
    if len(present) == 2:

        def prior(groups: Ints) -> Floats:
            return np.asarray(priors[np.minimum(groups, len(priors)) - 1])

        bounds, cost = cheapest_runs(Cells(profiles), prior)
        return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)), cost
    if len(profiles) <= EXACT_PROFILES:
        return exact_groups(profiles, priors)
    return cheapest_groups(profiles, priors)


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


@lru_cache(maxsize=EXACT_PROFILES)
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
