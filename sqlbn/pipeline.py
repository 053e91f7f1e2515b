"""The road from rows to a model: prepare, encode, count, structure, parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlbn.counts.subsets import affordable
from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.encoded import discard
from sqlbn.encoding.learn_codebooks import AUTO
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
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.average.fit_average import affordable_subsets, fit_average
from sqlbn.kinds.collection.fit_collection import collectable, fit_terms, remedy
from sqlbn.kinds.first_pass import Fitted, Job
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.fit_product import fit_network, fit_product, fit_weighed
from sqlbn.learners.base import Learner
from sqlbn.learners.fit_options import FitOptions
from sqlbn.store.history import start_history
from sqlbn.store.meta import fit_meta, write_meta
from sqlbn.store.spec import ModelSpec, read_spec
from sqlbn.store.stored_variables import variables_of, write_variables
from sqlbn.structure.shape import Shape


@dataclass(frozen=True)
class Pattern:
    """Another model that a fit follows: in its encoding, and perhaps in its structure too."""

    encoding: Encoding
    shape: Shape | None = None


def learn(
    session: Session,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
) -> tuple[Workspace, ModelSpec]:
    """A model of the source, as tables in the engine."""
    if options.method == AUTO and pattern is None:
        from sqlbn.evaluation.auto_encoding import learn_best

        return learn_best(session, source, options, progress)
    return learn_judged(session, source, options, progress, pattern)[:2]


def learn_judged(
    session: Session,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
    loss: Loss | None = None,
    looked: Looked | None = None,
) -> tuple[Workspace, ModelSpec, float]:
    """A model in one encoding; with `loss` also that of leave-one-out, else NaN."""
    workspace = Workspace(session, weighted=options.weight is not None)
    try:
        if pattern is None:
            looked = looked or look(session, source, options, progress)
            prepared = prepare(looked, workspace, options, progress)
        else:
            prepared = prepare_like(session, source, workspace, pattern.encoding, progress)
        shape = pattern.shape if pattern is not None else None
        fitted, judged = _fitted(workspace, prepared, options, progress, shape, loss)
        _write_variables(workspace, prepared)
        start_history(workspace, prepared.training, options)
        write_meta(workspace, {**fit_meta(prepared, options, progress), **fitted.chosen})
        return workspace, read_spec(workspace), judged
    except BaseException:
        workspace.drop()
        raise


def loss_of(
    session: Session, looked: Looked, options: FitOptions, loss: Loss
) -> tuple[Sequence[Codebook], float]:
    """The leave-one-out loss of one encoding, and its codebooks; no model is made of it."""
    workspace = Workspace(session, weighted=options.weight is not None)
    try:
        prepared = prepare(looked, workspace, options, Progress())
        return prepared.books, _fitted(
            workspace, prepared, options, Progress(), None, loss, is_trial=True
        )[1]
    finally:
        workspace.drop()


def _fitted(
    workspace: Workspace,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
    shape: Shape | None,
    loss: Loss | None,
    is_trial: bool = False,
) -> tuple[Fitted, float]:
    """The learner's own tables, and its loss where one is asked for."""
    _check_room(workspace, prepared, options)
    numbered = options.draws_rows or (
        options.make_learner().averaging is not None and loss is not None
    )
    encoded = encode_rows(workspace.session, prepared, progress, numbered)
    try:
        fit = _way_of(options.make_learner())
        fitted = fit(Job(workspace, encoded, prepared, options, progress, shape, is_trial))
        return fitted, fitted.judge(loss) if loss is not None else math.nan
    finally:
        discard(workspace.session, encoded)


def _write_variables(workspace: Workspace, prepared: Prepared) -> None:
    """All variables in the order of the columns, also those that were left out."""
    learned, place = prepared.learned, prepared.training.attributes.index
    n_classes = prepared.class_book.n_values
    found = variables_of(workspace, prepared.books, n_classes, learned.elementary)
    write_variables(workspace, sorted([*found, *learned.left_out], key=lambda v: place(v.name)))


def _way_of(learner: Learner) -> Callable[[Job], Fitted]:
    """The road from codes to tables that a learner takes."""
    if learner.averaging is not None:
        return fit_average
    if learner.weighing is not None:
        return fit_weighed
    if learner.searching is not None:
        return fit_network
    return fit_terms if learner.collecting is not None else fit_product


def _check_room(workspace: Workspace, prepared: Prepared, options: FitOptions) -> None:
    """Refuse counts that will not fit on the disk before the rows are read for them."""
    learner, codes = options.make_learner(), prepared.counted()
    learner.check([book.name for book in prepared.books])
    averaging, collecting = learner.averaging, learner.collecting
    # Which attributes an averaging learner keeps may be known only after counting.
    if averaging is not None and averaging.attributes is None:
        affordable_subsets(workspace, codes, range(codes.n_attributes), averaging)
    if collecting is not None:
        affordable(workspace, codes, collectable(prepared, collecting).early, remedy())
