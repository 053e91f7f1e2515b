"""The super parents of an averaging model, written to and read from its tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.counts.subsets import SeenCells, SubsetCounts
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import key_type
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import Smoothing
from sqlbn.structure.information import implications

SUPER_TABLE = "predict_super"


def implied_table(attribute: int) -> str:
    """The table that says what each value of an attribute implies."""
    return f"predict_implied_{attribute}"


@dataclass(frozen=True)
class SuperParents:
    """Sets of attributes with their weights, the largest sets first; the last is the empty one.

    A row is scored with the largest sets of which at least one was seen: smaller ones, and naive
    Bayes at last (the empty set), are for rows with nothing but news. `radices` are the codes of
    each attribute of the model: its values, one for unseen and, where `drops`, one for a value
    that another one implies. Where `neutral` an unseen value is left out, as an implied one is.
    `implied[j]` are the attributes that some value of j implies.
    `n_seen` is the number of super parents' values that were seen.
    """

    sets: tuple[Family, ...]
    weights: tuple[float, ...]
    radices: tuple[int, ...]
    drops: bool
    neutral: bool
    implied: tuple[tuple[int, ...], ...]
    n_seen: int

    @property
    def offsets(self) -> list[int]:
        """The first key of each set."""
        return [0, *accumulate(self.keys_of(s) for s in self.sets)][:-1]

    @property
    def n_keys(self) -> int:
        """Keys of all sets."""
        return sum(self.keys_of(s) for s in self.sets)

    @property
    def key_type(self) -> str:
        """The engine type of the keys."""
        return key_type(self.n_keys)

    @property
    def ignores(self) -> bool:
        """Whether some codes say nothing of the class."""
        return self.drops or self.neutral

    @property
    def implying(self) -> list[int]:
        """The attributes of which some value implies another's."""
        return [j for j, generals in enumerate(self.implied) if generals]

    def n_counting(self, attribute: int) -> int:
        """How many codes of an attribute are not ignored; these come first."""
        return self.radices[attribute] - self.drops - self.neutral

    def keys_of(self, subset: Family) -> int:
        """Combinations of codes of a set."""
        return math.prod(self.radices[v] for v in subset)


def scoring_seconds(
    limits: Limits, rows: int, n_supers: int, n_children: int, n_classes: int
) -> float:
    """About how long a core takes to score so many distinct rows in arrays."""
    return limits.average_term_seconds * rows * n_supers * n_children * n_classes


def turns(
    kept: Sequence[int], n: int, weights: dict[Family, float] | None
) -> tuple[tuple[Family, ...], tuple[float, ...]]:
    """The sets of n, n-1, … 0 of the kept attributes that have a weight above zero."""
    sets = [s for size in range(n, 0, -1) for s in combinations(sorted(kept), size)]
    if weights is not None:
        sets = [s for s in sets if weights[s] > 0]
    found = [1.0 if weights is None else weights[s] for s in sets]
    return (*sets, ()), (*found, 1.0)


@dataclass(frozen=True)
class Averaged:
    """Counts of all sets of the kept attributes, and the weights of those that take turns.

    `min_count` is that of subsumption resolution; None is without.
    """

    n: int
    min_count: int | None
    counts: SubsetCounts
    kept: tuple[int, ...]
    weights: dict[Family, float] | None
    class_counts: tuple[float, ...]
    smoothing: Smoothing

    def turns(self) -> tuple[tuple[Family, ...], tuple[float, ...]]:
        """The super parents and their weights."""
        return turns(self.kept, self.n, self.weights)

    def seen(self, subset: Family) -> SeenCells:
        """The values of a super parent that were seen; those of the empty one are all rows."""
        if subset:
            return self.counts.seen(subset)
        return SeenCells(np.zeros((1, 0), np.int64), np.array([self.class_counts], float))

    def super_parents(self) -> SuperParents:
        """The super parents under the keys of prediction; what implies what is not yet known."""
        drops = self.min_count is not None
        sets, weights = self.turns()
        cards = self.counts.encoded.cards[:-1]
        return SuperParents(
            sets=sets,
            weights=weights,
            radices=tuple(card + 1 + drops for card in cards),
            drops=drops,
            neutral=self.smoothing.is_neutral,
            implied=((),) * len(cards),
            n_seen=0,
        )

    def keep(self, attributes: Collection[int]) -> Averaged:
        """The model of fewer attributes, in place of this one."""
        return replace(self, counts=self.counts.keep(attributes), kept=tuple(sorted(attributes)))


Array = npt.NDArray[Any]

# A code that no value has.
_NO_CODE = 2**32 - 1


@dataclass(frozen=True)
class Implication:
    """A value (code) of one attribute that says which value another one has."""

    special: int
    code: int
    general: int
    implied: int


def find_implications(
    counts: SubsetCounts, kept: Sequence[int], min_count: int, left_out: int | None = None
) -> list[Implication]:
    """All values that imply another's, among some attributes.

    With `left_out`, those that a row of that class meets when it is not counted itself.
    """
    found: list[Implication] = []
    alone = {v: _totals(counts.array_of((v,)), left_out) for v in kept}
    for i, j in combinations(sorted(kept), 2):
        cells = counts.seen((i, j))
        together = _totals(cells.counts, left_out)
        met = cells.counts[:, left_out] > 0 if left_out is not None else True
        a, b = cells.codes.T
        for special, general, x, z in ((i, j, a, b), (j, i, b, a)):
            said = met & implications(
                x, z, together, alone[special], alone[general], min_count, special < general
            )
            found += [
                Implication(special, int(x[at]), general, int(z[at])) for at in np.flatnonzero(said)
            ]
    return found


def _totals(counts: Array, left_out: int | None) -> Array:
    """Rows of each cell, but for one of the class that is left out; classes are the last axis."""
    totals: Array = counts.sum(axis=1)
    return totals if left_out is None else totals - np.minimum(counts[:, left_out], 1)


def implied_columns(
    found: Sequence[Implication], cards: Sequence[int]
) -> dict[int, dict[str, Array]]:
    """For each attribute with values that imply another's: columns key, i_<other>, …

    Keys are its codes, that of unseen values included.
    """
    columns: dict[int, dict[str, Array]] = {}
    for i in sorted(found, key=lambda i: (i.special, i.general)):
        slots = cards[i.special] + 1
        table = columns.setdefault(i.special, {"key": np.arange(slots, dtype=np.uint32)})
        codes = table.setdefault(f"i_{i.general}", np.full(slots, _NO_CODE, np.uint32))
        codes[i.code] = i.implied
    return columns


def write_supers(
    workspace: Workspace, supers: SuperParents, seen: Sequence[int], names: Sequence[str]
) -> None:
    """The table `superparents`: sets of attributes, weights, how many of their values were seen.

    The keys of prediction follow from the order of this table.
    """
    workspace.fill(
        "superparents",
        [
            (at, [names[v] for v in subset], weight, n)
            for at, (subset, weight, n) in enumerate(
                zip(supers.sets, supers.weights, seen, strict=True)
            )
        ],
    )


def write_subsumptions(
    workspace: Workspace, implications: Sequence[Implication], names: Sequence[str]
) -> None:
    """The workspace's `subsumptions`: which value implies which; only where values are dropped."""
    workspace.fill(
        "subsumptions",
        [(names[i.special], i.code, names[i.general], i.implied) for i in implications],
    )


def read_supers(
    workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
) -> SuperParents:
    """The super parents of the model in a workspace."""
    positions = {book.name: at for at, book in enumerate(books)}
    rows = workspace.read("superparents", "attributes", "weight", "seen", order=["superparent"])
    drops = "subsumptions" in workspace.names()
    implied: list[list[int]] = [[] for _ in books]
    if drops:
        for name, general in set(workspace.read("subsumptions", "attribute", "implied")):
            implied[positions[name]].append(positions[general])
    return SuperParents(
        sets=tuple(tuple(positions[name] for name in names) for names, _, _ in rows),
        weights=tuple(float(weight) for _, weight, _ in rows),
        radices=tuple(book.slots + drops for book in books),
        drops=drops,
        neutral=smoothing.is_neutral,
        implied=tuple(tuple(sorted(generals)) for generals in implied),
        n_seen=sum(int(seen) for _, _, seen in rows),
    )
