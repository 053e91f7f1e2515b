"""Ordered cells of class counts and what a run of them costs under the MODL criterion.

A run of N_i rows, N_ij of class j out of J, costs
ln C(N_i + J - 1, J - 1) + ln(N_i! / prod N_ij!) = ln (N_i + J - 1)! - ln (J - 1)! - sum ln N_ij!.
As a function of the vector (N_i1 .. N_iJ) this is concave (its Hessian is
psi'(sum a) 11' - diag(psi'(a_j)) with a_j = N_ij + 1; x psi'(x) falls, then Cauchy-Schwarz).
Three facts that the searches rest on follow, since a concave function is smallest at an end:
- between neighbours with proportional counts, pure ones of one class in particular, no cut is
  ever needed; values with proportional counts may share a group;
- an optimal grouping separates values by linear functions of their counts: with two classes the
  groups are runs of the values sorted by the share of a class;
- replacing the cost by its tangent never promises too little: values may all move at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.encode.supervised.log_factorials import Floats, log_factorial

Ints = npt.NDArray[np.intp]
Counts = npt.NDArray[Any]

# A window of this many counts is evaluated at a time: 16 MB of intermediate numbers.
_MOST_AT_ONCE = 1 << 21


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


class Cells:
    """Ordered cells by their running totals, so that any run of cells costs one subtraction."""

    def __init__(self, counts: Counts) -> None:
        n_cells, n_classes = counts.shape
        self.n_cells = n_cells
        # Classes first: sums over them are then sums of long vectors.
        self.below = np.zeros((n_classes, n_cells + 1), dtype=counts.dtype)
        np.cumsum(counts.T, axis=1, out=self.below[:, 1:])

    def cost(self, starts: Ints, ends: Ints) -> Floats:
        """What the runs [start, end) cost."""
        step = max(1, _MOST_AT_ONCE // len(self.below))
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

    def regrouped(self, bounds: Ints) -> Cells:
        """Coarser cells, the runs between the bounds."""
        coarse = Cells.__new__(Cells)
        coarse.n_cells = len(bounds) - 1
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
