"""SelectCandidates and its bounds: what they promise, on made-up streams of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlbn.errors import OptionError
from sqlbn.search.bounds import (
    BoundName,
    Rule,
    checked_bound,
    error,
    rows_needed,
)
from sqlbn.search.contest import Contest, ContestResult, Estimates

bounds = st.sampled_from(["normal", "hoeffding"])
deltas = st.floats(1e-12, 0.4)
scales = st.floats(0.01, 50.0)


def told(means: np.ndarray, deviation: float = 1.0, **more: Any) -> Estimates:
    n = len(means)
    usual: dict[str, Any] = {
        "observed": means,
        "slack": np.zeros(n),
        "ranges": np.full(n, deviation),
    }
    return Estimates(means, np.full(n, deviation), **{**usual, **more})


# ---- the bounds


@given(bound=bounds, delta=deltas, scale=scales, wanted=st.floats(0.001, 2.0))
def test_the_rows_needed_are_the_inverse_of_the_error(
    bound: BoundName, delta: float, scale: float, wanted: float
) -> None:
    n = rows_needed(bound, wanted, delta, scale)
    assert error(bound, n, delta, np.array([scale]))[0] <= wanted * (1 + 1e-9)
    if n > 1:
        assert error(bound, n - 1, delta, np.array([scale]))[0] > wanted * (1 - 1e-9)


@pytest.mark.parametrize(
    ("bound", "delta", "factor"),
    [
        ("normal", 0.0227501319481792, 2.0),
        ("normal", 0.5, 0.0),
        ("hoeffding", math.exp(-2), 1.0),
        ("hoeffding", 1e-9, math.sqrt(9 * math.log(10) / 2)),
    ],
)
def test_errors_by_hand(bound: BoundName, delta: float, factor: float) -> None:
    found = error(bound, 400, delta, np.array([1.0, 3.0]))
    assert found == pytest.approx([factor / 20, 3 * factor / 20])


@given(
    bound=bounds,
    share=st.floats(1e-12, 0.1),
    scale=st.floats(0.1, 20.0),
    tau=st.floats(0.005, 0.5),
    block=st.integers(1, 10_000),
    doubling=st.booleans(),
)
def test_c_is_the_least_that_is_large_enough_for_itself(
    bound: BoundName, share: float, scale: float, tau: float, block: int, doubling: bool
) -> None:
    rule = Rule(bound, tau=tau, block=block, doubling=doubling)

    def needed(c: int) -> int:
        """Looks until the error is below tau when each has the share of c looks."""
        rows, looks, seen = rows_needed(bound, tau, share / c, scale), 1, block
        if not doubling:
            return math.ceil(rows / block)
        while seen < rows:
            looks, seen = looks + 1, 2 * seen
        return looks

    c = rule.checks(share, scale)
    assert needed(c) <= c
    # What is needed grows with c, so of all smaller ones the next is nearest to being enough.
    assert c == 1 or needed(c - 1) > c - 1


def test_the_delta_of_a_search_is_shared_by_steps_comparisons_and_looks() -> None:
    rule = Rule("hoeffding", tau=0.1, block=100, delta_star=0.01, steps=5)
    share = 0.01 / (5 * 12)
    assert rule.comparison_delta(12, 1.0) == share / rule.checks(share, 1.0)
    assert Rule("normal", tau=0.1, block=100, delta=0.03).comparison_delta(12, 1.0) == 0.03


def test_a_bound_must_be_known() -> None:
    assert checked_bound("normal") == "normal"
    with pytest.raises(OptionError, match="bound='gauss': choose normal or hoeffding"):
        checked_bound("gauss")


# ---- contests


def test_several_are_chosen() -> None:
    contest = Contest(5, Rule("normal", tau=0.01, block=100, delta=1e-3), choose=2)
    means = np.array([0.1, 0.9, 0.2, 0.8, 0.7])
    verdict = contest.check(10_000, told(means))
    assert verdict is not None
    assert set(verdict.winners) == {1, 3}
    assert (verdict.reason, verdict.candidates, verdict.checks) == ("bound", 5, 1)
    assert verdict.margin == pytest.approx(0.1)  # the fourth best against the third
    assert verdict.delta == pytest.approx(1e-3 * 1 * 2 * 3)


def test_what_is_spent_grows_with_the_looks() -> None:
    contest = Contest(3, Rule("normal", tau=1e-6, block=100, delta=1e-4))
    means = np.array([0.50, 0.49, 0.0])
    assert contest.check(100, told(means)) is None
    assert contest.check(200, told(means)) is None
    verdict = contest.check(300, told(means), exhausted=True)
    assert verdict is not None
    assert (verdict.reason, verdict.winners, verdict.rows) == ("exhausted", (0,), 300)
    assert verdict.delta == pytest.approx(1e-4 * 3 * 2)


def test_ties_go_by_the_observed_value_and_of_equals_to_the_first() -> None:
    means, rule = np.array([0.5, 0.5001, 0.1]), Rule("normal", tau=0.01, block=1, delta=1e-3)
    observed = np.array([7.0, 5.0, 9.0])
    verdict = Contest(3, rule).check(10**6, told(means, observed=observed))
    assert verdict is not None  # the third lost by the bound: what is observed of it is no matter
    assert (verdict.reason, verdict.winners) == ("tie", (0,))
    equal = Contest(3, rule).check(10**6, told(np.array([0.1, 0.5, 0.5])))
    assert equal is not None
    assert (equal.reason, equal.winners) == ("tie", (1,))


def test_a_tie_elsewhere_does_not_undo_what_is_decided() -> None:
    means = np.array([0.9, 0.5, 0.4999])
    observed = np.array([0.1, 0.2, 0.3])  # another order than that of the means
    rule = Rule("normal", tau=0.01, block=1, delta=1e-3)
    verdict = Contest(3, rule, choose=2).check(10**6, told(means, observed=observed))
    assert verdict is not None
    assert (verdict.reason, set(verdict.winners)) == ("tie", {0, 2})


@pytest.mark.parametrize("choose", [2, 3])
def test_where_all_are_chosen_nothing_is_decided_or_spent(choose: int) -> None:
    rule = Rule("normal", tau=0.01, block=1)
    verdict = Contest(2, rule, choose).check(10, told(np.array([0.1, 0.2])))
    assert verdict is not None
    assert (set(verdict.winners), verdict.delta) == ({0, 1}, 0.0)


def test_slack_and_correlation_widen_and_narrow_the_error() -> None:
    means, rule = np.array([0.52, 0.5]), Rule("normal", tau=1e-9, block=1, delta=0.0227501319481792)
    # Two standard errors of a difference whose deviation is 1 + 1 at most.
    assert Contest(2, rule).check(10_000, told(means)) is None
    alike = Estimates(
        means, np.ones(2), means, np.zeros(2), correlation=lambda one, others: np.array([0.9])
    )
    verdict = Contest(2, rule).check(10_000, alike)
    assert verdict is not None
    assert verdict.error == pytest.approx(0.02 * math.sqrt(0.2))
    unsure = Estimates(means, np.full(2, 1e-9), means, np.full(2, 0.011))
    assert Contest(2, rule).check(40_000, unsure) is None


def test_the_next_look_waits_for_the_rows_that_it_needs_at_least() -> None:
    contest = Contest(2, Rule("normal", tau=0.001, block=1, delta=0.0227501319481792))
    assert contest.check(100, told(np.array([0.55, 0.5]))) is None
    assert contest.next_look == pytest.approx(100 * 0.4 / 0.05)  # error over margin
    assert contest.check(100, told(np.array([0.5, 0.5]))) is None
    assert contest.next_look == pytest.approx(100 * 0.4 / 0.001)  # and over tau


rows_of = st.integers(2, 6).flatmap(
    lambda b: st.tuples(st.integers(1, b - 1), st.lists(st.floats(0, 1), min_size=b, max_size=b))
)


@settings(max_examples=60, deadline=None)
@given(case=rows_of, seed=st.integers(0, 99), bound=bounds, sigma=st.floats(0.01, 1.0))
def test_winners_are_never_among_the_dropped_and_are_the_best_of_the_living(
    case: tuple[int, list[float]], seed: int, bound: BoundName, sigma: float
) -> None:
    choose, true = case
    contest = Contest(len(true), Rule(bound, tau=0.02, block=100, delta=0.01), choose)
    verdict, means = race(contest, np.array(true), sigma, np.random.default_rng(seed), 8)
    assert len(set(verdict.winners)) == choose
    assert contest.alive[list(verdict.winners)].all()
    worst = min(means[list(verdict.winners)])
    rest = [m for i, m in enumerate(means) if i not in verdict.winners]
    assert max(rest, default=-math.inf) <= worst + 1e-12
    assert verdict.delta == pytest.approx(0.01 * verdict.checks * choose * (len(true) - choose))


def race(
    contest: Contest,
    true: np.ndarray,
    sigma: float,
    rng: np.random.Generator,
    looks: int,
    independent: bool = False,
) -> tuple[ContestResult, np.ndarray]:
    """Feed blocks of rows until there is a verdict; a row's values are uniform around the means."""
    b, width = len(true), sigma * math.sqrt(12)
    sums, n, block = np.zeros(b), 0, contest.rule.block
    known = {"correlation": lambda one, others: np.zeros(len(others))} if independent else {}
    for look in range(1, looks + 1):
        rows = true + rng.uniform(-width / 2, width / 2, (block, b))
        sums, n = sums + rows.sum(axis=0), n + block
        found = told(sums / n, sigma, ranges=np.full(b, width), **known)
        verdict = contest.check(n, found, exhausted=look == looks)
        if verdict is not None:
            return verdict, sums / n
    raise AssertionError("a contest without a verdict")


@pytest.mark.parametrize(
    ("bound", "choose", "looks"),
    [("normal", 1, 1), ("normal", 1, 6), ("normal", 2, 6), ("hoeffding", 1, 6)],
)
def test_few_decisions_by_the_bound_are_wrong(bound: BoundName, choose: int, looks: int) -> None:
    """With a loose delta and hardly any difference the wrong ones are still no more than said."""
    rng, runs, delta = np.random.default_rng(7), 1000, 0.05
    true = np.array([0.5, 0.499, 0.498])
    if choose == 1:
        true = true[:2]
    wrong = right = 0
    for _ in range(runs):
        contest = Contest(len(true), Rule(bound, tau=1e-9, block=40, delta=delta), choose)
        verdict, _ = race(contest, true, 0.3, rng, looks, independent=True)
        if verdict.reason == "bound":
            wrong += set(verdict.winners) != set(range(choose))
            right += set(verdict.winners) == set(range(choose))
    allowed = delta * looks * choose * (len(true) - choose)
    assert wrong / runs <= allowed
    # The bound of a single look is no more careful than it says; Hoeffding's knows no deviation.
    assert wrong / runs >= (0.6 * delta if bound == "normal" else 0.0)
    assert right > 0 or bound == "hoeffding"
