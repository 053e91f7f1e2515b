"""Random samples of the codes, each twice as large as the last and holding it."""

from __future__ import annotations

import math
from dataclasses import replace

from sqlbn.encode.encoded import Encoded, discard, keep_drawn, random_order, sampled
from sqlbn.encode.shuffle import WORD, shuffle_sql
from sqlbn.engines import DuckDBEngine

# Samples that one scan of all codes brings: the scan costs more than counting what it finds.
_PER_SCAN = 32


class Samples:
    """Level 0 is one block, level l has 2^l of them, the last level is all rows.

    Rows are drawn by their number and the seed, so nothing is assumed of their order on disk.
    """

    def __init__(self, engine: DuckDBEngine, encoded: Encoded, block: int) -> None:
        self._engine, self._encoded, self._block = engine, encoded, block
        self._drawn: dict[int, Encoded] = {}

    def size(self, level: int) -> int:
        """Rows of a level, were there enough."""
        return self._block << level

    def is_all(self, level: int) -> bool:
        """Whether that level has all rows."""
        return self.size(level) >= self._encoded.rows

    def at(self, level: int) -> Encoded:
        """The codes of a level, until all are discarded."""
        return self.first(self.size(level))

    def first(self, size: int) -> Encoded:
        """So many rows: the first of a larger sample, or where that is all, of one of that size."""
        if size >= self._encoded.rows:
            return self._encoded
        large = self._block * _PER_SCAN
        while large < size:
            large *= _PER_SCAN
        if large >= self._encoded.rows:
            large = size
        if large not in self._drawn:
            self._drawn[large] = self._draw(large)
        drawn = self._drawn[large]
        # What was drawn lies in its random order.
        relation = f"(SELECT * FROM {drawn.relation} WHERE {drawn.row_number} < {size})"
        return replace(drawn, relation=relation, rows=size)

    def _draw(self, size: int) -> Encoded:
        """At least so many rows, the same first ones that `sampled` takes.

        Nearly all others are known not to be among them before anything is sorted. LIMIT would be
        plainer, but with a condition on the row's number it trips DuckDB 2.0's optimiser.
        """
        encoded, lake = self._encoded, self._engine.lake
        shuffle = shuffle_sql(encoded.row_number, self._engine.settings.seed, lake.dialect)
        order = random_order(self._engine, encoded)
        likely = (size + 8 * math.sqrt(size) + 64) / encoded.rows
        query = (
            f"SELECT * FROM {encoded.relation} "
            f"WHERE {shuffle} < {math.ceil(WORD * likely)} ORDER BY {order}"
        )
        drawn = keep_drawn(lake, encoded, query, order)
        if lake.row(f"SELECT count(*) FROM {drawn.relation}")[0] >= size:
            return drawn
        discard(self._engine, drawn)
        return sampled(self._engine, encoded, size)

    def discard(self) -> None:
        """Free what the samples take."""
        for drawn in self._drawn.values():
            discard(self._engine, drawn)
        self._drawn = {}
