"""A race of models over the same rows: who is surely worse than the best so far is out early.

Rows come in parts of a random order. Of every candidate that is left the loss of each row is known,
so that candidates are compared row by row: what makes a row hard for all of them does not count.
After 16,384 rows that leaves 46 of 310 (1 M rows x 54), 2 of 46 (poker hands) and 11 of 310
(covtype); by the deviations of both 102, 8 and 70, by Hoeffding's bound 168, 11 and 140.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.search.bounds import DELTA, Rule, error
from sqlbn.search.contest import Contest, Estimates
from sqlbn.structure.information import DECIMALS

Array = npt.NDArray[Any]
# Two ways to add up the same loss differ by less; two losses that are told apart when they are
# rounded by more, or less where both are nearly 0: then neither is out.
_SAME = 1000 * 0.1**DECIMALS


@dataclass(frozen=True)
class RaceRule:
    """When a race counts as decided: `delta` is the probability that any decision of it is wrong.

    `tau` is the difference of losses below which one does not care which of two is chosen.
    """

    tau: float = 0.0
    delta: float = DELTA


class ModelRace:
    """Candidates, in the order in which equals are preferred, over `population` rows.

    >>> race = ModelRace(2, 100_000, RaceRule(), looks=1)
    >>> race.look(np.array([[0.1, 0.2] * 500, [0.9, 0.7] * 500]), worst=1.0)
    >>> race.alive.tolist(), race.rows
    ([0], 1000)
    """

    def __init__(self, n_candidates: int, population: int, rule: RaceRule, looks: int) -> None:
        self.alive = np.arange(n_candidates)
        self._population, self._rule = population, rule
        # Wrong is only that the best of all rows is out. It goes out against whichever is the best
        # so far, by chance or by rows of a kind not seen: a share of delta for each of these
        # candidates, looks and reasons, so that together they have no more than delta.
        self._delta = rule.delta / (2 * max(1, n_candidates) * max(1, looks))
        self._losses = np.zeros((n_candidates, 0))
        self._worst, self._tau = 0.0, rule.tau
        # By how much each is worse than the best a row, and how that varies from row to row.
        self._margins, self._deviations = np.zeros(n_candidates), np.zeros(n_candidates)

    @property
    def rows(self) -> int:
        """How many rows have been looked at."""
        return self._losses.shape[1]

    def look(self, losses: Array, worst: float, is_root: bool = False) -> None:
        """One more part: a line of losses for each that is left, in the order of `alive`.

        No row's loss is above `worst`. `is_root`: tau is one of the roots of the mean losses.
        """
        self._losses = np.hstack([self._losses, losses]) if self.rows else losses
        self._worst = worst
        if not self.rows:
            return
        least, self._tau = self._compare(), self._rule.tau
        if is_root:
            self._tau = least - max(math.sqrt(least) - self._tau, 0.0) ** 2
        rule = Rule("normal", max(self._tau, np.finfo(float).tiny), block=1, delta=self._delta)
        contest, n = Contest(len(self.alive), rule), self.rows
        worse, slack = self._margins, np.full(len(self.alive), self._slack(n) / 2)
        verdict = contest.check(
            n, Estimates(-worse, self._deviations * self._unread(n), -worse, slack)
        )
        left = contest.alive
        if verdict is not None:  # decided, or a tie that nobody cares about
            left = np.isin(np.arange(len(left)), verdict.winners)
        self.alive, self._losses = self.alive[left], self._losses[left]
        self._margins, self._deviations = worse[left], self._deviations[left]

    def would_leave(self, n: int) -> Array:
        """Which would be left after so many rows, if these are like the rows so far: a mask."""
        if not self.rows:
            return np.ones(len(self.alive), bool)
        errors = error("normal", n, self._delta, self._deviations * self._unread(n))
        errors = errors + self._slack(n)
        found: Array = self._margins <= errors
        if errors[found].max() < self._tau:
            found = np.arange(len(found)) == np.argmin(self._margins)
        return found

    def _compare(self) -> float:
        """Each with the best, row by row; the mean loss of that.

        One candidate after the other: its rows stay in the cache.
        """
        n = self.rows
        means = self._losses.sum(axis=1) / n
        best = int(np.argmin(means))
        own, squares = self._losses[best], np.zeros(len(means))
        for i, losses in enumerate(self._losses):
            against = losses - own
            squares[i] = float(np.einsum("n,n->", against, against)) / n  # one thread: row_sums.py
        self._margins = means - means[best]
        self._deviations = np.sqrt(np.maximum(squares - self._margins**2, 0.0))
        return float(means[best])

    def _unread(self, n: int) -> float:
        """What is left of an error when so many rows of no more have been looked at."""
        return math.sqrt(max(0.0, 1.0 - n / self._population))

    def _slack(self, n: int) -> float:
        """What rows of a kind that none of n was of may change in a mean of all.

        With probability 1 - delta these are fewer than ln(1/delta) / n of the rows. The normal
        bound knows only of rows that it has seen; a difference may rest on one in a thousand.
        Without it 27, 1 and 2 would be left of the sets above.
        """
        share = min(n / self._population, 1.0)
        if share == 1.0:
            return _SAME
        few = math.log(1 / self._delta) / (-math.log1p(-share) * self._population)
        return self._worst * few + _SAME
