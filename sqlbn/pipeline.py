"""A fit, step by step: look, prepare, encode, count, structure, parameters, describe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.encoded import discard
from sqlbn.encoding.preparing import (
    Encoding,
    Looked,
    Prepared,
    Training,
    encode_rows,
    look,
    prepare,
    prepare_like,
)
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
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
    """Whether a trial of these rows needs no queries over their codes but to read them."""
    rows, codes = looked.training.rows, replace(looked.counted(), limits=session.limits)
    is_whole = (options.loocv_sample or rows) >= rows
    return is_whole and options.make_learner().kind.tries_in_arrays(codes)


def cross_encoding(
    session: Session, looked: Looked, options: FitOptions, loss: Loss, others: Training
) -> tuple[float, float] | None:
    """The leave-one-out loss of one encoding of some rows, and its loss on others.

    None where they are too many for arrays: then there has to be a model.
    """
    if not tries_in_arrays(session, looked, options):
        return None
    workspace, progress = Workspace(session, weighted=options.weight is not None), Progress()
    try:
        prepared = prepare(looked, workspace, options, progress)
        with _encoded(workspace, prepared, options, progress, loss, is_trial=True) as fitting:
            fitting.count()
            fitting.structure()
            coded = encode_rows(session, replace(prepared, training=others), progress)
            try:
                return fitting.crossed_losses(coded)
            finally:
                discard(session, coded)
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
        yield kind.fitting(
            Job(
                workspace,
                encoded,
                prepared,
                learner,
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
        )
    finally:
        discard(workspace.session, encoded)


def _describe(workspace: Workspace, prepared: Prepared) -> None:
    """All variables in the order of the columns, also those that were left out."""
    learned, place = prepared.learned, prepared.training.attributes.index
    n_classes = prepared.class_book.n_values
    found = variables_of(workspace, prepared.books, n_classes, learned.elementary)
    write_variables(workspace, sorted([*found, *learned.left_out], key=lambda v: place(v.name)))
