"""Every difference between engines in the SQL that runs over rows.

A statement exists once for all engines. What another engine *computes* otherwise is asked of a
dialect while it is made, one method per difference. What it only *spells* otherwise (quotes, types,
integer division, names of tables) is done when the statement is complete, in
`Dialect.statement`, token by token as DuckDB's own tokenizer reads them: a text or a name is never
taken for anything else, whatever stands in it. Spelling does not depend on what stands around a
token, so nothing would be gained by carrying a dialect to the hundreds of places that quote a name.

The dialects of exported scripts build on this one: `exporting/targets.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import duckdb

from sqlbn.engines.sql import identifier, literal, literals

# The types that no other engine has: codes and keys are unsigned in DuckDB, elsewhere one wider.
WIDER_TYPES: Mapping[str, str] = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20,0)",
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}

# For the parts of a dotted name: under which name a table of the model database is visible; None
# where they name none.
TableName = Callable[[Sequence[str]], str | None]


class Dialect:
    """DuckDB's own spelling; others say what differs."""

    name = "duckdb"
    # Categories that are looked up by an expression; more of them are joined.
    inline_categories = 1000
    # Texts that a CASE looks up quicker than an enumeration (16: 21 ms a million rows).
    case_categories = 16
    # Whether there are lists of values, to be looked up by place.
    has_lists = True
    # What ends a query whose expressions are not to be copied to each place that names them.
    fence = ""

    # -- spelling ------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """A name in quotes."""
        return identifier(name)

    def text(self, value: str) -> str:
        """A text literal."""
        return literal(value)

    def statement(self, sql: str, table: TableName) -> str:
        """A complete statement as the engine reads it."""
        return sql

    # -- expressions ---------------------------------------------------------------------------

    def try_cast(self, value: str, kind: str) -> str:
        """A value as another type; NULL where it cannot be."""
        return f"TRY_CAST({value} AS {kind})"

    def is_nan(self, value: str) -> str:
        """Whether a DOUBLE is NaN, also where the engine believes that it cannot be.

        Writers leave NaN out of a Parquet file's statistics, and DuckDB 2.0 takes isnan(x) for
        false where the statistics show finite bounds. It does not see through even().
        """
        return f"isnan(even({value}))"

    def is_missing(self, value: str, sql_type: str) -> str:
        """Whether there is no number on the axis of a numeric column of that type.

        NaN sorts above every number, but it is a missing value.
        """
        return f"{value} IS NULL OR {self.is_nan(value)}"

    def is_infinite(self, value: str) -> str:
        """Whether a DOUBLE is infinite."""
        return f"isinf({value})"

    def list(self, items: Sequence[str]) -> str:
        """A list of values of one type."""
        return f"[{', '.join(items)}]"

    def placed(self, place: int, value: str) -> str:
        """A value with its place, as one: fields `place` and `value`."""
        return f"{{'place': {place}, 'value': {value}}}"

    def count_few(self, value: str) -> str:
        """The number of distinct values of which there are few."""
        return f"count(DISTINCT {value})"

    def unfolded(self, items: Sequence[str]) -> str:
        """A row for every item of a list."""
        return f"unnest({self.list(items)})"

    def item(self, listed: str, place: str) -> str:
        """The item of a list at a place, the first at 0."""
        return self.nth(listed, f"{place} + 1")

    def nth(self, listed: str, place: str) -> str:
        """The item of a list at a place, the first at 1; NULL past the end."""
        return f"{listed}[{place}]"

    def numbers(self, count: int, name: str) -> str:
        """A relation of the whole numbers from 1 on, in a column of that name."""
        return f"range(1, {count + 1}) AS t({name})"

    def greatest(self, items: Sequence[str]) -> str:
        """The largest of some values that are not NULL."""
        return f"greatest({', '.join(items)})"

    def least(self, items: Sequence[str]) -> str:
        """The smallest of some values that are not NULL."""
        return f"least({', '.join(items)})"

    def without(
        self, columns: Sequence[str], relation: str | None = None, among: Sequence[str] = ()
    ) -> str:
        """All columns but some; `among` has all, or more, where a dialect has to list them."""
        everything = f"{relation}.*" if relation else "*"
        return f"{everything} EXCLUDE ({', '.join(columns)})" if columns else everything

    def xor(self, one: str, other: str) -> str:
        """Bits in which two whole numbers differ."""
        return f"xor({one}, {other})"

    def times(self, number: str, factor: int, word: int) -> str:
        """A product of whole numbers below 2^32, modulo a power of two."""
        return f"({number} * {factor}) % {word}"

    def place_of_text(self, value: str, texts: Sequence[str]) -> str:
        """The place of a text among different ones, the first at 0; NULL where it is none."""
        return f"enum_code(TRY_CAST({value} AS ENUM({literals(texts)})))"

    def microseconds(self, column: str) -> str:
        """A date or a moment as a DOUBLE: microseconds since 1970; NULL where it is none."""
        moment = f"TRY_CAST({column} AS TIMESTAMP)"
        far = f"CASE WHEN {moment} > TIMESTAMP '1970-01-01' THEN 'inf' ELSE '-inf' END::DOUBLE"
        return f"CASE WHEN isinf({moment}) THEN {far} ELSE epoch_us({moment})::DOUBLE END"

    def microseconds_of_day(self, column: str) -> str:
        """A time of day as a DOUBLE: microseconds since midnight; NULL where it is none."""
        return f"epoch_us(TRY_CAST({column} AS TIME))::DOUBLE"

    def double(self, number: float) -> str:
        """A DOUBLE that is written down."""
        return literal(number)

    def cut(self, bound: float, sql_type: str) -> str:
        """A bound on the axis of a numeric column of that type."""
        return literal(bound)

    def two_highest(self, value: str, rank: str) -> str:
        """The values at the two highest ranks of a group, as a list."""
        if value == rank:
            return f"max({rank}, 2)"
        return f"arg_max({value}, {rank}, 2)"

    def any_value(self, value: str) -> str:
        """The value of a group whose rows all have the same."""
        return f"any_value({value})"

    def exp(self, value: str) -> str:
        """The exponential of a number that may be far below 0."""
        return f"exp({value})"

    @property
    def number_of_row(self) -> str:
        """A number that no other row of the query has."""
        return "row_number() OVER ()"

    def together(self, query: str, row: str) -> str:
        """The rows of a query, so that what becomes of a row stays in one place.

        `row` tells rows apart.
        """
        return query

    def row_identity(self, keys: Sequence[str], columns: Sequence[str]) -> str:
        """What tells rows apart that differ; `keys` are their `columns` packed into few."""
        return "row_number() OVER ()"


class SparkDialect(Dialect):
    """Spark SQL from 4.2 on."""

    name = "spark"
    # A CASE is gone through from its beginning; a broadcast join is not.
    inline_categories = 64
    # There are no unsigned types, but UBIGINT is only that of row numbers, far below 2^63.
    types: ClassVar[Mapping[str, str]] = {
        **WIDER_TYPES,
        "UBIGINT": "BIGINT",
        "VARCHAR": "STRING",
        "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    }

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        # A backslash begins an escape here.
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def statement(self, sql: str, table: TableName) -> str:
        """
        >>> SPARK.statement('SELECT "a b"::UTINYINT//2 FROM t', lambda parts: None)
        'SELECT `a b`::SMALLINT div 2 FROM t'
        """
        return "".join(self._spelled(list(tokens(sql)), table))

    def _spelled(self, found: Sequence[Token], table: TableName) -> Iterator[str]:
        at = 0
        while at < len(found):
            token = found[at]
            if token.is_text:
                spelled, used = self.text(token.value), 1
            elif token.is_name:
                spelled, used = self._name(found, at, table)
            elif token.text == "//":
                spelled, used = " div ", 1
            else:
                spelled, used = self._type(found, at)
            yield spelled
            yield found[at + used - 1].space
            at += used

    def _name(self, found: Sequence[Token], at: int, table: TableName) -> tuple[str, int]:
        """A name, or a table's of which it is the beginning, and how many tokens it has."""
        end = at + 1
        while end + 1 < len(found) and found[end].text == "." and found[end + 1].is_name:
            end += 2
        parts = [token.value for token in found[at:end:2]]
        token = found[at]
        # A table of a schema is named in full and in quotes; one without a schema has none.
        length = 3 if token.is_quoted else 1
        visible = table(parts[:length]) if length <= len(parts) else None
        if visible is not None:
            return visible, 2 * length - 1
        return (self.identifier(token.value), 1) if token.is_quoted else self._type(found, at)

    def _type(self, found: Sequence[Token], at: int) -> tuple[str, int]:
        """A type, which may have several words; other words as they are."""
        first = found[at].text
        for length in (4, 1) if first == "TIMESTAMP" else (1,):
            spelled = self.types.get(" ".join(t.text for t in found[at : at + length]))
            if spelled is not None:
                return spelled, length
        return first, 1

    def is_nan(self, value: str) -> str:
        return f"isnan({value})"

    def is_infinite(self, value: str) -> str:
        return f"(abs({value}) = {literal(float('inf'))})"

    def list(self, items: Sequence[str]) -> str:
        return f"array({', '.join(items)})"

    def placed(self, place: int, value: str) -> str:
        return f"named_struct('place', {place}, 'value', {value})"

    def count_few(self, value: str) -> str:
        # Several DISTINCT in one statement would copy every row for each of them.
        return f"size(collect_set({value}))"

    def unfolded(self, items: Sequence[str]) -> str:
        return f"explode({self.list(items)})"

    def item(self, listed: str, place: str) -> str:
        return f"get({listed}, CAST({place} AS INTEGER))"

    def nth(self, listed: str, place: str) -> str:
        return f"get({listed}, CAST({place} AS INTEGER) - 1)"

    def greatest(self, items: Sequence[str]) -> str:
        return items[0] if len(items) == 1 else super().greatest(items)

    def least(self, items: Sequence[str]) -> str:
        return items[0] if len(items) == 1 else super().least(items)

    def without(
        self, columns: Sequence[str], relation: str | None = None, among: Sequence[str] = ()
    ) -> str:
        everything = f"{relation}.*" if relation else "*"
        return f"{everything} EXCEPT ({', '.join(columns)})" if columns else everything

    def xor(self, one: str, other: str) -> str:
        return f"({one} ^ {other})"

    def times(self, number: str, factor: int, word: int) -> str:
        # Whole numbers are signed here: in two halves no product reaches 2^63.
        high, low = divmod(factor, 2**16)
        return f"((({number} * {high}) % {word}) * 65536 + {number} * {low}) % {word}"

    def place_of_text(self, value: str, texts: Sequence[str]) -> str:
        cases = " ".join(f"WHEN {literal(text)} THEN {i}" for i, text in enumerate(texts))
        return f"CASE {value} {cases} END"

    def microseconds(self, column: str) -> str:
        return f"CAST(unix_micros(TRY_CAST({column} AS TIMESTAMP)) AS DOUBLE)"

    def microseconds_of_day(self, column: str) -> str:
        midnight = "TIME '00:00:00'"
        return f"CAST(time_diff('MICROSECOND', {midnight}, TRY_CAST({column} AS TIME)) AS DOUBLE)"

    def two_highest(self, value: str, rank: str) -> str:
        return f"max_by({value}, {rank}, 2)"

    def row_identity(self, keys: Sequence[str], columns: Sequence[str]) -> str:
        # Numbers would need all rows in one place.
        return keys[0] if len(keys) == 1 else f"struct({', '.join(keys)})"

    @property
    def number_of_row(self) -> str:
        return "monotonically_increasing_id()"

    def together(self, query: str, row: str) -> str:
        # Windows and groups by row then need no shuffle of the rows times their attributes.
        return f"{query} DISTRIBUTE BY {row}"


@dataclass(frozen=True)
class Token:
    """A piece of a statement, and the blanks after it."""

    kind: object
    text: str
    space: str

    @property
    def is_text(self) -> bool:
        """Whether it is a text literal."""
        return self.kind == duckdb.token_type.string_const

    @property
    def is_name(self) -> bool:
        """Whether it is a name, or a word that is none of DuckDB's."""
        return self.kind == duckdb.token_type.identifier

    @property
    def is_quoted(self) -> bool:
        """Whether it is a name in quotes."""
        return self.is_name and self.text.startswith('"')

    @property
    def value(self) -> str:
        """What a name or a text literal means, without its quotes."""
        quote = self.text[0]
        if quote not in "'\"":
            return self.text
        assert self.text[-1] == quote, self.text
        return self.text[1:-1].replace(quote * 2, quote)


def tokens(sql: str) -> Iterator[Token]:
    """The tokens of a statement, as DuckDB reads them."""
    data = sql.encode()
    found = duckdb.tokenize(sql)
    ends = [place for place, _ in found[1:]] + [len(data)]
    for (start, kind), end in zip(found, ends, strict=True):
        piece = data[start:end].decode()
        text = piece.rstrip()
        yield Token(kind, text, piece[len(text) :])


DUCKDB = Dialect()
SPARK = SparkDialect()
