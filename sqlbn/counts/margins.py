"""Margins: counts of single attributes and of pairs with the class, from which structure follows.

They are stored with the model, so that the structure can be found again when rows come or go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sqlbn.counts.counter import n_log_n
from sqlbn.counts.cover import Block, Family
from sqlbn.counts.subsets import (
    Array,
    SubsetCounts,
    count_subsets,
    plan_subsets,
    subset_cost,
    subsets_of,
)
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.structure.information import Information, information

MARGINS = "margins"
# Cells of pairs that are worth storing: 2^23 rows take about 60 MB in a store. More (hundreds of
# attributes) are counted, used and forgotten, and the structure then stays as it is in an update.
STORED_CELLS = 1 << 23


def margin_subsets(encoded: Encoded, pairs: bool) -> list[Family]:
    """Every attribute alone and, where wanted, every pair."""
    return subsets_of(range(encoded.n_attributes), 2 if pairs else 1)


def are_storable(encoded: Encoded, subsets: Sequence[Family]) -> bool:
    """Whether the counts of these sets are few enough to be kept."""
    return subset_cost(encoded, subsets).seen <= STORED_CELLS


def plan_margins(encoded: Encoded, pairs: bool) -> list[Block]:
    """The covering plan of the pass that finds structure."""
    return plan_subsets(encoded, margin_subsets(encoded, pairs))


class MarginSums:
    """Sums of n ln n of all margins, collected while they are counted or read."""

    def __init__(self, encoded: Encoded) -> None:
        self._class_variable = encoded.class_variable
        self._d = encoded.n_attributes
        self.sums: dict[Family, float] = {}

    def observe(self, subset: Family, counts: Array) -> None:
        """The array of a set: its attributes in order, then the class."""
        y = self._class_variable
        self.sums[(*subset, y)] = n_log_n(counts)
        if len(subset) == 1:
            self.sums[subset] = n_log_n(counts.sum(axis=1))

    def information(self, class_counts: Sequence[float]) -> Information:
        """MI and, where there are pairs, CMI."""
        classes = np.asarray(class_counts, float)
        self.sums[(self._class_variable,)] = n_log_n(classes)
        return information(self.sums, self._d, float(classes.sum()))


def count_margins(
    draft: Draft,
    encoded: Encoded,
    pairs: bool,
    class_counts: Sequence[float],
    advance: Callable[[], None] = lambda: None,
) -> tuple[SubsetCounts, Information]:
    """One pass over the rows: the margins in the draft's table, and what they tell."""
    subsets, sums = margin_subsets(encoded, pairs), MarginSums(encoded)
    blocks = plan_subsets(encoded, subsets)
    margins = count_subsets(draft, encoded, subsets, blocks, advance, MARGINS, sums.observe)
    _observe_sparse(margins, sums)
    return margins, sums.information(class_counts)


def margin_information(margins: SubsetCounts, class_counts: Sequence[float]) -> Information:
    """What counted or stored margins tell."""
    sums = MarginSums(margins.encoded)
    for subset in margins.families.values():
        if margins.is_array(subset):
            sums.observe(subset, margins.array_of(subset))
    _observe_sparse(margins, sums)
    return sums.information(class_counts)


def _observe_sparse(margins: SubsetCounts, sums: MarginSums) -> None:
    """Sets whose cells are too many for an array: their spectra come from the table."""
    y = margins.encoded.class_variable
    for number, subset in margins.families.items():
        if (*subset, y) in sums.sums:
            continue
        sums.sums[(*subset, y)] = n_log_n(*margins.spectrum(number))
        if len(subset) == 1:
            sums.sums[subset] = n_log_n(*margins.spectrum(number, with_class=False))
