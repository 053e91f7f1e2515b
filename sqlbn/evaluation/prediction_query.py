"""The query that scores the rows of a source: its columns, the prediction, the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlbn.data import Source
from sqlbn.encoding.codebook import BookTables
from sqlbn.engines.dialects import DUCKDB
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import identifier, select_sql
from sqlbn.errors import opt
from sqlbn.evaluation.held_out import check_input
from sqlbn.kinds.compiler import Scorer, prediction_sql
from sqlbn.options.lists import as_list, names_in
from sqlbn.store.spec import ModelSpec


def prediction_statement(
    spec: ModelSpec, prefix: str | None, source: Source, tables: BookTables | None = None
) -> str:
    """The query that `predict` runs, over the model's tables in a schema (None: the one in USE)."""
    source, _ = scorable(spec, source)
    return scoring_statement(spec.scorer(prefix, source.columns, DUCKDB, tables), source)


def scorable(
    spec: ModelSpec, source: Source, exclude: str | Sequence[str] | None = None
) -> tuple[Source, list[str]]:
    """The source without the columns that nobody needs, and those that only the model needs.

    An error where it cannot be scored.
    """
    given = names_in(as_list(exclude), source.has)
    left_out = {source.column(name, f"{opt('exclude')} column") for name in given}
    needed = {spec.books[v].name.lower() for v in spec.scorer(None).used}
    hidden = [c for c in source.columns if c in left_out and c.lower() in needed]
    columns = {c: t for c, t in source.columns.items() if c not in left_out or c in hidden}
    source = replace(source, columns=columns)
    check_input(spec, source)
    return source, list(map(identifier, hidden))


def ordering(source: Source, order_by: str | Sequence[str] | None) -> list[str]:
    """The columns to sort predictions by."""
    names = names_in(as_list(order_by), source.has)
    return [identifier(source.column(name, f"{opt('order_by')} column")) for name in names]


def scoring_statement(
    scorer: Scorer,
    source: Source,
    order: Sequence[str] = (),
    in_order: bool = True,
    hidden: Sequence[str] = (),
) -> str:
    """One query for all.

    `in_order`: rows come out in the order they have in the source, or sorted by `order` and then
    so. Sorting by their places costs a fifth of a scan, one thread instead of two nearly a half.
    `hidden` columns are scored but not carried through.
    """
    columns = source.columns
    if in_order:
        return in_places(prediction_sql(scorer, source.in_places(columns)), order, hidden)
    sql = prediction_sql(scorer, f"({source.select(', '.join(map(identifier, columns)))})")
    return select_sql(f"({sql})", scorer.dialect.without(hidden), order=", ".join(order) or None)


def in_places(sql: str, order: Sequence[str] = (), hidden: Sequence[str] = ()) -> str:
    """Rows that have their place in `ROW`, sorted by some columns and then by that."""
    left_out, sorting = ", ".join([ROW, *hidden]), ", ".join([*order, ROW])
    return select_sql(f"({sql})", f"* EXCLUDE ({left_out})", order=sorting)
