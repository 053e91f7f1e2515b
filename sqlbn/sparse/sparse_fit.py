"""A fit of long input: cells are counted, and the tables of a model are made of the counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sqlbn.data.long_rows import LongRows
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.value_types import plain_type
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.sparse.cell_rules import CellRules
from sqlbn.kinds.sparse.sparse_counts import SparseCounts
from sqlbn.kinds.sparse.sparse_families import Changes, joint_rows
from sqlbn.kinds.sparse.sparse_tables import (
    write_empty,
    write_features,
    write_predicting,
    write_together,
)
from sqlbn.learners.base import Learner
from sqlbn.learners.fit_options import FitOptions
from sqlbn.sparse.sparse_cells import NAMES_OF_FEATURES, LabelledCells, counted_cells
from sqlbn.sparse.sparse_pairs import paired_features
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


def fit_long(
    session: Session, rows: LongRows, options: FitOptions, progress: Progress
) -> tuple[Workspace, ModelSpec]:
    """A model of rows that come as cells."""
    workspace = Workspace(session)
    left_out = rows.target if rows.holds_classes else None
    rules = CellRules.of(rows.cells, rows.names, options.features, left_out)
    try:
        with counted_cells(workspace, rows, rules, options, progress) as counted:
            classes = counted.rows.class_counts
            noted = derive(workspace, classes, options, progress, counted)
        _describe(counted, rows, options, progress, noted)
        return workspace, made_spec(workspace)
    except BaseException:
        workspace.drop()
        raise


def derive(
    workspace: Workspace,
    class_counts: list[float],
    options: FitOptions,
    progress: Progress,
    cells: LabelledCells | None = None,
) -> dict[str, Any]:
    """All further tables of a model from the counts in its workspace; what is noted of them.

    `cells` are those that were counted, where the learner needs more than single features.
    """
    counts = SparseCounts.read(workspace, class_counts)
    counts.check()
    learner, joint, noted = options.make_learner(), None, dict[str, Any]()
    if learner.needs.pairs and cells is not None:
        joint, noted = _depend(cells, counts, learner, options, progress)
    with progress.stage("parameters", "tables of the model"):
        weights = np.ones(counts.d)
        write_features(workspace, workspace.table(NAMES_OF_FEATURES), counts, weights)
        write_predicting(workspace, counts, options.rules, weights, joint)
        workspace.remove(NAMES_OF_FEATURES)
        write_empty(workspace)
    return noted


def _depend(
    cells: LabelledCells,
    counts: SparseCounts,
    learner: Learner,
    options: FitOptions,
    progress: Progress,
) -> tuple[Changes, dict[str, Any]]:
    """What features change together by their parents; fills the tables about these."""
    workspace, changes = cells.workspace, Changes()
    with paired_features(cells, counts, progress) as paired:
        with progress.stage("structure", "finding parents"):
            info = paired.information
            structure = learner.structure(info)
        families = [(f, *parents) for f, parents in enumerate(structure.parents) if parents]
        with progress.stage("families", "counting families", cells.rows.rows):
            found = paired.of_sets(families)
        places = paired.places.tolist()
        for f, parents in enumerate(structure.parents):
            family = (f, *parents)
            members = [places[v] for v in family]
            arrays = found[family] if parents else counts.of_feature(places[f])
            changes.add(members, arrays, counts, options.rules, cells.rules.mode != "presence")
    rank = {places[f]: at for at, f in enumerate(structure.order)}
    write_together(workspace, joint_rows(changes, rank, len(counts.class_counts)))
    assert info.cmi is not None
    workspace.fill(
        "feature_parents",
        [
            (places[f], places[parent], at, float(info.cmi[f, parent]))
            for f, parents in enumerate(structure.parents)
            for at, parent in enumerate(parents)
        ],
    )
    return changes, {"paired_features": len(places)}


def _describe(
    counted: LabelledCells,
    rows: LongRows,
    options: FitOptions,
    progress: Progress,
    noted: Mapping[str, Any],
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
    write_meta(counted.workspace, {**_meta(counted, rows, options, progress), **noted})


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
