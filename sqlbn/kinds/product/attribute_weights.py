"""The weights of selective naive Bayes: subsets of attributes tried on the training rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render, select_sql
from sqlbn.kinds.estimates import Smoothing, log_prior
from sqlbn.kinds.product.factor_tables import FactorTables
from sqlbn.structure.variable_selection import Selected, n_starts, select_variables

Array = npt.NDArray[Any]

# A ratio beyond this is as good as infinite; its exponential must stay a number.
_MOST = 690.0


class SubsetRows:
    """Rows with their classes and weights, and the tables of all variables.

    `tables[k]` has a column for each (code of variable k, class) and a row for each other class,
    rotated: row j is class (y + 1 + j) mod c. `load` gives, for some variables, the column of
    its table that each row of the data meets; as many variables as `chunks` puts together are held
    at a time.
    """

    def __init__(
        self,
        prior: Array,
        classes: Array,
        weights: Array | None,
        tables: Sequence[Array],
        load: Callable[[Sequence[int]], dict[int, Array]],
        chunks: Sequence[Sequence[int]],
        threads: int,
        block: int = Limits.weights_block_rows,
    ) -> None:
        self.chunks = chunks
        self._start = np.ascontiguousarray(prior[:, classes])
        self._weights, self._tables, self._load = weights, tables, load
        self._held: dict[int, Array] = {}
        self._members: set[int] = set()
        self._scores, self._tried = self._start.copy(), self._start.copy()
        self._last = -1
        n = len(classes)
        self._blocks = [slice(at, min(at + block, n)) for at in range(0, n, block)]
        self._pool = ThreadPoolExecutor(max(1, threads))
        self._threads = max(1, threads)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def clear(self) -> float:
        """Start with no variable; the loss of the prior alone."""
        self._members.clear()
        self._scores[:] = self._start
        return self._total(self._start_loss)

    def toggled(self, variable: int) -> float:
        """The loss with a variable added, or without one that is in."""
        if variable not in self._held:
            chunk = next(c for c in self.chunks if variable in c)
            self._held = self._load(chunk)
        places, table = self._held[variable], self._tables[variable]
        combine = np.subtract if variable in self._members else np.add
        self._last = variable

        def work(block: slice) -> float:
            at = places[block].astype(np.intp)
            ratios = np.zeros(len(at))
            for line, scores, tried in zip(table, self._scores, self._tried, strict=True):
                change = line.take(at)
                combine(scores[block], change, out=tried[block])
                np.minimum(tried[block], _MOST, out=change)
                np.exp(change, out=change)
                ratios += change
            return self._loss(ratios, block)

        return self._total(work)

    def accept(self) -> None:
        """Keep what was tried last."""
        self._members ^= {self._last}
        self._scores, self._tried = self._tried, self._scores

    def _start_loss(self, block: slice) -> float:
        return self._loss(np.exp(np.minimum(self._start[:, block], _MOST)).sum(axis=0), block)

    def _loss(self, ratios: Array, block: slice) -> float:
        """The loss of some rows from the sums of their ratios, which are used up."""
        np.log1p(ratios, out=ratios)
        if self._weights is not None:
            return float(ratios @ self._weights[block])
        return float(ratios.sum())

    def _total(self, work: Callable[[slice], float]) -> float:
        """A sum over all blocks; the same for any number of threads."""
        if self._threads == 1 or len(self._blocks) < 4:
            return math.fsum(map(work, self._blocks))
        share = -(-len(self._blocks) // self._threads)
        parts = [self._blocks[at : at + share] for at in range(0, len(self._blocks), share)]
        found = self._pool.map(lambda part: [work(block) for block in part], parts)
        return math.fsum(loss for losses in found for loss in losses)


def rotated(logs: Array) -> Array:
    """ln P(x, class) of every value as ratios to each class: (other classes, values x classes)."""
    n_classes = logs.shape[-1]
    y = np.arange(n_classes)
    others = (y + np.arange(1, n_classes)[:, None]) % n_classes
    ratios = [(logs[..., other] - logs[..., y]).reshape(-1) for other in others]
    return np.array(ratios).reshape(n_classes - 1, logs.size)


def search_weights(
    counts: FamilyCounts,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    seed: int,
    progress: Progress,
) -> Selected:
    """Search the subsets of all attributes, whose counts with the class are at hand."""
    session, encoded = counts.workspace.session, counts.encoded
    positions = list(counts.families)
    if encoded.cards[-1] < 2 or not positions:
        return Selected(frozenset(), (0.0,) * len(positions), 0.0, 0.0, 0)
    tables = [rotated(logs) for logs in FactorTables(counts, smoothing).single_logs()]
    prior = rotated(np.array(log_prior(class_counts, smoothing)))
    relation = _distinct_rows(session, encoded)
    total = float(sum(class_counts))
    try:
        found = session.arrays(select_sql(relation, "y, w"))
        rows = SubsetRows(
            prior,
            found["y"],
            found["w"].astype(float),
            tables,
            _loader(session, encoded, relation, positions),
            _chunks(session, encoded, len(found["y"]), positions),
            session.threads,
            session.limits.weights_block_rows,
        )
        starts = n_starts(len(positions), total)
        title = f"selecting attributes, {starts} random starts"
        try:
            with progress.stage("selection", title, encoded.rows, starts):
                return select_variables(rows, len(positions), total, seed, progress.advance)
        finally:
            rows.close()
    finally:
        session.drop_table(relation)


def _distinct_rows(session: Session, encoded: Encoded) -> str:
    """A table of the rows that differ, with a weight each.

    It lies in the model's database, so rows of another lake that differ come to the driver.
    """
    name, row_engine = session.fresh_name("weighed"), session.row_engine
    grouped = encoded.rows >= session.limits.weights_grouped_rows or not row_engine.numbers_rows
    columns = [encoded.column(v) for v in range(encoded.n_attributes + 1)]
    total = f"({encoded.total_sql})::DOUBLE"
    if not grouped:
        total = "w::DOUBLE" if encoded.weighted else "1.0::DOUBLE"
    query = render(
        "loo/distinct_training_rows",
        columns=columns,
        total=total,
        relation=encoded.relation,
        grouped=grouped,
    )
    with row_engine.collect(query) as found:
        session.create_from(name, select_sql(found))
    return name


def _chunks(
    session: Session, encoded: Encoded, rows: int, positions: Sequence[int]
) -> list[list[int]]:
    """Attributes whose codes are held in memory together, by their place among all."""
    widths = [4 if encoded.cards[v] * encoded.cards[-1] >= 1 << 16 else 2 for v in positions]
    share = session.limits.weights_chunk_share
    room = max(1, int(share * session.memory_bytes / max(rows, 1)))
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
    session: Session, encoded: Encoded, relation: str, positions: Sequence[int]
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
        found = session.arrays(select_sql(relation, items))
        return {p: found[f"c{p}"] for p in places}

    return load
