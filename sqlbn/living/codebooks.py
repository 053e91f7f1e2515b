"""Codebooks of two sets of rows put together, or of what is left when rows are taken out.

The codes are those that a fit of the resulting rows would give: categories in sorted order, only
those that some row has. Kinds, cut points and groups stay; a new value is a group of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sqlbn.draft import Draft
from sqlbn.encode.books import class_codebook, numeric_book, write_parts
from sqlbn.encode.categories import categorical_books, create_categories
from sqlbn.encode.codebook import BookTables, Codebook
from sqlbn.errors import SourceError, StoreError, opt
from sqlbn.living.recoding import Array, Recoding
from sqlbn.preparing import write_classes
from sqlbn.quoting import literals
from sqlbn.templates import render


@dataclass(frozen=True)
class Books:
    """The codebooks of some rows, and the draft that holds their tables."""

    draft: Draft
    class_book: Codebook
    books: tuple[Codebook, ...]

    @property
    def cards(self) -> tuple[int, ...]:
        """Codes of every attribute and, last, of the class."""
        return (*(b.n_values for b in self.books), self.class_book.n_values)

    @property
    def tables(self) -> BookTables:
        """Where joined codebooks look up their codes."""
        return BookTables.of(self.draft.prefix, self.class_book.name)


@dataclass(frozen=True)
class Joined:
    """New codebooks, the counts of the classes, and how the old codes turn into the new ones."""

    books: Books
    class_counts: tuple[float, ...]
    first: Recoding
    second: Recoding


def join_books(
    draft: Draft, one: Books, other: Books, numeric: Mapping[int, Codebook], sign: int
) -> Joined:
    """The codebooks of two sets of rows, or of the first without the second, in a new draft.

    `numeric` are the new codebooks of the numeric attributes, by position.
    """
    engine = draft.engine
    found = engine.fresh_name("values")
    values = _values_sql(one, other, sign)
    engine.execute(f"CREATE TABLE {found} AS {' UNION ALL '.join(f'({v})' for v in values)}")
    try:
        _check_enough(draft, found)
        _check_groups(draft, found)
        create_categories(draft)
        engine.execute(
            f"INSERT INTO {draft.table('categories')} SELECT attribute, code, value, n "
            f"FROM {found} WHERE attribute <> '' ORDER BY attribute, code"
        )
        classes = engine.rows(f"SELECT value, n FROM {found} WHERE attribute = '' ORDER BY code")
        moves = engine.rows(f"SELECT attribute, code, first_code, second_code FROM {found}")
    finally:
        engine.execute(f"DROP TABLE {found}")
    write_classes(draft, classes)
    names = tuple(str(value) for value, _ in classes)
    class_book = class_codebook(one.class_book.name, one.class_book.sql_type, names)
    types = {b.name: b.sql_type for b in one.books if b.kind == "categorical"}
    categorical = {b.name: b for b in categorical_books(draft, types)}
    books = tuple(
        numeric[i] if b.kind == "numeric" else categorical[b.name] for i, b in enumerate(one.books)
    )
    write_parts(draft, books)
    new = Books(draft, class_book, books)
    recodings = [
        Recoding(_codes(old, new, [(a, row[at], code) for a, code, *row in moves]), new.cards)
        for at, old in enumerate((one, other))
    ]
    return Joined(new, tuple(float(n) for _, n in classes), *recodings)


def _values_sql(one: Books, other: Books, sign: int) -> list[str]:
    """The statements that put categories together, one a type; classes have no attribute name."""
    by_type: dict[str, list[str]] = {}
    for book in one.books:
        if book.kind == "categorical":
            by_type.setdefault(book.compared_as, []).append(book.name)
    shared = {"sign": sign}
    found = [
        render(
            "joined_values",
            type=kind,
            attributes=literals(names),
            first=one.draft.table("categories"),
            second=other.draft.table("categories"),
            **shared,
        )
        for kind, names in by_type.items()
    ]
    classes = [
        f"(SELECT '' AS attribute, code, class AS value, n FROM {b.draft.table('classes')})"
        for b in (one, other)
    ]
    kind = one.class_book.compared_as
    found.append(
        render(
            "joined_values",
            type=kind,
            attributes="''",
            first=classes[0],
            second=classes[1],
            **shared,
        )
    )
    return found


def check_known(one: Books, other: Books) -> None:
    """An error where rows to be taken out have values that the model does not hold."""
    engine = one.draft.engine
    found = engine.fresh_name("values")
    values = _values_sql(one, other, -1)
    engine.execute(f"CREATE TABLE {found} AS {' UNION ALL '.join(f'({v})' for v in values)}")
    try:
        _check_enough(one.draft, found)
    finally:
        engine.execute(f"DROP TABLE {found}")
    for a, b in zip(one.books, other.books, strict=True):
        if a.kind == "numeric" and b.missing is not None and a.missing is None:
            raise not_there(f"a missing {a.name}", 1)
        if a.kind == "numeric" and _has_intervals(b) and not _has_intervals(a):
            raise not_there(f"a value of {a.name}", 1)


def _check_enough(draft: Draft, found: str) -> None:
    """An error where more rows of a value are taken out than there are."""
    short = draft.engine.rows(
        f"SELECT attribute, value, n FROM {found} WHERE n < 0 ORDER BY attribute, code LIMIT 1"
    )
    if short:
        name, value, n = short[0]
        what = f"{name} = {value}" if name else f"class {value}"
        raise not_there(what if value is not None else f"a missing {name}", -n)


def _check_groups(draft: Draft, found: str) -> None:
    """An error where two values are in one group of one model, and in two of the other."""
    other = draft.engine.rows(render("other_groups", joined=found))
    if other:
        raise StoreError(
            f"the models put the values of {other[0][0]!r} into different groups: "
            f"fit one with {opt('like')} the other"
        )


def not_there(what: str, n: float) -> SourceError:
    """The error of rows that were never in."""
    return SourceError(
        f"{n:,g} more rows with {what} would be taken out than the model holds: "
        "these rows were not all in it; nothing was changed"
    )


def _codes(
    old: Books, new: Books, moves: Sequence[tuple[str, int | None, int]]
) -> tuple[Array, ...]:
    """For every variable the new code of each old one."""
    by_name: dict[str, list[tuple[int, int]]] = {}
    for name, before, after in moves:
        if before is not None:
            by_name.setdefault(name, []).append((before, after))
    found = []
    for before_book, after_book in zip(
        (*old.books, old.class_book), (*new.books, new.class_book), strict=True
    ):
        codes = np.full(before_book.n_values, -1, np.int64)
        if before_book.kind == "numeric":
            _move_intervals(codes, before_book, after_book)
        else:
            name = "" if before_book is old.class_book else before_book.name
            for before, after in by_name.get(name, []):
                codes[before] = after
        found.append(codes)
    return tuple(found)


def _move_intervals(codes: Array, before: Codebook, after: Codebook) -> None:
    """Intervals keep their codes; that of missing values stands behind the last interval."""
    intervals = before.n_values - (before.missing is not None)
    codes[:intervals] = np.arange(intervals)
    if before.missing is not None and after.missing is not None:
        codes[before.missing] = after.missing


def joined_numeric(one: Books, other: Books) -> dict[int, Codebook]:
    """The numeric codebooks of both sets of rows."""
    found = {}
    for i, (a, b) in enumerate(zip(one.books, other.books, strict=True)):
        if a.kind == "numeric":
            present = _has_intervals(a) or _has_intervals(b)
            missing = a.missing is not None or b.missing is not None
            found[i] = numeric_book(a.name, a.sql_type, a.cuts, present, missing)
    return found


def remaining_numeric(one: Books, totals: Mapping[int, Array]) -> dict[int, Codebook]:
    """The numeric codebooks when `totals` rows of each code are left."""
    found = {}
    for i, book in enumerate(one.books):
        if book.kind == "numeric":
            missing = book.missing is not None and totals[i][book.missing] > 0
            intervals = totals[i][: book.n_values - (book.missing is not None)]
            present = bool((intervals > 0).any())
            found[i] = numeric_book(book.name, book.sql_type, book.cuts, present, missing)
    return found


def _has_intervals(book: Codebook) -> bool:
    return book.n_values > (book.missing is not None)
