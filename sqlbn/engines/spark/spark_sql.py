"""Types on the way between Spark, Arrow and the names that models know them by."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


# Codes and keys are unsigned in DuckDB; Spark has no unsigned types, so they are one wider.
_TYPES = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "BIGINT",
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "VARCHAR": "STRING",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}
_NAME = r'"(?:[^"]|"")*"'
_TOKEN = re.compile(
    rf"""(?P<text>'(?:[^']|'')*')
    |(?P<table>"memory"\."(?P<schema>sqlbn_model_\d+)"\.(?P<name>{_NAME}))
    |(?P<quoted>{_NAME})
    |(?P<fresh>\bsqlbn_[a-z_]+_\d+\b)
    |(?P<division>//)
    |\b(?P<type>{"|".join(map(re.escape, sorted(_TYPES, key=len, reverse=True)))})\b""",
    re.VERBOSE,
)


def spelled(sql: str, lent: Callable[[str], str]) -> str:
    """A statement as Spark reads it; `lent` gives the view that stands for a table of ours.

    >>> print(spelled("SELECT \\"a\\"::UTINYINT // 2, 'it''s a \\\\'", str))
    SELECT `a`::SMALLINT div 2, 'it\\'s a \\\\'
    """

    def respelled(token: re.Match[str]) -> str:
        if token["text"]:
            return text(token["text"][1:-1].replace("''", "'"))
        if token["table"] or token["fresh"]:
            return lent(token[0])
        if token["quoted"]:
            return quoted(token["quoted"][1:-1].replace('""', '"'))
        return "div" if token["division"] else _TYPES[token["type"]]

    return _TOKEN.sub(respelled, sql)


def quoted(name: str) -> str:
    """A name in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text literal: Spark takes a backslash for the beginning of an escape."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def view_of(table: str) -> str:
    """The name of the view that stands for a table of the model's database.

    >>> view_of('"memory"."sqlbn_model_3"."classes"'), view_of("sqlbn_loo_7")
    ('sqlbn_model_3__classes', 'sqlbn_loo_7')
    """
    parts = [p.strip('"') for p in table.split(".")]
    return "__".join(parts[1:]) if len(parts) > 1 else parts[0]


_NAMES = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "time": "TIME",
    "void": '"NULL"',
}


def model_type(simple: str) -> str:
    """The name that a model stores for one of Spark's simple type strings.

    >>> [model_type(t) for t in ("int", "decimal(9,2)", "varchar(10)", "array<int>")]
    ['INTEGER', 'DECIMAL(9,2)', 'VARCHAR', 'array<int>[]']
    """
    if re.match(r"(var)?char\(", simple) or simple.startswith("string "):
        return "VARCHAR"
    if re.match(r"time\(", simple):
        return "TIME"
    if simple.startswith("decimal("):
        return simple.upper()
    # What no attribute can be keeps a name that says so.
    return _NAMES.get(simple, f"{simple}[]")


def frame_types(frame: DataFrame) -> dict[str, str]:
    """The columns of rows in Spark, with the names that a model stores for their types."""
    return {f.name: model_type(f.dataType.simpleString()) for f in frame.schema.fields}


def without_unsigned(rows: pa.Table) -> pa.Table:
    """An Arrow table that Spark can take: unsigned columns as the next wider signed type."""
    import pyarrow as pa

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    fields = [f.with_type(wider.get(f.type, f.type)) for f in rows.schema]
    return rows.cast(pa.schema(fields))
