"""The fit of an averaging learner: one pass counts all small sets of attributes, and that is all.

With a selection, a second pass leaves every row out in turn and keeps the best first attributes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlbn.counts.counter import n_log_n
from sqlbn.counts.cover import Family
from sqlbn.counts.room import affordable
from sqlbn.counts.subsets import (
    SubsetCounts,
    count_subsets,
    plan_subsets,
    subset_cost,
    subsets_of,
)
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.errors import opt
from sqlbn.learners.base import Averaging
from sqlbn.progress import Progress
from sqlbn.scoring.averaged import Averaged
from sqlbn.scoring.implied import find_implications, implied_columns
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.scoring.super_tables import SuperTables
from sqlbn.scoring.superparents import implied_table, turns
from sqlbn.store.supers import write_subsumptions, write_supers
from sqlbn.structure.information import Information, joint_mi


def affordable_subsets(
    draft: Draft, encoded: Encoded, kept: Sequence[int], averaging: Averaging
) -> list[Family]:
    """The sets to count, or an error where their counts would not fit on the disk."""
    subsets = subsets_of(kept, averaging.n + 1)
    remedy = (
        f"keep fewer attributes with {opt('attributes')}, use {opt('n', 1)} or fewer {opt('bins')}"
    )
    affordable(draft, encoded, subsets, remedy)
    return subsets


def count_average(
    draft: Draft,
    encoded: Encoded,
    averaging: Averaging,
    kept: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    progress: Progress,
) -> Averaged:
    """The one pass over the rows, and the weights of the super parents."""
    subsets = affordable_subsets(draft, encoded, kept, averaging)
    blocks = plan_subsets(encoded, subsets)
    progress.note(f"to count: {subset_cost(encoded, subsets)}, in {len(blocks):,} blocks")
    with progress.stage("structure", "counting sets of attributes", encoded.rows, len(blocks)):
        counts = count_subsets(draft, encoded, subsets, blocks, progress.advance)
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
    counts, draft = averaged.counts, averaged.counts.draft
    counts.describe()
    supers = averaged.super_parents()
    tables = SuperTables(averaged, supers)
    tables.make()
    write_supers(draft, supers, tables.seen, names)
    if averaged.min_count is not None:
        found = find_implications(counts, averaged.kept, averaged.min_count)
        for special, columns in implied_columns(found, counts.encoded.cards).items():
            draft.engine.create_table(draft.table(implied_table(special)), columns)
        write_subsumptions(draft, found, names)
