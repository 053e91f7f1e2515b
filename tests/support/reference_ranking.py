"""AUC and area over the precision-recall curve again, by looking at every pair of rows."""

import math
from collections.abc import Sequence
from fractions import Fraction

from reference import TIE, Judged

Scored = tuple[bool, Fraction, Fraction]  # of the class, P(class), weight


def rankings(
    judged: Sequence[Judged], n_classes: int, positive: int | None = None
) -> dict[str, float]:
    """The figures of the positive class (of two the second), without one the mean over those with
    rows and others; NaN where there is no such class."""
    found = []
    all_or_second = {1: (), 2: (1,)}.get(n_classes, range(n_classes))
    for z in all_or_second if positive is None or n_classes < 2 else (positive,):
        rows = [(y == z, Fraction(p[z]), Fraction(w)) for y, p, w in judged]
        if len({own for own, _, _ in rows}) == 2:
            found.append((auc(rows), 1 - average_precision(rows)))
    if not found:
        return {"auc": math.nan, "aoprc": math.nan}
    means = [float(sum(column) / len(found)) for column in zip(*found, strict=True)]
    return dict(zip(("auc", "aoprc"), means, strict=True))


def order(p: Fraction, q: Fraction) -> int:
    """1 where p is the higher probability, -1 where q is, 0 where their odds are a tie."""
    one, other = p * (1 - q), q * (1 - p)
    if abs(one - other) <= TIE * max(one, other):
        return 0
    return 1 if one > other else -1


def auc(rows: Sequence[Scored]) -> Fraction:
    own = [(p, w) for mine, p, w in rows if mine]
    other = [(q, v) for mine, q, v in rows if not mine]
    won = sum(w * v * Fraction(1 + order(p, q), 2) for p, w in own for q, v in other)
    return Fraction(won) / (sum(w for _, w in own) * sum(v for _, v in other))


def average_precision(rows: Sequence[Scored]) -> Fraction:
    """The mean, over the rows of the class, of the precision among rows that score no lower."""
    total = Fraction(0)
    for mine, p, w in rows:
        if mine:
            above = [(own, v) for own, q, v in rows if order(q, p) >= 0]
            total += w * sum(v for own, v in above if own) / sum(v for _, v in above)
    return total / sum(w for mine, _, w in rows if mine)
