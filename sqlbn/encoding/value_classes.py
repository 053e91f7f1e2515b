"""Rows by value and class: what supervised partitions come from, and what a column tells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.data import Source
from sqlbn.encoding.codebook import (
    Codebook,
    Kind,
    categories_join_sql,
    code_sql,
    column_sql,
)
from sqlbn.encoding.discretise.equal_frequency import learn_cuts
from sqlbn.encoding.discretise.log_factorials import log_binomial, log_factorial, log_partitions
from sqlbn.encoding.discretise.modl import elementary_cells
from sqlbn.encoding.discretise.ordered import run_cost, whole_where_possible
from sqlbn.encoding.profile import ColumnProfile, Weights
from sqlbn.engines import Session
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.limits import in_blocks
from sqlbn.engines.sql import render
from sqlbn.engines.value_types import numeric_axis

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PartCounts:
    """Rows of the parts of a column by class, only where there are any, in the order of codes."""

    codes: Array
    classes: Array
    n: Array
    n_classes: int

    @staticmethod
    def of(counts: Array) -> PartCounts:
        """From an array (parts, classes)."""
        codes, classes = np.nonzero(counts)
        return PartCounts(codes, classes, counts[codes, classes], counts.shape[1])

    def by_class(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.classes, self.n, minlength=self.n_classes)

    def by_part(self, parts: int) -> Array:
        """Rows of each part."""
        return np.bincount(self.codes, self.n, minlength=parts)

    def cost(self, parts: int) -> float:
        """What the class distributions of all parts cost under the MODL criterion."""
        rows = whole_where_possible(self.by_part(parts)[None, :])[0]
        least = np.array([self.n_classes - 1])
        inside = whole_where_possible(self.n[None, :])[0]
        priors = log_factorial(rows + least[0]) - log_factorial(least)
        return float(priors.sum() - log_factorial(inside).sum())


@dataclass(frozen=True)
class ColumnInformation:
    """A column before the class: rows, parts, and what these cost.

    `elementary` is the number of cells that an optimisation started from, None where there was
    none. `used` is False where the column is left out because it is uninformative.
    """

    name: str
    kind: Kind
    present: float
    missing: float
    parts: int
    cost: float
    null_cost: float
    elementary: int | None = None
    used: bool = True

    @property
    def level(self) -> float:
        """1 - cost / null cost, from 0 (nothing) towards 1; 0 also where the parts cost more."""
        if not self.cost < self.null_cost:
            return 0.0
        return round(1.0 - self.cost / self.null_cost, 12)

    @property
    def row(self) -> tuple[Any, ...]:
        """As a row of the table `variables`."""
        return (
            self.name,
            self.kind,
            self.present,
            self.missing,
            self.parts,
            self.level,
            self.cost,
            self.null_cost,
            self.elementary,
            self.used,
        )

    def or_left_out(self) -> ColumnInformation:
        """One part, not used, where the parts are uninformative."""
        if self.level > 0:
            return self
        return replace(self, parts=1, cost=self.null_cost, used=False)


def variable_of(
    book: Codebook,
    counts: PartCounts,
    n_categories: int,
    elementary: int | None = None,
    used: bool = True,
) -> ColumnInformation:
    """What the parts of a codebook tell; `n_categories` counts values, missing included."""
    parts = max(book.n_values, 1)
    total = counts.by_class()
    rows = float(total.sum())
    always = math.log(rows if book.kind == "numeric" else max(n_categories, 1))
    prior = (
        float(log_binomial(rows + parts - 1, parts - 1))
        if book.kind == "numeric"
        else float(log_partitions(n_categories, parts)[-1])
    )
    null = always + float(run_cost(whole_where_possible(total[None, :]).T)[0])
    # One part is the null model itself; the sum over parts may differ in its last digit.
    cost = null if parts == 1 else always + prior + counts.cost(parts)
    missing = 0.0 if book.missing is None else float(counts.by_part(parts)[book.missing])
    return ColumnInformation(
        book.name, book.kind, rows - missing, missing, parts, cost, null, elementary, used
    )


@dataclass(frozen=True)
class Labelled:
    """The rows that are trained on, each with the code of its class.

    `classes` is the relation in which many classes are looked up.
    """

    session: Session
    source: Source
    class_book: Codebook
    classes: str
    weights: Weights | None
    rows: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.class_book.n_values

    def statement(self, value: str, joins: Sequence[str] = ()) -> str:
        """Rows as (value, class, weight), for an expression over the alias `i` and some joins."""
        return self.values_statement({"value": value}, joins)

    def values_statement(self, values: Mapping[str, str], joins: Sequence[str] = ()) -> str:
        """The same of several expressions, by their names."""
        target, dialect = column_sql("i", self.class_book.name), self.session.row_engine.dialect
        items = [{"code": value, "alias": alias} for alias, value in values.items()]
        code = code_sql(self.class_book, target, "dy", dialect=dialect)
        items.append({"code": code, "alias": "class"})
        if self.weights is not None:
            items.append({"code": self.weights.value_sql("i"), "alias": "w"})
        listed = list(joins)
        if self.class_book.is_joined_in(dialect):
            listed.append(
                categories_join_sql(self.class_book, target, self.classes, "dy", dialect=dialect)
            )
        relation = self.source.filtered_relation
        return render("encode/encode", items=items, joins=listed, relation=relation)

    def counts_statement(self, value: str, joins: Sequence[str] = ()) -> str:
        """The counts (value, class, n) of an expression."""
        total = "sum(w)" if self.weights is not None else "count(*)"
        return render("encode/value_classes", total=total, labelled=self.statement(value, joins))

    def numeric_sql(self, profile: ColumnProfile) -> str:
        """A quantity as the expression that its intervals are found on; NaN is missing."""
        dialect = self.session.row_engine.dialect
        axis = numeric_axis(column_sql("i", profile.name), profile.sql_type, dialect)
        return f"(CASE WHEN NOT {dialect.is_nan(axis)} THEN {axis} END)"

    def zeros(self, *shape: int) -> Array:
        """Counts of nothing: whole numbers unless rows have weights."""
        return np.zeros(shape, np.int64 if self.weights is None else np.float64)

    @property
    def most_cells(self) -> int:
        """Cells that an array of counts by class may have."""
        limits = self.session.limits
        return max(limits.partition_cells_least, min(limits.partition_cells, self.most_groupable))

    @property
    def most_groupable(self) -> int:
        """Categories whose counts by class may be an array."""
        return int(self.room / (8 * self.n_classes))

    @property
    def room(self) -> float:
        """Bytes that the counts of one column by class may take."""
        return self.session.limits.value_class_share * self.session.memory_bytes


@dataclass(frozen=True)
class ValueClasses:
    """Counts (cells, classes) of a quantity's cells in order, each up to its `uppers`.

    `missing` are the counts by class of the rows without a value. A cell is a distinct value, or
    where these are too many (`coarse`) an interval that holds several.
    """

    uppers: Array
    counts: Array
    missing: Array
    coarse: bool = False

    @property
    def some_present(self) -> bool:
        """Whether a row has a value."""
        return len(self.counts) > 0

    @property
    def some_missing(self) -> bool:
        """Whether a row has no value."""
        return bool((self.missing > 0).any())

    def parts(self, bounds: Sequence[int]) -> Array:
        """Counts of the intervals that begin at the cells in `bounds`; missing values last."""
        starts = [0, *bounds] if len(self.counts) else []
        found = np.add.reduceat(self.counts, starts) if starts else self.counts
        return np.concatenate([found, self.missing[None, :]]) if self.some_missing else found


def numeric_counts(
    rows: Labelled, profiles: Sequence[ColumnProfile]
) -> Iterator[tuple[ColumnProfile, ValueClasses]]:
    """The counts of quantities, one column after the other.

    A statement a column; of few rows one for many. Where the values of a column by class would take
    too much memory, cells of equal frequency in a sample are counted instead: row by row, or where
    rows lie elsewhere by a statement there.
    """
    too_many = _too_many(rows, profiles)
    session, source, most = rows.session, rows.source, rows.most_cells
    few = rows.rows <= session.limits.quantile_array_rows and session.row_engine.is_local
    if few and not too_many:
        yield from _counted_in_arrays(rows, profiles)
        return
    bounds = learn_cuts(session, source, rows.rows, too_many, most, rows.weights)
    for profile in profiles:
        if profile.name in bounds:
            count = _streamed if session.row_engine.is_local else _looked_up
            yield profile, count(rows, profile, np.array(bounds[profile.name]))
        else:
            yield profile, _grouped(rows, profile)


def _counted_in_arrays(
    rows: Labelled, profiles: Sequence[ColumnProfile]
) -> Iterator[tuple[ColumnProfile, ValueClasses]]:
    """The same from the values of some columns at a time: a query a column takes longer to plan."""
    session, limits = rows.session, rows.session.limits
    room = int(limits.array_share * session.memory_bytes) // (16 * max(rows.rows, 1))
    for block in in_blocks(profiles, max(1, min(limits.statement_columns, room))):
        values = {f"v{i}": rows.numeric_sql(profile) for i, profile in enumerate(block)}
        found = session.row_engine.arrays(rows.values_statement(values))
        classes = found["class"].astype(np.int64)
        w = np.asarray(found["w"], float) if rows.weights is not None else None
        for i, profile in enumerate(block):
            # One zero: which of two a group of rows shows would be left to their order.
            numbers = np.ma.filled(found[f"v{i}"].astype(float), np.nan) + 0.0
            yield profile, cells_of_numbers(rows, numbers, classes, w)


def _too_many(rows: Labelled, profiles: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """The columns whose values are too many to be counted one by one."""
    most = rows.room / rows.session.limits.value_class_bytes
    if rows.rows <= most or not profiles:
        return []
    source = rows.source
    row_engine = rows.session.row_engine
    estimates = row_engine.row(
        render(
            "encode/distinct_estimates",
            values=[p.value_sql(row_engine.dialect) for p in profiles],
            relation=source.relation,
            where=source.where_sql,
        )
    )
    return [
        profile
        for profile, distinct in zip(profiles, estimates, strict=True)
        if min(rows.rows, int(distinct) * rows.n_classes) > most
    ]


def _grouped(rows: Labelled, profile: ColumnProfile) -> ValueClasses:
    """Counts of the distinct values, or of cells of equal frequency where these are many."""
    found = rows.session.row_engine.arrays(rows.counts_statement(rows.numeric_sql(profile)))
    absent = np.ma.getmaskarray(found["value"])
    classes, n = found["class"].astype(np.int64), found["n"]
    missing = rows.zeros(rows.n_classes)
    missing[classes[absent]] = n[absent]
    return _cells(
        rows, np.ma.getdata(found["value"])[~absent], classes[~absent], n[~absent], missing
    )


def cells_of_numbers(
    rows: Labelled, numbers: Array, classes: Array, w: Array | None
) -> ValueClasses:
    """The same from the numbers of rows, NaN where there is none, their classes and weights."""
    absent, n_classes = np.isnan(numbers), rows.n_classes
    missing = rows.zeros(n_classes)
    lacking = np.bincount(classes[absent], None if w is None else w[absent], n_classes)
    missing += lacking.astype(missing.dtype)
    values, places = np.unique(numbers[~absent], return_inverse=True)
    weights = None if w is None else w[~absent]
    cells, of_row = np.unique(places * n_classes + classes[~absent], return_inverse=True)
    n = np.bincount(of_row, weights, len(cells))
    return _cells(rows, values[cells // n_classes], cells % n_classes, n, missing)


def _cells(rows: Labelled, values: Array, classes: Array, n: Array, missing: Array) -> ValueClasses:
    """Of counts by value and class, in the order of values."""
    if len(values) == 0:
        return ValueClasses(values, rows.zeros(0, rows.n_classes), missing)
    new = np.concatenate(([True], values[1:] != values[:-1]))
    place = np.cumsum(new) - 1
    bounds = elementary_cells(np.bincount(place, weights=n), rows.most_cells)
    counts = rows.zeros(len(bounds) - 1, rows.n_classes)
    np.add.at(counts, (np.searchsorted(bounds, place, side="right") - 1, classes), n)
    coarse = len(bounds) <= place[-1] + 1
    return ValueClasses(values[new][bounds[1:] - 1], counts, missing, coarse)


def _streamed(rows: Labelled, profile: ColumnProfile, cuts: Array) -> ValueClasses:
    """Counts of given cells, from all rows in batches."""
    counts = rows.zeros(len(cuts) + 1, rows.n_classes)
    missing = rows.zeros(rows.n_classes)
    with rows.session.row_engine.batches(rows.statement(rows.numeric_sql(profile))) as reader:
        for batch in reader:
            values = batch.column("value").to_numpy(zero_copy_only=False)
            classes = batch.column("class").to_numpy(zero_copy_only=False).astype(np.int64)
            n = batch.column("w").to_numpy() if rows.weights is not None else np.ones_like(classes)
            absent = np.isnan(values)
            np.add.at(missing, classes[absent], n[absent])
            cells = np.searchsorted(cuts, values[~absent], side="left")
            np.add.at(counts, (cells, classes[~absent]), n[~absent])
    return _of_cells(cuts, counts, missing)


def _of_cells(cuts: Array, counts: Array, missing: Array) -> ValueClasses:
    if not counts.any():
        return ValueClasses(np.zeros(0), counts[:0], missing)
    return ValueClasses(np.append(cuts, np.inf), counts, missing, coarse=True)


def _looked_up(rows: Labelled, profile: ColumnProfile, cuts: Array) -> ValueClasses:
    """Counts of given cells, by a statement that halves the list of cuts for every row."""
    import pyarrow as pa

    session, table = rows.session, rows.session.fresh_name("cuts")
    session.create_table(table, {"cuts": pa.array([cuts.tolist()], pa.list_(pa.float64()))})
    try:
        labelled = cells_sql(
            rows.statement(rows.numeric_sql(profile)), table, len(cuts), session.row_engine.dialect
        )
        total = "sum(w)" if rows.weights is not None else "count(*)"
        found = session.row_engine.arrays(
            render("encode/value_classes", total=total, labelled=labelled)
        )
    finally:
        session.row_engine.unbroadcast(table)
        session.drop_table(table)
    counts, missing = rows.zeros(len(cuts) + 1, rows.n_classes), rows.zeros(rows.n_classes)
    absent = np.ma.getmaskarray(found["value"])
    cells, classes = np.ma.getdata(found["value"]).astype(np.int64), found["class"].astype(np.int64)
    missing[classes[absent]] = found["n"][absent]
    counts[cells[~absent], classes[~absent]] = found["n"][~absent]
    return _of_cells(cuts, counts, missing)


def cells_sql(labelled: str, table: str, n_cuts: int, dialect: Dialect) -> str:
    """Rows (value, …) with the number of cuts below the value in its place.

    The one row of the table has the list of cuts; every step doubles how close the place is known.
    """
    steps = [1 << bit for bit in range(n_cuts.bit_length())]
    return render(
        "encode/cells",
        labelled=labelled,
        cuts=table,
        steps=[{"size": n, "bound": dialect.nth("cuts", f"(place + {n})")} for n in steps],
        located=dialect.without(["place"]),
        kept=dialect.without(["value", "cuts", "place"]),
    )
