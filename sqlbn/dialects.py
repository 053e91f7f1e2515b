"""What engines spell differently in the SQL that runs over rows. Quotes and types: `engines/`.

Statements are written for DuckDB. What another engine cannot read is asked of a dialect, one method
a difference, so that a statement exists once for all engines.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.quoting import literal, literals


class Dialect:
    """DuckDB's own spelling; others say what differs."""

    name = "duckdb"
    # Categories that are looked up by an expression; more of them are joined.
    inline_categories = 1000

    def is_nan(self, value: str) -> str:
        """Whether a DOUBLE is NaN, also where the engine believes that it cannot be.

        Writers leave NaN out of a Parquet file's statistics, and DuckDB 2.0 takes isnan(x) for
        false where the statistics show finite bounds. It does not see through even().
        """
        return f"isnan(even({value}))"

    def is_infinite(self, value: str) -> str:
        """Whether a DOUBLE is infinite."""
        return f"isinf({value})"

    def list(self, items: Sequence[str]) -> str:
        """A list of values of one type."""
        return f"[{', '.join(items)}]"

    def item(self, listed: str, place: str) -> str:
        """The item of a list at a place, the first at 0."""
        return f"{listed}[{place} + 1]"

    def greatest(self, items: Sequence[str]) -> str:
        """The largest of some values that are not NULL."""
        return f"greatest({', '.join(items)})"

    def without(self, columns: Sequence[str], relation: str | None = None) -> str:
        """All columns but some."""
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

    def two_highest(self, value: str, rank: str) -> str:
        """The values at the two highest ranks of a group, as a list."""
        return f"arg_max({value}, {rank}, 2)"


class SparkDialect(Dialect):
    """Spark SQL from 4.2 on."""

    name = "spark"
    # A CASE is gone through from its beginning; a broadcast join is not.
    inline_categories = 64

    def is_nan(self, value: str) -> str:
        return f"isnan({value})"

    def is_infinite(self, value: str) -> str:
        return f"(abs({value}) = {literal(float('inf'))})"

    def list(self, items: Sequence[str]) -> str:
        return f"array({', '.join(items)})"

    def item(self, listed: str, place: str) -> str:
        return f"get({listed}, CAST({place} AS INTEGER))"

    def greatest(self, items: Sequence[str]) -> str:
        return items[0] if len(items) == 1 else super().greatest(items)

    def without(self, columns: Sequence[str], relation: str | None = None) -> str:
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

    def two_highest(self, value: str, rank: str) -> str:
        return f"max_by({value}, {rank}, 2)"


DUCKDB = Dialect()
SPARK = SparkDialect()
