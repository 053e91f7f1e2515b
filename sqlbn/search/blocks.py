"""Random samples of the codes, each twice as large as the last and holding it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.data.sampling import WORD, shuffle_sql
from sqlbn.encoding.encoded import discard, persist_drawn, random_order, sampled
from sqlbn.engines import Session
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render, select_sql

Array = npt.NDArray[Any]


class RowStream:
    """All rows, one block after the other; behind the last row the first comes again.

    A block is an array with a line for every variable; the class, the last variable, included.
    """

    def __init__(self, session: Session, encoded: Encoded, block: int) -> None:
        self._session, self._encoded = session, encoded
        self.block, self.rows = block, encoded.rows
        self.position = 0  # rows given out so far, over all turns
        self._key = encoded.row_number
        self._type = np.min_scalar_type(max(encoded.cards))
        width = self._type.itemsize * len(encoded.cards)
        self._most = max(block, int(session.limits.stream_share * session.memory_bytes / width))
        self._held: Array = np.empty((len(encoded.cards), 0), self._type)
        self._start = 0  # place of the first held row in this turn
        self._hash_end = 0  # hashes below this were fetched in this turn
        self._next = session.limits.stream_rows

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
        span = max(1, math.ceil(WORD * size / self.rows))
        low, high = self._hash_end, min(WORD, self._hash_end + span)
        shuffle = shuffle_sql(
            self._key, self._session.settings.seed, self._session.row_engine.dialect
        )
        columns = ", ".join(self._encoded.column(v) for v in range(len(self._encoded.cards)))
        found = self._session.row_engine.arrays(
            render(
                "data/shuffled_range",
                columns=columns,
                shuffle=shuffle,
                row_key=self._key,
                relation=self._encoded.relation,
                low=low,
                high=high,
            )
        )
        self._hash_end = high
        fresh = np.vstack([column.astype(self._type) for column in found.values()])
        kept = self._held[:, place - self._start :]
        self._start = place
        self._held = np.concatenate([kept, fresh], axis=1)


class Samples:
    """Level 0 is one block, level l has 2^l of them, the last level is all rows.

    Rows are drawn by their number and the seed, so nothing is assumed of their order on disk.
    """

    def __init__(self, session: Session, encoded: Encoded, block: int) -> None:
        self._session, self._encoded, self._block = session, encoded, block
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
        per_scan = self._session.limits.samples_per_scan
        large = self._block * per_scan
        while large < size:
            large *= per_scan
        if large >= self._encoded.rows:
            large = size
        if large not in self._drawn:
            self._drawn[large] = self._draw(large)
        drawn = self._drawn[large]
        # What was drawn lies in its random order.
        first = select_sql(drawn.relation, where=f"{drawn.row_number} < {size}")
        return replace(drawn, relation=f"({first})", rows=size)

    def _draw(self, size: int) -> Encoded:
        """At least so many rows, the same first ones that `sampled` takes.

        Nearly all others are known not to be among them before anything is sorted. LIMIT would be
        plainer, but with a condition on the row's number it trips DuckDB 2.0's optimiser.
        """
        encoded, row_engine = self._encoded, self._session.row_engine
        shuffle = shuffle_sql(encoded.row_number, self._session.settings.seed, row_engine.dialect)
        order = random_order(self._session, encoded)
        likely = (size + 8 * math.sqrt(size) + 64) / encoded.rows
        chosen = f"{shuffle} < {math.ceil(WORD * likely)}"
        query = select_sql(encoded.relation, where=chosen, order=order)
        drawn = persist_drawn(row_engine, encoded, query, order)
        if row_engine.row(select_sql(drawn.relation, "count(*)"))[0] >= size:
            return drawn
        discard(self._session, drawn)
        return sampled(self._session, encoded, size)

    def discard(self) -> None:
        """Free what the samples take."""
        for drawn in self._drawn.values():
            discard(self._session, drawn)
        self._drawn = {}
