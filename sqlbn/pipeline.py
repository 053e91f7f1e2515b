"""A fit, step by step: look, prepare, encode, count, structure, parameters, describe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.column_arrays import ColumnArrays
from sqlbn.encoding.encoded import discard
from sqlbn.encoding.preparing import (
    Encoding,
    Looked,
    Prepared,
    encode_rows,
    look,
    prepare,
    prepare_like,
)
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.kind import Fitting, Job
from sqlbn.kinds.losses import Loss
from sqlbn.learners.fit_options import FitOptions
from sqlbn.store.history import start_history
from sqlbn.store.meta import fit_meta, write_meta
from sqlbn.store.spec import ModelSpec, made_spec
from sqlbn.store.stored_variables import variables_of, write_variables
from sqlbn.structure.shape import Shape


@dataclass(frozen=True)
class Pattern:
    """Another model that a fit follows: in its encoding, and perhaps in its structure too."""

    encoding: Encoding
    shape: Shape | None = None


def fit_with_loo(
    session: Session,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
    loss: Loss | None = None,
    looked: Looked | None = None,
) -> tuple[Workspace, ModelSpec, float]:
    """A model in one encoding, as tables; with `loss` also that of leave-one-out, else NaN.

    `looked` is what was seen of the columns before, if they were looked at.
    """
    workspace = Workspace(session, weighted=options.weight is not None)
    try:
        if pattern is not None:
            prepared = prepare_like(session, source, workspace, pattern.encoding, progress)
        else:
            looked = looked or look(session, source, options, progress)
            prepared = prepare(looked, workspace, options, progress)
        shape = pattern.shape if pattern is not None else None
        with _encoded(workspace, prepared, options, progress, loss, shape) as fitting:
            fitting.count()
            fitting.structure()
            fitting.parameters()
            value = fitting.loo_loss(loss) if loss is not None else math.nan
        _describe(workspace, prepared)
        start_history(workspace, prepared.training, options)
        write_meta(workspace, {**fit_meta(prepared, options, progress), **fitting.chosen})
        return workspace, made_spec(workspace), value
    except BaseException:
        workspace.drop()
        raise


def try_encoding(
    session: Session, looked: Looked, options: FitOptions, loss: Loss
) -> tuple[Sequence[Codebook], float, int | None]:
    """The codebooks of one encoding, its leave-one-out loss, and the parents that go with it.

    No model is made of it.
    """
    workspace, progress = Workspace(session, weighted=options.weight is not None), Progress()
    try:
        prepared = prepare(looked, workspace, options, progress)
        with _encoded(workspace, prepared, options, progress, loss, is_trial=True) as fitting:
            fitting.count()
            fitting.structure()
            value = fitting.loo_loss(loss)
            return prepared.books, value, fitting.parents
    finally:
        workspace.drop()


def tries_in_arrays(session: Session, looked: Looked, options: FitOptions) -> bool:
    """Whether a trial of these rows needs no queries but one that reads them."""
    rows, codes = looked.training.rows, replace(looked.counted(), limits=session.limits)
    learner = options.make_learner()
    samples = (options.loocv_sample, options.structure_sample, session.limits.quantile_rows)
    is_counted = options.rule is None and learner.needs.score is None
    is_whole = is_counted and all((sample or rows) >= rows for sample in samples)
    return is_whole and learner.kind.tries_in_arrays(codes)


def try_arrays(
    session: Session,
    columns: ColumnArrays,
    options: FitOptions,
    loss: Loss,
    others: ColumnArrays | None = None,
) -> tuple[Sequence[Codebook], tuple[float, float], int | None]:
    """The codebooks of one encoding of some rows, its losses, and the parents that go with it.

    The losses are that of leave-one-out, and that of other rows where there are any.
    """
    keep = frozenset(options.choices(columns.looked.training.source).keep)
    cut = columns.prepared(options.discretisation, keep)
    names = [book.name for book in cut.prepared.books]
    learner, workspace = options.make_learner(), Workspace(session, options.weight is not None)
    try:
        learner.check(names)
        learner.kind.check_room(workspace, cut.prepared.counted(), names)
        encoded, progress = cut.encoded(columns), Progress()
        job = _job(workspace, encoded, cut.prepared, options, progress, is_trial=True)
        fitting = learner.kind.fitting(job)
        fitting.count()
        fitting.structure()
        if others is None:
            losses = fitting.loo_loss(loss), math.nan
        else:
            losses = fitting.crossed_losses(cut.encoded(others))
        return cut.prepared.books, losses, fitting.parents
    finally:
        workspace.drop()


@contextmanager
def _encoded(
    workspace: Workspace,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
    loss: Loss | None,
    shape: Shape | None = None,
    is_trial: bool = False,
) -> Iterator[Fitting]:
    """The fit of the learner's kind while the codes of the rows are there.

    What will not fit on the disk is refused before the rows are read for it.
    """
    learner, names = options.make_learner(), [book.name for book in prepared.books]
    kind = learner.kind
    learner.check(names)
    kind.check_room(workspace, prepared.counted(), names)
    numbered = options.draws_rows or kind.numbers_rows(loss is not None)
    least = workspace.session.limits.race_least_parts * workspace.session.limits.race_rows
    numbered |= options.races and not is_trial and prepared.training.rows >= least
    encoded = encode_rows(workspace.session, prepared, progress, numbered)
    try:
        yield kind.fitting(_job(workspace, encoded, prepared, options, progress, shape, is_trial))
    finally:
        discard(workspace.session, encoded)


def _job(
    workspace: Workspace,
    encoded: Encoded,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
    shape: Shape | None = None,
    is_trial: bool = False,
) -> Job:
    return Job(
        workspace,
        encoded,
        prepared,
        options.make_learner(),
        options.rules,
        progress,
        shape,
        options.loocv_sample,
        options.structure_sample,
        options.rule,
        is_trial,
        options.smoothings,
        options.weightings,
        options.race_rule,
    )


def _describe(workspace: Workspace, prepared: Prepared) -> None:
    """All variables in the order of the columns, also those that were left out."""
    learned, place = prepared.learned, prepared.training.attributes.index
    n_classes = prepared.class_book.n_values
    found = variables_of(workspace, prepared.books, n_classes, learned.elementary)
    write_variables(workspace, sorted([*found, *learned.left_out], key=lambda v: place(v.name)))
