"""Values that imply another attribute's value: found in counts, and as columns to join with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.subsets import SubsetCounts
from sqlbn.structure.subsumption import implications

Array = npt.NDArray[Any]

# A code that no value has.
_NO_CODE = 2**32 - 1


@dataclass(frozen=True)
class Implication:
    """A value (code) of one attribute that says which value another one has."""

    special: int
    code: int
    general: int
    implied: int


def find_implications(
    counts: SubsetCounts, kept: Sequence[int], min_count: int, left_out: int | None = None
) -> list[Implication]:
    """All values that imply another's, among some attributes.

    With `left_out`, those that a row of that class meets when it is not counted itself.
    """
    found: list[Implication] = []
    alone = {v: _totals(counts.array_of((v,)), left_out) for v in kept}
    for i, j in combinations(sorted(kept), 2):
        cells = counts.seen((i, j))
        together = _totals(cells.counts, left_out)
        met = cells.counts[:, left_out] > 0 if left_out is not None else True
        a, b = cells.codes.T
        for special, general, x, z in ((i, j, a, b), (j, i, b, a)):
            said = met & implications(
                x, z, together, alone[special], alone[general], min_count, special < general
            )
            found += [
                Implication(special, int(x[at]), general, int(z[at])) for at in np.flatnonzero(said)
            ]
    return found


def _totals(counts: Array, left_out: int | None) -> Array:
    """Rows of each cell, but for one of the class that is left out; classes are the last axis."""
    totals: Array = counts.sum(axis=1)
    return totals if left_out is None else totals - np.minimum(counts[:, left_out], 1)


def implied_columns(
    found: Sequence[Implication], cards: Sequence[int]
) -> dict[int, dict[str, Array]]:
    """For each attribute with values that imply another's: columns key, i_<other>, …

    Keys are its codes, that of unseen values included.
    """
    columns: dict[int, dict[str, Array]] = {}
    for i in sorted(found, key=lambda i: (i.special, i.general)):
        slots = cards[i.special] + 1
        table = columns.setdefault(i.special, {"key": np.arange(slots, dtype=np.uint32)})
        codes = table.setdefault(f"i_{i.general}", np.full(slots, _NO_CODE, np.uint32))
        codes[i.code] = i.implied
    return columns
