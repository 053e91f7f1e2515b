"""Logarithms of factorials, binomials and numbers of set partitions, for arrays of counts.

Counts may be fractional (frequency weights): n! is then Gamma(n + 1). Natural logarithms.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Looking up ln n! costs a fifth of Stirling's series. The table grows by doubling up to this size
# (16 MB); larger counts are few in any column, since they add up to the number of rows.
MOST_TABULATED = 2**21
# From here on the series below is exact to the last bit or two.
_STIRLING_FROM = 16
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _stirling_tail(x: Floats) -> Floats:
    """The series in 1/x that corrects Stirling's formula."""
    square = (1.0 / x) ** 2
    tail = np.asarray(square * _STIRLING[-1])
    for term in _STIRLING[-2:0:-1]:
        tail = (tail + term) * square
    return np.asarray((tail + _STIRLING[0]) / x)


def _stirling(x: Floats) -> Floats:
    """ln Gamma(x) for x >= 16."""
    return (x - 0.5) * np.log(x) - x + (_HALF_LOG_2PI + _stirling_tail(x))


def log_gamma(x: npt.ArrayLike) -> Floats:
    """ln Gamma(x) of positive numbers, to a few 1e-15 of max(1, ln Gamma(x))."""
    given = np.asarray(x, dtype=np.float64)
    flat = np.atleast_1d(given)
    small = flat < _STIRLING_FROM
    if not small.any():
        return _stirling(flat).reshape(given.shape)
    found = _stirling(np.where(small, flat + _STIRLING_FROM, flat))
    low = flat[small]
    product = np.ones_like(low)
    for step in range(_STIRLING_FROM):
        product *= low + step
    found[small] -= np.log(product)
    return found.reshape(given.shape)


@lru_cache(maxsize=1)
def _table(size: int) -> Floats:
    table = log_gamma(np.arange(1, size + 1))
    table[:64] = [math.log(math.factorial(n)) for n in range(64)]
    table.setflags(write=False)
    return table


def _table_for(largest: int) -> Floats:
    """A table of ln n! that holds `largest`, or the largest one allowed; never a smaller one."""
    size = max(1024, min(MOST_TABULATED, 1 << largest.bit_length()))
    if _sizes[0] < size:
        _sizes[0] = size
    return _table(_sizes[0])


_sizes = [0]


def log_factorial(n: npt.NDArray[Any]) -> Floats:
    """ln n! of counts of any shape; an integer type says that the counts are whole.

    >>> log_factorial(np.array([0, 1, 4])).round(6).tolist()
    [0.0, 0.0, 3.178054]
    """
    if n.size == 0 or n.dtype.kind not in "iu":
        return log_gamma(np.asarray(n, dtype=np.float64) + 1.0)
    largest = int(n.max())
    table = _table_for(largest)
    if largest < len(table):
        return table.take(n)
    found = table.take(n, mode="clip")
    large = n >= len(table)
    found[large] = _stirling(n[large] + 1.0)
    return found


def log_rising(a: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """ln Gamma(a + k) - ln Gamma(a) for a > 0, k >= 0.

    With a in the millions the plain difference keeps six digits fewer than its terms; here the
    leading terms of Stirling's formula are subtracted on paper.
    """
    low, step = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(k, np.float64))
    if low.size == 0 or low.min() < _STIRLING_FROM:
        return log_gamma(low + step) - log_gamma(low)
    high = low + step
    tails = _stirling_tail(high) - _stirling_tail(low)
    found = step * np.log(high) + (low - 0.5) * np.log1p(step / low) - step + tails
    return np.asarray(found)


def log_binomial(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """ln C(n, k) for real n >= k >= 0.

    >>> np.exp(log_binomial([5, 4], [2, 0])).round(6).tolist()
    [10.0, 1.0]
    """
    chosen = np.asarray(k, np.float64)
    found = log_rising(np.asarray(n, np.float64) - chosen + 1.0, chosen) - log_gamma(chosen + 1.0)
    return np.where(chosen == 0, 0.0, found)


def log_partitions(values: int, most: int) -> Floats:
    """ln B(values, I) for I = 1..most: in how many ways values fall into at most I groups.

    B(V, I) = sum over j <= I of (j^V / j!) * d(I - j), d(m) = 1/0! - 1/1! + ... +- 1/m!. Every
    d is in [0, 1], so unlike the usual formula for Stirling numbers nothing cancels, and one
    formula serves all V: I = 1 gives 0, I = V the Bell number. d(m) is 1/e to the last bit from
    m = 18 on, so the sum is a running one, corrected in its last terms. Exact to about 1e-15 of
    its value and not falling in I.

    >>> np.exp(log_partitions(4, 4)).round(6).tolist()
    [1.0, 8.0, 14.0, 15.0]
    """
    most = min(most, values)
    if most < 1:
        return np.zeros(0)
    j = np.arange(1, most + 1)
    terms = values * np.log(j) - log_factorial(j)
    alternating = np.cumsum([(-1) ** i / math.factorial(i) for i in range(20)])
    alternating[1] = 0.0
    earlier = np.full(most, -np.inf)
    if most > 20:
        earlier[20:] = np.logaddexp.accumulate(terms)[:-20] - 1.0
    total = earlier
    for lag, share in enumerate(alternating):
        if share > 0 and lag < most:
            total[lag:] = np.logaddexp(total[lag:], terms[: most - lag] + math.log(share))
    total[0] = 0.0
    return np.maximum.accumulate(total)
