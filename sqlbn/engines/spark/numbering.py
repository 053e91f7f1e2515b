"""Numbers for rows that lie in many places: rows are counted piece by piece, each piece is sorted.

A plain row_number() over all rows would bring all of them to one executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sqlbn.engines.lake import ROW_NUMBER, Numbering
from sqlbn.templates import render

if TYPE_CHECKING:
    from sqlbn.engines.duck import DuckDBEngine


@contextmanager
def numbered(engine: DuckDBEngine, statement: str, numbering: Numbering) -> Iterator[str]:
    """The query that gives the rows of a statement their numbers; it can be run inside `with`."""
    lake, pieces = engine.lake, [f"p{i}" for i in range(len(numbering.pieces))]
    told = [{"sql": sql, "alias": p} for sql, p in zip(numbering.pieces, pieces, strict=True)]
    found = lake.arrow(render("counted_pieces", pieces=told, statement=statement))
    sizes = found.column("n").to_numpy()
    columns = {p: found.column(p) for p in pieces}
    table = engine.fresh_name("pieces")
    engine.create_table(table, {**columns, "before": np.cumsum(sizes) - sizes})
    try:
        yield render(
            "numbered_rows",
            kept=lake.dialect.without(pieces, "s"),
            pieces=told,
            order=numbering.order,
            number=ROW_NUMBER,
            statement=statement,
            table=table,
        )
    finally:
        lake.take_back(table)
        engine.execute(f"DROP TABLE {table}")
