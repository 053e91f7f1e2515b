"""Rows without a class: a column that is the same everywhere stands in for it.

A network without a target is then a classifier of one class, and everything that counts, stores and
updates classifiers serves it too.
"""

from __future__ import annotations

from dataclasses import replace

from sqlbn.engines.relations import Source
from sqlbn.engines.sql import identifier, select_sql
from sqlbn.errors import ColumnError

NO_CLASS = "sqlbn_no_class"


def without_class(source: Source) -> Source:
    """The source with the column that stands in for a class."""
    if any(name.lower() == NO_CLASS for name in source.columns):
        raise ColumnError(f"the column {NO_CLASS!r} of {source.label} is in the way; rename it")

    def extended(relation: str) -> str:
        items = f"*, '' AS {identifier(NO_CLASS)}"
        return f"({select_sql(relation, items)})"

    return replace(
        source,
        relation=extended(source.relation),
        columns={**source.columns, NO_CLASS: "VARCHAR"},
        hidden=(NO_CLASS,),
        # The numbers of rows are not seen from outside, unless they are a column.
        row_key=source.row_key if source.numbered or source.numbered_as is not None else None,
        numbered_as=extended(source.numbered_as) if source.numbered_as is not None else None,
    )


def display_name(target: str) -> str:
    """A target in a message.

    >>> display_name("colour"), display_name(NO_CLASS)
    ("'colour'", 'no class')
    """
    return "no class" if target == NO_CLASS else repr(target)


def with_class_of(source: Source, target: str) -> Source:
    """The source as a model of this target needs it."""
    return without_class(source) if target == NO_CLASS else source
