"""Bounds: how far a mean over n rows may be from the truth, and what a user says of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import checked

Array = npt.NDArray[Any]
BoundName = Literal["normal", "hoeffding"]


def checked_bound(name: str) -> BoundName:
    """The bound of that name, or an error that lists them."""
    return cast(BoundName, checked("bound", name))


def check_deltas(delta: float | None, delta_star: float | None) -> None:
    """Refuse probabilities of error that are none, or that say two things."""
    if delta is not None and delta_star is not None:
        raise OptionError(
            f"{opt('delta')} is of one comparison, {opt('delta_star')} of all: give one of them, "
            "not both"
        )
    checked("delta", delta)
    checked("delta_star", delta_star)


def _normal_factor(delta: float) -> float:
    """How many standard errors leave `delta` on one side."""
    return max(0.0, -NormalDist().inv_cdf(delta))


def _hoeffding_factor(delta: float) -> float:
    """How many ranges, over the root of the rows, leave at most `delta` on one side."""
    return math.sqrt(math.log(1 / delta) / 2)


_FACTORS: dict[str, Callable[[float], float]] = {
    "normal": _normal_factor,
    "hoeffding": _hoeffding_factor,
}


def error(bound: BoundName, n: int, delta: float, scale: Array) -> Array:
    """f(n, delta): what a mean of n rows may be too high by, but with probability delta.

    `scale` is the standard deviation of a row's value for the normal bound, its range for
    Hoeffding's.

    >>> error("hoeffding", 1000, 1e-3, np.array([1.0])).round(4)
    array([0.0588])
    """
    found: Array = _FACTORS[bound](delta) * np.asarray(scale, float) / math.sqrt(n)
    return found


def rows_needed(bound: BoundName, wanted: float, delta: float, scale: float) -> int:
    """The inverse of f: rows after which the error is below what is wanted.

    >>> rows_needed("hoeffding", 0.05, 1e-3, 1.0)
    1382
    """
    return max(1, math.ceil((_FACTORS[bound](delta) * scale / wanted) ** 2))


@dataclass(frozen=True)
class Rule:
    """When a decision counts as made.

    Either `delta` is the probability of error of every comparison, and what that comes to for the
    whole search is reported; or `delta_star` is that of the whole search of at most `steps`
    decisions. `tau` is the difference below which one does not care, in the units of the means.
    Rows come in blocks of `block`, one at a time or, `doubling`, as many again as there were: then
    a decision is looked at a logarithm of times only.
    """

    bound: BoundName
    tau: float
    block: int
    delta: float | None = 1e-9
    delta_star: float | None = None
    steps: int = 1
    doubling: bool = False

    def comparison_delta(
        self, comparisons: int, scale: float, look: int = 1, spent: float = 0.0
    ) -> float:
        """The delta of one comparison; `comparisons` is a (b - a) of the paper.

        Of a share of delta_star it is what the looks so far have left, over those still to come.
        These are a guess (who cares more looks longer): all looks together never take more than
        the share, however many they are.
        """
        if self.delta_star is None:
            assert self.delta is not None
            return self.delta
        share = self.delta_star / (self.steps * max(1, comparisons))
        to_come = max(2, look, self.checks(share, scale) - look + 1)
        return (share - spent) / to_come

    def checks(self, share: float, scale: float) -> int:
        """c of the paper: the most often that one decision can be looked at, 1 at least.

        It stands on both sides of its equation, as more looks make every look stricter; it grows
        slowly enough to be found by putting it in again.
        """
        c = 1
        for _ in range(100):
            blocks = math.ceil(rows_needed(self.bound, self.tau, share / c, scale) / self.block)
            again = 1 + (blocks - 1).bit_length() if self.doubling else blocks
            if again <= c:
                break
            c = again
        return c


DELTA = 1e-9
# In nats: about what the paper's 0.05 % is of the log-likelihood of a row in its networks.
TAU = 0.005
BLOCK = 10_000


def given_rule(
    bound: str | None,
    delta: float | None = None,
    delta_star: float | None = None,
    tau: float | None = None,
    block: int | None = None,
) -> Rule | None:
    """The rule of these options for samples that double; None without a bound."""
    said = {"delta": delta, "delta_star": delta_star, "tau": tau, "block": block}
    if bound is None:
        for option, value in said.items():
            if value is not None:
                raise OptionError(f"{opt(option)} requires {opt('bound')}")
        return None
    check_deltas(delta, delta_star)
    checked("tau", tau)
    checked("block", block)
    return Rule(
        checked_bound(bound),
        tau=TAU if tau is None else tau,
        block=BLOCK if block is None else block,
        delta=DELTA if delta is None else delta,
        delta_star=delta_star,
        doubling=True,
    )
