"""MODL discretisation: the intervals of a quantity most informative about the target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlbn.encoding.discretise.log_factorials import Floats, log_binomial
from sqlbn.encoding.discretise.ordered import (
    Counts,
    Ints,
    OrderedCells,
    cheapest_runs,
    distinct_neighbours,
    run_cost,
    whole_where_possible,
)
from sqlbn.engines.limits import Limits


@dataclass(frozen=True)
class Intervals:
    """A discretisation: a cut lies before each value in `bounds` (ascending, never 0).

    `cost` is that of the chosen intervals (and that of missing values), `null_cost` that of one
    interval with every row in it. Not `informative` means that the latter is not dearer: the
    variable says nothing about the target. With missing values there may be no bound although
    the variable is informative: then whether there is a value is all that it says.
    """

    bounds: Ints
    cost: float
    null_cost: float

    @property
    def level(self) -> float:
        """1 - cost / null cost, from 0 (no information) towards 1."""
        return 1.0 - self.cost / self.null_cost if self.informative else 0.0

    @property
    def informative(self) -> bool:
        return self.cost < self.null_cost


def modl_partition(
    counts: npt.ArrayLike, missing: npt.ArrayLike | None = None, limits: Limits | None = None
) -> Intervals:
    """The intervals of least cost for cells in the order of their values.

    `counts` is (values, classes): rows, or their weight, of each class at each distinct value.
    J of the criterion is the number of columns, also of those without rows. `missing` are the
    counts by class of the rows without a value: an interval of their own, which counts in N and
    I; if they are all 0 it is as if they were not given.
    """
    cells = whole_where_possible(counts)
    absent = None
    if missing is not None and np.any(np.asarray(missing) > 0):
        absent = whole_where_possible(np.asarray(missing)[None, :])
    total = cells.sum(axis=0) + (absent[0] if absent is not None else 0)
    rows = float(total.sum())
    if rows <= 0:
        return Intervals(np.zeros(0, dtype=np.intp), 0.0, 0.0)
    null_cost = math.log(rows) + float(run_cost(total[:, None])[0])
    if not cells.any():
        return Intervals(np.zeros(0, dtype=np.intp), null_cost, null_cost)
    return _compared(cells, absent, rows, null_cost, limits)


def _compared(
    cells: Counts, absent: Counts | None, rows: float, null_cost: float, limits: Limits | None
) -> Intervals:
    more = 0 if absent is None else 1

    def prior(intervals: Ints) -> Floats:
        others = intervals + (more - 1)
        return log_binomial(rows + others, others)

    distinct = distinct_neighbours(cells)
    runs, cost = cheapest_runs(OrderedCells(cells, limits).regrouped(distinct), prior)
    cost += math.log(rows)
    if absent is not None:
        cost += float(run_cost(absent.T)[0])
    if round((cost - null_cost) / rows, 12) >= 0:
        return Intervals(np.zeros(0, dtype=np.intp), null_cost, null_cost)
    return Intervals(distinct[runs[1:-1]], cost, null_cost)


def cuts_at(values: npt.ArrayLike, bounds: Ints) -> tuple[float, ...]:
    """Cut points of bounds: the largest value of each lower interval, so intervals are (low, high].

    >>> cuts_at([1.0, 2.0, 5.0], np.array([2]))
    (2.0,)
    """
    return tuple(float(v) for v in np.asarray(values)[np.asarray(bounds, dtype=np.intp) - 1])


def elementary_cells(counts: npt.ArrayLike, most: int = 100_000) -> Ints:
    """Bounds of at most `most` cells of about equal weight, where there are more values.

    Cell k ends at the first value with at least k/most of the weight at or below it, as
    equal-frequency cut points do. `np.add.reduceat(counts, found[:-1])` are their counts,
    `values[found[1:] - 1]` their largest values; 0 and the number of values are included.
    """
    rows = np.asarray(counts)
    weight = rows.sum(axis=1) if rows.ndim > 1 else rows
    if len(weight) <= most:
        return np.arange(len(weight) + 1)
    below = np.cumsum(weight, dtype=np.float64)
    ends = np.searchsorted(below * most, np.arange(1, most + 1) * below[-1], side="left") + 1
    return np.unique(np.concatenate(([0], ends[:-1], [len(weight)])))
