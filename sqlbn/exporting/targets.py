"""The databases that a script can be written for, and what is special about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlbn.data.value_types import type_group
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.sql import literal
from sqlbn.errors import ExportError, OptionError

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
                "scripts have no words for; cut it otherwise, or --exclude it"
            ) from None
        upper = sql_type.upper()
        if upper == "DATE":
            return f"CAST('{moment:%Y-%m-%d}' AS DATE)"
        if upper == "TIME":
            return f"CAST('{moment:%H:%M:%S.%f}' AS TIME)"
        if upper == "TIMESTAMP WITH TIME ZONE":
            return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}+00:00' AS TIMESTAMPTZ)"
        return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}' AS TIMESTAMP)"


# Engines for which NaN equals itself and sorts last, those with a function that tells it, and those
# without it.
Nan = Literal["equal", "function", "none"]


@dataclass(frozen=True)
class Target:
    """What a script has to know of a database, beyond what sqlglot does.

    `types` are spellings of types that sqlglot has none or a coarser one for (None: there is no
    such type). `names` is how long a name may be, in bytes; `plain_names` whether a name of a
    result is only letters, digits and `_`; `upper` whether a name without quotes means upper case.
    `collation` compares texts byte by byte where that is not the rule.
    """

    name: str
    nan: Nan = "function"
    types: Mapping[str, str | None] = field(default_factory=dict)
    names: int | None = None
    plain_names: bool = False
    upper: bool = False
    collation: str | None = None
    table_end: str = ""


_NO_TIME: dict[str, str | None] = {"TIME": None}

TARGETS = {
    target.name: target
    for target in (
        Target("duckdb"),
        Target("spark", types=_NO_TIME),
        Target("databricks", types=_NO_TIME, names=255),
        Target("postgres", nan="equal", names=63),
        Target("redshift", nan="equal", names=127),
        Target("snowflake", nan="equal", names=255, upper=True),
        Target("bigquery", names=300, plain_names=True),
        Target("trino", types={"TIMESTAMP": "TIMESTAMP(6)"}),
        Target("presto", types={"TIMESTAMP": "TIMESTAMP"}),
        Target("athena", names=255),
        Target(
            "clickhouse",
            types={**_NO_TIME, "TIMESTAMP": "Nullable(DateTime64(6))", "DATE": "Nullable(Date32)"},
            table_end=" ENGINE = MergeTree ORDER BY tuple()",
        ),
        Target(
            "mysql",
            nan="none",
            types={"TIMESTAMP": "DATETIME(6)", "TIMESTAMPTZ": "DATETIME(6)", "TIME": "TIME(6)"},
            names=64,
            collation="utf8mb4_0900_bin",
        ),
        Target(
            "tsql",
            nan="none",
            types={"TEXT": "NVARCHAR(MAX)"},
            names=128,
            collation="Latin1_General_100_BIN2",
        ),
    )
}


def target_of(name: str) -> Target:
    """The database of that name, or an error that lists them."""
    if name not in TARGETS:
        raise OptionError(f"--dialect {name}: choose {', '.join(TARGETS)}")
    return TARGETS[name]
