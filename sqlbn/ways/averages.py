"""Means of products over super parents."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.averaging import (
    count_average,
    make_tables,
    single_information,
)
from sqlbn.counts.margins import (
    keep_margins,
)
from sqlbn.describing import write_structure
from sqlbn.encode.codebook import Codebook
from sqlbn.progress import Progress
from sqlbn.scoring.averaged import Averaged
from sqlbn.scoring.loo_losses import Loss
from sqlbn.selecting import (
    chosen_loss,
    fixed_average_loss,
    select_average,
)
from sqlbn.structure.information import Information
from sqlbn.structure.parents import Structure
from sqlbn.structure.shape import Shape
from sqlbn.ways.first_pass import count_information
from sqlbn.ways.job import Fitted, Job


def fit_average(job: Job) -> Fitted:
    """A mean of products: counts of all small sets of attributes, tables; what was chosen."""
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner, d = options.make_learner(), encoded.n_attributes
    averaging = learner.averaging
    assert averaging is not None
    most = averaging.attributes if averaging.attributes is not None else d
    if shape is not None:
        most = len(shape.selected)
    # Only where attributes are left out must their information be known before the one pass.
    info = count_information(job) if most < d else None
    kept = range(d) if info is None else info.order[:most]
    averaged = count_average(
        draft,
        encoded,
        averaging,
        sorted(shape.selected) if shape is not None else kept,
        prepared.class_counts,
        options.smoothing,
        progress,
    )
    if info is None:
        info = single_information(averaged.counts, d, prepared.class_counts)
        keep_margins(averaged.counts, pairs=False)
    structure = learner.structure(info)
    chosen = shape.chosen if shape is not None else {}
    if learner.selection is not None and shape is None:
        order = [v for v in structure.order if v in averaged.kept]
        best = select_average(averaged, order, learner.selection, options.loocv_sample, progress)
        averaged = averaged.keep(order[: best.n_attributes])
        chosen = Shape(structure, averaged.kept, best.k).chosen
    if not job.is_trial:
        finish_average(averaged, prepared.books, info, structure, progress)

    def judge(loss: Loss) -> float:
        if chosen:
            return chosen_loss(draft, loss, chosen["selected_k"], chosen["selected_attributes"])
        order = [v for v in structure.order if v in averaged.kept]
        return fixed_average_loss(averaged, order, loss)

    return Fitted(chosen, judge)


def finish_average(
    averaged: Averaged,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    progress: Progress,
) -> None:
    """The tables of an averaging model when its sets have been counted."""
    with progress.stage("factors", "making the tables of probabilities"):
        make_tables(averaged, [book.name for book in books])
    write_structure(averaged.counts.draft, books, info, structure, set(averaged.kept))
