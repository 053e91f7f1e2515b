"""Tables of counts added up from several parts: stored models, and rows that are counted now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.counts.families import INSERTED_TOGETHER, FamilyCounts, count_families
from sqlbn.counts.subsets import SubsetCounts, count_subsets, plan_subsets
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.living.recoding import Recoding
from sqlbn.living.stored import StoredCounts


class Part(Protocol):
    """Some rows of a model that is put together."""

    def covers(self, family: Family) -> bool:
        """Whether it can tell the counts of a family."""

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        """Insert its counts of all families into a table (position, key, n)."""


class StoredPart:
    """The rows of a stored model, known by its counts alone."""

    def __init__(self, stored: StoredCounts, recoding: Recoding) -> None:
        self._stored, self._recoding = stored, recoding

    def covers(self, family: Family) -> bool:
        return self._stored.covers(family)

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        waiting: list[tuple[int, object, object]] = []
        cells = 0
        for position, family in counts.families.items():
            keys, numbers = self._stored.cells(family, self._recoding)
            waiting.append((position, keys, numbers))
            cells += len(keys)
            if cells > INSERTED_TOGETHER:
                _insert(counts.draft, raw, waiting)
                waiting, cells = [], 0
        _insert(counts.draft, raw, waiting)


class RowsPart:
    """Encoded rows: whatever is asked is counted."""

    def __init__(self, draft: Draft, encoded: Encoded) -> None:
        self._draft, self._encoded = draft, encoded

    def covers(self, family: Family) -> bool:
        return True

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        table = self._draft.engine.fresh_name("rows")
        as_sets = isinstance(counts, SubsetCounts)
        found = count_again(self._draft, self._encoded, counts.families, as_sets, table)
        engine = self._draft.engine
        engine.execute(f"INSERT INTO {raw} SELECT position, key, n FROM {found.table}")
        engine.execute(f"DROP TABLE {found.table}")


def count_again(
    draft: Draft, encoded: Encoded, families: Mapping[int, Family], as_sets: bool, table: str
) -> FamilyCounts:
    """Count rows for families that have their positions already.

    `as_sets`: by a covering plan of all of them, else one after the other.
    """
    if not as_sets:
        return count_families(draft, encoded, families, table)
    blocks = plan_subsets(encoded, list(families.values()))
    return count_subsets(draft, encoded, families, blocks, table=table, observe=lambda *_: None)


def combine(counts: FamilyCounts, parts: Sequence[Part]) -> None:
    """Fill an empty table of counts with the sums over all parts."""
    engine = counts.draft.engine
    raw = engine.fresh_name("raw")
    engine.execute(f"CREATE TABLE {raw} AS FROM {counts.table} LIMIT 0")
    try:
        for part in parts:
            part.pour(counts, raw)
        engine.execute(
            f"INSERT INTO {counts.table} SELECT position, key, sum(n) FROM {raw} "
            "GROUP BY position, key ORDER BY position, key"
        )
    finally:
        engine.execute(f"DROP TABLE {raw}")
    counts.preload()


def _insert(draft: Draft, raw: str, waiting: Sequence[tuple[int, object, object]]) -> None:
    import pyarrow as pa

    if not waiting:
        return
    keys = np.concatenate([np.asarray(k) for _, k, _ in waiting])
    wide = keys.dtype == object
    columns = {
        "p": np.concatenate(
            [np.full(len(np.asarray(k)), position, np.uint32) for position, k, _ in waiting]
        ),
        # Arrow has no whole numbers past 64 bits that the engine reads as such.
        "k": pa.array([str(key) for key in keys]) if wide else keys.astype(np.int64),
        "n": np.concatenate([np.asarray(n) for _, _, n in waiting]),
    }
    engine = draft.engine
    view = engine.register(pa.table(columns))
    key = "k::HUGEINT" if wide else "k"
    try:
        engine.execute(f"INSERT INTO {raw} SELECT p, {key}, n FROM {view}")
    finally:
        engine.unregister(view)


def subtract(
    draft: Draft, table: str, from_draft: Draft, counts: FamilyCounts
) -> tuple[int, float] | None:
    """A table of counts without others of the same families, in a new draft.

    The position of a family with a count that would go below zero, and by how much; None where all
    is well.
    """
    engine = draft.engine
    minuend, name = from_draft.table(table), draft.table(table)
    engine.execute(
        f"CREATE TABLE {name} AS SELECT position, key, sum(n)::{draft.n_type} AS n FROM "
        f"(FROM {minuend} UNION ALL SELECT position, key, -n FROM {counts.table}) "
        "GROUP BY position, key HAVING sum(n) <> 0 ORDER BY position, key"
    )
    short = engine.rows(f"SELECT position, -n FROM {name} WHERE n < 0 ORDER BY ALL LIMIT 1")
    return (int(short[0][0]), float(short[0][1])) if short else None
