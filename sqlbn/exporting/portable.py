"""The dialect of scripts that leave DuckDB: what every database understands, before translation.

Statements in it are read by sqlglot as DuckDB's, so they hold nothing that means something else
elsewhere: no lists, no `* EXCLUDE`, no TRY_CAST, no exponential that may underflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlbn.dialects import Dialect
from sqlbn.encode.types import type_group
from sqlbn.errors import ExportError, opt
from sqlbn.exporting.targets import Target
from sqlbn.quoting import literal

# Names that stand for others until a script is translated.
INPUT = "__sqlbn_input"
TURNS_TABLE = "predict_turns"
# PostgreSQL raises an error where an exponential, or what it is multiplied with, underflows.
_LEAST_EXPONENT = -700


class PortableDialect(Dialect):
    """For one target: NaN is told in different ways, everything else in one."""

    name = "portable"
    inline_categories = 64
    has_lists = False

    def __init__(self, target: Target) -> None:
        self.target = target

    def try_cast(self, value: str, kind: str) -> str:
        # Columns have the types of training here: there is nothing to try.
        return value if kind == "BOOLEAN" else f"CAST({value} AS {kind})"

    def is_nan(self, value: str) -> str:
        if self.target.name == "duckdb":
            return super().is_nan(value)
        if self.target.nan == "none":
            return "1 = 0"
        if self.target.nan == "equal":
            return f"{value} = CAST('NaN' AS DOUBLE)"
        return f"isnan({value})"

    def is_missing(self, value: str, sql_type: str) -> str:
        if type_group(sql_type) == "float" and self.target.nan != "none":
            return super().is_missing(value, sql_type)
        return f"{value} IS NULL"

    def without(
        self, columns: Sequence[str], relation: str | None = None, among: Sequence[str] = ()
    ) -> str:
        prefix = f"{relation}." if relation else ""
        return ", ".join(f"{prefix}{name}" for name in among if name not in columns)

    def greatest(self, items: Sequence[str]) -> str:
        return items[0] if len(items) == 1 else super().greatest(items)

    def numbers(self, count: int, name: str) -> str:
        return f"(SELECT turn AS {name} FROM {TURNS_TABLE}) AS t"

    def any_value(self, value: str) -> str:
        return f"max({value})"

    def exp(self, value: str) -> str:
        return f"CASE WHEN {value} < {_LEAST_EXPONENT} THEN 0e0 ELSE exp({value}) END"

    def row_identity(self, keys: Sequence[str], columns: Sequence[str]) -> str:
        if len(keys) == 1:
            return keys[0]
        return f"row_number() OVER (ORDER BY {', '.join(columns)})"

    def double(self, number: float) -> str:
        return f"CAST({literal(number)} AS DOUBLE)"

    # -- moments are compared as they are, not as microseconds ---------------------------------

    def microseconds(self, column: str) -> str:
        return column

    def microseconds_of_day(self, column: str) -> str:
        return column

    def cut(self, bound: float, sql_type: str) -> str:
        if type_group(sql_type) != "time":
            return literal(bound)
        # Moments are whole microseconds, so those up to the bound are those up to its floor.
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=bound // 1)
        except OverflowError:
            raise ExportError(
                "a column of dates is cut before the year 1 or after the year 9999, which SQL "
                f"scripts have no words for; cut it otherwise, or {opt('exclude')} it"
            ) from None
        upper = sql_type.upper()
        if upper == "DATE":
            return f"CAST('{moment:%Y-%m-%d}' AS DATE)"
        if upper == "TIME":
            return f"CAST('{moment:%H:%M:%S.%f}' AS TIME)"
        if upper == "TIMESTAMP WITH TIME ZONE":
            return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}+00:00' AS TIMESTAMPTZ)"
        return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}' AS TIMESTAMP)"
