"""The weights of selective naive Bayes: subsets of attributes tried on the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.encode.encoded import Encoded
from sqlbn.engines import DuckDBEngine
from sqlbn.progress import Progress
from sqlbn.scoring.estimates import log_prior
from sqlbn.scoring.parameters import FactorTables
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.scoring.subset_rows import SubsetRows, rotated
from sqlbn.structure.variable_selection import Selected, n_starts, select_variables
from sqlbn.templates import render

Array = npt.NDArray[Any]

# Share of the memory limit that the codes of one chunk of attributes may take.
_MEMORY_SHARE = 0.25
# Fewer rows than this are not worth putting equal ones together.
_FEW_ROWS = 10_000


def weigh(
    counts: FamilyCounts,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    seed: int,
    progress: Progress,
) -> Selected:
    """Search the subsets of all attributes, whose counts with the class are at hand."""
    engine, encoded = counts.draft.engine, counts.encoded
    positions = list(counts.families)
    if encoded.cards[-1] < 2 or not positions:
        return Selected(frozenset(), (0.0,) * len(positions), 0.0, 0.0, 0)
    tables = [rotated(logs) for logs in FactorTables(counts, smoothing).single_logs()]
    prior = rotated(np.array(log_prior(class_counts, smoothing.m_of(len(class_counts)))))
    relation = _put_together(engine, encoded)
    total = float(sum(class_counts))
    try:
        found = engine.arrays(f"SELECT y, w FROM {relation}")
        rows = SubsetRows(
            prior,
            found["y"],
            found["w"].astype(float),
            tables,
            _loader(engine, encoded, relation, positions),
            _chunks(engine, encoded, len(found["y"]), positions),
            engine.threads,
        )
        starts = n_starts(len(positions), total)
        title = f"selecting attributes, {starts} random starts"
        try:
            with progress.stage("selection", title, encoded.rows, starts):
                return select_variables(rows, len(positions), total, seed, progress.advance)
        finally:
            rows.close()
    finally:
        engine.execute(f"DROP TABLE {relation}")


def _put_together(engine: DuckDBEngine, encoded: Encoded) -> str:
    """A table of the rows that differ, with a weight each.

    It lies in the model's database, so rows of another lake that differ come to the driver.
    """
    name, lake = engine.fresh_name("weighed"), engine.lake
    grouped = encoded.rows >= _FEW_ROWS or not lake.numbers_rows
    columns = [encoded.column(v) for v in range(encoded.n_attributes + 1)]
    total = f"({encoded.total_sql})::DOUBLE"
    if not grouped:
        total = "w::DOUBLE" if encoded.weighted else "1.0::DOUBLE"
    query = render(
        "weighed_rows", columns=columns, total=total, relation=encoded.relation, grouped=grouped
    )
    with lake.brought(query) as found:
        engine.execute(f"CREATE TABLE {name} AS FROM {found}")
    return name


def _chunks(
    engine: DuckDBEngine, encoded: Encoded, rows: int, positions: Sequence[int]
) -> list[list[int]]:
    """Attributes whose codes are held in memory together, by their place among all."""
    widths = [4 if encoded.cards[v] * encoded.cards[-1] >= 1 << 16 else 2 for v in positions]
    room = max(1, int(_MEMORY_SHARE * engine.memory_bytes / max(rows, 1)))
    chunks: list[list[int]] = [[]]
    used = 0
    for place, width in enumerate(widths):
        if chunks[-1] and used + width > room:
            chunks.append([])
            used = 0
        chunks[-1].append(place)
        used += width
    return chunks


def _loader(
    engine: DuckDBEngine, encoded: Encoded, relation: str, positions: Sequence[int]
) -> Callable[[Sequence[int]], dict[int, Array]]:
    """For some attributes, the column of its table that each row meets."""
    n_classes = encoded.cards[-1]

    def load(places: Sequence[int]) -> dict[int, Array]:
        items = ", ".join(
            f"({encoded.column(positions[p])}::UINTEGER * {n_classes} + y)"
            f"::{'UINTEGER' if encoded.cards[positions[p]] * n_classes >= 1 << 16 else 'USMALLINT'}"
            f" AS c{p}"
            for p in places
        )
        found = engine.arrays(f"SELECT {items} FROM {relation}")
        return {p: found[f"c{p}"] for p in places}

    return load
