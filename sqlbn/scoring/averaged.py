"""An averaging model when all its sets have been counted, before any table is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.counts.subsets import Cells, SubsetCounts
from sqlbn.scoring.superparents import SuperParents, turns


@dataclass(frozen=True)
class Averaged:
    """Counts of all sets of the kept attributes, and the weights of those that take turns.

    `min_count` is that of subsumption resolution; None is without. With `neutral` an unseen value
    is left out.
    """

    n: int
    min_count: int | None
    counts: SubsetCounts
    kept: tuple[int, ...]
    weights: dict[Family, float] | None
    class_counts: tuple[float, ...]
    m: float
    neutral: bool

    def turns(self) -> tuple[tuple[Family, ...], tuple[float, ...]]:
        """The super parents and their weights."""
        return turns(self.kept, self.n, self.weights)

    def seen(self, subset: Family) -> Cells:
        """The values of a super parent that were seen; those of the empty one are all rows."""
        if subset:
            return self.counts.seen(subset)
        return Cells(np.zeros((1, 0), np.int64), np.array([self.class_counts], float))

    def super_parents(self) -> SuperParents:
        """The super parents under the keys of prediction; what implies what is not yet known."""
        drops = self.min_count is not None
        sets, weights = self.turns()
        cards = self.counts.encoded.cards[:-1]
        return SuperParents(
            sets=sets,
            weights=weights,
            radices=tuple(card + 1 + drops for card in cards),
            drops=drops,
            neutral=self.neutral,
            implied=((),) * len(cards),
            n_seen=0,
        )

    def keep(self, attributes: Collection[int]) -> Averaged:
        """The model of fewer attributes, in place of this one."""
        return replace(self, counts=self.counts.keep(attributes), kept=tuple(sorted(attributes)))
