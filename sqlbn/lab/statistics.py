"""Tests that compare learners: pure functions on losses; which are compared is said elsewhere.

The sign test and ranks need nothing; distributions of t, chi-squared, F, Wilcoxon's and the
studentized range are scipy's, of the extra `lab`.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def has_scipy() -> bool:
    """Whether the tests that need scipy can be made."""
    return importlib.util.find_spec("scipy") is not None


def _scipy_stats() -> Any:
    from scipy import stats

    return stats


# -- two learners ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcomes:
    """On how many data sets one learner is better than another, equal, worse."""

    wins: int
    draws: int
    losses: int

    @property
    def sign_p(self) -> float:
        """Two-tailed binomial sign test; draws are left out."""
        return sign_test(self.wins, self.losses)


def tally(one: Sequence[float], other: Sequence[float], decimals: int | None = None) -> Outcomes:
    """Wins, draws and losses of lower values; with `decimals` what is printed alike is a draw.

    >>> tally([0.1234, 0.2], [0.12338, 0.3]), tally([0.1234, 0.2], [0.12338, 0.3], decimals=3)
    (Outcomes(wins=1, draws=0, losses=1), Outcomes(wins=1, draws=1, losses=0))
    """
    signs = [_sign(a, b, decimals) for a, b in zip(one, other, strict=True)]
    return Outcomes(signs.count(-1), signs.count(0), signs.count(1))


def _sign(one: float, other: float, decimals: int | None) -> int:
    if decimals is not None:
        one, other = float(f"{one:.{decimals}f}"), float(f"{other:.{decimals}f}")
    return (one > other) - (one < other)


def sign_test(wins: int, losses: int) -> float:
    """The probability of so uneven a result where both are as good, in either direction.

    >>> sign_test(9, 1) == 2 * 11 / 1024, sign_test(5, 5), sign_test(0, 0)
    (True, 1.0, 1.0)
    """
    n = wins + losses
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def wilcoxon(one: Sequence[float], other: Sequence[float]) -> float:
    """Signed-rank test, two-tailed; pairs without a difference are left out. 1 where all are."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    if not any(differences):
        return 1.0
    return float(_scipy_stats().wilcoxon(differences, zero_method="wilcox").pvalue)


def corrected_t(differences: Sequence[float], test_share: float) -> float:
    """The resampled t-test of Nadeau and Bengio: training sets of repeated folds overlap.

    `test_share` is the number of test rows over that of training rows. NaN for a single difference.
    """
    n = len(differences)
    if n < 2:
        return math.nan
    mean = math.fsum(differences) / n
    variance = math.fsum((x - mean) ** 2 for x in differences) / (n - 1)
    if variance == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    t = mean / math.sqrt((1 / n + test_share) * variance)
    return float(2 * _scipy_stats().t.sf(abs(t), n - 1))


# -- several learners -----------------------------------------------------------------------------


def ranks(values: Sequence[float]) -> list[float]:
    """1 for the lowest; equal ones share the mean of their places.

    >>> ranks([0.3, 0.1, 0.3, 0.2])
    [3.5, 1.0, 3.5, 2.0]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    found, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def mean_ranks(table: Sequence[Sequence[float]]) -> list[float]:
    """The mean rank of each column over the rows (data sets)."""
    ranked = [ranks(row) for row in table]
    return [math.fsum(column) / len(ranked) for column in zip(*ranked, strict=True)]


@dataclass(frozen=True)
class Friedman:
    """Whether some learners differ on data sets: Friedman's test, and Iman and Davenport's."""

    chi_squared: float
    chi_squared_p: float
    f: float
    f_p: float


def friedman(mean: Sequence[float], n: int) -> Friedman:
    """From mean ranks over n data sets, as in Demšar (2006), without a correction for ties."""
    k = len(mean)
    squares = math.fsum(r * r for r in mean)
    chi = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    rest = n * (k - 1) - chi
    f = (n - 1) * chi / rest if rest > 0 else math.inf
    stats = _scipy_stats()
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))) if n > 1 else math.nan
    return Friedman(chi, float(stats.chi2.sf(chi, k - 1)), f, f_p)


def critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """By how much the mean ranks of two of k learners must differ (Nemenyi)."""
    q = float(_scipy_stats().studentized_range.ppf(1 - alpha, k, math.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n))


def rank_difference_p(one: float, other: float, k: int, n: int) -> float:
    """The probability of two mean ranks so different where both learners are as good (normal)."""
    z = abs(one - other) / math.sqrt(k * (k + 1) / (6 * n))
    return math.erfc(z / math.sqrt(2))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Probabilities adjusted for how many there are (Holm's step-down), in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    found, highest = [0.0] * len(order), 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - step) * probabilities[place]))
        found[place] = highest
    return found


def groups_alike(mean: Sequence[float], difference: float) -> list[tuple[int, ...]]:
    """The largest sets of learners whose mean ranks differ by less than the critical difference.

    Places of learners, the best first; sets of one are left out.

    >>> groups_alike([1.0, 3.0, 1.5, 2.2], 1.0)
    [(0, 2), (2, 3), (3, 1)]
    """
    order = sorted(range(len(mean)), key=mean.__getitem__)
    found: list[tuple[int, ...]] = []
    for start in range(len(order)):
        inside = [p for p in order[start:] if mean[p] - mean[order[start]] < difference]
        if len(inside) > 1 and not any(set(inside) <= set(group) for group in found):
            found.append(tuple(inside))
    return found
