"""Columns of few rows in arrays: the codebooks and codes of any encoding, without a query for each.

For trials, which cut the same rows again and again. What a model is made of has its codes from
`learn_codebooks` and `encode`; these are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.data.sampling import WORD, shuffle_sql
from sqlbn.encoding.categories import counted_value, grouped_values
from sqlbn.encoding.codebook import BookTables, Codebook
from sqlbn.encoding.discretise.equal_frequency import cuts_of_numbers
from sqlbn.encoding.learn_codebooks import (
    Discretisation,
    Learned,
    keep_useful,
    numeric_book,
    supervised_books,
)
from sqlbn.encoding.preparing import Looked, Prepared
from sqlbn.encoding.profile import ColumnProfile
from sqlbn.encoding.value_classes import Array, Labelled, ValueClasses, cells_of_numbers
from sqlbn.engines import Session
from sqlbn.engines.relations import CodeArrays, Encoded
from sqlbn.engines.sql import identifier, render
from sqlbn.engines.value_types import numeric_axis

if TYPE_CHECKING:
    import pyarrow as pa

# What a column of values that arrays have no type for is sorted by.
_AS_TEXT = ("HUGEINT", "UHUGEINT")


@dataclass(frozen=True)
class ColumnArrays:
    """Some rows that are trained on.

    `columns` has of every quantity its numbers, NaN where there is none, and of every other column
    the places of its values among all of `n_values` that were read, in order, and that number where
    there is none. `y` are the places of the classes. The books that are learned of some of the
    rows make codes of others.
    """

    looked: Looked
    labelled: Labelled
    columns: Mapping[str, Array]
    n_values: Mapping[str, int]
    y: Array
    w: Array | None
    shuffled: Array

    @staticmethod
    def read(session: Session, looked: Looked) -> ColumnArrays:
        """All rows of a look at them, with their shuffled numbers."""
        training, dialect = looked.training, session.row_engine.dialect
        source, target = training.source.with_numbers, looked.class_book
        assert source.row_key is not None
        columns = [
            {"value": _value_sql(session, p), "alias": f"v{i}"}
            for i, p in enumerate(looked.profiles)
        ]
        columns.append({"value": _category_sql(session, target), "alias": "y"})
        # As a copy of the rows would number them.
        number = f"(row_number() OVER (ORDER BY {source.row_key}) - 1)"
        shuffled = shuffle_sql(number, session.settings.seed, dialect)
        columns.append({"value": shuffled, "alias": "shuffled"})
        weights = training.weights
        table = session.row_engine.arrow(
            render(
                "encode/numbers",
                columns=columns,
                weight=weights.value_sql() if weights is not None else "1",
                relation=source.relation,
                where=source.where_sql,
            )
        )
        found, n_values = dict[str, Array](), dict[str, int]()
        for i, profile in enumerate(looked.profiles):
            column = table.column(f"v{i}").combine_chunks()
            if profile.kind == "numeric":
                # One zero: which of two a group of rows shows would be left to their order.
                found[profile.name] = _floats(column) + 0.0
            else:
                found[profile.name], n_values[profile.name] = _places(column, profile.sql_type)
        tables = BookTables.of(None, training.target)
        return ColumnArrays(
            looked,
            training.labelled(session, target, tables),
            found,
            n_values,
            _places(table.column("y").combine_chunks(), target.sql_type)[0],
            _floats(table.column("w").combine_chunks()) if weights is not None else None,
            table.column("shuffled").to_numpy().astype(np.int64),
        )

    def part(self, low: float, high: float) -> ColumnArrays:
        """The rows whose shuffled numbers are in a range."""
        at = np.flatnonzero((self.shuffled >= low * WORD) & (self.shuffled < high * WORD))
        w = self.w[at] if self.w is not None else None
        columns = {name: values[at] for name, values in self.columns.items()}
        part = replace(self, columns=columns, y=self.y[at], w=w, shuffled=self.shuffled[at])
        n_classes = len(part.classes)
        book = replace(self.labelled.class_book, n_values=n_classes, categories=None)
        return replace(part, labelled=replace(self.labelled, class_book=book, rows=len(at)))

    @property
    def rows(self) -> int:
        """How many they are."""
        return len(self.y)

    @cached_property
    def classes(self) -> Array:
        """The classes that these rows have."""
        return np.unique(self.y)

    @cached_property
    def class_codes(self) -> Array:
        """The code of the class of each row."""
        return np.searchsorted(self.classes, self.y)

    def prepared(self, how: Discretisation, keep: frozenset[str]) -> CutColumns:
        """The codebooks of an encoding, learned of these rows."""
        learned, codes, books = Learned(), dict[str, Array](), dict[str, Codebook]()
        for profile in self.looked.profiles:
            if profile.kind != "numeric":
                known = self._categorical(profile, how, keep, learned)
                if known is not None:
                    books[profile.name], codes[profile.name] = known
        numeric = [p for p in self.looked.profiles if p.kind == "numeric"]
        if how.intervals is None:
            books |= {p.name: self._equal_frequency(p, how.bins) for p in numeric}
        else:
            books |= supervised_books(self.labelled, self._cells(numeric), how, keep, learned)
        keep_useful(self.looked.profiles, books, keep, learned)
        training = replace(self.looked.training, rows=self.rows)
        tables = BookTables.of(None, training.target)
        counts = np.bincount(self.class_codes, self.w, minlength=len(self.classes))
        class_book, class_counts = self.labelled.class_book, counts.astype(float).tolist()
        return CutColumns(
            Prepared(training, class_book, class_counts, learned, tables), codes, self.classes
        )

    def _equal_frequency(self, profile: ColumnProfile, bins: int) -> Codebook:
        limits, numbers = self.labelled.session.limits, self.columns[profile.name]
        there = ~np.isnan(numbers)
        w = self.w[there] if self.w is not None else None
        cuts = cuts_of_numbers(numbers[there], w, bins, limits.counted_bins)
        return numeric_book(
            profile.name, profile.sql_type, cuts, bool(there.any()), not there.all()
        )

    def _cells(
        self, profiles: Sequence[ColumnProfile]
    ) -> Iterator[tuple[ColumnProfile, ValueClasses]]:
        for profile in profiles:
            numbers = self.columns[profile.name]
            yield profile, cells_of_numbers(self.labelled, numbers, self.class_codes, self.w)

    def _categorical(
        self, profile: ColumnProfile, how: Discretisation, keep: frozenset[str], learned: Learned
    ) -> tuple[Codebook, Array] | None:
        """The codebook of a column, and the code of each of all values; None where it is of no use.

        A value that these rows have not, missing values among them, has the code behind the others.
        """
        name, n_classes = profile.name, len(self.classes)
        places, n_all = self.columns[name], self.n_values[name]
        counts = np.bincount(
            places * n_classes + self.class_codes, self.w, (n_all + 1) * n_classes
        ).reshape(n_all + 1, n_classes)
        some = np.bincount(places, minlength=n_all + 1) > 0
        there, some_missing = np.flatnonzero(some[:n_all]), bool(some[n_all])
        own = np.arange(len(there))
        book = Codebook(name, profile.sql_type, "categorical", 0)
        if how.groups_values:
            with_missing = [*there, n_all] if some_missing else there
            grouped, own = grouped_values(self.labelled, book, counts[with_missing], some_missing)
            if not grouped.variable.used and name not in keep:
                learned.left_out.append(grouped.variable)
                return None
            learned.add(name, grouped.counts, grouped.variable.elementary)
        n = int(own.max(initial=-1)) + 1
        codes = np.full(n_all + 1, n + some_missing)
        codes[there] = own
        if some_missing:
            codes[n_all] = n
        return replace(book, n_values=n + some_missing, missing=n if some_missing else None), codes


@dataclass(frozen=True)
class CutColumns:
    """Codebooks of some rows; `codes` has of every category its code, `classes` those there are."""

    prepared: Prepared
    codes: Mapping[str, Array]
    classes: Array

    def encoded(self, rows: ColumnArrays) -> Encoded:
        """The codes of these rows, or of others."""
        books, limits = self.prepared.books, rows.labelled.session.limits
        columns = [_short(self._codes_of(rows, book), book.n_values) for book in books]
        places = np.searchsorted(self.classes, rows.y)
        last = np.minimum(places, len(self.classes) - 1)
        y = np.where(self.classes[last] == rows.y, places, len(self.classes))
        columns.append(_short(y, len(self.classes)))
        weights = rows.labelled.weights
        return Encoded(
            "",
            self.prepared.cards,
            rows.rows,
            weights is not None,
            missing=tuple(book.missing for book in books),
            importance=weights is not None and weights.kind == "importance",
            limits=limits,
            arrays=CodeArrays(columns, rows.w),
        )

    def _codes_of(self, rows: ColumnArrays, book: Codebook) -> Array:
        values = rows.columns[book.name]
        if book.kind == "categorical":
            return self.codes[book.name][values]
        absent = book.missing if book.missing is not None else book.unseen
        if book.missing == 0:  # no row had a number
            return np.where(np.isnan(values), absent, book.unseen)
        inside = np.searchsorted(np.asarray(book.cuts), values, side="left")
        return np.where(np.isnan(values), absent, inside)


def _value_sql(session: Session, profile: ColumnProfile) -> str:
    """What a column's codes are made of."""
    if profile.kind == "numeric":
        dialect = session.row_engine.dialect
        return numeric_axis(identifier(profile.name), profile.sql_type, dialect)
    return _category_sql(session, Codebook(profile.name, profile.sql_type, "categorical", 0))


def _category_sql(session: Session, book: Codebook) -> str:
    value = counted_value(book, identifier(book.name), session.row_engine.dialect)
    return f"CAST({value} AS VARCHAR)" if book.compared_as in _AS_TEXT else value


def _floats(column: pa.Array) -> Array:
    """Numbers, NaN where there is none."""
    found: Array = column.to_numpy(zero_copy_only=False).astype(float)
    return found


def _places(column: pa.Array, sql_type: str) -> tuple[Array, int]:
    """The place of each value among the different ones in order, and how many these are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = column.dictionary_encode()
    values, n = coded.dictionary, len(coded.dictionary)
    if Codebook("", sql_type, "categorical", 0).compared_as in _AS_TEXT:
        listed = values.to_pylist()
        order: Any = np.array(sorted(range(n), key=lambda i: int(listed[i])), dtype=np.int64)
    else:
        order = pc.array_sort_indices(values).to_numpy()
    place = np.empty(n + 1, np.int64)
    place[order], place[n] = np.arange(n), n
    at = coded.indices.cast(pa.int64()).fill_null(n).to_numpy(zero_copy_only=False)
    return place[at], n


def _short(codes: Array, most: int) -> Array:
    """In a type that is as narrow as the database's."""
    return codes.astype(np.min_scalar_type(most))
