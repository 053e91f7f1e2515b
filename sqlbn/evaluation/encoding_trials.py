"""What the trials of encodings say of all rows: pure arithmetic on losses, no rows are read here.

Leave-one-out does not cut anew for every row, which flatters cuts and groups that the classes made.
So the rows of a trial are split into two halves, and the model of each is tried on the other
(cross-fitting): cut points, counts and structure have not seen the rows that they are judged by.
Counts of the second half in the cuts of the first would still flatter: in the model that is kept,
the same rows make both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.encoding.learn_codebooks import Discretisation
from sqlbn.kinds.losses import Loss
from sqlbn.structure.information import DECIMALS


@dataclass(frozen=True)
class HalfLosses:
    """The mean losses of models of two halves: by leave-one-out, and each on the other half."""

    own: float
    crossed: float


@dataclass(frozen=True)
class Trial:
    """One encoding on some rows: its leave-one-out loss, also on halves, and its number of codes.

    `numeric`: whether another encoding may cut columns otherwise. `parents`: how many go with it,
    where that is chosen.
    """

    encoding: Discretisation
    rows: int
    value: float
    n_codes: int
    numeric: bool
    halves: HalfLosses | None = None
    parents: int | None = None


def pooled(values: Sequence[float], rows: Sequence[int], loss: Loss) -> float:
    """The loss of several parts together: of the RMSE squares are averaged."""
    power = 2 if loss == "rmse" else 1
    total = sum(n * value**power for value, n in zip(values, rows, strict=True))
    mean = total / sum(rows)
    return math.sqrt(mean) if loss == "rmse" else mean


def expected(trial: Trial, trials: Sequence[Trial], rows: int, loss: Loss) -> float:
    """The loss that so many rows would have, without flattery; smaller is better.

    It is that of the halves, and every encoding goes on as it did from the halves to their whole:
    what is left to gain falls with the square root of the rows, as errors of estimates do.
    """
    if trial.halves is None:
        return _rounded(_sign(loss) * trial.value)
    left = 1 - math.sqrt(trial.rows / 2 / rows)
    last = min(_gain(t, loss) for t in (trial, _grows_like(trial, trials)))
    gained = last * left / (1 - math.sqrt(1 / 2))
    return _rounded(_sign(loss) * trial.halves.crossed - gained)


def _gain(trial: Trial, loss: Loss) -> float:
    """How much smaller twice the rows made the loss; that more rows do harm is noise."""
    assert trial.halves is not None
    return max(0.0, _sign(loss) * (trial.halves.own - trial.value))


def _grows_like(trial: Trial, trials: Sequence[Trial]) -> Trial:
    """The trial that an encoding does not gain more than by more rows: the more codes, the larger.

    Of supervised cuts a gain cannot be told from flattery, so it is at most that of equal frequency
    with about as many codes.
    """
    fair = [t for t in trials if not t.encoding.is_supervised]
    if not trial.encoding.is_supervised or not fair:
        return trial
    return min(fair, key=lambda t: abs(t.n_codes - trial.n_codes))


def seen(full: Trial, tried: Trial, loss: Loss) -> float:
    """The loss of all rows when they have been seen, and what the trial says of its flattery."""
    halves = tried.halves
    flattery = halves.crossed - halves.own if halves is not None else 0.0
    return _rounded(_sign(loss) * (full.value + flattery))


def as_loss(rank: float, loss: Loss) -> float:
    """The loss that was made one where smaller is better."""
    return _sign(loss) * rank


def _sign(loss: Loss) -> float:
    return -1.0 if loss == "mcc" else 1.0


def _rounded(value: float) -> float:
    # The last bits of a parallel sum do not decide.
    return round(value, DECIMALS)


def is_known(encoding: Discretisation, trials: Sequence[Trial]) -> bool:
    """Whether another trial was the same: without quantities only grouping makes a difference."""
    plain = [t for t in trials if not t.encoding.groups_values]
    return bool(plain) and not plain[0].numeric and not encoding.groups_values
