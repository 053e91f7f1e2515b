"""A fit of long input: cells are counted, and the tables of a model are made of the counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlbn.data.long_rows import LongRows
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.value_types import plain_type
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.sparse.cell_rules import CellRules
from sqlbn.kinds.sparse.sparse_counts import SparseCounts
from sqlbn.kinds.sparse.sparse_tables import write_empty, write_features, write_predicting
from sqlbn.learners.fit_options import FitOptions
from sqlbn.sparse.sparse_cells import (
    NAMES_OF_FEATURES,
    NumberedRows,
    check_cells,
    count_cells,
    ignored_cells,
    numbered_rows,
    placed_cells,
    require_features,
)
from sqlbn.store.history import (
    CountedFile,
    Step,
    condition_of,
    counted_files,
    moment,
    write_history,
)
from sqlbn.store.meta import now, program_meta, write_meta
from sqlbn.store.spec import ModelSpec, made_spec


@dataclass(frozen=True)
class LabelledCells:
    """Cells whose counts are in the workspace: (n, y, place and, where there is one, v)."""

    workspace: Workspace
    relation: str
    rules: CellRules
    rows: NumberedRows
    ignored: int


def fit_long(
    session: Session, rows: LongRows, options: FitOptions, progress: Progress
) -> tuple[Workspace, ModelSpec]:
    """A model of rows that come as cells."""
    workspace = Workspace(session)
    left_out = rows.target if rows.holds_classes else None
    rules = CellRules.of(rows.cells, rows.names, options.features, left_out)
    try:
        with counted_cells(workspace, rows, rules, options, progress) as counted:
            derive(workspace, counted.rows.class_counts, options, progress)
        _describe(counted, rows, options, progress)
        return workspace, made_spec(workspace)
    except BaseException:
        workspace.drop()
        raise


@contextmanager
def counted_cells(
    workspace: Workspace,
    rows: LongRows,
    rules: CellRules,
    options: FitOptions,
    progress: Progress,
    known: str | None = None,
) -> Iterator[LabelledCells]:
    """The cells of labelled rows, counted into the workspace; cuts that are `known` are kept."""
    session = workspace.session
    with progress.stage("profile", "looking at the cells"):
        n_cells = check_cells(session, rows.cells, rows.names)
    cells = rules.cells_sql(rows.cells.filtered_relation)
    with numbered_rows(session, rows, workspace) as numbered:
        ignored = ignored_cells(session, rows, numbered)
        if ignored:
            progress.note(f"{ignored:,} cells are of rows that have no class: ignored")
        with placed_cells(session, cells, numbered, rules, workspace, progress) as kept:
            with progress.stage("count", f"counting {n_cells:,} cells", numbered.rows):
                bins = options.discretisation.bins
                count_cells(workspace, kept.relation, rules, bins, known)
            require_features(workspace, rows)
            yield LabelledCells(workspace, kept.relation, rules, numbered, ignored)


def derive(
    workspace: Workspace, class_counts: list[float], options: FitOptions, progress: Progress
) -> None:
    """All further tables of a model from the counts in its workspace."""
    with progress.stage("parameters", "tables of the model"):
        counts = SparseCounts.read(workspace, class_counts)
        counts.check()
        weights = np.ones(counts.d)
        write_features(workspace, workspace.table(NAMES_OF_FEATURES), counts, weights)
        write_predicting(workspace, counts, options.rules, weights)
        workspace.remove(NAMES_OF_FEATURES)
        write_empty(workspace)


def _describe(
    counted: LabelledCells, rows: LongRows, options: FitOptions, progress: Progress
) -> None:
    numbered = counted.rows
    step = Step(
        action="fit",
        at=moment(),
        source=rows.label,
        rows=numbered.rows,
        skipped=numbered.skipped,
        total=numbered.rows,
        files=files_of(rows, options.where, options.table, options.query),
    )
    write_history(counted.workspace, [step])
    write_meta(counted.workspace, _meta(counted, rows, options, progress))


def files_of(
    rows: LongRows, where: str | None, table: str | None, query: str | None
) -> tuple[CountedFile, ...]:
    """The files that say which rows there are, and which of their lines are meant.

    Cells of other rows are ignored: their file may serve for several updates.
    """
    condition = condition_of(where, table, rows.cells.query or query)
    return counted_files(rows.cells if rows.labels is None else rows.labels, condition)


def _meta(
    counted: LabelledCells, rows: LongRows, options: FitOptions, progress: Progress
) -> dict[str, Any]:
    rules, numbered = options.rules, counted.rows
    return {
        **program_meta(),
        "created_at": now(),
        "learner": options.make_learner().name,
        "options": options.stored,
        "target": rows.target,
        "target_type": plain_type(numbered.book.sql_type),
        "m": rules.m,
        "backoff": rules.backoff,
        "estimate": rules.estimate,
        "missing": rules.missing,
        "unseen": rules.unseen,
        "smoothing": rules.rule,
        "weight": "",
        "where": options.where or "",
        "long": counted.rules.document,
        "cells_ignored": counted.ignored,
        "source": rows.label,
        "files": [
            {"path": f.name, "bytes": f.size} for source in rows.sources for f in source.files
        ],
        "rows": numbered.rows,
        "rows_skipped": numbered.skipped,
        "seconds": {name: round(taken, 4) for name, taken in progress.seconds.items()},
    }
