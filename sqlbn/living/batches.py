"""Rows of a source in their order, a batch at a time, read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlbn.engines import DuckDBEngine
from sqlbn.learners.fit_options import FitOptions
from sqlbn.quoting import identifier
from sqlbn.sources import Source
from sqlbn.sources.relation import staged

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are read at once, however large a batch is.
_MOST_AT_ONCE = 1_000_000


def used_source(engine: DuckDBEngine, source: Source, options: FitOptions) -> Source:
    """Only the columns that matter, from something that another connection can read in order."""
    names = options.columns_of(source)
    if source.row_key is None or not source.rescannable or not source.ordered:
        return staged(engine, source, names)
    columns = {n: source.columns[n] for n in names}
    listed = ", ".join(identifier(n) for n in names)
    return Source(f"({source.select(listed)})", columns, source.label)


def batches(engine: DuckDBEngine, source: Source, size: int) -> Iterator[pa.Table]:
    """The rows of a source in order, so many at a time."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    held = 0
    with engine.beside(source.select("*"), min(size, _MOST_AT_ONCE)) as reader:
        for piece in reader:
            waiting.append(piece)
            held += piece.num_rows
            while held >= size:
                table = pa.Table.from_batches(waiting)
                yield table.slice(0, size).combine_chunks()
                waiting, held = table.slice(size).to_batches(), held - size
    if held:
        yield pa.Table.from_batches(waiting).combine_chunks()
