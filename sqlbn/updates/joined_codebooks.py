"""Codebooks of two sets of rows put together, or of what is left when rows are taken out.

The codes are those that a fit of the resulting rows would give: categories in sorted order, only
those that some row has. Kinds, cut points and groups stay; a new value is a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.encoding.categories import categorical_books, create_categories
from sqlbn.encoding.codebook import BookTables, Codebook
from sqlbn.encoding.learn_codebooks import class_codebook, numeric_book, write_parts
from sqlbn.encoding.preparing import write_classes
from sqlbn.engines.packing import strides
from sqlbn.engines.sql import literals, render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SourceError, StoreError, opt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Recoding:
    """For every attribute and, last, the class: the new code of each old one.

    A code without a successor (-1) has no rows left. `cards` are the numbers of new codes.
    """

    codes: tuple[Array, ...]
    cards: tuple[int, ...]

    @property
    def class_variable(self) -> int:
        """The variable that stands for the class."""
        return len(self.cards) - 1

    def keeps(self, variables: Sequence[int]) -> bool:
        """Whether keys of these variables stay as they are."""
        return all(
            len(self.codes[v]) == self.cards[v]
            and bool((self.codes[v] == np.arange(self.cards[v])).all())
            for v in variables
        )

    def repack(
        self, keys: Array, variables: Family, radices: Sequence[int], wanted: Family
    ) -> Array:
        """Keys of some of the variables in their new codes, packed in the wanted order."""
        steps = dict(zip(variables, strides(radices), strict=True))
        sizes = dict(zip(variables, radices, strict=True))
        cells = 1
        for v in wanted:
            cells *= self.cards[v]
        # Python's own whole numbers where 64 bits are not enough.
        kind: Any = object if keys.dtype == object or cells > 2**62 else np.int64
        packed = np.zeros(len(keys), kind)
        for v in wanted:
            old = (keys // steps[v] % sizes[v]).astype(np.int64)
            packed = packed * self.cards[v] + self.codes[v][old].astype(kind)
        return packed


def unchanged(cards: Sequence[int]) -> Recoding:
    """Every code stays."""
    return Recoding(tuple(np.arange(n) for n in cards), tuple(cards))


@dataclass(frozen=True)
class Books:
    """The codebooks of some rows, and the workspace that holds their tables."""

    workspace: Workspace
    class_book: Codebook
    books: tuple[Codebook, ...]

    @property
    def cards(self) -> tuple[int, ...]:
        """Codes of every attribute and, last, of the class."""
        return (*(b.n_values for b in self.books), self.class_book.n_values)

    @property
    def tables(self) -> BookTables:
        """Where joined codebooks look up their codes."""
        return BookTables.of(self.workspace.prefix, self.class_book.name)


@dataclass(frozen=True)
class Joined:
    """New codebooks, the counts of the classes, and how the old codes turn into the new ones."""

    books: Books
    class_counts: tuple[float, ...]
    first: Recoding
    second: Recoding


def join_books(
    workspace: Workspace, one: Books, other: Books, numeric: Mapping[int, Codebook], sign: int
) -> Joined:
    """The codebooks of two sets of rows, or of the first without the second, in a new workspace.

    `numeric` are the new codebooks of the numeric attributes, by position.
    """
    session = workspace.session
    with _values(workspace, one, other, sign) as found:
        _check_groups(workspace, found)
        create_categories(workspace)
        columns = "attribute, code, value, n"
        workspace.insert_from(
            "categories",
            select_sql(found, columns, where="attribute <> ''", order="attribute, code"),
        )
        classes = session.rows(select_sql(found, "value, n", where="attribute = ''", order="code"))
        moves = session.rows(select_sql(found, "attribute, code, first_code, second_code"))
    write_classes(workspace, classes)
    names = tuple(str(value) for value, _ in classes)
    class_book = class_codebook(one.class_book.name, one.class_book.sql_type, names, session.limits)
    types = {b.name: b.sql_type for b in one.books if b.kind == "categorical"}
    categorical = {b.name: b for b in categorical_books(workspace, types)}
    books = tuple(
        numeric[i] if b.kind == "numeric" else categorical[b.name] for i, b in enumerate(one.books)
    )
    write_parts(workspace, books)
    new = Books(workspace, class_book, books)
    recodings = [
        Recoding(_codes(old, new, [(a, row[at], code) for a, code, *row in moves]), new.cards)
        for at, old in enumerate((one, other))
    ]
    return Joined(new, tuple(float(n) for _, n in classes), *recodings)


@contextmanager
def _values(workspace: Workspace, one: Books, other: Books, sign: int) -> Iterator[str]:
    """A table of all values; an error where more rows of one are taken out than there are."""
    found, parts = workspace.session.fresh_name("values"), _values_sql(one, other, sign)
    workspace.copy(found, f"({render('store/all_joined_values', parts=parts)})")
    try:
        _check_enough(workspace, workspace.table(found))
        yield workspace.table(found)
    finally:
        workspace.remove(found)


def _values_sql(one: Books, other: Books, sign: int) -> list[str]:
    """The statements that put categories together, one a type; classes have no attribute name."""
    by_type: dict[str, list[str]] = {}
    for book in one.books:
        if book.kind == "categorical":
            by_type.setdefault(book.compared_as, []).append(book.name)
    shared = {"sign": sign}
    found = [
        render(
            "store/joined_values",
            type=kind,
            attributes=literals(names),
            first=one.workspace.table("categories"),
            second=other.workspace.table("categories"),
            **shared,
        )
        for kind, names in by_type.items()
    ]
    classes = [
        f"({render('store/classes_as_values', classes=b.workspace.table('classes'))})"
        for b in (one, other)
    ]
    kind = one.class_book.compared_as
    found.append(
        render(
            "store/joined_values",
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
    with _values(one.workspace, one, other, -1):
        pass  # that they are there is looked at when the table is made
    for a, b in zip(one.books, other.books, strict=True):
        if a.kind == "numeric" and b.missing is not None and a.missing is None:
            raise not_there(f"a missing {a.name}", 1)
        if a.kind == "numeric" and _has_intervals(b) and not _has_intervals(a):
            raise not_there(f"a value of {a.name}", 1)


def _check_enough(workspace: Workspace, found: str) -> None:
    """An error where more rows of a value are taken out than there are."""
    short = workspace.session.rows(
        select_sql(found, "attribute, value, n", where="n < 0", order="attribute, code", limit=1)
    )
    if short:
        name, value, n = short[0]
        what = f"{name} = {value}" if name else f"class {value}"
        raise not_there(what if value is not None else f"a missing {name}", -n)


def _check_groups(workspace: Workspace, found: str) -> None:
    """An error where two values are in one group of one model, and in two of the other."""
    other = workspace.session.rows(render("store/other_groups", joined=found))
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
            found[i] = numeric_book(a.name, a.sql_type, a.cuts, present, missing, a.read_from)
    return found


def remaining_numeric(one: Books, totals: Mapping[int, Array]) -> dict[int, Codebook]:
    """The numeric codebooks when `totals` rows of each code are left."""
    found = {}
    for i, book in enumerate(one.books):
        if book.kind == "numeric":
            missing = book.missing is not None and totals[i][book.missing] > 0
            intervals = totals[i][: book.n_values - (book.missing is not None)]
            present = bool((intervals > 0).any())
            found[i] = numeric_book(
                book.name, book.sql_type, book.cuts, present, missing, book.read_from
            )
    return found


def _has_intervals(book: Codebook) -> bool:
    return book.n_values > (book.missing is not None)
