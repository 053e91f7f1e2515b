"""Margins: counts of single attributes and of pairs with the class, from which structure follows.

They are stored with the model, so that the structure can be found again when rows come or go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sqlbn.counts.counter import GammaSums, n_log_n
from sqlbn.counts.cover import Block, Family
from sqlbn.counts.subsets import (
    Array,
    SubsetCounts,
    count_subsets,
    plan_subsets,
    subset_cost,
    subsets_of,
)
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace

MARGINS = "margins"


def margin_subsets(encoded: Encoded, pairs: bool) -> list[Family]:
    """Every attribute alone and, where wanted, every pair."""
    return subsets_of(range(encoded.n_attributes), 2 if pairs else 1)


def are_storable(encoded: Encoded, subsets: Sequence[Family]) -> bool:
    """Whether the counts of these sets are few enough to be kept."""
    return subset_cost(encoded, subsets).seen <= encoded.limits.stored_margin_cells


def plan_margins(encoded: Encoded, pairs: bool) -> list[Block]:
    """The covering plan of the pass that finds structure."""
    return plan_subsets(encoded, margin_subsets(encoded, pairs))


class MarginSums:
    """Sums over the cells of all margins, collected while they are counted or read."""

    def __init__(
        self,
        encoded: Encoded,
        class_counts: Sequence[float],
        gammas: bool = False,
        bare_pairs: bool = False,
    ) -> None:
        self._encoded, self.bare_pairs = encoded, bare_pairs
        self.cards = encoded.cards
        self.n_log_n: dict[Family, float] = {}
        self._gammas = GammaSums(encoded.cards) if gammas else None
        classes = np.asarray(class_counts, float)
        self.total = float(classes.sum())
        self._add((encoded.class_variable,), classes, None)

    @property
    def log_gamma(self) -> dict[Family, float] | None:
        """Sums of ln Gamma, where they were asked for."""
        return self._gammas.sums if self._gammas is not None else None

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
        self.n_log_n[family] = n_log_n(counts, cells)
        if self._gammas is not None:
            self._gammas.add(family, counts, cells)


def count_margins(
    workspace: Workspace,
    encoded: Encoded,
    pairs: bool,
    class_counts: Sequence[float],
    gammas: bool = False,
    advance: Callable[[], None] = lambda: None,
    bare_pairs: bool = False,
) -> tuple[SubsetCounts, MarginSums]:
    """One pass over the rows: the margins in a table of the workspace, and their sums."""
    subsets = margin_subsets(encoded, pairs)
    sums = MarginSums(encoded, class_counts, gammas, bare_pairs)
    blocks = plan_subsets(encoded, subsets)
    seen: set[Family] = set()

    def observe(subset: Family, counts: Array) -> None:
        seen.add(subset)
        sums.observe(subset, counts)

    margins = count_subsets(workspace, encoded, subsets, blocks, advance, MARGINS, observe)
    for subset in set(subsets) - seen:
        _observe_stored(margins, subset, sums)
    return margins, sums


def margin_sums(
    counts: SubsetCounts,
    class_counts: Sequence[float],
    gammas: bool = False,
    bare_pairs: bool = False,
) -> MarginSums:
    """Sums of the single attributes and, where all were counted, of the pairs of some counts."""
    sums = MarginSums(counts.encoded, class_counts, gammas, bare_pairs)
    for subset in _margins_of(counts):
        if counts.is_array(subset):
            sums.observe(subset, counts.array_of(subset))
        else:
            _observe_stored(counts, subset, sums)
    return sums


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
