"""The only way for a name or a value to get into SQL text."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sqlbn.errors import ColumnError


def identifier(name: str) -> str:
    """Quote a column, table, schema or catalog name.

    >>> print(identifier('5" pipe'))
    "5"" pipe"
    """
    if "\x00" in name:
        raise ColumnError(f"the name {name!r} holds a NUL character; rename the column")
    return '"' + name.replace('"', '""') + '"'


def qualified(*parts: str) -> str:
    """Quote a dotted name part by part.

    >>> qualified('m', 'adult', 'meta')
    '"m"."adult"."meta"'
    """
    return ".".join(identifier(p) for p in parts)


def relation_sql(prefix: str | None, name: str) -> str:
    """A table of the quoted schema `prefix`, or of the schema in USE where there is none."""
    return identifier(name) if prefix is None else f"{prefix}.{identifier(name)}"


def literal(value: str | float | bool | None) -> str:
    """Quote a value.

    >>> literal("it's"), literal(2), literal(None), literal(float("inf"))
    ("'it''s'", '2', 'NULL', "'inf'::DOUBLE")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            # The exponent makes the engine read a DOUBLE: a bare 0.1 would be a DECIMAL.
            return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
        return f"'{value}'::DOUBLE"
    quoted = "'" + value.replace("'", "''") + "'"
    if "\x00" in value:  # it would end the statement: spell it as a function call
        return "(" + quoted.replace("\x00", "' || chr(0) || '") + ")"
    return quoted


def literals(values: Iterable[str | float | bool | None]) -> str:
    """Quote several values, separated by commas."""
    return ", ".join(literal(v) for v in values)
