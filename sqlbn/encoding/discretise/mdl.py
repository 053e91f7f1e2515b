"""Fayyad and Irani's discretisation: recursive entropy splits, stopped by a description length."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sqlbn.encoding.discretise.log_factorials import Floats
from sqlbn.encoding.discretise.ordered import Ints, OrderedCells, distinct_neighbours

_LOG2_3 = math.log2(3)


def mdl_partition(counts: npt.ArrayLike) -> Ints:
    """Bounds (ascending, never 0): a cut lies before each of these values.

    `counts` is (values, classes): rows, or their weight, of each class at each distinct value in
    order; rows without a value have no part in it. A set S of N rows is cut in two where the
    entropy left is least, the lowest such cut, if
    `Gain > log2(N - 1)/N + (log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2))/N`, k, k1, k2
    being the numbers of classes that occur in S and its parts; then so are its parts. Entropies
    are compared after rounding to 12 decimals. Only boundary points are candidates: between
    neighbours with the same distribution of classes no cut is best.

    log2(N - 1) is taken as 0 where weights add up to less than 2.
    """
    array = np.asarray(counts)
    if array.ndim != 2:
        raise ValueError(f"counts must have two axes, value and class, not {array.ndim}")
    distinct = distinct_neighbours(array)
    below = OrderedCells(array.astype(np.float64)).below.take(distinct, axis=1)
    found = []
    waiting = [(0, below.shape[1] - 1)]
    while waiting:
        start, end = waiting.pop()
        at = _best_cut(below[:, start : end + 1])
        if at is not None:
            found.append(start + at)
            waiting += [(start, start + at), (start + at, end)]
    return distinct[np.array(sorted(found), dtype=np.intp)]


def _best_cut(below: Floats) -> int | None:
    """After how many cells to cut a set, given its running totals; None: not at all."""
    if below.shape[1] < 3:
        return None
    whole = below[:, -1:] - below[:, :1]
    left = below[:, 1:-1] - below[:, :1]
    # A sum of non-negative terms, bits: N Ent(S). Least at the same cut as the entropy.
    remaining = (_bits(left) + _bits(whole - left)) / whole.sum()
    best = int(remaining.round(12).argmin())
    parts = [whole[:, 0], left[:, best], (whole - left)[:, best]]
    return best + 1 if _accepted(*parts) else None


def _accepted(whole: Floats, left: Floats, right: Floats) -> bool:
    """The rule of the minimum description length."""
    rows = float(whole.sum())
    entropy, in_left, in_right = (
        float(_bits(c[:, None])[0] / c.sum()) for c in (whole, left, right)
    )
    k, k_left, k_right = (int((c > 0).sum()) for c in (whole, left, right))
    gain = entropy - (left.sum() * in_left + right.sum() * in_right) / rows
    more_classes = k * _LOG2_3 + math.log2(1 - 2 * 3.0**-k)
    price = math.log2(max(rows - 1, 1.0)) + more_classes
    price += k_left * in_left + k_right * in_right - k * entropy
    return round(float(gain) - price / rows, 12) > 0


def _bits(counts: Floats) -> Floats:
    """N times the entropy of each column of counts, in bits."""
    logs = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
    rows = counts.sum(axis=0)
    row_logs = np.log2(rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(rows * row_logs - (counts * logs).sum(axis=0))
