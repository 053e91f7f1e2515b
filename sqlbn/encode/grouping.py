"""Supervised groups of categories: counts from the database, groups from the optimisation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sqlbn.draft import Draft
from sqlbn.encode.categories import categories_sql, insert_categories
from sqlbn.encode.codebook import Codebook, column_sql, comparable
from sqlbn.encode.supervised.modl_groups import modl_groups
from sqlbn.encode.value_classes import Array, Labelled
from sqlbn.encode.variables import PartCounts, Variable, variable_of
from sqlbn.errors import SqlbnWarning, opt
from sqlbn.templates import render

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Grouped:
    """The groups of a column: what they tell, and their counts, missing values last."""

    variable: Variable
    counts: Array


def learn_groups(rows: Labelled, draft: Draft, book: Codebook, keep: bool) -> Grouped | None:
    """Group the categories of a column and write them, unless they tell nothing.

    With `keep` they are written all the same. None where the values are too many by class.
    """
    engine = rows.engine
    counted = engine.fresh_name("counted")
    value = comparable(book, column_sql("i", book.name), dialect=engine.lake.dialect)
    with engine.lake.brought(rows.counts_statement(value)) as found:
        engine.execute(f"CREATE TABLE {counted} AS FROM {found}")
    try:
        totals = f"(SELECT value, sum(n) AS n FROM {counted} GROUP BY value)"
        statement = categories_sql(totals)
        grouped = _grouped(rows, book, counted)
        groups = None
        if grouped is None:
            _warn_many(book.name)
        elif grouped[0].variable.used or keep:
            groups = _by_value(rows, statement, grouped[1])
        else:
            return grouped[0]
        insert_categories(draft, book, statement, groups)
        return grouped[0] if grouped is not None else None
    finally:
        engine.execute(f"DROP TABLE {counted}")


def _grouped(rows: Labelled, book: Codebook, counted: str) -> tuple[Grouped, Array] | None:
    """The groups, and that of each value in sorted order; None where there is no room."""
    n_values, some_missing = rows.engine.row(
        f"SELECT count(DISTINCT value), count(*) > count(value) FROM {counted}"
    )
    if n_values > rows.most_groupable:
        return None
    found = rows.engine.arrays(render("numbered_values", counted=counted))
    counts = rows.zeros(int(n_values) + bool(some_missing), rows.n_classes)
    counts[found["place"], found["class"]] = found["n"]
    group = _groups_of(counts[: int(n_values)])
    n_groups = int(group.max(initial=-1)) + 1
    parts = rows.zeros(n_groups + bool(some_missing), rows.n_classes)
    np.add.at(parts, group, counts[: int(n_values)])
    if some_missing:
        parts[-1] = counts[-1]
    sized = Codebook(
        book.name, book.sql_type, "categorical", len(parts), n_groups if some_missing else None
    )
    variable = variable_of(sized, PartCounts.of(parts), len(counts), len(counts))
    return Grouped(variable.or_left_out(), parts), group


def _groups_of(counts: Array) -> Array:
    """The group of each value, numbered as they first occur."""
    if len(counts) == 0:
        return np.zeros(0, np.int64)
    return np.asarray(modl_groups(counts).group)


def _by_value(rows: Labelled, statement: str, group: Array) -> pa.Table | None:
    """Groups as (value, group); None where every value is its own."""
    import pyarrow as pa

    if len(group) == 0 or int(group.max()) + 1 == len(group):
        return None
    values = rows.engine.arrow(
        f"SELECT value FROM ({statement}) WHERE value IS NOT NULL ORDER BY code"
    )
    return values.append_column("group", pa.array(group.astype(np.int64)))


def _warn_many(name: str) -> None:
    warnings.warn(
        f"{name} has too many values by class to be grouped in memory; they stay as they are "
        f"(raise {opt('memory_limit')}, or {opt('exclude')} it)",
        SqlbnWarning,
        stacklevel=2,
    )
