"""Types on the way between Spark, Arrow and the names that models know them by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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
    if simple.startswith(("varchar(", "char(", "string ")):
        return "VARCHAR"
    if simple.startswith("time("):
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
