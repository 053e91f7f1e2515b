"""Leave-one-out factor tables: for a row's own key, how much each other class gains on its class.

The counts that change when a row is left out are those of its own cell in its own class, so the
factor depends only on (value, parents, class): it is a column of a table that rows are joined with.

With weights that are importances it depends on the row's weight w too. The table then has the
estimates q_j of the other classes and the row's own counts n and t, and the query makes
q_j (t - w + m) / (n - w + m/v) of them. Where w is all that is in the cell (`alone`), which one row
alone can have, the key says what w is: then the factor is a column again, r_j. Where levels are
mixed (hierarchical smoothing), it has n and t of every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import literal
from sqlbn.engines.threads import ahead
from sqlbn.kinds.estimates import (
    Chain,
    Smoothing,
    importance_columns,
    loo_ratios,
    mixed_importance_columns,
    mixed_ratio_sql,
    ratio_sql,
    slot_classes,
    slots_of,
)
from sqlbn.kinds.product.factor_tables import put_keyed
from sqlbn.kinds.product.seen_chain import SeenChain

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LooTable:
    """A relation (key, r_1, r_2, …), and a bound on |ln r|; see `ratio_sql` for importances."""

    relation: str
    bound: float
    n_bytes: int
    scratch: Path | None = None


class LooTables:
    """Makes and keeps the tables of one fit; each is used by every k' that reaches its level."""

    def __init__(
        self,
        counts: FamilyCounts,
        total: float,
        smoothing: Smoothing,
        rotated: bool,
        chains: Mapping[int, Chain],
    ) -> None:
        self._counts, self._total, self._rotated = counts, total, rotated
        self._smoothing, self._chains = smoothing, chains
        self._importance = counts.encoded.importance
        self._session = counts.workspace.session
        self._tables: dict[tuple[int, int], LooTable] = {}
        self._slots = slots_of(counts.n_classes, rotated)

    def at(self, position: int, k: int) -> LooTable:
        """The table of an attribute for k': its first k parents, or all it has."""
        level = min(k, self._counts.depth(position))
        if (position, level) not in self._tables:
            sparse = self._make_seen if self._smoothing.is_hierarchical else self._make_sparse
            make = self._make_dense if self._is_dense(position, level) else sparse
            self._tables[position, level] = make(position, level)
        return self._tables[position, level]

    def ratio_sql(self, position: int, k: int, table: str, row: str, j: int) -> str:
        """The ratio of a slot, of a joined table of an attribute for k' and a row."""
        estimate = self._smoothing.of(self._counts.encoded.cards[position])
        if self._smoothing.is_hierarchical and self._importance:
            strengths = self.strengths(position, min(k, self._counts.depth(position)))
            return mixed_ratio_sql(
                self._smoothing, estimate, strengths, table, row, j, self._rotated
            )
        return ratio_sql(estimate, table, row, j, self._importance, self._rotated)

    def _is_dense(self, position: int, level: int) -> bool:
        cells, n_classes = self._counts.cells(position, level), self._counts.n_classes
        limits = self._session.limits
        fair = limits.loo_dense_cells_per_row * self._counts.encoded.rows * n_classes
        room = min(limits.loo_dense_values, max(limits.loo_dense_values_least, fair))
        return cells * n_classes <= room

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
            self._session.drop_table(table.relation)

    # -- making ------------------------------------------------------------------------------

    def prepare(self, positions: Sequence[int], k: int) -> None:
        """Make the tables of k' that are made in arrays, by several threads."""
        levels = ((position, min(k, self._counts.depth(position))) for position in positions)
        missing = [at for at in levels if at not in self._tables and self._is_dense(*at)]
        made = ahead(self._session.threads, starmap(self._dense, missing))
        for at, (table, bound) in zip(missing, made, strict=True):
            self._tables[at] = self._put(table, bound)

    def pieces(
        self, positions: Sequence[int], k: int
    ) -> Iterator[tuple[int, int, dict[str, Array] | str]]:
        """Of every attribute its level for k', and its table: columns, or a relation if sparse."""
        levels = [(position, min(k, self._counts.depth(position))) for position in positions]
        dense = [at for at in levels if self._is_dense(*at)]
        made = ahead(self._session.threads, starmap(self._dense, dense))
        for position, level in levels:
            if self._is_dense(position, level):
                table, _ = next(made)
                yield position, level, table
            else:
                yield position, level, self.at(position, level).relation

    def _make_dense(self, position: int, level: int) -> LooTable:
        return self._put(*self._dense(position, level)())

    def _dense(self, position: int, level: int) -> Callable[[], tuple[dict[str, Array], float]]:
        """The work of a table that holds every key, and a bound; counts are read here."""
        return partial(self._columns, position, level, self._counts.array(position, level))

    def _columns(self, position: int, level: int, counts: Array) -> tuple[dict[str, Array], float]:
        cells = counts.size
        columns = {"key": np.arange(cells, dtype=np.uint32)}
        strengths = self.strengths(position, level)
        if self._importance and self._smoothing.is_hierarchical:
            columns |= mixed_importance_columns(counts, self._smoothing, self._rotated, strengths)
            return columns, self._most(position)
        if self._importance:
            columns |= importance_columns(counts, self._smoothing, self._rotated)
            return columns, self._most(position)
        ratios = loo_ratios(counts, self._smoothing, self._rotated, strengths=strengths)
        flat = ratios.reshape(cells, len(self._slots))
        columns |= {f"r_{j}": np.ascontiguousarray(flat[:, i]) for i, j in enumerate(self._slots)}
        bound = float(np.abs(np.log(flat)).max()) if flat.size else 0.0
        return columns, bound

    def strengths(self, position: int, level: int) -> tuple[float, ...]:
        """Those of an attribute's levels with parents, where levels are mixed."""
        return self._chains[position].strengths[:level] if self._smoothing.is_hierarchical else ()

    def _most(self, position: int) -> float:
        """A bound on |ln r| of an attribute, whatever its counts and the weight of a row."""
        n_values = self._counts.encoded.cards[position]
        most = self._smoothing.of(n_values).most_log_ratio(self._total, n_values)
        return most + sum(math.log1p(self._total / s) for s in self._chains[position].strengths)

    def _make_seen(self, position: int, level: int) -> LooTable:
        """Ratios of the cells that were seen, from arrays: levels are mixed with those above."""
        counts, n_classes = self._counts, self._counts.n_classes
        seen = SeenChain.of(counts, position, self._smoothing, n_levels=level + 1)
        chain, cells = self._chains[position], seen.levels[level]
        at, y = np.nonzero(cells.n)
        all_in, own = seen.estimates(chain)[level], seen.estimates(chain, out=1.0)[level]
        others = slot_classes(n_classes, self._rotated)[y]
        everywhere = _total_of_value(seen, level)[at]
        columns: dict[str, Array] = {}
        if self._importance:
            columns["everywhere"] = everywhere
            columns |= _own_counts(seen, level, at, y)
            columns |= {f"q_{j}": all_in[at, others[:, i]] for i, j in enumerate(self._slots)}
        else:
            ratios = all_in[at[:, None], others] / own[at, y][:, None]
            ratios[others == y[:, None]] = 1.0
            if self._smoothing.is_neutral:
                ratios[everywhere <= 1] = 1.0
            columns |= {f"r_{j}": ratios[:, i] for i, j in enumerate(self._slots)}
        axes = counts.axes(position, level)
        name = self._session.fresh_name("loo")
        codes = [*(c[at] for c in cells.codes), y]
        radices = [counts.encoded.cards[v] for v in axes]
        put_keyed(self._session, name, codes, radices, columns)
        return LooTable(name, self._most(position), 0)

    def _put(self, columns: dict[str, Array], bound: float) -> LooTable:
        n_bytes = sum(column.nbytes for column in columns.values())
        used = sum(t.n_bytes for t in self._tables.values() if t.scratch is None)
        is_crowded = (
            used + n_bytes > self._session.limits.loo_tables_share * self._session.memory_bytes
        )
        # Only tables are lent to another lake.
        if is_crowded and self._session.row_engine.is_local:
            import pyarrow as pa
            import pyarrow.parquet as pq

            path = self._session.scratch_file("loo", ".parquet")
            pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False)
            return LooTable(f"read_parquet({literal(str(path))})", bound, n_bytes, path)
        name = self._session.fresh_name("loo")
        self._session.create_table(name, columns)
        return LooTable(name, bound, n_bytes)

    def _make_sparse(self, position: int, level: int) -> LooTable:
        counts, cards = self._counts, self._counts.encoded.cards
        codes = counts.codes(position)
        used = counts.axes(position, level)[:-1]
        radices = [cards[v] for v in used]
        lower = self.at(position, level - 1).relation if level else None
        name = self._session.fresh_name("loo")
        seen = self._smoothing.evidence_left_out_sql
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
            seen=seen,
            value=codes[position] if "everywhere" in seen else None,
            counts=counts.table,
            position=counts.place(position),
            estimate=self._smoothing.of(cards[position]),
        )
        return LooTable(name, self._most(position), 0)


def _total_of_value(seen: SeenChain, level: int) -> Array:
    """For every cell of a level how often its value occurs at all."""
    at = np.arange(len(seen.levels[level].n))
    for place in range(level, 0, -1):
        at = seen.levels[place].lower[at]
    found: Array = seen.levels[0].n.sum(axis=1)[at]
    return found


def _own_counts(seen: SeenChain, level: int, at: Array, y: Array) -> dict[str, Array]:
    """The counts n_l and t_l of a cell's class at its own level and at all above it."""
    found: dict[str, Array] = {}
    for place in range(level, -1, -1):
        here = seen.levels[place]
        found |= {f"n_{place}": here.n[at, y], f"t_{place}": here.t[at, y]}
        at = here.lower[at] if place else at
    return found
