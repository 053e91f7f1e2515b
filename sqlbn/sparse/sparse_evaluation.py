"""Losses of models of long input on rows that were not learned: held-out ones, and folds."""

from __future__ import annotations

import time
from dataclasses import replace

from sqlbn.data.long_rows import LongRows
from sqlbn.encoding.codebook import BookTables
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Source
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError
from sqlbn.evaluation.cross_validation import PLACE, deal
from sqlbn.evaluation.held_out import losses_of
from sqlbn.evaluation.metrics import Evaluation, pooled, positive_class, positive_of_rows
from sqlbn.kinds.sparse.sparse_query import SparseScoring, labelled_scores
from sqlbn.learners.fit_options import FitOptions
from sqlbn.sparse.sparse_cells import check_cells, numbered_labels
from sqlbn.sparse.sparse_fit import fit_long
from sqlbn.store.spec import ModelSpec


def evaluate_long(
    workspace: Workspace,
    spec: ModelSpec,
    rows: LongRows,
    ranking: bool = True,
    positive: str | None = None,
) -> Evaluation:
    """Losses of the model in a workspace on rows that have a class."""
    scoring, session = spec.scoring, workspace.session
    assert isinstance(scoring, SparseScoring)
    scoring.rules.check(rows.cells, rows.names)
    check_cells(session, rows.cells, rows.names)
    rules = replace(scoring.rules, names=rows.names)
    cells = rules.cells_sql(rows.cells.filtered_relation)
    tables = BookTables.of(workspace.prefix, spec.target.name)
    with numbered_labels(session, rows, spec.target, tables, all_rows=True) as numbered:
        labelled = labelled_scores(scoring, workspace.prefix, cells, numbered.relation)
        return losses_of(session, spec.class_names, labelled, 1, ranking, positive)


def fit_and_evaluate_long(
    session: Session,
    training: LongRows,
    test: LongRows,
    options: FitOptions,
    progress: Progress,
    title: str,
    asked: str | None,
) -> Evaluation:
    """Losses on the test rows of a model of the training rows; the model is thrown away."""
    started = time.perf_counter()
    workspace, spec = fit_long(session, training, options, Progress())
    fitted = time.perf_counter() - started
    positive = positive_class(asked, spec.class_names, spec.class_counts)
    with progress.stage("evaluate", f"{title}: fitted in {fitted:.1f} s, testing"):
        result = evaluate_long(workspace, spec, test, positive=positive)
    result.seconds["fit"] = fitted
    workspace.drop()
    return result


def cross_validate_long(
    session: Session,
    rows: LongRows,
    options: FitOptions,
    folds: int,
    progress: Progress,
    asked: str | None,
) -> tuple[Evaluation, list[Evaluation]]:
    """All rows predicted once, by a model that has not seen their fold; pooled, and by fold."""
    if folds < 2:
        raise OptionError("give at least 2", folds=folds)
    with progress.stage("folds", f"dealing rows to {folds} folds"):
        seed = session.settings.seed
        dealt, _ = deal(session, rows.classes, options, seed, stratified=True)
        positive = positive_of_rows(session, dealt, options, asked)
    n = int(session.row(dealt.select("count(*)"))[0])
    if folds > n:
        raise OptionError(f"{rows.label} has {n:,} rows; give at most as many folds", folds=folds)
    parts = [
        fit_and_evaluate_long(
            session,
            _part(rows, dealt, f"{PLACE} % {folds} <> {fold}"),
            _part(rows, dealt, f"{PLACE} % {folds} = {fold}"),
            options,
            progress,
            f"fold {fold + 1} of {folds}",
            positive,
        )
        for fold in range(folds)
    ]
    return pooled(parts), parts


def _part(rows: LongRows, dealt: Source, condition: str) -> LongRows:
    """The cells with some of the classes; what tells the classes among them is no feature."""
    return rows.of_classes(dealt.filtered(condition))
