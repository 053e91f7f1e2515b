"""What an engine type means for learning: which types can be attributes, and as what."""

from __future__ import annotations

import re
from typing import Literal

from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.errors import ColumnError, opt

TypeGroup = Literal["text", "boolean", "integer", "float", "decimal", "time", "other"]

_INTEGERS = {
    f"{sign}{size}"
    for sign in ("", "U")
    for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
}


def type_group(sql_type: str) -> TypeGroup:
    """The group of a DuckDB type.

    >>> [type_group(t) for t in ("UTINYINT", "DECIMAL(9,2)", "TIMESTAMP_NS", "INTEGER[]")]
    ['integer', 'decimal', 'time', 'other']
    """
    upper = sql_type.upper()
    if upper.endswith("]"):
        return "other"
    if upper in _INTEGERS:
        return "integer"
    if upper in ("FLOAT", "DOUBLE"):
        return "float"
    if upper.startswith("DECIMAL"):
        return "decimal"
    if upper == "BOOLEAN":
        return "boolean"
    if upper == "DATE" or upper.startswith("TIMESTAMP") or upper == "TIME":
        return "time"
    if upper in ("VARCHAR", "UUID", "JSON") or upper.startswith("ENUM"):
        return "text"
    return "other"


def plain_type(sql_type: str) -> str:
    """The type as it is stored and put into SQL: enumerations are text, anything odd is refused."""
    if sql_type.upper().startswith("ENUM"):
        return "VARCHAR"
    if type_group(sql_type) == "other" or not re.fullmatch(r"[A-Z_0-9 ]+(\([0-9, ]+\))?", sql_type):
        raise ValueError("an attribute has a type that no attribute can have")
    return sql_type


def compared_as(sql_type: str) -> str:
    """The type in which categories of a column are compared.

    Wide where widening is free, so that a column written as INTEGER one day and BIGINT the next
    meets the same categories.
    """
    group = type_group(sql_type)
    if group == "integer":
        upper = sql_type.upper()
        return upper if "HUGEINT" in upper else "HUGEINT" if upper == "UBIGINT" else "BIGINT"
    if group == "float":
        return "DOUBLE"
    if group == "text":
        return "VARCHAR"
    return sql_type


def check_same_values(name: str, found: str, wanted: str, numeric: bool) -> None:
    """An error where a column's values cannot be those of a model's column of that name.

    >>> check_same_values("age", "SMALLINT", "BIGINT", numeric=False)
    """
    if found.strip('"').upper() == "NULL":  # a column without any value, written without a type
        return
    group, expected = type_group(found), type_group(wanted)
    quantities = ("integer", "float", "decimal")
    if numeric and expected in quantities and group in quantities:
        return
    same_clock = (found.upper() == "TIME") == (wanted.upper() == "TIME")
    if numeric and expected == group == "time" and same_clock:
        return
    compared = compared_as(found), compared_as(wanted)
    if group == expected and (compared[0] == compared[1] or compared == ("BIGINT", "HUGEINT")):
        return
    raise ColumnError(
        f"column {name!r} is {found[:60]} but was {wanted} when the model was learned; "
        f"cast it in a view or with {opt('query')}"
    )


def numeric_axis(column: str, sql_type: str, dialect: Dialect = DUCKDB) -> str:
    """A DOUBLE that orders the values of a numeric column; NULL where there is none.

    Whole numbers past 2^53 are equal where their DOUBLEs are. Dates and times are microseconds
    since 1970, exact in a DOUBLE until the year 2255.
    """
    if type_group(sql_type) != "time":
        return dialect.try_cast(column, "DOUBLE")
    if sql_type.upper() == "TIME":
        return dialect.microseconds_of_day(column)
    return dialect.microseconds(column)
