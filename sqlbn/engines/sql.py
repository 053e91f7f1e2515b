"""Quoting, the templates of `sql/`, and the plainest statements: the door all SQL goes through."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import jinja2

from sqlbn.errors import ColumnError

# The catalog of the model database.
MODEL_CATALOG = "memory"
# Every name starts like this, to stay clear of the user's columns and tables.
RESERVED = "__sqlbn_"
NAMES = SimpleNamespace(
    score=f"{RESERVED}s",
    weight=f"{RESERVED}e",
    sum=f"{RESERVED}m",
    total=f"{RESERVED}total",
    top=f"{RESERVED}top",
    y=f"{RESERVED}y",
    w=f"{RESERVED}w",
    code=f"{RESERVED}c",
    value=f"{RESERVED}v",
    key=f"{RESERVED}k",
    # Of rankings:
    highest=f"{RESERVED}highest",
    best=f"{RESERVED}best",
    second=f"{RESERVED}second",
    rest=f"{RESERVED}rest",
    # Of models that unfold rows:
    row=f"{RESERVED}row",
    rows=f"{RESERVED}rows",
    identity=f"{RESERVED}i",
    base=f"{RESERVED}base",
    turn=f"{RESERVED}turn",
    level=f"{RESERVED}level",
    divisor=f"{RESERVED}b",
    packed=f"{RESERVED}p",
    step=f"{RESERVED}step",
    rank=f"{RESERVED}rank",
    # Of collections:
    child=f"{RESERVED}child",
    unseen=f"{RESERVED}unseen",
)


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


def select_sql(
    relation: str,
    items: str = "*",
    where: str | None = None,
    order: str | None = None,
    limit: int | None = None,
    group: str | None = None,
) -> str:
    """The plainest query: expressions over a relation, on a condition, in an order.

    >>> select_sql("encoded_3", "y", where="w > 0", limit=2)
    'SELECT y FROM encoded_3 WHERE w > 0 LIMIT 2'
    """
    ends = (("WHERE", where), ("GROUP BY", group), ("ORDER BY", order), ("LIMIT", limit))
    clauses = "".join(f" {word} {value}" for word, value in ends if value is not None)
    return f"SELECT {items} FROM {relation}{clauses}"


def _folder() -> Path:
    """`sql/` lies inside an installed package, and beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    packaged = here / "_sql"
    return packaged if packaged.is_dir() else here.parent / "sql"


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    env.filters["id"] = identifier
    env.filters["lit"] = literal
    return env


def render(template: str, **values: object) -> str:
    """The statement `sql/<template>.sql` with its values filled in."""
    return _environment().get_template(f"{template}.sql").render(**values).strip()
