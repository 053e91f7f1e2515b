"""Pass 3 in the long form: rows times attributes, and one join with a table of all factors of a k'.

What the tables of product_loo_tables.py say stands in one, the keys of an attribute behind those of
the one before. Every key of a row is looked up there, and the logarithms are added up along the
row. The plan is the same for any number of attributes and rows do not carry the columns of all
classes through every join; but every key is a row of its own, which takes longer than a join.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.packing import key_type, packed_sql
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import literal, render, select_sql
from sqlbn.kinds.estimates import (
    TableEstimate,
    mixed_ratio_sql,
    prior_sql,
    ratio_sql,
)
from sqlbn.kinds.losses import Loss, LossTotals, terms
from sqlbn.kinds.product.product_loo import Batch, LeaveOneOut, LeftOut
from sqlbn.kinds.product.product_loo_tables import Array

# The column of the table of all factors that says how many attributes a prefix ends with.
PLACE = "place"


def key_starts(counts: FamilyCounts, order: Sequence[int], k: int) -> tuple[list[int], int]:
    """What is added to the keys of each attribute for k', and how many keys there are."""
    starts, keys = list[int](), 0
    for position in order:
        starts.append(keys)
        level = min(k, counts.depth(position))
        keys += math.prod(counts.encoded.cards[v] for v in counts.axes(position, level))
    return starts, keys


def has_long_form(counts: FamilyCounts, order: Sequence[int], k: int) -> bool:
    """Whether the keys of all attributes are numbers that arrays have, too."""
    return key_starts(counts, order, k)[1] <= 2**63


class LongLoo(LeaveOneOut):
    """The losses of KDB models over the first attributes of an order; see LeaveOneOut."""

    def prepare(self, k: int, n_attributes: int) -> None:
        """Nothing: the table of a k' is made when it is evaluated."""

    def losses_at(
        self, k: int, relation: str, total: float, prefixes: Sequence[int]
    ) -> dict[Loss, list[float]]:
        size, weight = len(self._order) + 1, self._weight
        totals = LossTotals(self._row_engine, self._losses, size, self._counts.n_classes)
        if 0 in prefixes:
            batch = Batch(range(0), 0, (0,))
            totals.add(self._joined_sql(batch, k, relation, with_terms=True), (0,), weight)
        asked = [p for p in prefixes if p]
        if asked:
            order = self._order[: max(asked)]
            with self._table_of(order, k) as table:
                # Along the row only where there is more than one prefix to know.
                summed = self._summed_sql(order, k, relation, table, len(asked) > 1)
                query = self._terms_sql(summed, str(asked[0]) if len(asked) == 1 else None)
                totals.add_long(query, asked, weight)
        return totals.losses(total)

    def left_out_logs(self, k: int, place: str) -> LeftOut:
        self._place = place
        try:
            with self._row_engine.joins_as_written(), self._table_of(self._order, k) as table:
                query = self._summed_sql(self._order, k, self._relation, table, False)
                found = self._row_engine.arrays(select_sql(f"({query})", order=place))
        finally:
            self._drop()
        return self._left_out(found)

    # -- the table ---------------------------------------------------------------------------

    @contextmanager
    def _table_of(self, order: Sequence[int], k: int) -> Iterator[str]:
        """All factors of a k' in one table, while it is used."""
        name = self._session.fresh_name("loo_long")
        starts, keys = key_starts(self._counts, order, k)
        kind, names = key_type(keys), self._columns(k)
        arrays, queries = [{c: np.zeros(0, _numpy_type(c, kind)) for c in names}], list[str]()
        for place, (position, level, piece) in enumerate(self._tables.pieces(order, k)):
            constants = self._constants(position, level, k)
            constants |= {"start": starts[place], PLACE: place + 1}
            if isinstance(piece, str):
                queries.append(self._piece_sql(piece, names, kind, constants))
            else:
                arrays.append(self._piece(piece, names, kind, constants))
        columns = {c: np.concatenate([piece[c] for piece in arrays]) for c in names}
        self._session.create_table(name, columns)
        try:
            for query in queries:
                self._session.insert_from(name, query)
            yield name
        finally:
            self._row_engine.unbroadcast(name)
            self._session.drop_table(name)

    def _columns(self, k: int) -> list[str]:
        """The columns of the table, of which every factor fills those that it has."""
        shared, slots = ["key", PLACE], self._slots
        if not self._encoded.importance:
            return [*shared, *(f"l_{j}" for j in slots)]
        if not self._smoothing.is_hierarchical:
            columns = (f"{c}_{j}" for j in slots for c in "qr")
            return [*shared, "share", "n", "t", "alone", *columns]
        levels = range(self._deepest(k) + 1)
        mixed = [f"{c}_{level}" for level in levels for c in ("nts" if level else "nt")]
        return [*shared, "share", "everywhere", *mixed, *(f"q_{j}" for j in slots)]

    def _deepest(self, k: int) -> int:
        return min(k, max((self._counts.depth(i) for i in self._order), default=0))

    def _constants(self, position: int, level: int, k: int) -> dict[str, float]:
        """What is the same for all keys of an attribute.

        Levels that it does not have are those of no rows, mixed into one of the level above.
        """
        constants = {"share": self._smoothing.of(self._encoded.cards[position]).share}
        strengths = self._tables.strengths(position, level)
        constants |= {f"s_{at}": strength for at, strength in enumerate(strengths, 1)}
        for missing in range(level + 1, self._deepest(k) + 1):
            constants |= {f"n_{missing}": 0.0, f"t_{missing}": 0.0, f"s_{missing}": 1.0}
        return constants

    def _piece(
        self,
        piece: dict[str, Array],
        names: Sequence[str],
        kind: str,
        constants: Mapping[str, float],
    ) -> dict[str, Array]:
        """The rows of a factor whose table is in arrays."""
        found = dict[str, Array]()
        for name in names:
            if name == "key":
                number = _numpy_type(name, kind)
                values = piece[name].astype(number) + number(constants["start"])
            elif name in constants:
                values = np.full(len(piece["key"]), constants[name], _numpy_type(name, kind))
            else:
                values = np.log(piece[f"r_{name[2:]}"]) if name.startswith("l_") else piece[name]
            found[name] = values
        return found

    def _piece_sql(
        self, relation: str, names: Sequence[str], kind: str, constants: Mapping[str, float]
    ) -> str:
        """The same of one in the engine."""
        items = list[str]()
        for name in names:
            if name == "key":
                items.append(f"{constants['start']}::{kind} + key")
            elif name in constants:
                items.append(literal(constants[name]))
            else:
                items.append(f"ln(r_{name[2:]})" if name.startswith("l_") else name)
        return select_sql(relation, ", ".join(items))

    # -- SQL ---------------------------------------------------------------------------------

    def _summed_sql(
        self, order: Sequence[int], k: int, relation: str, table: str, has_prefixes: bool
    ) -> str:
        """Rows with the logarithms of the ratios after all attributes, or after each of them."""
        dialect, encoded = self._row_engine.dialect, self._encoded
        starts, n_keys = key_starts(self._counts, order, k)
        keys = []
        for position, start in zip(order, starts, strict=True):
            axes = self._axes(position, k)
            key = packed_sql([encoded.column(v) for v in axes], [encoded.cards[v] for v in axes])
            keys.append(f"{start}::{key_type(n_keys)} + ({key})")
        used = sorted({v for i in order for v in self._axes(i, k)[:-1]})
        columns = [*self._kept(), *(encoded.column(v) for v in used)]
        numbered = select_sql(relation, ", ".join([*columns, f"{dialect.number_of_row} AS {ROW}"]))
        return render(
            "loo/loo_long",
            kept=self._kept(),
            row=ROW,
            rows=f"({dialect.together(numbered, ROW)})",
            unfolded=dialect.unfolded(keys),
            table=table,
            place=PLACE if has_prefixes else None,
            logs=self._logs(k),
            prior=self._prior,
        )

    def _axes(self, position: int, k: int) -> Sequence[int]:
        return self._counts.axes(position, min(k, self._counts.depth(position)))

    def _logs(self, k: int) -> list[dict[str, str]]:
        """The logarithms of a slot's ratios: what a row finds in the table, and its prior."""
        estimate, how = self._prior_estimate, (self._encoded.importance, self._rotated)
        return [
            {
                "name": f"l{j}",
                "sql": self._log_ratio(k, j),
                "prior": f"ln({prior_sql(estimate, 'prior', 's', j, *how)})",
            }
            for j in self._slots
        ]

    def _log_ratio(self, k: int, j: int) -> str:
        if not self._encoded.importance:
            return f"t.l_{j}"
        # What differs between attributes is in columns of the table.
        estimate = TableEstimate(self._smoothing.m, math.nan, "t.share")
        if not self._smoothing.is_hierarchical:
            return f"ln({ratio_sql(estimate, 't', 'u', j, True, self._rotated)})"
        strengths = [f"t.s_{level}" for level in range(1, self._deepest(k) + 1)]
        how = self._smoothing, estimate, strengths
        return f"ln({mixed_ratio_sql(*how, 't', 'u', j, self._rotated)})"

    def _terms_sql(self, summed: str, place: str | None) -> str:
        """The terms of the losses of every row and prefix; of one prefix its `place`."""
        dialect, slots = self._row_engine.dialect, self._slots
        found = terms(self._losses, [f"r{j}" for j in slots], "own", "top", self._rotated, dialect)
        kept = ["y", *(["w"] if self._weight else [])]
        return render(
            "loo/loo_long_terms",
            kept=[*kept, *([] if place else [PLACE])],
            place=place,
            terms=[{"sql": sql, "name": name} for name, sql in found.items()],
            own=dialect.exp("-top"),
            ratios=[{"sql": dialect.exp(f"l{j} - top"), "name": f"r{j}"} for j in slots],
            top=dialect.greatest(["0e0", *(f"l{j}" for j in slots)]) if slots else "0e0",
            summed=summed,
        )


def _numpy_type(name: str, kind: str) -> type[np.generic]:
    """That of a column of the table of all factors."""
    if name == "key":
        return np.uint32 if kind == "UINTEGER" else np.int64
    return np.uint16 if name == PLACE else np.float64
