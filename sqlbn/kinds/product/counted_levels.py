"""What the levels of an attribute's chain say of some of the counted rows when these are left out.

From the counts that are stored, without tables for joins: for some rows, not for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.kinds.product.array_loo import Level, RowBlock, next_level
from sqlbn.kinds.product.seen_chain import SeenChain, present_keys

Array = npt.NDArray[Any]
# Of one level: the cells that rows are in, a row of each, and the cell of each row.
RowCells = tuple[Array, Array, Array]


def cells_of_rows(
    chain: SeenChain, family: Sequence[int], codes: Sequence[Array] | Mapping[int, Array]
) -> list[RowCells]:
    """For every level the cells of rows, of which `codes` has those of every variable."""
    found = []
    cell = np.zeros(len(codes[family[0]]), np.int64)
    for depth, level in enumerate(chain.levels):
        card = chain.cards[depth]
        keys = level.lower * card + level.codes[depth]
        # In their order, and each once: looked up as they come they take three times as long.
        wanted, places, of_row = present_keys(cell * card + codes[family[depth]].astype(np.int64))
        cells = np.searchsorted(keys, wanted)
        found.append((cells, places, of_row))
        cell = cells[of_row]
    return found


def levels_of_rows(
    chain: SeenChain, strengths: Sequence[float], found: Sequence[RowCells], part: RowBlock
) -> Iterator[Level]:
    """Level after level; `strengths` are those of the levels 1, 2, … where levels are mixed."""
    before: Level | None = None
    mixing = (0.0, *strengths) if chain.smoothing.is_hierarchical else (0.0,) * len(found)
    for level, strength, (first, places, of_row) in zip(chain.levels, mixing, found, strict=False):
        before = next_level(
            chain.smoothing,
            chain.estimate,
            strength,
            level.n[first],
            level.around[level.group[first]],
            places,
            of_row,
            part,
            before,
        )
        yield before
