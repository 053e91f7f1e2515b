"""Measures of a confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence


def matthews(confusion: Sequence[Sequence[float]]) -> float:
    """The multi-class Matthews correlation; 0 where all rows are of one class or predicted so.

    >>> matthews([[2, 0], [0, 3]])
    1.0
    """
    n = range(len(confusion))
    truth = [math.fsum(confusion[i]) for i in n]
    guess = [math.fsum(confusion[i][j] for i in n) for j in n]
    total = math.fsum(truth)
    correct = math.fsum(confusion[i][i] for i in n)
    above = correct * total - math.fsum(t * g for t, g in zip(truth, guess, strict=True))
    below = (total**2 - math.fsum(g * g for g in guess)) * (
        total**2 - math.fsum(t * t for t in truth)
    )
    return above / math.sqrt(below) if below > 0 else 0.0


def against_rest(confusion: Sequence[Sequence[float]], code: int) -> list[list[float]]:
    """The confusion of all other classes, as one, and the class.

    >>> against_rest([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1)
    [[20.0, 10.0], [10.0, 5.0]]
    """
    sides = ([i for i in range(len(confusion)) if i != code], [code])
    return [[math.fsum(confusion[i][j] for i in y for j in z) for z in sides] for y in sides]
