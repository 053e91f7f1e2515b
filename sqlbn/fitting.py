"""The road from rows to a model: prepare, encode, count, structure, parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlbn.averaging import (
    affordable_subsets,
)
from sqlbn.collecting import remedy
from sqlbn.counts.room import affordable
from sqlbn.describing import fit_meta, variables_of, write_variables
from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.encode.encoded import discard
from sqlbn.encode.partitions import AUTO
from sqlbn.engines import DuckDBEngine
from sqlbn.history import start_history
from sqlbn.learners.base import Learner
from sqlbn.learners.fit_options import FitOptions
from sqlbn.preparing import (
    Encoding,
    Looked,
    Prepared,
    encode_rows,
    look,
    prepare,
    prepare_like,
)
from sqlbn.progress import Progress
from sqlbn.scoring.loo_losses import Loss
from sqlbn.sources import Source
from sqlbn.store.spec import ModelSpec, read_spec, write_meta
from sqlbn.structure.shape import Shape
from sqlbn.ways.averages import fit_average
from sqlbn.ways.job import Fitted, Job
from sqlbn.ways.products import fit_network, fit_product, fit_weighed
from sqlbn.ways.sums import collectable, fit_terms


@dataclass(frozen=True)
class Pattern:
    """Another model that a fit follows: in its encoding, and perhaps in its structure too."""

    encoding: Encoding
    shape: Shape | None = None


def learn(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
) -> tuple[Draft, ModelSpec]:
    """A model of the source, as tables in the engine."""
    if options.method == AUTO and pattern is None:
        from sqlbn.choosing import learn_best

        return learn_best(engine, source, options, progress)
    return learn_judged(engine, source, options, progress, pattern)[:2]


def learn_judged(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
    loss: Loss | None = None,
    looked: Looked | None = None,
) -> tuple[Draft, ModelSpec, float]:
    """A model in one encoding; with `loss` also that of leave-one-out, else NaN."""
    draft = Draft(engine, weighted=options.weight is not None)
    try:
        if pattern is None:
            looked = looked or look(engine, source, options, progress)
            prepared = prepare(looked, draft, options, progress)
        else:
            prepared = prepare_like(engine, source, draft, pattern.encoding, progress)
        shape = pattern.shape if pattern is not None else None
        fitted, judged = _fitted(draft, prepared, options, progress, shape, loss)
        _write_variables(draft, prepared)
        start_history(draft, prepared.training, options)
        write_meta(draft, {**fit_meta(prepared, options, progress), **fitted.chosen})
        return draft, read_spec(draft), judged
    except BaseException:
        draft.drop()
        raise


def loss_of(
    engine: DuckDBEngine, looked: Looked, options: FitOptions, loss: Loss
) -> tuple[Sequence[Codebook], float]:
    """The leave-one-out loss of one encoding, and its codebooks; no model is made of it."""
    draft = Draft(engine, weighted=options.weight is not None)
    try:
        prepared = prepare(looked, draft, options, Progress())
        return prepared.books, _fitted(
            draft, prepared, options, Progress(), None, loss, is_trial=True
        )[1]
    finally:
        draft.drop()


def _fitted(
    draft: Draft,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
    shape: Shape | None,
    loss: Loss | None,
    is_trial: bool = False,
) -> tuple[Fitted, float]:
    """The learner's own tables, and its loss where one is asked for."""
    _check_room(draft, prepared, options)
    numbered = options.draws_rows or (
        options.make_learner().averaging is not None and loss is not None
    )
    encoded = encode_rows(draft.engine, prepared, progress, numbered)
    try:
        fit = _way_of(options.make_learner())
        fitted = fit(Job(draft, encoded, prepared, options, progress, shape, is_trial))
        return fitted, fitted.judge(loss) if loss is not None else math.nan
    finally:
        discard(draft.engine, encoded)


def _write_variables(draft: Draft, prepared: Prepared) -> None:
    """All variables in the order of the columns, also those that were left out."""
    learned, place = prepared.learned, prepared.training.attributes.index
    n_classes = prepared.class_book.n_values
    found = variables_of(draft, prepared.books, n_classes, learned.elementary)
    write_variables(draft, sorted([*found, *learned.left_out], key=lambda v: place(v.name)))


def _way_of(learner: Learner) -> Callable[[Job], Fitted]:
    """The road from codes to tables that a learner takes."""
    if learner.averaging is not None:
        return fit_average
    if learner.weighing is not None:
        return fit_weighed
    if learner.searching is not None:
        return fit_network
    return fit_terms if learner.collecting is not None else fit_product


def _check_room(draft: Draft, prepared: Prepared, options: FitOptions) -> None:
    """Refuse counts that will not fit on the disk before the rows are read for them."""
    learner, codes = options.make_learner(), prepared.counted()
    learner.check([book.name for book in prepared.books])
    averaging, collecting = learner.averaging, learner.collecting
    # Which attributes an averaging learner keeps may be known only after counting.
    if averaging is not None and averaging.attributes is None:
        affordable_subsets(draft, codes, range(codes.n_attributes), averaging)
    if collecting is not None:
        affordable(draft, codes, collectable(prepared, collecting).early, remedy())
