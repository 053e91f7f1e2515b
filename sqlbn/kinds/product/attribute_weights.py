"""The weights of selective naive Bayes: subsets of attributes tried on the training rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render, select_sql
from sqlbn.kinds.estimates import Smoothing, log_prior
from sqlbn.kinds.product.factor_tables import FactorTables
from sqlbn.kinds.product.row_chunks import Chunk, ChunkFile, RowChunks, in_chunks
from sqlbn.structure.variable_selection import Selected, n_starts, select_variables

Array = npt.NDArray[Any]

# A ratio beyond this is as good as infinite; its exponential must stay a number.
_MOST = 690.0


class SubsetRows:
    """The log loss of rows under naive Bayes with some of the attributes.

    `prior` and `tables` are ln P(y) and of every attribute ln P(x | y), as `rotatable` lays them
    out; a row meets them at its class and at the places in `rows`, whose sums are the logarithms of
    the ratios of the other classes to its own, rotated: line j is class (y + 1 + j) mod c.
    """

    def __init__(
        self, prior: Array, tables: Sequence[Array], rows: RowChunks, threads: int
    ) -> None:
        self._prior, self._tables = prior, tables
        self._rows, self._chunks = rows, rows.chunks
        self._members: set[int] = set()
        self._last = -1
        self._threads = max(1, threads)
        self._pool = ThreadPoolExecutor(self._threads)

    def close(self) -> None:
        """Let the threads and the rows go."""
        self._pool.shutdown()
        self._rows.close()

    def clear(self) -> float:
        """Start with no variable; the loss of the prior alone."""
        self._members.clear()

        def work(chunk: Chunk) -> float:
            sums, at = chunk.sums(), chunk.classes.astype(np.intp)
            ratios = np.zeros(chunk.n)
            for line, change in zip(sums, _changes(self._prior, at), strict=True):
                line[:] = change
                ratios += _ratio(change)
            chunk.put(sums)
            return _loss(ratios, chunk)

        return self._total(work)

    def toggled(self, variable: int) -> float:
        """The loss with a variable added, or without one that is in."""
        self._last = variable
        combine = np.subtract if variable in self._members else np.add
        table = self._tables[variable]

        def work(chunk: Chunk) -> float:
            sums, at = chunk.sums(), chunk.places(variable).astype(np.intp)
            ratios = np.zeros(chunk.n)
            for line, change in zip(sums, _changes(table, at), strict=True):
                ratios += _ratio(combine(line, change, out=change))
            return _loss(ratios, chunk)

        return self._total(work)

    def accept(self) -> None:
        """Keep what was tried last."""
        combine = np.subtract if self._last in self._members else np.add
        table = self._tables[self._last]

        def work(chunk: Chunk) -> float:
            sums, at = chunk.sums(), chunk.places(self._last).astype(np.intp)
            for line, change in zip(sums, _changes(table, at), strict=True):
                combine(line, change, out=line)
            chunk.put(sums)
            return 0.0

        self._total(work)
        self._members ^= {self._last}

    def _total(self, work: Callable[[Chunk], float]) -> float:
        """A sum over all chunks; the same for any number of threads, and wherever they lie."""
        if self._threads == 1 or len(self._chunks) < 4:
            return math.fsum(map(work, self._chunks))
        share = -(-len(self._chunks) // self._threads)
        parts = [self._chunks[at : at + share] for at in range(0, len(self._chunks), share)]
        found = self._pool.map(lambda part: [work(chunk) for chunk in part], parts)
        return math.fsum(loss for losses in found for loss in losses)


def _changes(table: Array, at: Array) -> Iterator[Array]:
    """What rows at some places of a table get, line by line: a new array each."""
    own = table.take(at)
    for j in range(1, (table.shape[-1] + 1) // 2):
        change = table.reshape(-1)[j:].take(at)
        change -= own
        yield change


def _ratio(logs: Array) -> Array:
    """Their exponentials, in place."""
    np.minimum(logs, _MOST, out=logs)
    return np.exp(logs, out=logs)


def _loss(ratios: Array, chunk: Chunk) -> float:
    """The loss of some rows from the sums of their ratios, which are used up."""
    np.log1p(ratios, out=ratios)
    ratios *= chunk.weights
    return float(ratios.sum())


def rotatable(logs: Array) -> Array:
    """ln P(x, class) of every value, the classes once again behind it but for the last one.

    Of a row at place value * (2 c - 1) + y the class (y + j) mod c is j places further: no table
    of c times as many ratios is needed.
    """
    return np.ascontiguousarray(np.concatenate([logs, logs[..., :-1]], axis=-1))


@dataclass(frozen=True)
class Weighed:
    """What a search found, and in which chunks its rows were."""

    selected: Selected
    chunks: Mapping[str, int] = field(default_factory=dict)


def search_weights(
    counts: FamilyCounts,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    seed: int,
    progress: Progress,
) -> Weighed:
    """Search the subsets of all attributes, whose counts with the class are at hand."""
    session, encoded = counts.workspace.session, counts.encoded
    positions = list(counts.families)
    if encoded.cards[-1] < 2 or not positions:
        return Weighed(Selected(frozenset(), (0.0,) * len(positions), 0.0, 0.0, 0))
    tables = [rotatable(logs) for logs in FactorTables(counts, smoothing).single_logs()]
    prior = rotatable(np.array(log_prior(class_counts, smoothing)))
    total = float(sum(class_counts))
    starts = n_starts(len(positions), total)
    title = f"selecting attributes, {starts} random starts"
    with progress.stage("selection", title, encoded.rows, starts):
        chunks = _row_chunks(session, encoded, positions)
        rows = SubsetRows(prior, tables, chunks, session.threads)
        try:
            found = select_variables(rows, len(positions), total, seed, progress.advance)
        finally:
            rows.close()
    if chunks.n_stored:
        progress.note(
            f"{chunks.n_stored:,} of {len(chunks.chunks):,} chunks of rows were on disk: more did "
            "not fit into the memory"
        )
    return Weighed(found, chunks.noted)


def _row_chunks(session: Session, encoded: Encoded, positions: Sequence[int]) -> RowChunks:
    """The distinct rows with a weight each, some at a time as the engine finds them."""
    limits, n_lines = session.limits, encoded.cards[-1] - 1
    rows = min(limits.weights_block_rows, max(1, limits.weights_block_values // n_lines))

    def make_file() -> ChunkFile:
        path = session.scratch_file("chunks", ".bin")
        return ChunkFile(path, session.settings.disk_bytes)

    def columns(reader: Any) -> Iterator[dict[str, Array]]:
        for batch in reader:
            names = batch.schema.names
            yield {name: batch.column(i).to_numpy() for i, name in enumerate(names)}

    room = limits.weights_held_share * session.memory_bytes
    items = _items(encoded, positions)
    with (
        session.row_engine.collect(_distinct_rows(session, encoded)) as found,
        session.batches(select_sql(found, items), rows) as reader,
    ):
        parts = in_chunks(columns(reader), rows)
        return RowChunks(parts, len(positions), n_lines, room, make_file)


def _distinct_rows(session: Session, encoded: Encoded) -> str:
    """The query for the rows that differ, with a weight each."""
    row_engine = session.row_engine
    total = f"({encoded.total_sql})::DOUBLE"
    grouped = encoded.rows >= session.limits.weights_grouped_rows or not row_engine.numbers_rows
    if not grouped:
        total = "w::DOUBLE" if encoded.weighted else "1.0::DOUBLE"
    return render(
        "loo/distinct_training_rows",
        columns=[encoded.column(v) for v in range(encoded.n_attributes + 1)],
        total=total,
        relation=encoded.relation,
        grouped=grouped,
    )


def _items(encoded: Encoded, positions: Sequence[int]) -> str:
    """Class, weight, and for every attribute where a row meets its table, in SQL."""
    width, items = 2 * encoded.cards[-1] - 1, ["y::UINTEGER AS y", "w"]
    for place, v in enumerate(positions):
        kind = "UINTEGER" if encoded.cards[v] * width >= 1 << 16 else "USMALLINT"
        items.append(f"({encoded.column(v)}::UINTEGER * {width} + y)::{kind} AS c{place}")
    return ", ".join(items)
