"""Cross-validation: stratified folds that are the same for every learner."""

from __future__ import annotations

import time

from sqlbn.data import Source
from sqlbn.data.relation import staged
from sqlbn.data.sampling import shuffle_sql
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.row_engine import Kept, Numbering
from sqlbn.engines.sql import RESERVED, identifier, render
from sqlbn.errors import OptionError
from sqlbn.evaluation.held_out import evaluate_source
from sqlbn.evaluation.metrics import Evaluation, pooled, positive_of_rows
from sqlbn.options import FitOptions
from sqlbn.pipeline import learn

PLACE = f"{RESERVED}place"
_ROW = f"{RESERVED}row"
_SHUFFLE = f"{RESERVED}shuffle"
# Shuffled numbers of one piece of the order.
_NUMBERS_A_PIECE = 2**22


def deal(
    session: Session, source: Source, options: FitOptions, seed: int, stratified: bool
) -> tuple[Source, Kept]:
    """The columns of a fit with a place each, and the rows as the lake keeps them.

    Places depend on the seed and on the rows' order in the source, on nothing else. Stratified
    means sorted by class first: every n-th place is then a fair share of each class.
    """
    target, names = source.column(options.target, "the target"), options.columns_of(source)
    if source.row_key is None or not source.rescannable:
        source = staged(session, source, names)
    assert source.row_key is not None
    first, row_engine = identifier(target) if stratified else None, session.row_engine
    query = render(
        "evaluate/deal",
        columns=names,
        first=first or "",
        place_name=PLACE if row_engine.numbers_rows else None,
        shuffle_name=_SHUFFLE,
        row_name=_ROW,
        row_key=source.row_key,
        shuffle=shuffle_sql(source.row_key, seed, row_engine.dialect),
        relation=source.numbered_relation,
        where=source.where_sql,
    )
    # Where that is a choice, in a file: the rows may be many.
    kept = row_engine.keep(query, "dealt", session.memory_bytes, _order(first))
    relation = kept.relation
    if not row_engine.numbers_rows:
        relation = f"(SELECT *, {kept.row_number} AS {PLACE} FROM {relation})"
    dealt = Source(
        relation=relation,
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=_ROW,
        place=PLACE,
    )
    return dealt, kept


def _order(first: str | None) -> Numbering:
    """The order of the places, for lakes that are told how to number rows."""
    order, pieces = [_SHUFFLE, _ROW], [f"{_SHUFFLE} // {_NUMBERS_A_PIECE}"]
    if first is not None:
        order, pieces = [f"{first} NULLS LAST", *order], [first, *pieces]
    return Numbering(tuple(order), tuple(pieces))


def fit_and_evaluate(
    session: Session,
    training: Source,
    test: Source,
    options: FitOptions,
    progress: Progress,
    title: str,
    ranking: bool = True,
    positive: str | None = None,
) -> Evaluation:
    """Losses on the test rows of a model of the training rows; the model is thrown away."""
    started = time.perf_counter()
    workspace, spec = learn(session, training, options, Progress())
    fitted = time.perf_counter() - started
    with progress.stage("evaluate", f"{title}: fitted in {fitted:.1f} s, testing"):
        result = evaluate_source(workspace, spec, test, options.weight, ranking, positive)
    result.seconds["fit"] = fitted
    workspace.drop()
    return result


def cross_validate(
    session: Session,
    source: Source,
    options: FitOptions,
    folds: int,
    progress: Progress,
    asked: str | None = None,
) -> tuple[Evaluation, list[Evaluation]]:
    """All rows predicted once, by a model that has not seen their fold; pooled, and by fold."""
    if folds < 2:
        raise OptionError(f"--folds {folds}: give at least 2")
    with progress.stage("folds", f"dealing rows to {folds} folds"):
        dealt, _ = deal(session, source, options, session.settings.seed, stratified=True)
        positive = positive_of_rows(session, dealt, options, asked)
    rows = int(session.row_engine.row(dealt.select("count(*)"))[0])
    if folds > rows:
        raise OptionError(
            f"--folds {folds}: {source.label} has {rows:,} rows; give at most as many folds"
        )
    options = options.of_used_columns()
    parts = [
        fit_and_evaluate(
            session,
            dealt.filtered(f"{PLACE} % {folds} <> {fold}"),
            dealt.filtered(f"{PLACE} % {folds} = {fold}"),
            options,
            progress,
            f"fold {fold + 1} of {folds}",
            positive=positive,
        )
        for fold in range(folds)
    ]
    return pooled(parts), parts
