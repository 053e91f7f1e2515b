"""Blocks of codes in a repeatable random order, without sorting the table they come from.

A row's place is a hash of its number and the seed, so the rows of a range of hashes are a random
sample, and one scan of the codes brings it. Nothing is assumed of the order of the rows on disk.
The scan takes the longer the more rows there are, so the first one brings enough for most searches;
what follows then does not depend on the number of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.encode.encoded import Encoded
from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.engines import DuckDBEngine

Array = npt.NDArray[Any]

_WORD = 2**32
# Rows of the first scan; each further scan brings twice as many, up to a share of the memory.
_FIRST_ROWS = 1 << 20
_MEMORY_SHARE = 0.05


class RowStream:
    """All rows, one block after the other; behind the last row the first comes again.

    A block is an array with a line for every variable; the class, the last variable, included.
    """

    def __init__(self, engine: DuckDBEngine, encoded: Encoded, block: int) -> None:
        self._engine, self._encoded = engine, encoded
        self.block, self.rows = block, encoded.rows
        self.position = 0  # rows given out so far, over all turns
        self._key = encoded.row_number
        self._type = np.min_scalar_type(max(encoded.cards))
        width = self._type.itemsize * len(encoded.cards)
        self._most = max(block, int(_MEMORY_SHARE * engine.memory_bytes / width))
        self._held: Array = np.empty((len(encoded.cards), 0), self._type)
        self._start = 0  # place of the first held row in this turn
        self._hash_end = 0  # hashes below this were fetched in this turn
        self._next = _FIRST_ROWS

    def first_block(self) -> Array:
        """The rows that the next block will have, without taking them."""
        block = self.next_block()
        self.position -= block.shape[1]
        return block

    def next_block(self) -> Array:
        """The next rows: a whole block, or what is left of this turn."""
        place = self.position % self.rows
        if place == 0 and self._start + self._held.shape[1] >= self.rows and self._start > 0:
            self._rewind()
        wanted = min(self.block, self.rows - place)
        while self._start + self._held.shape[1] < place + wanted:
            self._fetch(place)
        at = place - self._start
        self.position += wanted
        return self._held[:, at : at + wanted]

    def _rewind(self) -> None:
        self._held = self._held[:, :0]
        self._start = self._hash_end = 0

    def _fetch(self, place: int) -> None:
        """Hold the rows of the next range of hashes; those before `place` are let go."""
        size = min(self._next, self._most)
        self._next = min(2 * self._next, self._most)
        span = max(1, math.ceil(_WORD * size / self.rows))
        low, high = self._hash_end, min(_WORD, self._hash_end + span)
        shuffle = shuffle_sql(self._key, self._engine.settings.seed, self._engine.lake.dialect)
        columns = ", ".join(self._encoded.column(v) for v in range(len(self._encoded.cards)))
        found = self._engine.lake.arrays(
            f"SELECT {columns} FROM (SELECT *, {shuffle} AS h, {self._key} AS k "
            f"FROM {self._encoded.relation}) WHERE h >= {low} AND h < {high} ORDER BY h, k"
        )
        self._hash_end = high
        fresh = np.vstack([column.astype(self._type) for column in found.values()])
        kept = self._held[:, place - self._start :]
        self._start = place
        self._held = np.concatenate([kept, fresh], axis=1)
