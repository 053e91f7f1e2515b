"""Codebooks: how a value becomes a code, as data and as a SQL expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import Limits
from sqlbn.engines.sql import NAMES, identifier, literal, relation_sql, render, select_sql
from sqlbn.engines.value_types import compared_as, numeric_axis, type_group

Kind = Literal["categorical", "numeric"]


@dataclass(frozen=True)
class Codebook:
    """The codes of one column.

    Codes 0..n_values-1 belong to training values; the last of them to missing values where the
    training rows had any (`missing`). `n_values` itself is the code of a value never seen.
    In scoring, missing values that training had not may have a code behind that.
    A categorical book holds its categories (as text, in code order) only while they are few;
    else they are looked up in the table `categories`. Where it is `grouped`, several of them
    share a code, `groups` then has the code of each category that it holds. `empty` are intervals
    that no training row is in, where rows in them are to be scored as unseen. `read_from` is the
    column where it has another name than the attribute: one that is cut in several ways.
    """

    name: str
    sql_type: str
    kind: Kind
    n_values: int
    missing: int | None = None
    cuts: tuple[float, ...] = ()
    categories: tuple[str, ...] | None = None
    grouped: bool = False
    groups: tuple[int, ...] | None = None
    empty: tuple[int, ...] = ()
    read_from: str | None = None

    @property
    def column(self) -> str:
        """The column of the input that the codes are made of."""
        return self.name if self.read_from is None else self.read_from

    @property
    def unseen(self) -> int:
        """The code of whatever was not in the training rows."""
        return self.n_values

    @property
    def interval_codes(self) -> list[int]:
        """The code of each interval, in their order."""
        codes = range(len(self.cuts) + 1)
        return [self.unseen if code in self.empty else code for code in codes]

    @property
    def slots(self) -> int:
        """Codes including that of unseen values: the radix of the column in a scoring key."""
        return max(self.n_values, self.missing or 0) + 1

    @property
    def code_type(self) -> str:
        """The narrowest engine type that holds every code."""
        for name, top in (("UTINYINT", 2**8), ("USMALLINT", 2**16), ("UINTEGER", 2**32)):
            if self.slots <= top:
                return name
        raise AssertionError("more than 2^32 categories")

    @property
    def is_joined(self) -> bool:
        """Whether the codes come from a join with the table `categories`."""
        return self.kind == "categorical" and self.categories is None

    def is_joined_in(self, dialect: Dialect) -> bool:
        """Whether they come from that join where another engine would rather have an expression."""
        if self.categories is not None and len(self.categories) > dialect.inline_categories:
            return True
        return self.is_joined

    @property
    def compared_as(self) -> str:
        """The type that categories are compared in."""
        return compared_as(self.sql_type)


def by_column(books: Iterable[Codebook]) -> dict[str, Codebook]:
    """Of every column the codebook that says what it may hold: categories, where there are any."""
    found: dict[str, Codebook] = {}
    for book in books:
        if book.column not in found or book.kind == "categorical":
            found[book.column] = book
    return found


def is_never_boolean(book: Codebook) -> bool:
    """Whether true and false are no values of a text column: they would all count as unseen."""
    words = {category.lower() for category in book.categories or ()}
    return type_group(book.sql_type) == "text" and not words & {"true", "false"}


def is_inline(count: int, sql_type: str, limits: Limits) -> bool:
    """Whether so many categories of a column are looked up without a join."""
    text = type_group(sql_type) == "text"
    most = limits.inline_categories
    return count <= (most if text else min(most, limits.inline_categories_not_text))


@dataclass(frozen=True)
class BookTables:
    """Where joined codebooks look up their codes: relations (attribute, code, value)."""

    categories: str
    classes: str

    @staticmethod
    def of(prefix: str | None, target: str) -> BookTables:
        """The tables of the model whose quoted schema is `prefix`, or of the schema in USE.

        In USE a user's table of the same name may come first, so the view with the longer name is
        taken.
        """
        columns = f"{literal(target)} AS attribute, code, class AS value"
        classes = f"({select_sql(relation_sql(prefix, 'classes'), columns)})"
        name = "categories" if prefix is not None else "predict_categories"
        return BookTables(relation_sql(prefix, name), classes)


def code_sql(
    book: Codebook,
    column: str,
    joined: str | None = None,
    same_type: bool = True,
    dialect: Dialect = DUCKDB,
    value: str | None = None,
) -> str:
    """The expression for the code of a column, for training rows and new rows alike.

    `column` is SQL; `joined` the alias of the joined categories where `book.is_joined_in(dialect)`.
    `same_type` is False where the column may be of another type than in training: then 1.5 and
    'x' must not pass for a whole number. `value` is SQL for what `value_sql` gives, if there is.
    """
    absent = book.missing if book.missing is not None else book.unseen
    value = value or value_sql(book, column, same_type, dialect)
    if book.kind == "numeric":
        only_missing = book.missing == 0
        cuts = [dialect.cut(cut, book.sql_type) for cut in book.cuts]
        inside = (
            str(book.unseen) if only_missing else _interval_sql(value, cuts, book.interval_codes)
        )
        gone = dialect.is_missing(value, book.sql_type)
        code = f"CASE WHEN {gone} THEN {absent} ELSE {inside} END"
        if not same_type and absent != book.unseen:  # what is there but no number was never seen
            odd = f"{column} IS NOT NULL AND {value} IS NULL"
            code = f"CASE WHEN {odd} THEN {book.unseen} ELSE {code} END"
        return f"CAST({code} AS {book.code_type})"
    gone = f"{column} IS NULL"
    if type_group(book.sql_type) == "float":
        gone += f" OR {dialect.is_nan(dialect.try_cast(column, 'DOUBLE'))}"
    missing = f"CASE WHEN {gone} THEN {absent} ELSE {book.unseen} END"
    if absent == book.unseen:
        missing = str(absent)
    if book.is_joined_in(dialect):
        return f"CAST(COALESCE({joined}.code, {missing}) AS {book.code_type})"
    assert book.categories is not None
    run, groups = _integer_run(book), sorted(set(book.groups or ()))
    if run is not None and (len(groups) < 2 or dialect.has_lists):
        low, high = run
        # Wide first: the column's own type may not hold the difference.
        offset = f"{dialect.try_cast(value, book.compared_as)} - {low}" if low else value
        inside = str(groups[0]) if len(groups) == 1 else _group_sql(book, offset, dialect)
        code = f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {inside} ELSE {missing} END"
    elif len(book.categories) > dialect.case_categories and _is_listed_text(book, dialect):
        place = dialect.place_of_text(value, book.categories)
        code = f"COALESCE({_group_sql(book, place, dialect)}, {missing})"
    elif book.categories:
        codes = book.groups or range(len(book.categories))
        cases = " ".join(
            f"WHEN {category_sql(book, v)} THEN {i}"
            for i, v in zip(codes, book.categories, strict=True)
        )
        code = f"CASE {value} {cases} ELSE {missing} END"
    else:
        code = missing
    return f"CAST({code} AS {book.code_type})"


def value_sql(
    book: Codebook, column: str, same_type: bool = True, dialect: Dialect = DUCKDB
) -> str:
    """What the code of a column is made of: a number on its axis, or what categories are.

    Whole numbers stay of the column's own type: 54 columns of bytes, 1 M rows, 0.04 s of codes as
    they are, 0.11 s by way of BIGINT (one thread).
    """
    if book.kind == "numeric":
        return numeric_axis(column, book.sql_type, dialect)
    if type_group(book.sql_type) == "integer" and same_type:
        return column
    return comparable(book, column, same_type, dialect)


class Values:
    """The values of many columns, computed once before the codes that are made of them.

    The code of a number names its value several times: as expressions of their own, hundreds of
    them are planned in a fifth of the time (`Limits.inline_values`). Of few columns, none is.
    """

    def __init__(self, books: int, most: int = Limits.inline_values) -> None:
        self._is_used = books > most
        self._aliases: dict[str, str] = {}

    def code_sql(
        self, book: Codebook, column: str, joined: str, same_type: bool, dialect: Dialect
    ) -> str:
        """As the function, for a column of the relation `i`."""
        if not self._is_used or book.is_joined_in(dialect):
            return code_sql(book, column, joined, same_type, dialect)
        value = value_sql(book, column, same_type, dialect)
        if value == column:
            return code_sql(book, column, joined, same_type, dialect)
        alias = self._aliases.setdefault(value, f"{NAMES.value}{len(self._aliases)}")
        return code_sql(book, column, joined, same_type, dialect, f"i.{alias}")

    @property
    def names(self) -> list[str]:
        """The columns that `over` adds."""
        return list(self._aliases.values())

    def over(self, relation: str) -> str:
        """The relation with the values."""
        if not self._aliases:
            return relation
        values = [{"sql": value, "alias": alias} for value, alias in self._aliases.items()]
        return f"({render('encode/values', values=values, relation=relation)})"


def _is_listed_text(book: Codebook, dialect: Dialect) -> bool:
    return dialect.has_lists and type_group(book.sql_type) == "text"


def comparable(
    book: Codebook, column: str, same_type: bool = True, dialect: Dialect = DUCKDB
) -> str:
    """A categorical column as the type its categories are compared in, NaN made NULL."""
    value = dialect.try_cast(column, book.compared_as)
    if type_group(book.sql_type) == "integer" and not same_type:
        # A cast to whole numbers rounds.
        whole = f"{dialect.try_cast(column, 'DOUBLE')} = {value}::DOUBLE"
        return f"(CASE WHEN {whole} THEN {value} END)"
    if book.compared_as == "DOUBLE":
        return f"(CASE WHEN NOT {dialect.is_nan(value)} THEN {value} END)"
    return value


def categories_join_sql(
    book: Codebook,
    column: str,
    table: str,
    alias: str,
    same_type: bool = True,
    dialect: Dialect = DUCKDB,
) -> str:
    """The join that `code_sql` needs where the categories are many."""
    value = dialect.try_cast("value", book.compared_as)
    return (
        f"LEFT JOIN (SELECT code, {value} AS value FROM {table} "
        f"WHERE attribute = {literal(book.name)} AND value IS NOT NULL) AS {alias} "
        f"ON {alias}.value = {comparable(book, column, same_type, dialect)}"
    )


def category_sql(book: Codebook, text: str) -> str:
    """A category as a literal of the type it is compared in."""
    group = type_group(book.sql_type)
    if group == "integer":
        return str(int(text))
    if group == "boolean":
        return "true" if text == "true" else "false"
    return literal(text) if group == "text" else f"CAST({literal(text)} AS {book.compared_as})"


def _group_sql(book: Codebook, place: str, dialect: Dialect) -> str:
    """The code of the category at a place: a list is looked up in a sixth of the time of a CASE."""
    if book.groups is None:
        return place
    return dialect.item(dialect.list(list(map(str, book.groups))), f"({place})::BIGINT")


def _integer_run(book: Codebook) -> tuple[int, int] | None:
    """First and last of the categories where they are consecutive whole numbers."""
    if type_group(book.sql_type) != "integer" or not book.categories:
        return None
    values = [int(v) for v in book.categories]
    return (values[0], values[-1]) if values[-1] - values[0] == len(values) - 1 else None


def _interval_sql(value: str, cuts: Sequence[str], codes: Sequence[int]) -> str:
    """Code of a value's interval by halving: logarithmic in the number of cuts for every row.

    There is one code more than there are cuts. Neighbours of one code are not told apart.
    """
    if len(set(codes)) == 1:
        return str(codes[0])
    mid = len(cuts) // 2
    below = _interval_sql(value, cuts[:mid], codes[: mid + 1])
    above = _interval_sql(value, cuts[mid + 1 :], codes[mid + 1 :])
    return f"CASE WHEN {value} <= {cuts[mid]} THEN {below} ELSE {above} END"


def intervals(book: Codebook) -> list[tuple[float, float, str]]:
    """Lower bound (excluded), upper bound (included) and label of every interval."""
    bounds = [float("-inf"), *book.cuts, float("inf")]
    found = []
    for low, high in pairwise(bounds):
        closing = ")" if high == float("inf") else "]"
        found.append((low, high, f"({_bound(book, low)}, {_bound(book, high)}{closing}"))
    return found


def _bound(book: Codebook, value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return str(value)
    if type_group(book.sql_type) == "time":
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        except OverflowError:  # before the year 1, after the year 9999
            return f"{value:.0f} µs since 1970"
        if book.sql_type.upper() == "DATE":
            return moment.strftime("%Y-%m-%d")
        if book.sql_type.upper() == "TIME":
            return moment.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def column_sql(alias: str, name: str) -> str:
    """A column of the relation `alias`."""
    return f"{alias}.{identifier(name)}"
