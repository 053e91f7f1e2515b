"""Means of products over super parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlbn.counts.counter import n_log_n
from sqlbn.counts.cover import Family
from sqlbn.counts.margins import keep_margins
from sqlbn.counts.subsets import (
    SubsetCounts,
    affordable,
    count_subsets,
    plan_subsets,
    subset_cost,
    subsets_of,
)
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.encoded import Encoded
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.average.super_tables import SuperTables
from sqlbn.kinds.average.superparents import (
    Averaged,
    find_implications,
    implied_columns,
    implied_table,
    turns,
    write_subsumptions,
    write_supers,
)
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import Fitted, Job, count_information
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.selection import chosen_loss, fixed_average_loss, select_average
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.learners.base import Averaging
from sqlbn.structure.information import Information, joint_mi
from sqlbn.structure.shape import Shape, Structure


def affordable_subsets(
    workspace: Workspace, encoded: Encoded, kept: Sequence[int], averaging: Averaging
) -> list[Family]:
    """The sets to count, or an error where their counts would not fit on the disk."""
    subsets = subsets_of(kept, averaging.n + 1)
    remedy = (
        f"keep fewer attributes with {opt('attributes')}, use {opt('n', 1)} or fewer {opt('bins')}"
    )
    affordable(workspace, encoded, subsets, remedy)
    return subsets


def count_average(
    workspace: Workspace,
    encoded: Encoded,
    averaging: Averaging,
    kept: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    progress: Progress,
) -> Averaged:
    """The one pass over the rows, and the weights of the super parents."""
    subsets = affordable_subsets(workspace, encoded, kept, averaging)
    blocks = plan_subsets(encoded, subsets)
    progress.note(f"to count: {subset_cost(encoded, subsets)}, in {len(blocks):,} blocks")
    with progress.stage("structure", "counting sets of attributes", encoded.rows, len(blocks)):
        counts = count_subsets(workspace, encoded, subsets, blocks, progress.advance)
        return average_of(counts, averaging, kept, class_counts, smoothing)


def average_of(
    counts: SubsetCounts,
    averaging: Averaging,
    kept: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
) -> Averaged:
    """The model of sets that have been counted, with the weights of its super parents."""
    weights = None
    if averaging.weighted:
        sets, _ = turns(kept, averaging.n, None)
        weights = {s: subset_mi(counts, s, class_counts) for s in sets if s}
    return Averaged(
        n=averaging.n,
        min_count=averaging.min_count,
        counts=counts,
        kept=tuple(sorted(kept)),
        weights=weights,
        class_counts=tuple(class_counts),
        m=smoothing.m,
        neutral=smoothing.is_neutral,
    )


def subset_mi(counts: SubsetCounts, subset: Family, class_counts: Sequence[float]) -> float:
    """MI of a set of attributes, taken as one variable, with the class."""
    cells = counts.seen(subset)
    classes = np.asarray(class_counts, float)
    return joint_mi(
        n_log_n(cells.counts), n_log_n(cells.totals), n_log_n(classes), float(classes.sum())
    )


def single_information(counts: SubsetCounts, d: int, class_counts: Sequence[float]) -> Information:
    """MI of every attribute, from counts of all of them."""
    mi = [subset_mi(counts, (i,), class_counts) for i in range(d)]
    return Information(np.array(mi, float), None)


def make_tables(averaged: Averaged, names: Sequence[str]) -> None:
    """The tables that scoring joins, and those that say what the model is."""
    counts, workspace = averaged.counts, averaged.counts.workspace
    counts.describe()
    supers = averaged.super_parents()
    tables = SuperTables(averaged, supers)
    tables.make()
    write_supers(workspace, supers, tables.seen, names)
    if averaged.min_count is not None:
        found = find_implications(counts, averaged.kept, averaged.min_count)
        for special, columns in implied_columns(found, counts.encoded.cards).items():
            workspace.session.create_table(workspace.table(implied_table(special)), columns)
        write_subsumptions(workspace, found, names)


def fit_average(job: Job) -> Fitted:
    """A mean of products: counts of all small sets of attributes, tables; what was chosen."""
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
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
        workspace,
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
            return chosen_loss(workspace, loss, chosen["selected_k"], chosen["selected_attributes"])
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
    write_structure(averaged.counts.workspace, books, info, structure, set(averaged.kept))
