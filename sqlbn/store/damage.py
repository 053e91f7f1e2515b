"""Whether a stored model can be one: the values of its meta table, and what its tables hold.

A store is a file that anybody can write. What is read here is read with its type, once, when a
model is opened; what comes later may rely on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import NoReturn, get_args

from sqlbn.data.value_types import plain_type
from sqlbn.encoding.profile import WEIGHT_KINDS
from sqlbn.engines.sql import identifier
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import StoreError
from sqlbn.kinds.estimates import (
    Backoff,
    Estimate,
    Missing,
    Unseen,
)

Check = Callable[[str], bool]


class DamagedModelError(StoreError):
    """A stored model whose tables cannot be those of a model."""


def refuse(label: str, where: str) -> NoReturn:
    """The error that says which model is damaged, and where."""
    raise DamagedModelError(f"{label} is damaged: {where}; fit it again")


# -- meta --------------------------------------------------------------------------------------


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,18}", text) is not None


def _is_bits(text: str) -> bool:
    return not text or re.fullmatch(r"[0-9]{1,3}", text) is not None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_above_0(text: str) -> bool:
    return _is_number(text) and float(text) > 0


def _is_json(kind: type) -> Check:
    def check(text: str) -> bool:
        try:
            return isinstance(json.loads(text), kind)
        except (ValueError, RecursionError):
            return False

    return check


def _is_type(text: str) -> bool:
    try:
        return bool(plain_type(text))
    except ValueError:
        return False


_WHOLE = (
    *("format", "rows", "rows_skipped", "version", "selected_k", "selected_attributes"),
    *("structure_rows", "structure_steps", "arcs", "evaluations"),
)
_VALUES: dict[str, Check] = {
    **dict.fromkeys(_WHOLE, _is_whole),
    **dict.fromkeys(("delta_star", "tau", "cost", "null_cost"), _is_number),
    **dict.fromkeys(("options", "seconds", "bound"), _is_json(dict)),
    "files": _is_json(list),
    "weight_bits": _is_bits,
    "m": _is_above_0,
    "target_type": _is_type,
    "backoff": lambda text: text in get_args(Backoff),
    "estimate": lambda text: text in get_args(Estimate),
    "missing": lambda text: text in get_args(Missing),
    "weight_kind": lambda text: text in ("", *WEIGHT_KINDS),
    "unseen": lambda text: text in get_args(Unseen),
}
_REQUIRED = (
    *("learner", "options", "target", "target_type", "m", "weight", "where", "source", "rows"),
    *("rows_skipped", "created_at"),
)


def meta_problem(meta: Mapping[str, str | None]) -> str:
    """What is wrong with a meta table; '' where nothing is."""
    from sqlbn.learners import LEARNERS

    for key in _REQUIRED:
        if key not in meta:
            return f"meta.{key} is missing"
    for key, value in meta.items():
        if value is None:
            return f"meta.{key} is NULL"
        if key in _VALUES and not _VALUES[key](value):
            return f"meta.{key} is {_shortened(value)}"
    if meta["learner"] not in LEARNERS:
        return f"meta.learner is {_shortened(str(meta['learner']))}"
    return ""


def _shortened(value: str) -> str:
    return repr(value if len(value) < 60 else value[:60] + "…")


def read_meta(workspace: Workspace) -> dict[str, str]:
    """The meta table of a model: every value has the type that its key asks for."""
    table = workspace.table("meta")
    check_columns(workspace, "meta")
    found = {str(k): v for k, v in workspace.session.rows(f"SELECT key, value FROM {table}")}
    # Of a later format nothing else is known.
    problem = "" if is_later(found) else meta_problem(found)
    if problem:
        refuse(workspace.label, problem)
    return found


def is_later(meta: Mapping[str, str | None]) -> bool:
    """Whether a model is of a later format than this program writes."""
    from sqlbn.store.spec import FORMAT

    told = meta.get("format")
    return told is not None and _is_whole(told) and int(told) > FORMAT


# -- tables ------------------------------------------------------------------------------------

_WHOLES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_TYPES = {
    "whole": (*_WHOLES, *(f"U{name}" for name in _WHOLES), "DECIMAL(38,0)"),
    "number": ("DOUBLE", "FLOAT", *_WHOLES, *(f"U{name}" for name in _WHOLES)),
    "text": ("VARCHAR",),
    "boolean": ("BOOLEAN",),
    "wholes": tuple(f"{sign}{name}[]" for sign in ("", "U") for name in _WHOLES),
    "texts": ("VARCHAR[]",),
}
_COUNTS = {"position": "whole", "key": "whole", "n": "number"}
_FAMILIES = {"position": "whole", "axis": "whole", "variable": "whole?", "radix": "whole"}
# The columns that this program reads; a '?' stands for those that may be NULL.
_COLUMNS: dict[str, dict[str, str]] = {
    "meta": {"key": "text", "value": "text?"},
    "classes": {"code": "whole", "class": "text", "n": "number", "column": "text"},
    "attributes": {
        **{"position": "whole", "attribute": "text", "kind": "text", "n_values": "whole"},
        **{"mi": "number", "rank": "whole", "selected": "boolean", "type": "text"},
        "missing_code": "whole?",
    },
    "cuts": {"attribute": "text", "code": "whole", "upper": "number?", "label": "text?"},
    "categories": {"attribute": "text", "code": "whole", "value": "text?", "n": "number"},
    "groups": {"attribute": "text", "code": "whole", "label": "text?", "n": "number"},
    "parents": {"attribute": "text", "parent": "text", "rank": "whole"},
    "cmi": {"attribute": "text", "other": "text", "cmi": "number"},
    "counts": _COUNTS,
    "margins": _COUNTS,
    "families": _FAMILIES,
    "margin_families": _FAMILIES,
    "factors": {
        **{"factor": "whole", "role": "text", "level": "whole"},
        **{"variables": "wholes", "members": "wholes"},
    },
    "superparents": {
        **{"superparent": "whole", "attributes": "texts", "weight": "number", "seen": "whole"}
    },
    "subsumptions": {
        **{"attribute": "text", "code": "whole", "implied": "text", "implied_code": "whole"}
    },
    "terms": {"attribute": "text", "parents": "texts", "weight": "number"},
    "variables": {"attribute": "text", "elementary": "whole?"},
    "turns": {"turn": "whole", "role": "text", "attribute": "text", "repeat": "whole"},
    "history": {
        **{"step": "whole", "action": "text", "source": "text?", "rows": "whole"},
        **{"rows_skipped": "whole", "total_rows": "whole", "note": "text?"},
    },
    "history_files": {
        **{"step": "whole", "path": "text", "bytes": "whole", "fingerprint": "text"},
        "condition": "text",
    },
}


def check_columns(workspace: Workspace, table: str) -> None:
    """An error where a table lacks a column, has it with another type, or has a gap in it."""
    wanted = _COLUMNS[table]
    found = dict(workspace.session.columns(workspace.table(table)))
    for name, kind in wanted.items():
        if name not in found:
            refuse(workspace.label, f"its table {table} has no column {name!r}")
        if found[name] not in _TYPES[kind.rstrip("?")]:
            refuse(workspace.label, f"{table}.{name} is of type {found[name]}")
    full = [name for name, kind in wanted.items() if not kind.endswith("?")]
    gaps = ", ".join(f"count(*) - count({identifier(name)})" for name in full)
    for name, n in zip(
        full, workspace.session.row(f"SELECT {gaps} FROM {workspace.table(table)}"), strict=True
    ):
        if n:
            refuse(workspace.label, f"{table}.{name} is NULL in {n:,} rows")


def check_tables(workspace: Workspace) -> None:
    """An error at the first thing in a model's tables that cannot be."""
    present = set(workspace.names())
    for table in _COLUMNS.keys() & present - {"meta"}:
        check_columns(workspace, table)
    for table, column in (("classes", "code"), ("attributes", "position"), ("attributes", "rank")):
        _check_numbered(workspace, table, column)
    for table, column in (("classes", "class"), ("classes", "column"), ("attributes", "attribute")):
        _check_distinct(workspace, table, column)
    for table, wrong, what in _IMPOSSIBLE:
        if table not in present:
            continue
        sql = f"SELECT count(*) FROM {workspace.table(table)} t WHERE {_filled(workspace, wrong)}"
        n = workspace.session.row(sql)[0]
        if n:
            refuse(workspace.label, f"{table}: {what} in {n:,} rows")
    for counts, families in (("counts", "families"), ("margins", "margin_families")):
        if {counts, families} <= present:
            _check_counts(workspace, counts, families)
    _check_cuts(workspace)
    _check_categories(workspace)


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
    ("terms", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("turns", _NO_ATTRIBUTE.format("attribute"), "an unknown attribute"),
    ("history", "t.rows < 0 OR t.rows_skipped < 0 OR t.total_rows < 0", "a number below 0"),
    ("history", "t.action NOT IN ('fit', 'update', 'forget', 'merge')", "an unknown action"),
)


def _filled(workspace: Workspace, condition: str) -> str:
    return condition.replace("<attributes>", workspace.table("attributes"))


def _check_numbered(workspace: Workspace, table: str, column: str) -> None:
    """Whether a column counts 0, 1, 2, …"""
    name = identifier(column)
    n, distinct, least, most = workspace.session.row(
        f"SELECT count(*), count(DISTINCT {name}), min({name}), max({name}) "
        f"FROM {workspace.table(table)}"
    )
    if n and (distinct, least, most) != (n, 0, n - 1):
        refuse(workspace.label, f"{table}.{column} does not count from 0 to {n - 1:,}")


def _check_distinct(workspace: Workspace, table: str, column: str) -> None:
    name = identifier(column)
    n, distinct = workspace.session.row(
        f"SELECT count(*), count(DISTINCT {name}) FROM {workspace.table(table)}"
    )
    if n != distinct:
        refuse(workspace.label, f"{table}.{column} has a name twice")


def _check_counts(workspace: Workspace, counts: str, families: str) -> None:
    """Whether every key is one of a family, and families have the numbers of codes as radices."""
    attributes, classes = workspace.table("attributes"), workspace.table("classes")
    wrong = workspace.session.row(
        f"SELECT count(*) FROM {workspace.table(families)} f LEFT JOIN {attributes} a "
        "ON f.variable = a.position WHERE f.radix <> CASE WHEN f.variable IS NULL "
        f"THEN (SELECT count(*) FROM {classes}) ELSE a.n_values END"
    )[0]
    if wrong:
        refuse(workspace.label, f"{families}.radix is not the number of values in {wrong:,} rows")
    lost = workspace.session.row(
        f"WITH cells AS (SELECT position, product(radix) AS n FROM {workspace.table(families)} "
        f"GROUP BY position) SELECT count(*) FROM {workspace.table(counts)} c LEFT JOIN cells s "
        "USING (position) WHERE s.n IS NULL OR c.key::DOUBLE >= s.n"
    )[0]
    if lost:
        refuse(workspace.label, f"{counts}: {lost:,} rows are of no cell of {families}")


def _check_cuts(workspace: Workspace) -> None:
    """Whether intervals follow each other, and are as many as the attribute has."""
    wrong = workspace.session.rows(
        "SELECT attribute FROM (SELECT attribute, upper <= lag(upper) OVER (PARTITION BY attribute "
        f"ORDER BY code) AS falls FROM {workspace.table('cuts')} WHERE upper IS NOT NULL) "
        "WHERE falls LIMIT 1"
    ) or workspace.session.rows(
        f"SELECT a.attribute FROM {workspace.table('attributes')} a WHERE a.kind = 'numeric' AND "
        f"(SELECT count(*) FROM {workspace.table('cuts')} c WHERE c.attribute = a.attribute "
        "AND c.upper IS NOT NULL) <> a.n_values - (a.missing_code IS NOT NULL)::INTEGER LIMIT 1"
    )
    if wrong:
        refuse(workspace.label, f"the cuts of {wrong[0][0]!r} are no intervals")


def _check_categories(workspace: Workspace) -> None:
    """Whether every code of a category but the missing one has a value."""
    wrong = workspace.session.rows(
        f"SELECT a.attribute FROM {workspace.table('attributes')} a "
        "WHERE a.kind = 'categorical' AND "
        f"(SELECT count(DISTINCT c.code) FROM {workspace.table('categories')} c WHERE "
        "c.attribute = a.attribute AND c.code IS DISTINCT FROM a.missing_code) "
        "<> a.n_values - (a.missing_code IS NOT NULL)::INTEGER LIMIT 1"
    )
    if wrong:
        refuse(workspace.label, f"categories: values of {wrong[0][0]!r} are lacking")


def damaged_by(workspace: Workspace, error: Exception) -> DamagedModelError:
    """What went wrong while a model was opened, as a line that says so."""
    told = str(error).removeprefix("the database engine says: ").splitlines() or [""]
    line = f"there is no {told[0]}" if isinstance(error, KeyError) else told[0]
    return DamagedModelError(f"{workspace.label} is damaged: {line[:200]}; fit it again")


def model_label(name: str, path: object) -> str:
    """A stored model, in a message."""
    return f"the model {name!r} in {str(path)!r}"
