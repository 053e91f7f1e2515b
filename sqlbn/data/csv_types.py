"""The types that CSV columns are read with: those of a model, else as they are written.

A file with `yes` and `no` is taken for one of truth values by the engine's look at it, and a code
that happens to have digits only for a number. To a model these would be other values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlbn.data.value_types import type_group
from sqlbn.engines import Session
from sqlbn.engines.sql import identifier, literal, select_sql

_QUANTITIES = ("integer", "float", "decimal")


@dataclass(frozen=True)
class Trained:
    """A column's type in training; of a `quantity` whatever is no number is an error."""

    sql_type: str
    quantity: bool = False


Types = Mapping[str, Trained]


def type_like(found: str, trained: Trained) -> str:
    """The type to read a column with that looks like `found`.

    >>> type_like("BOOLEAN", Trained("VARCHAR")), type_like("BIGINT", Trained("DOUBLE", True))
    ('VARCHAR', 'DOUBLE')
    >>> type_like("VARCHAR", Trained("INTEGER", True)), type_like("VARCHAR", Trained("INTEGER"))
    ('DOUBLE', 'VARCHAR')
    """
    group, wanted = type_group(found), type_group(trained.sql_type)
    if wanted == "text":
        return "VARCHAR"
    if group == wanted:  # the new file may need a wider one of the same kind
        return found
    if wanted in _QUANTITIES and group in _QUANTITIES:
        return found if wanted == "integer" else "DOUBLE"
    if trained.quantity:
        return "DOUBLE" if wanted in _QUANTITIES else trained.sql_type
    return "VARCHAR" if group == "boolean" else found


def csv_types(
    session: Session, files: Sequence[str], columns: Mapping[str, str], trained: Types
) -> dict[str, str]:
    """The columns that must not be read as the engine would; `files` are arguments of
    `read_csv`: patterns, quoted, and options."""
    known = {name.lower(): type_ for name, type_ in trained.items()}
    wanted = {
        name: type_like(found, known[name.lower()])
        for name, found in columns.items()
        if name.lower() in known
    }
    truths = [n for n, found in columns.items() if found == "BOOLEAN" and n not in wanted]
    wanted |= dict.fromkeys(_other_words(session, files, truths), "VARCHAR")
    return {name: type_ for name, type_ in wanted.items() if type_ != columns[name]}


def types_sql(types: Mapping[str, str]) -> str:
    """The option of `read_csv` for these types, after others."""
    if not types:
        return ""
    listed = ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in types.items())
    return f", types = {{{listed}}}"


def _other_words(session: Session, files: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns with words such as yes and no where the engine sees true and false."""
    found: set[str] = set()
    if not names:
        return found
    as_text = types_sql(dict.fromkeys(names, "VARCHAR"))
    items = ", ".join(
        f"bool_and(lower({identifier(n)}) IN ('true', 'false')) IS NOT false" for n in names
    )
    listed = ", ".join(map(identifier, names))
    for file in files:
        rows = select_sql(f"read_csv({file}{as_text})", listed, limit=session.limits.csv_rows)
        plain = session.row(select_sql(f"({rows})", items))
        found |= {name for name, is_plain in zip(names, plain, strict=True) if not is_plain}
    return found
