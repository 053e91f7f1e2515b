"""Codes of few rows in arrays, and blocks of counts made of them, with keys as narrow as can be.

Rows come in pieces from the engine: all of them are held where there is room, else every pass
counts as many blocks as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Block
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import packed_keys
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.engines.threads import ahead

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


@dataclass(frozen=True)
class _Piece:
    """Some rows: the codes of each variable that is counted, and weights."""

    codes: dict[int, Array]
    weights: Array | None
    rows: int


def codes_bytes(encoded: Encoded, variables: Iterable[int]) -> int:
    """About what the codes of some variables take in arrays, and the weights."""
    width = sum(np.min_scalar_type(encoded.cards[v]).itemsize for v in variables)
    return encoded.rows * (width + 8 * encoded.weighted)


def is_held(session: Session, encoded: Encoded, variables: Iterable[int]) -> bool:
    """Whether the codes of some variables are read once for all blocks."""
    if not session.row_engine.is_local:
        return False
    return codes_bytes(encoded, variables) <= _room(session)


def _room(session: Session) -> float:
    return session.limits.array_share * session.memory_bytes


def _used(blocks: Sequence[Block]) -> list[int]:
    return sorted({v for block in blocks for v in block.variables})


def suits_arrays(session: Session, encoded: Encoded, blocks: Sequence[Block]) -> bool:
    """Whether arrays count dense blocks of few rows sooner than a query each, within a share of
    the memory.

    Many rows are always counted by the engine's GROUP BY: that is what sqlbn is, for data that no
    array holds, and every statement of it can be read and run.
    """
    limits, room = encoded.limits, _room(session)
    if not session.row_engine.is_local or not blocks or encoded.rows > limits.array_rows:
        return False
    if max(8 * block.cells for block in blocks) > room:
        return False
    used = _used(blocks)
    passes = [blocks] if is_held(session, encoded, used) else _passes(blocks, room)
    read = sum(len(_used(some)) for some in passes) * limits.array_read_seconds
    terms = sum(len(block.variables) for block in blocks)
    cells = sum(block.cells for block in blocks)
    arrays = encoded.rows * (
        read + terms * limits.array_key_seconds + len(blocks) * limits.array_row_seconds
    )
    arrays += len(blocks) * limits.array_block_seconds + len(passes) * limits.block_query_seconds
    queries = encoded.rows * (
        terms * limits.block_query_key_seconds + len(blocks) * limits.block_query_row_seconds
    )
    queries += len(blocks) * limits.block_query_seconds + cells * limits.block_query_cell_seconds
    return arrays <= queries


def _passes(blocks: Sequence[Block], room: float) -> list[list[Block]]:
    """Blocks in order, together in a pass as far as there is room for their counts."""
    found, taken = list[list[Block]](), room
    for block in blocks:
        taken += 8 * block.cells
        if taken > room or not found:
            found.append([])
            taken = 8 * block.cells
        found[-1].append(block)
    return found


def blocks_in_arrays(
    session: Session, encoded: Encoded, blocks: Sequence[Block]
) -> Iterator[Array]:
    """The counts of every cell of some dense blocks, in the order of their keys."""
    used, threads = _used(blocks), session.threads
    if is_held(session, encoded, used):
        held = list(_groups(session, encoded, used))
        jobs = (partial(_held_counts, held, block, encoded) for block in blocks)
        # Few rows are counted sooner than threads are told of them.
        few = encoded.rows <= encoded.limits.array_key_rows
        yield from (job() for job in jobs) if few else ahead(threads, jobs)
        return
    for some in _passes(blocks, _room(session)):
        totals: list[Array] = []
        for group in _groups(session, encoded, _used(some)):
            jobs = (partial(_counts, group, block, encoded) for block in some)
            for i, found in enumerate(ahead(threads, jobs)):
                if i == len(totals):
                    totals.append(found)
                else:
                    totals[i] += found
        yield from totals or [_empty(block, encoded) for block in some]


def _groups(session: Session, encoded: Encoded, used: Sequence[int]) -> Iterator[list[_Piece]]:
    """The rows, in lists of pieces whose keys are counted together."""
    names = [*map(encoded.column, used), *(["w"] if encoded.weighted else [])]
    waiting, rows = list[_Piece](), 0
    together = _room(session) / max(1, codes_bytes(encoded, used)) * encoded.rows
    together = min(encoded.limits.array_counted_rows, together)
    with session.row_engine.batches(select_sql(encoded.relation, ", ".join(names))) as reader:
        for batch in reader:
            # By no way of pyarrow's, which where pandas is installed would load it.
            columns = [np.from_dlpack(column) for column in batch.columns]
            weights = np.asarray(columns.pop(), float) if encoded.weighted else None
            codes = dict(zip(used, columns, strict=True))
            waiting.append(_Piece(codes, weights, batch.num_rows))
            rows += batch.num_rows
            if rows >= together:
                yield waiting
                waiting, rows = [], 0
    if waiting:
        yield waiting


def _empty(block: Block, encoded: Encoded) -> Array:
    return np.zeros(block.cells, float if encoded.weighted else np.int64)


def _held_counts(held: Sequence[Sequence[_Piece]], block: Block, encoded: Encoded) -> Array:
    """The counts of a block in all rows."""
    total: Array | None = None
    for group in held:
        found = _counts(group, block, encoded)
        if total is None:
            total = found
        else:
            total += found
    return _empty(block, encoded) if total is None else total


def _counts(group: Sequence[_Piece], block: Block, encoded: Encoded) -> Array:
    """The counts of a block in some pieces."""
    keys = np.empty(sum(piece.rows for piece in group), np.intp)
    radices, start = [encoded.cards[v] for v in block.variables], 0
    for piece in group:
        columns = [piece.codes[v] for v in block.variables]
        _put_keys(keys[start : start + piece.rows], columns, radices, encoded.limits)
        start += piece.rows
    weights = None
    if encoded.weighted:
        weights = np.concatenate([p.weights for p in group if p.weights is not None])
    return np.bincount(keys, weights, block.cells)


def _put_keys(
    keys: Array, columns: Sequence[Array], radices: Sequence[int], limits: Limits
) -> None:
    """The keys of rows; of so many at a time that what is made on the way stays in the cache."""
    for start in range(0, len(keys), limits.array_key_rows):
        part = slice(start, start + limits.array_key_rows)
        keys[part] = packed_keys([column[part] for column in columns], radices)
