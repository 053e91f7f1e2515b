"""From the codes of one model to those of another: categories come, go and move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.counts.packing import strides

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Recoding:
    """For every attribute and, last, the class: the new code of each old one.

    A code without a successor (-1) has no rows left. `cards` are the numbers of new codes.
    """

    codes: tuple[Array, ...]
    cards: tuple[int, ...]

    @property
    def class_variable(self) -> int:
        """The variable that stands for the class."""
        return len(self.cards) - 1

    def keeps(self, variables: Sequence[int]) -> bool:
        """Whether keys of these variables stay as they are."""
        return all(
            len(self.codes[v]) == self.cards[v]
            and bool((self.codes[v] == np.arange(self.cards[v])).all())
            for v in variables
        )

    def repack(
        self, keys: Array, variables: Family, radices: Sequence[int], wanted: Family
    ) -> Array:
        """Keys of some of the variables in their new codes, packed in the wanted order."""
        steps = dict(zip(variables, strides(radices), strict=True))
        sizes = dict(zip(variables, radices, strict=True))
        cells = 1
        for v in wanted:
            cells *= self.cards[v]
        # Python's own whole numbers where 64 bits are not enough.
        kind: Any = object if keys.dtype == object or cells > 2**62 else np.int64
        packed = np.zeros(len(keys), kind)
        for v in wanted:
            old = (keys // steps[v] % sizes[v]).astype(np.int64)
            packed = packed * self.cards[v] + self.codes[v][old].astype(kind)
        return packed


def unchanged(cards: Sequence[int]) -> Recoding:
    """Every code stays."""
    return Recoding(tuple(np.arange(n) for n in cards), tuple(cards))
