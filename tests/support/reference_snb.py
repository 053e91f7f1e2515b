"""Selective naive Bayes in plain Python: probabilities row by row, Algorithm 2 of the paper."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Codes = Sequence[int]


@dataclass(frozen=True)
class Data:
    """Codes of the attributes, classes and weights of rows; how many codes and classes there are.

    `m` is that of the m-estimate, None that of Laplace: as many as there are values. `silent` are
    codes of missing values that count as none.
    """

    rows: Sequence[Codes]
    classes: Sequence[int]
    weights: Sequence[float]
    cards: Sequence[int]
    n_classes: int
    m: Fraction | None = Fraction(1)
    silent: Sequence[int | None] = ()

    def m_of(self, n_values: int) -> Fraction:
        return Fraction(n_values) if self.m is None else self.m

    @property
    def total(self) -> float:
        return math.fsum(self.weights)


def weight_of(data: Data, outcome: int, attribute: int | None = None, code: int = 0) -> Fraction:
    """The weight of the rows of a class, perhaps of those with a value."""
    return sum(
        (
            Fraction(w)
            for row, y, w in zip(data.rows, data.classes, data.weights, strict=True)
            if y == outcome and (attribute is None or row[attribute] == code)
        ),
        Fraction(0),
    )


def prior(data: Data, outcome: int) -> Fraction:
    m = data.m_of(data.n_classes)
    return (weight_of(data, outcome) + m / data.n_classes) / (Fraction(data.total) + m)


def conditional(data: Data, attribute: int, code: int, outcome: int) -> Fraction:
    silent = data.silent[attribute] if data.silent else None
    if code == silent:
        return Fraction(1)
    values = [c for c in range(data.cards[attribute]) if c != silent]
    m = data.m_of(len(values))
    found = [weight_of(data, outcome, attribute, c) for c in values]
    return (found[values.index(code)] + m / len(values)) / (sum(found) + m)


class Reference:
    """What a naive Bayes of some of the attributes makes of its training rows."""

    def __init__(self, data: Data) -> None:
        self.data = data
        y = range(data.n_classes)
        self.prior = [float(prior(data, c)) for c in y]
        self.tables = [
            [[float(conditional(data, a, code, c)) for c in y] for code in range(n)]
            for a, n in enumerate(data.cards)
        ]

    def probabilities(self, row: Codes, subset: Sequence[int]) -> list[float]:
        """P(class | row)."""
        joint = list(self.prior)
        for a in subset:
            joint = [p * q for p, q in zip(joint, self.tables[a][row[a]], strict=True)]
        return [p / sum(joint) for p in joint]

    def loss(self, subset: Sequence[int]) -> float:
        """The weighted sum of -ln P(true class | row)."""
        data = self.data
        return math.fsum(
            -w * math.log(self.probabilities(row, subset)[y])
            for row, y, w in zip(data.rows, data.classes, data.weights, strict=True)
            if w
        )

    def cost(self, subset: Sequence[int]) -> float:
        """The loss and what it takes to tell the subset."""
        k, n = len(self.data.cards), len(subset)
        return math.log(k + 1) + math.log(math.comb(k + n - 1, n)) + self.loss(subset)


@dataclass(frozen=True)
class Found:
    """The best subset with its cost, the weights of attributes, all models that were evaluated."""

    best: frozenset[int]
    cost: float
    weights: list[float]
    evaluated: list[tuple[frozenset[int], float]]


def algorithm_2(
    cost: Callable[[frozenset[int]], float],
    n_variables: int,
    total: float,
    seed: int,
) -> Found:
    """The search of the paper."""
    rng, nothing = random.Random(seed), frozenset[int]()
    models: list[tuple[frozenset[int], float]] = []
    best = nothing

    for _ in range(max(1, math.ceil(math.log2(max(1, n_variables * total))))):
        kept = nothing
        for _ in range(2):
            before = kept
            for change in (frozenset.union, frozenset.difference):
                for variable in rng.sample(range(n_variables), n_variables):
                    trial = change(kept, {variable})
                    if trial == kept:
                        continue
                    models.append((trial, cost(trial)))
                    if cost(trial) < cost(kept):
                        kept = trial
            if kept == before:
                break
        if cost(kept) < cost(best):
            best = kept
    gains = [(model, max(0.0, 1 - value / cost(nothing))) for model, value in models]
    mass = math.fsum(gain for _, gain in gains)
    weights = [
        math.fsum(gain for model, gain in gains if v in model) / mass if mass else 0.0
        for v in range(n_variables)
    ]
    return Found(best, cost(best), weights, models)


def search(data: Data, seed: int) -> Found:
    """The search over the attributes of some rows; costs are compared after rounding."""
    ref, k = Reference(data), len(data.cards)
    cost = functools.cache(lambda subset: round(ref.cost(sorted(subset)), 6))
    return algorithm_2(cost, k, data.total, seed)
