"""The univariate report: what every column tells about the class on its own, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.encoding.categories import category_numbers
from sqlbn.encoding.codebook import (
    Codebook,
    categories_join_sql,
    code_sql,
    column_sql,
)
from sqlbn.encoding.preparing import Prepared, look
from sqlbn.encoding.preparing import prepare as prepare_columns
from sqlbn.encoding.value_classes import ColumnInformation, PartCounts, variable_of
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import literals
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError
from sqlbn.store.stored_variables import write_variables

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlbn.data import Source
    from sqlbn.engines import Session
    from sqlbn.learners.fit_options import FitOptions


@dataclass(frozen=True)
class Preparation:
    """What the columns tell about the class.

    `variables` is `attribute, kind, n_rows_present, n_missing, parts, level, cost, null_cost,
    elementary, used`, by level; `profile` is `attribute, code, part, rows, class, n, share`: the
    classes of every interval or group that has rows of them.
    """

    target: str
    rows: int
    classes: pa.Table
    variables: pa.Table
    profile: pa.Table

    def profile_of(self, attribute: str) -> list[dict[str, Any]]:
        """The parts of one variable, each with its rows and the share of every class."""
        known = self.variables["attribute"].to_pylist()
        if attribute not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise ColumnError(f"there is no variable {attribute!r}; there is {names}")
        return list(self._profiles.get(attribute, {}).values())

    @cached_property
    def _profiles(self) -> dict[str, dict[int, dict[str, Any]]]:
        """The parts of every variable by their codes."""
        found: dict[str, dict[int, dict[str, Any]]] = {}
        names = self.classes["class"].to_pylist()
        for row in self.profile.to_pylist():
            part = found.setdefault(row["attribute"], {}).setdefault(
                row["code"],
                {"part": row["part"], "rows": row["rows"], "shares": dict.fromkeys(names, 0.0)},
            )
            part["shares"][row["class"]] = row["share"]
        return found


def report_variables(
    session: Session, source: Source, options: FitOptions, progress: Progress
) -> Preparation:
    """What every column of a source tells about the class."""
    workspace = Workspace(session, weighted=options.weight is not None)
    prepared = prepare_columns(
        look(session, source, options, progress), workspace, options, progress
    )
    with progress.stage("report", "counting parts", prepared.training.rows):
        return _report(workspace, prepared)


def _report(workspace: Workspace, prepared: Prepared) -> Preparation:
    numbers, learned = category_numbers(workspace), prepared.learned
    counts = dict(_part_counts(workspace, prepared))
    found = [
        variable_of(
            b, counts[b.name], numbers.get(b.name, (0, 0))[0], learned.elementary.get(b.name)
        )
        for b in prepared.books
    ]
    place = {name: at for at, name in enumerate(prepared.training.attributes)}
    ranked = sorted([*found, *learned.left_out], key=lambda v: (-v.level, place[v.name]))
    classes = workspace.session.arrow(workspace.select("classes", "class", "n", order=("code",)))
    used = [v for v in ranked if v.name in counts]
    return Preparation(
        prepared.training.target,
        prepared.training.rows,
        classes,
        _variables_table(ranked, workspace),
        _profile_table(used, counts, _labels(workspace, prepared.books), classes),
    )


def _part_counts(workspace: Workspace, prepared: Prepared) -> Iterator[tuple[str, PartCounts]]:
    """Rows of every part by class: known from an optimisation, else counted now."""
    labelled, tables = (
        prepared.training.labelled(workspace.session, prepared.class_book, prepared.tables),
        prepared.tables,
    )
    dialect = workspace.session.row_engine.dialect
    for book in prepared.books:
        known = prepared.learned.counts.get(book.name)
        if known is not None:
            yield book.name, PartCounts.of(known)
            continue
        column, joins = column_sql("i", book.name), []
        if book.is_joined_in(dialect):
            listed = tables.categories
            joins.append(categories_join_sql(book, column, listed, "dx", dialect=dialect))
        code = code_sql(book, column, "dx", dialect=dialect)
        found = workspace.session.row_engine.arrays(labelled.counts_statement(code, joins))
        codes, classes = found["value"].astype(np.int64), found["class"].astype(np.int64)
        yield book.name, PartCounts(codes, classes, found["n"], labelled.n_classes)


def _labels(workspace: Workspace, books: Sequence[Codebook]) -> dict[tuple[str, int], str | None]:
    """A readable name of every part; None is that of missing values."""
    grouped = literals([b.name for b in books if b.grouped]) or "NULL"
    ungrouped = f"COALESCE(attribute NOT IN ({grouped}), true)"
    found = [
        *workspace.read("cuts", "attribute", "code", "label"),
        *workspace.read("groups", "attribute", "code", "label"),
        *workspace.read("categories", "attribute", "code", "value", where=ungrouped),
    ]
    return {(name, int(code)): label for name, code, label in found}


def _variables_table(variables: Sequence[ColumnInformation], workspace: Workspace) -> pa.Table:
    write_variables(workspace, variables)
    return workspace.session.arrow(workspace.select("variables"))


def _profile_table(
    variables: Sequence[ColumnInformation],
    counts: dict[str, PartCounts],
    labels: dict[tuple[str, int], str | None],
    classes: pa.Table,
) -> pa.Table:
    import pyarrow as pa

    names = classes["class"].to_pylist()
    columns: dict[str, list[Any]] = {
        k: [] for k in ("attribute", "code", "part", "rows", "class", "n", "share")
    }
    for variable in variables:
        found = counts[variable.name]
        rows = found.by_part(int(found.codes.max(initial=0)) + 1)[found.codes]
        codes = found.codes.tolist()
        columns["attribute"] += [variable.name] * len(codes)
        columns["code"] += codes
        columns["part"] += [labels.get((variable.name, code)) for code in codes]
        columns["rows"] += rows.astype(found.n.dtype).tolist()
        columns["class"] += [names[y] for y in found.classes.tolist()]
        columns["n"] += found.n.tolist()
        columns["share"] += (found.n / rows).tolist()
    return pa.table(columns)
