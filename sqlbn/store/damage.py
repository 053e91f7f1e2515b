"""Whether a stored model can be one: what its tables hold.

A store is a file that anybody can write. What is read here is read with its type, once, when a
model is opened; what comes later may rely on it. Before a model is stored it is looked at as well.
"""

from __future__ import annotations

from typing import NoReturn

from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import StoreError
from sqlbn.schema import PREDICTING, TABLES, Column, Table, declared


class DamagedModelError(StoreError):
    """A stored model whose tables cannot be those of a model."""


def refuse(label: str, where: str) -> NoReturn:
    """The error that says which model is damaged, and where."""
    raise DamagedModelError(f"{label} is damaged: {where}; fit it again")


_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE = (*_SIGNED, *(f"U{name}" for name in _SIGNED))
# What may stand for a declared type: other programs write whole numbers of other widths.
_EQUIVALENT = (
    (("DOUBLE",), ("DOUBLE", "FLOAT", *_WHOLE)),
    (_WHOLE, (*_WHOLE, "DECIMAL(38,0)")),
    (tuple(f"{name}[]" for name in _WHOLE), tuple(f"{name}[]" for name in _WHOLE)),
)


def _accepted(column: Column) -> tuple[str, ...]:
    """The types that a column may have."""
    for some, equivalent in _EQUIVALENT:
        if any(name in some for name in column.types):
            return equivalent
    return column.types


def _of(name: str) -> Table:
    table = declared(name)
    assert table is not None, name
    return table


def check_columns(workspace: Workspace, table: str) -> None:
    """An error where a table lacks a column, has it with another type, or has a gap in it."""
    wanted = [column for column in _of(table).columns if column.checked]
    found = workspace.columns(table)
    for column in wanted:
        if column.name not in found:
            refuse(workspace.label, f"its table {table} has no column {column.name!r}")
        if found[column.name] not in _accepted(column):
            refuse(workspace.label, f"{table}.{column.name} is of type {found[column.name]}")
    full = [column.name for column in wanted if not column.nullable]
    gaps = workspace.session.row(render("store/gaps", columns=full, table=workspace.table(table)))
    for name, n in zip(full, gaps, strict=True):
        if n:
            refuse(workspace.label, f"{table}.{name} is NULL in {n:,} rows")


def check_tables(workspace: Workspace) -> None:
    """An error at the first thing in a model's tables that cannot be."""
    present = set(workspace.names())
    for table in TABLES:
        # `meta` is read first; what prediction joins is made of the others.
        known = table.name != "meta" and not table.name.startswith(PREDICTING)
        if known and table.name in present and any(c.checked for c in table.columns):
            check_columns(workspace, table.name)
    numbered = [("classes", "code"), ("attributes", "position"), ("attributes", "rank")]
    numbered += [("members", "member")] if "members" in present else []
    for name, column in numbered:
        _check_numbered(workspace, name, column)
    for name, column in (("classes", "class"), ("classes", "column"), ("attributes", "attribute")):
        _check_distinct(workspace, name, column)
    for name, condition, what in _IMPOSSIBLE:
        if name in present:
            _check_possible(workspace, name, condition, what)
    for counts, families in (("counts", "families"), ("margins", "margin_families")):
        if {counts, families} <= present:
            _check_counts(workspace, counts, families)
    _check_parts(workspace)


_NO_ATTRIBUTE = "t.{} NOT IN (SELECT attribute FROM <attributes>)"
_NO_CODE = "NOT EXISTS (FROM <attributes> a WHERE a.attribute = t.{} AND t.{} < a.n_values)"
_NO_AMOUNT = "t.n < 0 OR NOT isfinite(t.n::DOUBLE)"
# Table, a condition that must not hold, what that means.
_IMPOSSIBLE: tuple[tuple[str, str, str], ...] = (
    ("attributes", "t.kind NOT IN ('numeric', 'categorical')", "an unknown kind"),
    ("attributes", "t.missing_code >= t.n_values", "a missing_code past n_values"),
    ("attributes", "t.n_values > 2147483647", "n_values too large"),
    ("attributes", "NOT isfinite(t.mi::DOUBLE)", "a mi that is no number"),
    ("classes", _NO_AMOUNT, "an n that is no count"),
    *(
        (table, wrong, what)
        for table in ("categories", "groups")
        for wrong, what in (
            (_NO_CODE.format("attribute", "code"), "an unknown attribute or code"),
            (_NO_AMOUNT, "an n that is no count"),
        )
    ),
    ("cuts", _NO_CODE.format("attribute", "code"), "an unknown attribute or code"),
    ("cuts", "isnan(t.upper::DOUBLE)", "an upper that is no number"),
    ("parents", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("parents", _NO_ATTRIBUTE.format("parent"), "an unknown parent"),
    ("parents", "t.parent = t.attribute", "an attribute that is its own parent"),
    ("cmi", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("cmi", _NO_ATTRIBUTE.format("other"), "an unknown attribute"),
    ("counts", f"{_NO_AMOUNT} OR t.key < 0", "a key or an n that is no count"),
    ("margins", f"{_NO_AMOUNT} OR t.key < 0", "a key or an n that is no count"),
    *(
        (table, "t.variable >= (SELECT count(*) FROM <attributes>) OR t.radix < 1", "a wrong axis")
        for table in ("families", "margin_families")
    ),
    ("subsumptions", _NO_CODE.format("attribute", "code"), "an unknown attribute or code"),
    ("subsumptions", _NO_CODE.format("implied", "implied_code"), "an unknown attribute or code"),
    ("member_attributes", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("terms", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("turns", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("history", "t.rows < 0 OR t.rows_skipped < 0 OR t.total_rows < 0", "a number below 0"),
    ("history", "t.action NOT IN ('fit', 'update', 'forget', 'merge')", "an unknown action"),
)


def _check_possible(workspace: Workspace, table: str, condition: str, what: str) -> None:
    condition = condition.replace("<attributes>", workspace.table("attributes"))
    n = _number(workspace, "impossible_rows", table=workspace.table(table), condition=condition)
    if n:
        refuse(workspace.label, f"{table}: {what} in {n:,} rows")


def _number(workspace: Workspace, template: str, **values: str) -> int:
    return int(workspace.session.row(render(f"store/{template}", **values))[0])


def _distinct_values(workspace: Workspace, table: str, column: str) -> tuple[int, ...]:
    sql = render("store/distinct_values", table=workspace.table(table), column=column)
    return workspace.session.row(sql)


def _check_numbered(workspace: Workspace, table: str, column: str) -> None:
    """Whether a column counts 0, 1, 2, …"""
    n, *found = _distinct_values(workspace, table, column)
    if n and found != [n, 0, n - 1]:
        refuse(workspace.label, f"{table}.{column} does not count from 0 to {n - 1:,}")


def _check_distinct(workspace: Workspace, table: str, column: str) -> None:
    n, distinct, *_ = _distinct_values(workspace, table, column)
    if n != distinct:
        refuse(workspace.label, f"{table}.{column} has a name twice")


def _check_counts(workspace: Workspace, counts: str, families: str) -> None:
    """Whether every key is one of a family, and families have the numbers of codes as radices."""
    names = {name: workspace.table(name) for name in ("attributes", "classes")}
    described = workspace.table(families)
    wrong = _number(workspace, "wrong_radices", families=described, **names)
    if wrong:
        refuse(workspace.label, f"{families}.radix is not the number of values in {wrong:,} rows")
    lost = _number(workspace, "lost_cells", families=described, counts=workspace.table(counts))
    if lost:
        refuse(workspace.label, f"{counts}: {lost:,} rows are of no cell of {families}")


def _check_parts(workspace: Workspace) -> None:
    """Whether intervals follow each other, and every code but the missing one has a part."""
    names = {name: workspace.table(name) for name in ("attributes", "cuts", "categories")}
    for template, told in (
        ("wrong_cuts", "the cuts of {} are no intervals"),
        ("lacking_categories", "categories: values of {} are lacking"),
    ):
        wrong = workspace.session.rows(render(f"store/{template}", **names))
        if wrong:
            refuse(workspace.label, told.format(repr(wrong[0][0])))


def damaged_by(workspace: Workspace, error: Exception) -> DamagedModelError:
    """What went wrong while a model was opened, as a line that says so."""
    lines = str(error).removeprefix("the database engine says: ").splitlines() or [""]
    line = f"there is no {lines[0]}" if isinstance(error, KeyError) else lines[0]
    return DamagedModelError(f"{workspace.label} is damaged: {line[:200]}; fit it again")


def model_label(name: str, path: object) -> str:
    """A stored model, in a message."""
    return f"the model {name!r} in {str(path)!r}"
