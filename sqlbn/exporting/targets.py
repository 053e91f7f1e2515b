"""The databases that a script can be written for, and what is special about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlbn.errors import OptionError

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
        raise OptionError(f"choose {', '.join(TARGETS)}", dialect=name)
    return TARGETS[name]
