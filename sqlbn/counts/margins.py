"""Margins: counts of single attributes and of pairs with the class, from which structure follows.

They are stored with the model, so that the structure can be found again when rows come or go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
from sqlbn.encoding.encoded import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.structure.information import Information, information
from sqlbn.structure.shape import GammaSums, Score, score_gains

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
    """Sums over the cells of all margins, collected while they are counted or read."""

    def __init__(self, encoded: Encoded, score: Score | None, bare_pairs: bool = False) -> None:
        self._encoded, self._score, self.bare_pairs = encoded, score, bare_pairs
        self._sums: dict[Family, float] = {}
        self._gammas = GammaSums(encoded.cards) if score == "bayes" else None

    def observe(self, subset: Family, counts: Array, cells: Array | None = None) -> None:
        """The counts of a set with the class: an array, or with `cells` a spectrum of counts."""
        self._add((*subset, self._encoded.class_variable), counts, cells)
        if cells is None and self.needs_bare(subset):
            self._add(subset, counts.sum(axis=-1), None)

    def needs_bare(self, subset: Family) -> bool:
        """Whether a set is needed without the class, too: an attribute, for some orders a pair."""
        return len(subset) == 1 or self.bare_pairs

    def observe_bare(self, subset: Family, counts: Array, cells: Array) -> None:
        """The spectrum of a large set without the class."""
        self._add(subset, counts, cells)

    def _add(self, family: Family, counts: Array, cells: Array | None) -> None:
        self._sums[family] = n_log_n(counts, cells)
        if self._gammas is not None:
            self._gammas.add(family, counts, cells)

    def information(self, class_counts: Sequence[float]) -> Information:
        """MI; CMI where there are pairs; the gains of links where a score asks for them."""
        classes = np.asarray(class_counts, float)
        d, total = self._encoded.n_attributes, float(classes.sum())
        self._add((self._encoded.class_variable,), classes, None)
        info = information(self._sums, d, total)
        if self._score is None or info.cmi is None:
            return info
        sums = self._gammas.sums if self._gammas is not None else self._sums
        gains = score_gains(self._score, sums, self._encoded.cards, total)
        return replace(info, gains=gains)


def count_margins(
    workspace: Workspace,
    encoded: Encoded,
    pairs: bool,
    class_counts: Sequence[float],
    score: Score | None = None,
    advance: Callable[[], None] = lambda: None,
    bare_pairs: bool = False,
) -> tuple[SubsetCounts, Information]:
    """One pass over the rows: the margins in the draft's table, and what they tell."""
    subsets, sums = margin_subsets(encoded, pairs), MarginSums(encoded, score, bare_pairs)
    blocks = plan_subsets(encoded, subsets)
    seen: set[Family] = set()

    def observe(subset: Family, counts: Array) -> None:
        seen.add(subset)
        sums.observe(subset, counts)

    margins = count_subsets(workspace, encoded, subsets, blocks, advance, MARGINS, observe)
    for subset in set(subsets) - seen:
        _observe_stored(margins, subset, sums)
    return margins, sums.information(class_counts)


def margin_information(
    counts: SubsetCounts,
    class_counts: Sequence[float],
    score: Score | None = None,
    bare_pairs: bool = False,
) -> Information:
    """What the single attributes and, where all were counted, the pairs of some counts tell."""
    sums = MarginSums(counts.encoded, score, bare_pairs)
    for subset in _margins_of(counts):
        if counts.is_array(subset):
            sums.observe(subset, counts.array_of(subset))
        else:
            _observe_stored(counts, subset, sums)
    return sums.information(class_counts)


def _observe_stored(counts: SubsetCounts, subset: Family, sums: MarginSums) -> None:
    """A set whose cells are too many for an array: its spectra come from the table."""
    number = counts.number_of(subset)
    sums.observe(subset, *counts.spectrum(number))
    if sums.needs_bare(subset):
        sums.observe_bare(subset, *counts.spectrum(number, with_class=False))


def _margins_of(counts: SubsetCounts) -> list[Family]:
    """Every single attribute, and every pair where all of them were counted."""
    pairs = margin_subsets(counts.encoded, True)
    if all(counts.has(subset) for subset in pairs):
        return pairs
    return margin_subsets(counts.encoded, False)


def keep_margins(counts: SubsetCounts, pairs: bool = True) -> None:
    """Margins that were counted together with other sets, in a table of their own."""
    subsets = _margins_of(counts)
    if not pairs or not are_storable(counts.encoded, subsets):
        subsets = margin_subsets(counts.encoded, False)
    margins = SubsetCounts(counts.workspace, counts.encoded, subsets, MARGINS, keeps_arrays=False)
    counts.copy_to(margins)
    margins.describe("margin_families")
