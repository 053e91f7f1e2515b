"""Codes of rows in arrays, and blocks of counts made of them: few rows are counted sooner so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Block
from sqlbn.engines import Session
from sqlbn.engines.relations import Encoded
from sqlbn.engines.row_engine import Arrays
from sqlbn.engines.sql import select_sql

Array = npt.NDArray[Any]


def read_codes(
    session: Session, encoded: Encoded, attributes: Sequence[int]
) -> tuple[list[Array], Array]:
    """The codes of all rows, a column for each of some attributes and the class, and weights."""
    if encoded.arrays is not None:
        held, w = encoded.arrays.columns, encoded.arrays.w
        columns = [held[v] for v in (*attributes, encoded.class_variable)]
        return columns, w if w is not None else np.ones(0)
    names = [encoded.column(v) for v in (*attributes, encoded.class_variable)]
    weights = ["w"] if encoded.weighted else []
    found = session.row_engine.arrays(select_sql(encoded.relation, ", ".join([*names, *weights])))
    w = np.asarray(found["w"], float) if weights else np.ones(0)
    return [np.asarray(found[name]) for name in names], w


def suits_arrays(session: Session, encoded: Encoded, blocks: Sequence[Block]) -> bool:
    """Whether blocks are counted in arrays: a query is planned for longer than few rows take."""
    limits = encoded.limits
    if not session.row_engine.is_local or len(blocks) < limits.array_blocks:
        return False
    used = set().union(*(block.variables for block in blocks))
    needed = 8 * encoded.rows * (len(used) + 4)
    is_small = encoded.rows <= limits.array_rows
    return is_small and needed <= limits.array_share * session.memory_bytes


def blocks_in_arrays(
    session: Session, encoded: Encoded, blocks: Sequence[Block]
) -> Iterator[Arrays]:
    """What the queries of some dense blocks would bring: keys of their cells, and the counts."""
    d = encoded.class_variable
    used = sorted({v for block in blocks for v in block.variables} - {d})
    codes, w = read_codes(session, encoded, used)
    columns = dict(zip((*used, d), codes, strict=True))
    for block in blocks:
        keys = np.zeros(len(codes[-1]), np.int64)
        for v in block.variables:
            keys *= encoded.cards[v]
            keys += columns[v]
        counts = np.bincount(keys, w if encoded.weighted else None)
        seen = np.flatnonzero(counts)
        yield {"k": seen, "n": counts[seen]}
