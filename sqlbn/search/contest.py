"""SelectCandidates: the best of some candidates, told from as few rows as the bound allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sqlbn.search.bounds import Rule, error

Array = npt.NDArray[Any]
Reason = Literal["bound", "tie", "exhausted"]
# Correlation of candidate `one` with each of `others`, over rows: values from -1 to 1.
Correlation = Callable[[int, Array], Array]
# A probability may be so many times smaller than the smallest that was seen: the small integer of
# the paper's range for Hoeffding's bound.
UNSEEN_FACTOR = 2.0


def _unknown(one: int, others: Array) -> Array:
    """Nothing is known of how two candidates go together: the worst is assumed."""
    return np.full(len(others), -1.0)


@dataclass(frozen=True)
class Estimates:
    """What n rows say of candidates, each a mean over rows against the same base.

    `deviations` are those of a row's value (for Hoeffding's bound `ranges`), `slack` by how much a
    mean may be off besides chance, `observed` what decides where nobody cares. `care` says how many
    times more one cares about a candidate: tau is divided by it.
    """

    means: Array
    deviations: Array
    observed: Array
    slack: Array
    ranges: Array | None = None
    care: Array | None = None
    correlation: Correlation = _unknown


@dataclass(frozen=True)
class ContestResult:
    """The winners, and how sure that is."""

    winners: tuple[int, ...]
    reason: Reason
    candidates: int
    rows: int
    checks: int
    margin: float
    error: float
    delta: float


class Contest:
    """One decision: `choose` of `n_candidates` are to be found.

    `check` is asked after every block, until it gives a verdict. `alive` says which candidates
    still matter: those that lost by more than the bound are dropped, so the caller need not follow
    them any longer.

    >>> from sqlbn.search.bounds import Rule
    >>> contest = Contest(3, Rule("normal", tau=0.01, block=100))
    >>> none = np.zeros(3)
    >>> means = np.array([0.1, 0.5, 0.3])
    >>> contest.check(100, Estimates(means, np.ones(3), means, none))
    >>> contest.check(10_000, Estimates(means, np.ones(3), means, none)).winners
    (1,)
    """

    def __init__(self, n_candidates: int, rule: Rule, choose: int = 1) -> None:
        self.rule, self.choose = rule, choose
        self.n_candidates = n_candidates
        self.alive = np.ones(n_candidates, bool)
        self.checks = 0
        # Rows before which another look is hardly worth its delta: an error falls at most in
        # proportion to the rows.
        self.next_look = 1.0
        self._spent = 0.0  # by one comparison, in all looks

    def drop(self, candidates: Array) -> None:
        """Take candidates out that can no longer be chosen."""
        self.alive[candidates] = False

    @property
    def delta_spent(self) -> float:
        """What the looks so far have cost."""
        return self._spent * self._comparisons

    def check(self, n: int, estimates: Estimates, exhausted: bool = False) -> ContestResult | None:
        """The verdict of n rows, or None where more are needed."""
        self.checks += 1
        self.next_look = 1.0
        delta = self._delta(estimates)
        self._spent += delta
        alive = np.flatnonzero(self.alive)
        # Stable: of equals the one that was named first.
        ranked = alive[np.argsort(-estimates.means[alive], kind="stable")]
        winners, rest = ranked[: self.choose], ranked[self.choose :]
        if not len(rest):
            return self._verdict(winners, "bound", n, np.inf, 0.0)
        lost_to = np.zeros(len(rest), int)
        open_error, margin, worst = 0.0, np.inf, 0.0
        undecided, sure = np.zeros(len(rest), bool), np.ones(len(winners), bool)
        for place, winner in enumerate(winners):
            margins = estimates.means[winner] - estimates.means[rest]
            errors = self._errors(n, delta, estimates, int(winner), rest, margins)
            beaten = margins > errors
            lost_to += beaten
            undecided |= ~beaten
            care = 1.0
            if estimates.care is not None:
                care = np.maximum(estimates.care[winner], estimates.care[rest])
            sure[place] = beaten.all()
            short = errors / np.maximum(margins, self.rule.tau / care)
            self.next_look = max(self.next_look, n * float(short[~beaten].max(initial=0.0)))
            open_error = max(open_error, float((care * errors)[~beaten].max(initial=0.0)))
            closest = int(np.argmin(margins - errors))
            if margins[closest] - errors[closest] < margin - worst or margin == np.inf:
                margin, worst = float(margins[closest]), float(errors[closest])
        self.drop(rest[lost_to >= self.choose])
        if not undecided.any():
            return self._verdict(winners, "bound", n, margin, worst)
        if open_error < self.rule.tau or exhausted:
            reason: Reason = "tie" if open_error < self.rule.tau else "exhausted"
            # What is decided stays so; the observed values speak of the rest.
            open_ = np.append(winners[~sure], rest[undecided])
            chosen = np.append(winners[sure], self._observed_best(estimates, open_, sum(~sure)))
            return self._verdict(chosen, reason, n, margin, worst)
        return None

    @property
    def _comparisons(self) -> int:
        """a (b - a) of the paper; none where all are chosen."""
        return self.choose * max(0, self.n_candidates - self.choose)

    def _delta(self, estimates: Estimates) -> float:
        if self.rule.bound == "hoeffding":
            assert estimates.ranges is not None
            scale = 2 * float(estimates.ranges.max(initial=0.0))
        else:
            scale = 2 * float(estimates.deviations.max(initial=0.0))
        return self.rule.comparison_delta(self._comparisons, scale, self.checks, self._spent)

    def _errors(
        self, n: int, delta: float, estimates: Estimates, one: int, others: Array, margins: Array
    ) -> Array:
        """By how much a margin may be too high."""
        slack = estimates.slack[one] + estimates.slack[others]
        if self.rule.bound == "hoeffding":
            assert estimates.ranges is not None
            ranges = estimates.ranges[one] + estimates.ranges[others]
            hoeffding: Array = error("hoeffding", n, delta, ranges) + slack
            return hoeffding
        first, second = estimates.deviations[one], estimates.deviations[others]
        errors: Array = error("normal", n, delta, first + second) + slack
        # Only where the worst case does not settle it is it worth knowing how the two go together.
        near = np.flatnonzero((margins <= errors) & (errors >= slack))
        if len(near):
            r = estimates.correlation(one, others[near])
            variance = first**2 + second[near] ** 2 - 2 * r * first * second[near]
            errors[near] = error("normal", n, delta, np.sqrt(np.maximum(variance, 0.0)))
            errors[near] += slack[near]
        return errors

    def _observed_best(self, estimates: Estimates, open_: Array, wanted: int) -> Array:
        open_ = np.sort(open_)
        order = np.argsort(-estimates.observed[open_], kind="stable")
        found: Array = open_[order[:wanted]]
        return found

    def _verdict(
        self, winners: Array, reason: Reason, n: int, margin: float, worst: float
    ) -> ContestResult:
        return ContestResult(
            tuple(int(w) for w in winners),
            reason,
            self.n_candidates,
            n,
            self.checks,
            margin,
            worst,
            self.delta_spent,
        )
