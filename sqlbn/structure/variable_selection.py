"""Bayesian selection of variables for naive Bayes: paper 3, Algorithm 2, and the average of models.

Pure search: what a subset of variables makes of the rows is asked of somebody else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sqlbn.structure.information import DECIMALS

# Successions of forward and backward steps in one start; two come close to convergence.
MAX_ITERATIONS = 2


class Rows(Protocol):
    """The log loss of naive Bayes with a subset of variables, one variable at a time."""

    def clear(self) -> float:
        """Start with no variable; the loss of the prior alone."""

    def toggled(self, variable: int) -> float:
        """The loss with a variable added, or without one that is in."""

    def accept(self) -> None:
        """Keep what was tried last."""


@dataclass(frozen=True)
class Selected:
    """The best subset, a weight in [0, 1] for every variable, and what the search cost.

    `cost` is that of the best subset, `null_cost` that of none.
    """

    best: frozenset[int]
    weights: tuple[float, ...]
    cost: float
    null_cost: float
    evaluations: int


def prior_cost(n_variables: int, n_selected: int) -> float:
    """-ln of the prior of a subset: its size, then its variables with repetition."""
    more = n_variables + n_selected - 1
    choices = (
        math.lgamma(more + 1) - math.lgamma(n_selected + 1) - math.lgamma(n_variables)
        if n_selected
        else 0.0
    )
    return math.log(n_variables + 1) + choices


def n_starts(n_variables: int, total: float) -> int:
    """How often the search starts anew: log2(K N), at least once."""
    return max(1, math.ceil(math.log2(max(n_variables * total, 1))))


@dataclass
class _Models:
    """All models that were evaluated, as far as their average needs them."""

    null_cost: float
    mass: npt.NDArray[np.float64]
    total: float = 0.0
    evaluations: int = 0
    members: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.members = np.zeros(len(self.mass), bool)

    def evaluated(self, cost: float, variable: int) -> None:
        """A model that differs from the current one in one variable."""
        self.evaluations += 1
        compression = 1 - cost / self.null_cost if self.null_cost else 0.0
        if compression <= 0:
            return
        self.members[variable] ^= True
        self.mass[self.members] += compression
        self.members[variable] ^= True
        self.total += compression

    @property
    def weights(self) -> tuple[float, ...]:
        """The share of compression that each variable takes part in."""
        if not self.total:
            return (0.0,) * len(self.mass)
        return tuple(float(round(m / self.total, DECIMALS)) for m in self.mass)


def select_variables(
    rows: Rows,
    n_variables: int,
    total: float,
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> Selected:
    """Repeated fast forward and backward selection from random orders of the variables."""
    rng = random.Random(seed)
    null_cost = _rounded(prior_cost(n_variables, 0) + rows.clear())
    models = _Models(null_cost, np.zeros(n_variables))
    best, best_cost = frozenset[int](), null_cost
    for _ in range(n_starts(n_variables, total)):
        rows.clear()
        models.members[:] = False
        cost = null_cost
        for _ in range(MAX_ITERATIONS):
            before = cost
            cost = _pass(rows, models, cost, rng, adding=True)
            cost = _pass(rows, models, cost, rng, adding=False)
            if cost == before:
                break
        if cost < best_cost:
            best, best_cost = frozenset(np.flatnonzero(models.members).tolist()), cost
        advance()
    return Selected(best, models.weights, best_cost, null_cost, models.evaluations)


def _pass(rows: Rows, models: _Models, cost: float, rng: random.Random, adding: bool) -> float:
    """Try every variable once, in a random order; the cost of what is kept."""
    n_variables = len(models.mass)
    for variable in rng.sample(range(n_variables), n_variables):
        if bool(models.members[variable]) == adding:
            continue
        size = int(models.members.sum()) + (1 if adding else -1)
        trial = _rounded(prior_cost(n_variables, size) + rows.toggled(variable))
        models.evaluated(trial, variable)
        if trial < cost:
            cost = trial
            models.members[variable] = adding
            rows.accept()
    return cost


def _rounded(cost: float) -> float:
    """Costs as they are compared: the last bits of a sum must not decide."""
    return round(cost, 6)
