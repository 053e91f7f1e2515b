"""Runs a covering plan against the table of codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import blocks_in_arrays, suits_arrays
from sqlbn.counts.cover import Block, Family, cells_of, cover
from sqlbn.engines import Session
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.relations import Encoded
from sqlbn.engines.row_engine import Arrays
from sqlbn.engines.sql import render

Counts = npt.NDArray[Any]


def marginals(
    counts: Counts, variables: Sequence[int], families: Sequence[Family]
) -> Iterator[tuple[Family, Counts]]:
    """Every family with its counts, axes in the family's order.

    Variables that no family wants are summed out first; then the families are split into those
    with and without the variable that saves most, so that a sum is done once for all that need
    it: 15 pairs out of 6 variables cost about 4 passes over the array instead of 15.
    """
    wanted = set().union(*families)
    unwanted = tuple(a for a, v in enumerate(variables) if v not in wanted)
    if unwanted:
        counts = counts.sum(axis=unwanted)
        variables = [v for v in variables if v in wanted]
    optional = [v for v in variables if any(v not in f for f in families)]
    if not optional:
        for family in families:
            yield family, np.transpose(counts, [list(variables).index(v) for v in family])
        return
    sizes = dict(zip(variables, counts.shape, strict=True))
    split = max(optional, key=lambda v: (sizes[v], sum(v not in f for f in families)))
    without = [f for f in families if split not in f]
    yield from marginals(counts, variables, without)
    yield from marginals(counts, variables, [f for f in families if split in f])


Array = npt.NDArray[Any]
# Told of every family that is counted: its counts, or with a second array their spectrum.
Watcher = Callable[[Family, Array, Array | None], None]


def spectrum(counts: Array, cells: Array | None = None) -> tuple[Array, Array]:
    """The different counts above 0, and how many cells hold each."""
    if cells is None:
        counts, cells = np.unique(counts[counts > 0], return_counts=True)
    values = counts.astype(float)
    positive = values > 0
    return values[positive], cells[positive]


def log_units(total: float) -> float:
    """In how many units a nat sums of n ln n over counts of this total are added up.

    As whole numbers: a sum of these is the same in every order and in every form. |ln n| is below
    37, as weights are multiples of 2^-52 and add up to 2^52 at most: no sum reaches 2^62.
    """
    return math.ldexp(1.0, 56 - math.frexp(total)[1])


def whole_logs(counts: Array, units: float) -> Array:
    """n ln n of each count, in whole units; 0 where there is none."""
    values = np.ascontiguousarray(counts, dtype=float)
    logs = values * np.log(np.where(values > 0, values, 1.0))
    found: Array = np.rint(logs * units).astype(np.int64)
    return found


def n_log_n(counts: Array, cells: Array | None = None) -> float:
    """Sum of n ln n over counts, or over a spectrum of counts.

    The same multiset of counts gives the same number to the last bit, whatever its order: equal
    columns tie exactly.
    """
    times: Any = 1 if cells is None else np.asarray(cells).astype(np.int64)
    units = log_units(float((np.asarray(counts, dtype=float) * times).sum()))
    return int((whole_logs(counts, units) * times).sum()) / units


class GammaSums:
    """Sums of ln Gamma over the cells of families: BDeu, with an equivalent sample size of 1."""

    def __init__(self, cards: Sequence[int]) -> None:
        self._cards = cards
        self.sums: dict[Family, float] = {}

    def add(self, family: Family, counts: Array, cells: Array | None) -> None:
        """Take note of a family that was counted; as an array, or as a spectrum of counts."""
        alpha = 1 / cells_of(family, self._cards)
        empty = math.lgamma(alpha)
        self.sums[family] = math.fsum(
            n * (math.lgamma(count + alpha) - empty)
            for count, n in zip(*map(np.ndarray.tolist, spectrum(counts, cells)), strict=True)
        )


def plan(families: Sequence[Family], encoded: Encoded) -> list[Block]:
    """The covering plan for families of this table."""
    limits = encoded.limits
    filled = limits.block_cells_per_row * encoded.rows
    cells = max(limits.block_cells_least, min(encoded.block_cells, filled))
    return cover(families, encoded.cards, cells, limits.block_variables)


def block_key(block: Block, encoded: Encoded) -> str:
    """The packed key of a block's variables; of 16 bits it is counted somewhat sooner."""
    names = [encoded.column(v) for v in block.variables]
    return packed_sql(names, [encoded.cards[v] for v in block.variables], narrow=True)


def block_statement(block: Block, encoded: Encoded) -> str:
    """The query that counts a block: its cells, or for a sparse one the spectrum of counts."""
    return render(
        "count/count_block" if block.dense else "count/count_spectrum",
        key=block_key(block, encoded),
        total=encoded.total_sql,
        relation=encoded.relation,
    )


def counted_blocks(
    session: Session, blocks: Sequence[Block], encoded: Encoded
) -> Iterator[tuple[Block, Counts, Counts | None]]:
    """Every block with its counts, the dense ones before the others.

    Those of a dense block have one axis a variable; a sparse one has its spectrum, the different
    counts and how many cells have each. Several dense blocks are one query where that is quicker.
    """
    dense = [block for block in blocks if block.dense]
    sparse = [block for block in blocks if not block.dense]
    if suits_arrays(session, encoded, dense):
        for block, counts in zip(dense, blocks_in_arrays(session, encoded, dense), strict=True):
            yield block, _in_axes(block, encoded, counts), None
    else:
        for block, found in _blocks_by_queries(session, dense, encoded):
            yield block, dense_counts(block, encoded, found), None
    for block, found in _blocks_by_queries(session, sparse, encoded):
        yield block, found["n"], found["cells"]


def _blocks_by_queries(
    session: Session, blocks: Sequence[Block], encoded: Encoded
) -> Iterator[tuple[Block, Arrays]]:
    """Blocks with what their queries bring."""
    row_engine, groups = session.row_engine, list[list[Block]]()
    for block in blocks:
        joins = block.dense and groups and groups[-1][0].dense
        if joins and len(groups[-1]) < row_engine.blocks_at_once:
            groups[-1].append(block)
        else:
            groups.append([block])
    statements = [_group_statement(group, encoded, row_engine.dialect) for group in groups]
    for group, found in zip(groups, row_engine.all_arrays(statements), strict=True):
        yield from _apart(group, found)


def _group_statement(group: Sequence[Block], encoded: Encoded, dialect: Dialect) -> str:
    if len(group) == 1:
        return block_statement(group[0], encoded)
    starts = np.cumsum([0, *(block.cells for block in group[:-1])])
    keys = [
        f"{start}::BIGINT + {block_key(block, encoded)}"
        for start, block in zip(starts, group, strict=True)
    ]
    return render(
        "count/count_blocks",
        keys=dialect.unfolded(keys),
        total=encoded.total_sql,
        weighted=encoded.weighted,
        relation=encoded.relation,
    )


def _apart(group: Sequence[Block], found: Arrays) -> Iterator[tuple[Block, Arrays]]:
    """The counts of blocks that were counted together."""
    if len(group) == 1:
        yield group[0], found
        return
    start = 0
    for block in group:
        own = (found["k"] >= start) & (found["k"] < start + block.cells)
        yield block, {"k": found["k"][own] - start, "n": found["n"][own]}
        start += block.cells


def dense_counts(block: Block, encoded: Encoded, found: Arrays) -> Counts:
    """The counts of a block as an array with one axis a variable."""
    counts = np.zeros(block.cells, float if encoded.weighted else np.int64)
    counts[found["k"]] = found["n"]
    return _in_axes(block, encoded, counts)


def _in_axes(block: Block, encoded: Encoded, counts: Counts) -> Counts:
    return counts.reshape([encoded.cards[v] for v in block.variables])


def entropies(
    session: Session,
    encoded: Encoded,
    blocks: Sequence[Block],
    advance: Callable[[], None] = lambda: None,
    watcher: Watcher = lambda family, counts, cells: None,
) -> dict[Family, float]:
    """Sum of n ln n of every family in a plan."""
    found: dict[Family, float] = {}
    for block, counts, cells in counted_blocks(session, blocks, encoded):
        if block.dense:
            for family, table in marginals(counts, block.variables, block.families):
                found[family] = n_log_n(table)
                watcher(family, table, None)
        else:
            family = block.families[0]
            found[family] = n_log_n(counts, cells)
            watcher(family, counts, cells)
        advance()
    return found


def dense_tables(
    session: Session, encoded: Encoded, blocks: Sequence[Block]
) -> Iterator[tuple[Family, Counts]]:
    """The count arrays of the dense families in a plan, axes in sorted order of variables."""
    dense = [block for block in blocks if block.dense]
    for block, counts, _ in counted_blocks(session, dense, encoded):
        yield from marginals(counts, block.variables, block.families)
