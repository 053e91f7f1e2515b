"""Categories of columns in the tables `categories` and `groups`, their groups and codebooks."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook, column_sql, comparable, is_inline
from sqlbn.encoding.discretise.modl_groups import modl_groups
from sqlbn.encoding.profile import Weights
from sqlbn.encoding.value_classes import Array, ColumnInformation, Labelled, PartCounts, variable_of
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import Limits
from sqlbn.engines.sql import (
    identifier,
    literals,
    render,
)
from sqlbn.engines.value_types import type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnWarning, opt

if TYPE_CHECKING:
    import pyarrow as pa

# Values that the label of a group names before it only counts them.
_VALUES_IN_A_LABEL = 4


def values_sql(
    source: Source, book: Codebook, weights: Weights | None, dialect: Dialect = DUCKDB
) -> str:
    """The statement that counts the values (value, n) of a column's rows."""
    return render(
        "encode/counted_values",
        value=counted_value(book, identifier(book.name), dialect),
        total=weights.total_sql if weights is not None else "count(*)",
        relation=source.relation,
        where=source.where_sql,
    )


def columns_sql(
    source: Source, books: Sequence[Codebook], weights: Weights | None, dialect: Dialect
) -> str:
    """The same of several columns of one type (place, value, n) in one pass."""
    values = [counted_value(book, identifier(book.name), dialect) for book in books]
    return render(
        "encode/counted_columns",
        cells=dialect.unfolded([dialect.placed(*item) for item in enumerate(values)]),
        weight=weights.value_sql() if weights is not None else None,
        relation=source.relation,
        where=source.where_sql,
    )


def counted_value(book: Codebook, column: str, dialect: Dialect) -> str:
    """A categorical column as its values are counted and then named: the zeros are one value.

    -0.0 and 0.0 are equal, so which of them a group of rows shows would be left to their order.
    """
    value = comparable(book, column, dialect=dialect)
    return f"{value} + 0e0" if type_group(book.sql_type) == "float" else value


def categories_sql(counted: str) -> str:
    """The statement for the categories (code, value, n) of a column whose values are counted."""
    return render("encode/categories", counted=counted)


def create_categories(workspace: Workspace) -> None:
    """The workspace's `categories`, empty."""
    workspace.create("categories")


def insert_categories(
    workspace: Workspace,
    statements: Mapping[Codebook, str],
    groups: Mapping[str, pa.Table] | None = None,
) -> None:
    """Categories (code, value, n) of some columns into the workspace, in one statement.

    The values of `groups` (attribute to value, group) share a code.
    """
    session, views, named = workspace.session, list[str](), list[tuple[str, str]]()
    try:
        for book, statement in statements.items():
            if groups is not None and book.name in groups:
                views.append(session.register(groups[book.name]))
                statement = render(
                    "encode/grouped_categories",
                    categories=statement,
                    groups=views[-1],
                    type=book.compared_as,
                )
            named.append((book.name, statement))
        _insert_named(workspace, "categories", named)
    finally:
        for view in views:
            session.unregister(view)


def _insert_named(workspace: Workspace, table: str, named: Sequence[tuple[str, str]]) -> None:
    """The rows of statements, each behind the name of its attribute."""
    if named:
        workspace.insert_from(table, render("encode/named_rows", named=named))


def categorical_books(workspace: Workspace, types: Mapping[str, str]) -> list[Codebook]:
    """Codebooks of columns (name to type) whose categories are in the workspace."""
    sizes, missing = _category_table(workspace)
    found = [
        Codebook(name, sql_type, "categorical", sizes[name][1], missing[name])
        for name, sql_type in types.items()
        if name in sizes
    ]
    return with_categories(workspace, found)


def category_numbers(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """How many categories every attribute has, and how many codes; a missing value is one."""
    return _category_table(workspace)[0]


def _category_table(
    workspace: Workspace,
) -> tuple[dict[str, tuple[int, int]], dict[str, int | None]]:
    """Numbers of categories and codes of every attribute, and the code of a missing value."""
    found = workspace.session.rows(
        render("encode/category_numbers", categories=workspace.table("categories"))
    )
    sizes = {name: (int(values), int(codes)) for name, values, codes, _ in found}
    return sizes, {name: missing for name, _, _, missing in found}


def with_categories(workspace: Workspace, books: Iterable[Codebook]) -> list[Codebook]:
    """Categorical codebooks with what the categories say: groups, and those that are few.

    Others stay as they are.
    """
    from dataclasses import replace

    books, sizes, limits = list(books), category_numbers(workspace), workspace.session.limits
    own = {b.name: b for b in books if b.kind == "categorical"}
    few = [n for n, b in own.items() if is_inline(sizes.get(n, (0, 0))[0], b.sql_type, limits)]
    inline = _inline_categories(workspace, few)
    found = []
    for book in books:
        if book.name in own:
            listed = inline.get(book.name)
            if listed is not None and type_group(book.sql_type) == "integer":
                listed.sort(key=lambda pair: int(pair[0]))
            values, codes = sizes.get(book.name, (0, 0))
            grouped = values > codes
            book = replace(
                book,
                categories=tuple(v for v, _ in listed) if listed is not None else None,
                grouped=grouped,
                groups=tuple(c for _, c in listed) if grouped and listed is not None else None,
            )
        found.append(book)
    return found


def _inline_categories(
    workspace: Workspace, names: Collection[str]
) -> dict[str, list[tuple[str, int]]]:
    """The categories of some attributes and their codes, in code order, missing left out."""
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    for name, value, code in workspace.read(
        "categories",
        "attribute",
        "value",
        "code",
        where=f"value IS NOT NULL AND attribute IN ({literals(names) or 'NULL'})",
        order=("attribute", "code", "value"),
    ):
        found[name].append((value, int(code)))
    return found


def known_groups(workspace: Workspace, books: Sequence[Codebook]) -> dict[str, pa.Table]:
    """The groups of every grouped attribute as (value, group)."""
    return {
        b.name: workspace.session.arrow(
            render(
                "encode/known_groups", categories=workspace.table("categories"), attribute=b.name
            )
        )
        for b in books
        if b.grouped
    }


def write_group_labels(workspace: Workspace, books: Sequence[Codebook]) -> None:
    """The workspace's `groups`: what stands for a group of categories in readable tables."""
    workspace.create("groups")
    for book in books:
        if book.grouped:
            statement = render(
                "encode/group_labels",
                categories=workspace.table("categories"),
                attribute=book.name,
                type=book.compared_as,
                most=_VALUES_IN_A_LABEL,
            )
            _insert_named(workspace, "groups", [(book.name, statement)])


@dataclass(frozen=True)
class Grouped:
    """The groups of a column: what they tell, and their counts, missing values last."""

    variable: ColumnInformation
    counts: Array


def learn_groups(
    rows: Labelled, workspace: Workspace, book: Codebook, keep: bool
) -> Grouped | None:
    """Group the categories of a column and write them, unless they are uninformative.

    With `keep` they are written all the same. None where the values are too many by class.
    """
    row_engine, table = rows.session.row_engine, rows.session.fresh_name("counted")
    value = counted_value(book, column_sql("i", book.name), row_engine.dialect)
    with row_engine.collect(rows.counts_statement(value)) as found:
        workspace.copy(table, found)
    counted = workspace.table(table)
    try:
        totals = f"({render('encode/totals', counted=counted)})"
        statement = categories_sql(totals)
        grouped = _grouped(rows, book, counted)
        groups = None
        if grouped is None:
            _warn_many(book.name)
        elif grouped[0].variable.used or keep:
            groups = _by_value(rows, statement, grouped[1])
        else:
            return grouped[0]
        by_value = {book.name: groups} if groups is not None else None
        insert_categories(workspace, {book: statement}, by_value)
        return grouped[0] if grouped is not None else None
    finally:
        workspace.remove(table)


def _grouped(rows: Labelled, book: Codebook, counted: str) -> tuple[Grouped, Array] | None:
    """The groups, and that of each value in sorted order; None where there is no room."""
    n_values, some_missing = rows.session.row(render("encode/distinct_values", counted=counted))
    if n_values > rows.most_groupable:
        return None
    found = rows.session.arrays(render("encode/numbered_values", counted=counted))
    counts = rows.zeros(int(n_values) + bool(some_missing), rows.n_classes)
    counts[found["place"], found["class"]] = found["n"]
    return grouped_values(rows, book, counts, bool(some_missing))


def grouped_values(
    rows: Labelled, book: Codebook, counts: Array, some_missing: bool
) -> tuple[Grouped, Array]:
    """The groups of values whose counts by class are given, missing last, and that of each."""
    n_values = len(counts) - some_missing
    group = _groups_of(counts[:n_values], rows.session.limits)
    n_groups = int(group.max(initial=-1)) + 1
    parts = rows.zeros(n_groups + some_missing, rows.n_classes)
    np.add.at(parts, group, counts[:n_values])
    if some_missing:
        parts[-1] = counts[-1]
    sized = Codebook(
        book.name, book.sql_type, "categorical", len(parts), n_groups if some_missing else None
    )
    variable = variable_of(sized, PartCounts.of(parts), len(counts), len(counts))
    return Grouped(variable.or_left_out(), parts), group


def _groups_of(counts: Array, limits: Limits) -> Array:
    """The group of each value, numbered as they first occur."""
    if len(counts) == 0:
        return np.zeros(0, np.int64)
    return np.asarray(modl_groups(counts, limits).group)


def _by_value(rows: Labelled, statement: str, group: Array) -> pa.Table | None:
    """Groups as (value, group); None where every value is its own."""
    import pyarrow as pa

    if len(group) == 0 or int(group.max()) + 1 == len(group):
        return None
    values = rows.session.arrow(render("encode/present_values", categories=statement))
    return values.append_column("group", pa.array(group.astype(np.int64)))


def _warn_many(name: str) -> None:
    warnings.warn(
        f"{name} has too many values by class to be grouped in memory; they stay as they are "
        f"(raise {opt('memory_limit')}, or {opt('exclude')} it)",
        SqlbnWarning,
        stacklevel=2,
    )
