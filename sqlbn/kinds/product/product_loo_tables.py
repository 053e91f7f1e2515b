"""Leave-one-out factor tables: for a row's own key, how much each other class gains on its class.

The counts that change when a row is left out are those of its own cell in its own class, so the
factor depends only on (value, parents, class): it is a column of a table that rows are joined with.

With weights that are importances it depends on the row's weight w too. The table then has the
estimates q_j of the other classes and the row's own counts n and t, and the query makes
q_j (t - w + m) / (n - w + m/v) of them. Where w is all that is in the cell (`alone`), which one row
alone can have, the key says what w is: then the factor is a column again, r_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import literal
from sqlbn.kinds.estimates import Smoothing

Array = npt.NDArray[Any]

# Values a table may have to be made by arrays and to hold every key. A join with a table without
# gaps hands the rows on untouched (measured: 1 M rows, k' = 3, 54 joins: 3.0 s against 5.9 s).
_DENSE_MOST = 1 << 21
_DENSE_LEAST = 1 << 15
_DENSE_CELLS_PER_ROW = 4
# Past this share of the memory limit the tables of one k' go to scratch files.
_MEMORY_SHARE = 0.2


@dataclass(frozen=True)
class LooTable:
    """A relation (key, r_1, r_2, …), and a bound on |ln r|; see `ratio_sql` for importances."""

    relation: str
    bound: float
    n_bytes: int
    scratch: Path | None = None


def ratio_sql(
    table: str, row: str, j: int, m: float, share: float, importance: bool, rotated: bool
) -> str:
    """The ratio of a slot, of a joined table and a row with its class y and weight w."""
    if not importance:
        return f"{table}.r_{j}"
    # The subtractions are exact, what is added to them is not.
    changed = (
        f"{table}.q_{j} * (({table}.t - {row}.w) + {literal(m)}) "
        f"/ (({table}.n - {row}.w) + {literal(share)})"
    )
    own = "" if rotated else f"WHEN {row}.y = {j} THEN 1e0 "
    # DuckDB 2.0.0 stops with an internal error where a column is that of a joined table in one
    # chunk of rows and computed in the next: so a zero is added.
    last = f"{table}.r_{j} + ({row}.w - {table}.alone)"
    return f"CASE {own}WHEN {row}.w < {table}.alone THEN {changed} ELSE {last} END"


def slots_of(n_classes: int, rotated: bool) -> list[int]:
    """The numbers of the ratio columns.

    Rotated, slot j of a row of class y is class (y + j) mod c, and the row's own class needs no
    column: its ratio is 1. Otherwise slot j is class j.
    """
    return list(range(1, n_classes)) if rotated else list(range(n_classes))


def slot_classes(n_classes: int, rotated: bool) -> Array:
    """The class of each slot (columns) for each class y of a row (rows)."""
    y, j = np.arange(n_classes)[:, None], np.array(slots_of(n_classes, rotated), dtype=np.int64)
    found: Array = (y + j) % n_classes if rotated else np.broadcast_to(j, (n_classes, len(j)))
    return found


def loo_ratios(counts: Array, smoothing: Smoothing, rotated: bool, w: Array | float = 1.0) -> Array:
    """P'(x | pa, class of slot) / P'(x | pa, y) for every cell (x, parents, y), slots last.

    `counts` has axes value, parents in order, class. P' are the estimates without a row of weight
    `w` (of each cell, or one number) in class y, with back-off to fewer parents where nothing of
    the value would be left, or nothing with the parents' values. Where unseen values are neutral,
    one that no other row has says nothing of the class.
    """
    m, by_parents = smoothing.m, smoothing.left_out_by_parents
    n_values, n_classes = counts.shape[0], counts.shape[-1]
    classes = slot_classes(n_classes, rotated)
    best: Array | None = None
    for level in range(counts.ndim - 1):
        deeper = tuple(range(1 + level, counts.ndim - 1))
        cells = counts.sum(axis=deeper, keepdims=True).astype(float)
        parents = cells.sum(axis=0, keepdims=True)
        estimates = (cells + m / n_values) / (parents + m)
        own = (np.maximum(cells - w, 0.0) + m / n_values) / (np.maximum(parents - w, 0.0) + m)
        ratios = estimates[..., classes] / own[..., None]
        if best is not None:
            seen = (parents if by_parents else cells).sum(axis=-1, keepdims=True)
            ratios = np.where((seen - w > 0)[..., None], ratios, best)
        best = ratios
    assert best is not None
    if smoothing.is_neutral:
        best = np.where((_totals(counts) - w > 0)[..., None], best, 1.0)
    best[..., classes == np.arange(n_classes)[:, None]] = 1.0
    best[counts == 0] = 1.0  # keys that no row has
    return best


def _totals(counts: Array) -> Array:
    """How often each value occurs at all, along the axes of the counts."""
    found: Array = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    return found


def importance_columns(counts: Array, smoothing: Smoothing, rotated: bool) -> dict[str, Array]:
    """The columns that `ratio_sql` reads, of every cell (x, parents, y)."""
    n_classes, m, by_parents = counts.shape[-1], smoothing.m, smoothing.left_out_by_parents
    cells = counts.astype(float)
    parents = np.broadcast_to(cells.sum(axis=0, keepdims=True), cells.shape)
    alone = (parents if by_parents else cells).sum(axis=-1, keepdims=True)
    if by_parents and smoothing.is_neutral:
        alone = np.minimum(alone, _totals(counts))
    # Of several classes none can be a single row.
    last = loo_ratios(counts, smoothing, rotated, alone)
    last[cells < alone] = 1.0
    estimates = (cells + m / cells.shape[0]) / (parents + m)
    others = estimates[..., slot_classes(n_classes, rotated)]
    found = {"n": cells, "t": parents, "alone": np.broadcast_to(alone, cells.shape)}
    for i, j in enumerate(slots_of(n_classes, rotated)):
        found |= {f"q_{j}": others[..., i], f"r_{j}": last[..., i]}
    return {name: np.ascontiguousarray(values).reshape(-1) for name, values in found.items()}


def prior_columns(
    class_counts: Array, m: float, rotated: bool, importance: bool
) -> dict[str, Array]:
    """P'(class of slot) / P'(y) for each class y; for importances what `prior_sql` makes it of."""
    n_classes = len(class_counts)
    classes = slot_classes(n_classes, rotated)
    shares = (class_counts + m / n_classes)[classes]
    slots = slots_of(n_classes, rotated)
    if importance:
        found = {"n": np.asarray(class_counts, float)}
        return found | {f"q_{j}": shares[:, i] for i, j in enumerate(slots)}
    ratios = shares / (np.maximum(class_counts - 1, 0.0) + m / n_classes)[:, None]
    ratios[classes == np.arange(n_classes)[:, None]] = 1.0
    return {f"r_{j}": ratios[:, i] for i, j in enumerate(slots)}


def prior_sql(table: str, row: str, j: int, share: float, importance: bool, rotated: bool) -> str:
    """The ratio of a slot before any attribute, as `ratio_sql`."""
    if not importance:
        return f"{table}.r_{j}"
    changed = f"{table}.q_{j} / (({table}.n - {row}.w) + {literal(share)})"
    return changed if rotated else f"CASE WHEN {row}.y = {j} THEN 1e0 ELSE {changed} END"


class LooTables:
    """Makes and keeps the tables of one fit; each is used by every k' that reaches its level."""

    def __init__(
        self, counts: FamilyCounts, total: float, smoothing: Smoothing, rotated: bool
    ) -> None:
        self._counts, self._total, self._rotated = counts, total, rotated
        self._smoothing, self._m = smoothing, smoothing.m
        self._importance = counts.encoded.importance
        self._session = counts.workspace.session
        self._tables: dict[tuple[int, int], LooTable] = {}
        self._slots = slots_of(counts.n_classes, rotated)

    def at(self, position: int, k: int) -> LooTable:
        """The table of an attribute for k': its first k parents, or all it has."""
        level = min(k, self._counts.depth(position))
        if (position, level) not in self._tables:
            make = self._make_dense if self._is_dense(position, level) else self._make_sparse
            self._tables[position, level] = make(position, level)
        return self._tables[position, level]

    def ratio_sql(self, position: int, table: str, row: str, j: int) -> str:
        """The ratio of a slot, of a joined table of an attribute and a row."""
        share = self._m / self._counts.encoded.cards[position]
        return ratio_sql(table, row, j, self._m, share, self._importance, self._rotated)

    def _is_dense(self, position: int, level: int) -> bool:
        cells, n_classes = self._counts.cells(position, level), self._counts.n_classes
        fair = _DENSE_CELLS_PER_ROW * self._counts.encoded.rows
        return cells * n_classes <= min(_DENSE_MOST, max(_DENSE_LEAST, fair * n_classes))

    def forget(self, k: int) -> None:
        """Drop the tables that no greater k' and no deeper table needs."""
        for position, level in list(self._tables):
            # An attribute with few parents keeps its deepest table; a sparse table is made from
            # the one a level above it.
            finished = level <= k and level < self._counts.depth(position)
            if finished and (level < k or self._is_dense(position, level + 1)):
                self._drop(self._tables.pop((position, level)))

    def drop(self) -> None:
        """Drop all tables."""
        for table in self._tables.values():
            self._drop(table)
        self._tables.clear()

    def _drop(self, table: LooTable) -> None:
        if table.scratch is not None:
            table.scratch.unlink(missing_ok=True)
        else:
            self._session.row_engine.unbroadcast(table.relation)
            self._session.execute(f"DROP TABLE {table.relation}")

    # -- making ------------------------------------------------------------------------------

    def _make_dense(self, position: int, level: int) -> LooTable:
        import pyarrow as pa

        counts, cells = self._counts.array(position, level), self._counts.cells(position, level)
        columns = {"key": np.arange(cells, dtype=np.uint32)}
        if self._importance:
            columns |= importance_columns(counts, self._smoothing, self._rotated)
            return self._put(pa.table(columns), self._most(position))
        ratios = loo_ratios(counts, self._smoothing, self._rotated)
        flat = ratios.reshape(cells, len(self._slots))
        columns |= {f"r_{j}": np.ascontiguousarray(flat[:, i]) for i, j in enumerate(self._slots)}
        bound = float(np.abs(np.log(flat)).max()) if flat.size else 0.0
        return self._put(pa.table(columns), bound)

    @property
    def _seen_sql(self) -> str:
        """What must be more than the row for a level to be used, of lists of counts by class."""
        if not self._smoothing.left_out_by_parents:
            return "list_sum(n)"
        # Where a value is unseen when the row is out, no parents say anything of it.
        return "least(list_sum(t), everywhere)" if self._smoothing.is_neutral else "list_sum(t)"

    def _most(self, position: int) -> float:
        """A bound on |ln r| of an attribute, whatever its counts and the weight of a row."""
        return math.log(
            (self._total + self._m) * self._counts.encoded.cards[position] / self._m + 1
        )

    def _put(self, table: Any, bound: float) -> LooTable:
        used = sum(t.n_bytes for t in self._tables.values() if t.scratch is None)
        is_crowded = used + table.nbytes > _MEMORY_SHARE * self._session.memory_bytes
        # Only tables are lent to another lake.
        if is_crowded and self._session.row_engine.is_local:
            import pyarrow.parquet as pq

            path = self._session.scratch_file("loo", ".parquet")
            pq.write_table(table, path, compression="none", use_dictionary=False)
            return LooTable(f"read_parquet({literal(str(path))})", bound, table.nbytes, path)
        name = self._session.fresh_name("loo")
        self._session.create_table(name, {c: table.column(c) for c in table.column_names})
        return LooTable(name, bound, table.nbytes)

    def _make_sparse(self, position: int, level: int) -> LooTable:
        counts, cards = self._counts, self._counts.encoded.cards
        codes = counts.codes(position)
        used = counts.axes(position, level)[:-1]
        radices = [cards[v] for v in used]
        lower = self.at(position, level - 1).relation if level else None
        name = self._session.fresh_name("loo")
        n_values = cards[position]
        self._session.run(
            "loo/loo_sparse",
            table=name,
            cell=packed_sql([codes[v] for v in used], radices),
            parents=packed_sql([codes[v] for v in used[1:]], radices[1:]),
            lower_cell=packed_sql([codes[v] for v in used[:-1]], radices[:-1]),
            y=codes[counts.encoded.class_variable],
            lower=lower,
            backs_off=lower is not None or self._smoothing.is_neutral,
            n_classes=counts.n_classes,
            slots=[
                {
                    "name": f"r_{j}",
                    "estimate": f"q_{j}",
                    "at": f"(y + {j}) % {counts.n_classes}" if self._rotated else j,
                }
                for j in self._slots
            ],
            importance=self._importance,
            seen=self._seen_sql,
            value=codes[position] if "everywhere" in self._seen_sql else None,
            counts=counts.table,
            position=position,
            m=literal(float(self._m)),
            share=literal(self._m / n_values),
        )
        return LooTable(name, self._most(position), 0)
