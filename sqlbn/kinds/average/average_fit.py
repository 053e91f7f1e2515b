"""The fit of an average: counts of all small sets of attributes, what is kept of them, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.average.average_loo import AverageLoo
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
from sqlbn.kinds.first_pass import count_information
from sqlbn.kinds.kind import Fitting, Job, Selection
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.selection import (
    NestedLosses,
    best_of,
    chosen_loss,
    seconds_of,
    write_loocv,
)
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.structure.information import Information, joint_mi
from sqlbn.structure.shape import Choice, Shape, Structure


@dataclass(frozen=True)
class Averaging:
    """Every set of `n` attributes is the parents of all others, once.

    `min_count` is that of subsumption resolution (None: without), `attributes` how many of the
    most informative ones take part (None: all).
    """

    n: int
    weighted: bool = False
    min_count: int | None = None
    attributes: int | None = None

    def kept(self, order: Sequence[int]) -> Sequence[int]:
        """The attributes that take part, of all in an order."""
        return order[: self.attributes]


class AverageFit(Fitting):
    """One pass over the rows, unless attributes are to be left out."""

    info: Information
    averaged: Averaged

    def __init__(self, job: Job, averaging: Averaging, selection: Selection | None) -> None:
        super().__init__(job)
        self._averaging, self._selection = averaging, selection

    def count(self) -> None:
        job, d = self.job, self.job.encoded.n_attributes
        follows = job.shape.selected if job.shape is not None else None
        n_kept = len(self._averaging.kept(range(d)) if follows is None else follows)
        # Only where attributes are left out must their information be known before the one pass.
        info = count_information(job) if n_kept < d else None
        kept = range(d) if info is None else info.order[:n_kept]
        self.averaged = count_average(
            job, self._averaging, kept if follows is None else sorted(follows)
        )
        if info is None:
            info = single_information(self.averaged.counts, d, job.prepared.class_counts)
            keep_margins(self.averaged.counts, pairs=False)
        self.info = info

    def structure(self) -> None:
        job, selection = self.job, self._selection
        self._structure = job.learner.structure(self.info)
        if job.shape is not None:
            self.chosen |= job.shape.chosen
        elif selection is not None:
            order = self._order
            best = select_attributes(
                self.averaged, order, selection, job.loocv_sample, job.progress
            )
            self.averaged = self.averaged.keep(order[: best.n_attributes])
            self.chosen |= Shape(self._structure, self.averaged.kept, best.k).chosen

    @property
    def _order(self) -> list[int]:
        return [v for v in self._structure.order if v in self.averaged.kept]

    def parameters(self) -> None:
        books, progress = self.job.prepared.books, self.job.progress
        finish_average(self.averaged, books, self.info, self._structure, progress)

    def loo_loss(self, loss: Loss) -> float:
        if self.chosen:
            k, n_attributes = self.chosen["selected_k"], self.chosen["selected_attributes"]
            return chosen_loss(self.job.workspace, loss, k, n_attributes)
        return fixed_average_loss(self.averaged, self._order, loss)


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


def count_average(job: Job, averaging: Averaging, kept: Sequence[int]) -> Averaged:
    """The one pass over the rows, and the weights of the super-parents."""
    encoded, progress = job.encoded, job.progress
    subsets = affordable_subsets(job.workspace, encoded, kept, averaging)
    blocks = plan_subsets(encoded, subsets)
    progress.note(f"to count: {subset_cost(encoded, subsets)}, in {len(blocks):,} blocks")
    with progress.stage("structure", "counting sets of attributes", encoded.rows, len(blocks)):
        counts = count_subsets(job.workspace, encoded, subsets, blocks, progress.advance)
        return average_of(counts, averaging, kept, job.prepared.class_counts, job.smoothing)


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
        smoothing=smoothing,
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


def select_attributes(
    averaged: Averaged,
    order: Sequence[int],
    selection: Selection,
    sample: int | None,
    progress: Progress,
) -> Choice:
    """Leave-one-out of every prefix of an order: how many of the attributes to keep."""
    workspace, encoded = averaged.counts.workspace, averaged.counts.encoded
    rows = sampled(workspace.session, encoded, sample)
    passes = AverageLoo(averaged, order, companions(selection.loss), rows)
    try:
        title = "pass 2: leave-one-out"
        size = rows.limits.loo_slice_rows
        if progress.is_shown and rows.rows > 4 * size:
            taken = seconds_of(lambda: passes.time_slice(size // 4))
            title += f", about {taken * 4 * rows.rows / size:.0f} s"
        with progress.stage("loocv", title, rows.rows, passes.n_chunks):
            losses = passes.losses(progress.advance)
    finally:
        passes.drop()
        if rows is not encoded:
            discard(workspace.session, rows)
    surfaces = {loss: np.array([values]) for loss, values in losses.items()}
    write_loocv(workspace, {None: NestedLosses(surfaces, selection.ks, rows.rows)})
    return best_of(surfaces, selection)


def fixed_average_loss(averaged: Averaged, order: Sequence[int], loss: Loss) -> float:
    """The same of an averaging model."""
    rows = averaged.counts.encoded
    passes = AverageLoo(averaged, order, companions(loss), rows, only_whole=True)
    try:
        return float(passes.losses()[loss][-1])
    finally:
        passes.drop()
