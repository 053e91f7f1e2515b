"""AnDE by brute force in plain Python, to check sqlbn against; goes with reference.py.

Counts are exact, every probability is a Fraction, and every sum is taken as the page SEMANTICS
writes it: no term is shared, nothing is cancelled. MI weights are floats after rounding.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import reference
from reference import Cells, Codes, Judged, Row

Subset = tuple[int, ...]  # attributes by their position, ascending


@dataclass(frozen=True)
class Ande:
    model: reference.Model  # codes, counts by row, MI and its order
    n: int
    kept: Subset  # the attributes in use
    subsumption: bool
    weighted: bool
    min_count: int
    weights: dict[Subset, Fraction]  # w_s of all subsets of up to n attributes, also those not kept

    @property
    def target(self) -> str:
        return self.model.target

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.model.classes

    @property
    def table(self) -> dict[tuple[Codes, int], float]:
        return self.model.table


def fit(
    rows: Sequence[Row],
    names: Sequence[str],
    target: str,
    n: int = 1,
    subsumption: bool = False,
    weighted: bool = False,
    min_count: int = 100,
    attributes: int | None = None,
    **options: Any,
) -> Ande:
    """Learn from rows; attributes: how many of the highest MI are used; options: reference.fit."""
    model = reference.fit(rows, names, target, **options)
    kept = first(model, len(model.order) if attributes is None else attributes)
    d = range(len(model.attributes))
    weights = {
        s: Fraction(round(information(model, s), reference.DECIMALS)) if weighted else Fraction(1)
        for size in range(1, n + 1)
        for s in combinations(d, size)
    }
    weights[()] = Fraction(1)  # naive Bayes is never weighted
    return Ande(model, n, kept, subsumption, weighted, min_count, weights)


def first(model: reference.Model, length: int) -> Subset:
    """The first attributes in MI order, by position."""
    return tuple(sorted(model.order[:length]))


def values(codes: Codes, s: Subset) -> Codes:
    return tuple(codes[i] for i in s)


def information(model: reference.Model, s: Subset) -> float:
    """MI(X_s; Y) of the joint variable, in nats, not yet rounded."""
    joint: dict[Any, float] = defaultdict(float)
    for (codes, y), weight in model.table.items():
        joint[(values(codes, s),), y] += weight
    return reference.information(joint, 0, None)


# ---- counts


def tally(ande: Ande, left_out: tuple[Codes, int] | None = None, out: float = 1.0) -> Cells:
    """N(x_s, y) for all sets s of up to n + 1 attributes.

    With left_out, so much of that row's weight is taken away.
    """
    d = range(len(ande.model.attributes))
    subsets = [s for size in range(ande.n + 2) for s in combinations(d, size)]
    n: Cells = defaultdict(float)
    for (codes, y), weight in ande.table.items():
        w = weight - out if (codes, y) == left_out else weight
        for s in subsets:
            n[s, values(codes, s), y] += w
    return defaultdict(float, {cell: w for cell, w in n.items() if w > 0})


def by_class(ande: Ande, n: Cells, s: Subset, codes: Codes) -> list[Fraction]:
    """N(x_s, y) for each y, with the values of a row."""
    s = tuple(sorted(s))
    return [Fraction(n[s, values(codes, s), y]) for y in range(len(ande.classes))]


# ---- estimates


def joint_estimate(ande: Ande, n: Cells, s: Subset, codes: Codes) -> list[Fraction]:
    """P(y, x_s) for each y."""
    m, c = ande.model.m, len(ande.classes)
    total = sum(by_class(ande, n, (), codes), Fraction(0))
    cells = c * math.prod(ande.model.attributes[i].n_values for i in s)
    return [(count + m / cells) / (total + m) for count in by_class(ande, n, s, codes)]


def estimate(ande: Ande, n: Cells, i: int, s: Subset, codes: Codes) -> list[Fraction]:
    """P(x_i | y, x_s) for each y."""
    m, v = ande.model.m, ande.model.attributes[i].n_values
    both, above = by_class(ande, n, (i, *s), codes), by_class(ande, n, s, codes)
    return [(a + m / v) / (b + m) for a, b in zip(both, above, strict=True)]


def remaining(ande: Ande, n: Cells, codes: Codes) -> Subset:
    """The kept attributes but for those whose value generalises another value of the row."""

    def count(*s: int) -> Fraction:
        return sum(by_class(ande, n, s, codes), Fraction(0))

    def goes(i: int, j: int) -> bool:
        implied = count(j) == count(i, j) > ande.min_count
        return implied and (count(i) > count(j) or (count(i) == count(j) and j < i))

    if not ande.subsumption:
        return ande.kept
    return tuple(i for i in ande.kept if not any(goes(i, j) for j in ande.kept if j != i))


def super_parents(ande: Ande, n: Cells, used: Subset, codes: Codes) -> list[Subset]:
    """The subsets that were seen and weigh something, the largest there are, of at most n."""
    for size in range(ande.n, 0, -1):
        found = [
            s
            for s in combinations(used, size)
            if sum(by_class(ande, n, s, codes)) > 0 and ande.weights[s] > 0
        ]
        if found:
            return found
    return [()]


def score(ande: Ande, n: Cells, codes: Codes) -> list[Fraction]:
    """P(y | x) for each y."""
    used = remaining(ande, n, codes)
    if ande.model.unseen == "neutral":  # what no row has is neither super parent nor child
        used = tuple(i for i in used if sum(by_class(ande, n, (i,), codes)) > 0)
    total = [Fraction(0)] * len(ande.classes)
    for s in super_parents(ande, n, used, codes):
        term = [ande.weights[s] * p for p in joint_estimate(ande, n, s, codes)]
        for i in used:
            if i not in s:
                factors = estimate(ande, n, i, s, codes)
                term = [p * f for p, f in zip(term, factors, strict=True)]
        total = [p + q for p, q in zip(total, term, strict=True)]
    return reference.normalised(total)


def probabilities(ande: Ande, rows: Sequence[Row]) -> list[list[Fraction]]:
    n = tally(ande)
    return [score(ande, n, ande.model.codes(row)) for row in rows]


# ---- leave-one-out


def shortened(ande: Ande, length: int) -> Ande:
    """The same learner on the first attributes in MI order alone."""
    return replace(ande, kept=first(ande.model, length))


def loocv_surfaces(ande: Ande) -> dict[str, reference.Surface]:
    """Every loss of AnDE on the first l attributes: surfaces[loss][0][l], for reference.choose.

    Codes, the MI order and the MI weights come from all the rows; counts are retrained.
    """
    lengths = range(len(ande.model.order) + 1)
    judged: list[list[Judged]] = [[] for _ in lengths]
    for codes, y, weight, out in reference.left_out_rows(ande.model):
        n = tally(ande, (codes, y), out)
        for length in lengths:
            judged[length].append((y, score(shortened(ande, length), n, codes), weight))
    found = [reference.losses(rows) for rows in judged]
    return {loss: [[f[loss] for f in found]] for loss in reference.LOSSES}
