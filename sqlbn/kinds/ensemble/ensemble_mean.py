"""Which mean of its members an ensemble takes: the losses of both, by leave-one-out.

Of some rows: every member tells the probabilities of its classes without the row, as it does where
it is selected, and the means of these are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.kinds.ensemble.members import parts_of
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.losses import LEAST_PROBABILITY, Loss
from sqlbn.kinds.product.array_loo import ArrayLosses
from sqlbn.kinds.product.product_selection import passes_of
from sqlbn.structure.information import DECIMALS
from sqlbn.structure.shape import Shape

Array = npt.NDArray[Any]
Mean = Literal["geometric", "arithmetic"]
MEANS: tuple[Mean, ...] = get_args(Mean)
# What the place of a row is called while members are asked about it.
PLACE = "loo_place"


@dataclass(frozen=True)
class MeanChoice:
    """The mean that is taken, and the loss of each by leave-one-out."""

    mean: Mean
    losses: dict[Mean, dict[Loss, float]]


def choose_mean(
    counts: FamilyCounts,
    members: Sequence[Shape],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    losses: Sequence[Loss],
    sample: int | None,
) -> MeanChoice:
    """Compare the means by the last of some losses; a tie is geometric."""
    session, encoded = counts.workspace.session, counts.encoded
    limits, by = session.limits, losses[-1]
    most = min(limits.mean_rows, max(1, limits.mean_values // len(class_counts)))
    rows = sampled(session, encoded, most if sample is None else min(most, sample))
    try:
        placed = _placed(rows)
        sums = MemberSums()
        for part, shape in zip(parts_of(counts, members), members, strict=True):
            order = [i for i in shape.structure.order if i in shape.families]
            passes = passes_of(
                part, order, class_counts, smoothing, losses, placed, only_whole=True
            )
            depth = max(map(part.depth, order), default=0)
            sums.add(*passes.left_out_logs(depth, PLACE))
    finally:
        if rows is not encoded:
            discard(session, rows)
    found = {mean: sums.losses(mean, losses) for mean in means_of(smoothing)}
    sign = -1 if by == "mcc" else 1
    best = min(found, key=lambda mean: round(sign * found[mean][by], DECIMALS))
    return MeanChoice(best, found)


def means_of(smoothing: Smoothing) -> tuple[Mean, ...]:
    """A geometric mean is a product with exponents, which back-off by parents has not."""
    return MEANS if smoothing.is_hierarchical or smoothing.backoff == "cell" else ("arithmetic",)


def _placed(rows: Encoded) -> Encoded:
    """The rows with their places in a column, in that order where they are read as arrays."""
    items = f"*, {rows.row_number} AS {PLACE}"
    return replace(rows, relation=f"({select_sql(rows.relation, items, order=PLACE)})")


class MemberSums:
    """Sums over members: of the probabilities of left-out rows, and of their logarithms."""

    def __init__(self) -> None:
        self._members = 0

    def add(self, logs: Array, y: Array, w: Array | None) -> None:
        """One more member: the logarithms of the classes' ratios, of the same rows."""
        top = logs.max(axis=1, keepdims=True)
        normal = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        if self._members == 0:
            self._y, self._w = y, w
            self._logs, self._probabilities = np.zeros_like(normal), np.zeros_like(normal)
        self._logs += normal
        self._probabilities += np.exp(normal)
        self._members += 1

    def losses(self, mean: Mean, losses: Sequence[Loss]) -> dict[Loss, float]:
        """The losses of a mean of the members so far."""
        logs = self._logs / self._members
        if mean == "arithmetic":
            shares = self._probabilities / self._members
            logs = np.log(np.maximum(shares, LEAST_PROBABILITY))
        own = logs[np.arange(len(logs)), self._y]
        sums = ArrayLosses(losses, 1, 1, logs.shape[1])
        sums.add(0, 0, logs - own[:, None], self._y, self._w)
        return {loss: float(values[0, 0]) for loss, values in sums.losses(1).items()}
