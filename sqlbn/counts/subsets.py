"""Counts of all small sets of attributes with the class: what averaging learners are made of."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import (
    counted_blocks,
    marginals,
    plan,
)
from sqlbn.counts.cover import Block, Family, cells_of
from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.packing import strides
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError, opt


def affordable(
    workspace: Workspace, encoded: Encoded, subsets: Sequence[Family], remedy: str
) -> None:
    """An error where the counts of these sets would not fit, with what to do about it."""
    cost, room = subset_cost(encoded, subsets), _disk_room(workspace)
    if cost.n_bytes > room:
        raise OptionError(
            f"{cost}, but {readable_bytes(room)} of disk may be used: {remedy}, "
            f"or raise {opt('disk_limit')}"
        )


def _disk_room(workspace: Workspace) -> int:
    """Bytes that may be written to the scratch folder."""
    limit = workspace.session.settings.disk_bytes
    return limit if limit is not None else shutil.disk_usage(workspace.session.scratch.folder).free


Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SeenCells:
    """The cells of a set that were seen: their codes (one row a cell) and counts by class."""

    codes: Array
    counts: Array

    @property
    def totals(self) -> Array:
        """Rows in each cell, whatever their class."""
        found: Array = self.counts.sum(axis=1)
        return found


@dataclass(frozen=True)
class SubsetCost:
    """What the counts of some sets of attributes take: cells, those that can be seen, disk."""

    sets: int
    cells: int
    seen: int
    n_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.sets:,} sets of attributes, {self.cells:,} cells, "
            f"up to {readable_bytes(self.n_bytes)}"
        )


def readable_bytes(size: int) -> str:
    """A size for people.

    >>> readable_bytes(1_234_567)
    '1.2 MB'
    """
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit != "B" else f"{size} B"


def subsets_of(kept: Sequence[int], size: int) -> list[Family]:
    """All sets of 1 to `size` of the kept attributes."""
    return [s for n in range(1, size + 1) for s in combinations(sorted(kept), n)]


def subset_cost(encoded: Encoded, subsets: Sequence[Family]) -> SubsetCost:
    """What counting these sets with the class takes, known before a row is read."""
    cells = [cells_of((*s, encoded.class_variable), encoded.cards) for s in subsets]
    seen = sum(min(n, encoded.rows) for n in cells)
    return SubsetCost(len(subsets), sum(cells), seen, seen * encoded.limits.count_bytes)


def plan_subsets(encoded: Encoded, subsets: Sequence[Family]) -> list[Block]:
    """The covering plan for these sets with the class."""
    return plan([(*s, encoded.class_variable) for s in subsets], encoded)


class SubsetCounts(FamilyCounts):
    """A table of counts (position, key, n), one family a set of attributes in schema order.

    Sets come with their positions, or get them here: a single attribute has its own, larger sets
    are numbered after the last attribute.
    """

    def __init__(
        self,
        workspace: Workspace,
        encoded: Encoded,
        subsets: Collection[Family] | Mapping[int, Family],
        table: str = "counts",
        keeps_arrays: bool = True,
    ) -> None:
        if isinstance(subsets, Mapping):
            families: dict[int, Family] = dict(subsets)
        else:
            families = numbered(subsets, encoded.n_attributes)
        super().__init__(workspace, encoded, families, table, keeps_arrays)
        self._numbers = {s: number for number, s in families.items()}

    def number_of(self, subset: Family) -> int:
        """The position under which the counts of a set are stored."""
        return self._numbers[subset]

    def has(self, subset: Family) -> bool:
        """Whether a set is among those that are counted."""
        return subset in self._numbers

    def is_array(self, subset: Family) -> bool:
        """Whether the set's cells are few enough to be read as an array."""
        return self._is_array(self.cells(self._numbers[subset]))

    def array_of(self, subset: Family) -> Array:
        """The counts of a set: its attributes in order, then the class."""
        number = self._numbers[subset]
        return self.array(number, self.depth(number))

    def seen(self, subset: Family) -> SeenCells:
        """The cells of a set that were seen, in the order of their keys."""
        number, n_classes = self._numbers[subset], self.n_classes
        if self.is_array(subset):
            counts = self.array_of(subset)
            codes = np.argwhere(counts.sum(axis=-1) > 0)
            return SeenCells(codes, counts[tuple(codes.T)].astype(float))
        found = self.workspace.session.arrays(
            render("count/seen_cells", counts=self.table, position=number, n_classes=n_classes)
        )
        keys, at = np.unique(found["cell"], return_inverse=True)
        matrix = np.zeros((len(keys), n_classes))
        matrix[at, found["y"]] = found["n"]
        radices = self.radices(number)[:-1]
        codes = np.stack(np.unravel_index(keys, radices), axis=1)
        return SeenCells(codes, matrix)

    def spectrum(self, number: int, with_class: bool = True) -> tuple[Array, Array]:
        """Different counts of a stored set, and how many cells have each."""
        found = self.workspace.session.arrays(
            render(
                "count/stored_spectrum",
                counts=self.table,
                position=number,
                divisor=1 if with_class else self.n_classes,
            )
        )
        return found["n"].astype(float), found["cells"]

    def seen_with(
        self, subset: Family, values: SeenCells, attribute: int
    ) -> tuple[Array, SeenCells]:
        """The seen cells of a set and one more attribute.

        For each of them the place of the set's value in `values`, the set's own seen cells; the
        cells' codes are those of the attribute alone.
        """
        together = tuple(sorted((*subset, attribute)))
        cells, column = self.seen(together), together.index(attribute)
        steps = np.array(strides([self.encoded.cards[v] for v in subset]), dtype=np.int64)
        others = np.delete(cells.codes, column, axis=1)
        places = np.searchsorted(values.codes @ steps, others @ steps)
        return places, SeenCells(cells.codes[:, column], cells.counts)

    def keep(self, attributes: Collection[int]) -> SubsetCounts:
        """The counts of the sets of fewer attributes, in place of these."""
        left = {n: family for n, family in self.families.items() if set(family) <= set(attributes)}
        self.families = left
        self._numbers = {s: number for number, s in left.items()}
        self.workspace.session.run("count/drop_others", counts=self.table, positions=list(left))
        return self

    def changed_to(self, subsets: Collection[Family]) -> SubsetCounts:
        """A table for other sets in place of this one; what was counted of them is taken over."""
        name, old = self.name, f"{self.name}_before"
        self.workspace.rename(name, old)
        self.name = old
        result = SubsetCounts(self.workspace, self.encoded, subsets, name)
        moved = self.copy_to(result)
        result._arrays = {new: self._arrays[n] for n, new in moved.items() if n in self._arrays}
        result._room -= sum(array.nbytes for array in result._arrays.values())
        self.workspace.remove(self.name)
        return result

    def copy_to(self, other: SubsetCounts) -> dict[int, int]:
        """Insert the counts of all sets that both have; their positions here and there."""
        moved = {self._numbers[s]: n for s, n in other._numbers.items() if self.has(s)}
        listed = {"before": list(moved), "now": list(moved.values())}
        places = f"{self.name}_moved"
        view = self.workspace.table(places)
        self.workspace.session.create_table(
            view, {k: np.array(v, np.int64) for k, v in listed.items()}
        )
        other.workspace.insert_from(
            other.name, render("count/moved_counts", counts=self.table, places=view)
        )
        self.workspace.remove(places)
        return moved


def numbered(subsets: Collection[Family], n_attributes: int) -> dict[int, Family]:
    """Sets by their position in a table of counts."""
    larger = [s for s in subsets if len(s) > 1]
    return {s[0]: s for s in subsets if len(s) == 1} | {
        n_attributes + at: s for at, s in enumerate(larger)
    }


def count_subsets(
    workspace: Workspace,
    encoded: Encoded,
    subsets: Sequence[Family] | Mapping[int, Family],
    blocks: Sequence[Block],
    advance: Callable[[], None] = lambda: None,
    table: str = "counts",
    observe: Callable[[Family, Array], None] | None = None,
) -> SubsetCounts:
    """One pass: every block of the plan counted, its sets summed out and inserted.

    With `observe`, that is shown every array, and none is kept.
    """
    counts = SubsetCounts(workspace, encoded, subsets, table, keeps_arrays=observe is None)
    count_into(counts, blocks, advance, observe)
    return counts


def count_into(
    counts: SubsetCounts,
    blocks: Sequence[Block],
    advance: Callable[[], None] = lambda: None,
    observe: Callable[[Family, Array], None] | None = None,
) -> None:
    """The pass, for sets that have their place in the table already."""
    workspace, encoded = counts.workspace, counts.encoded
    numbers = {s: number for number, s in counts.families.items()}
    waiting: dict[int, Array] = {}
    dense = [block for block in blocks if block.dense]
    for block, block_counts, _ in counted_blocks(workspace.session, dense, encoded):
        for family, summed in marginals(block_counts, block.variables, block.families):
            waiting[numbers[family[:-1]]] = np.ascontiguousarray(summed)
            if observe is not None:
                observe(family[:-1], summed)
        if sum(a.size for a in waiting.values()) > counts.limits.inserted_together:
            counts.put(dict(sorted(waiting.items())))
            waiting = {}
        advance()
    large = [numbers[block.families[0][:-1]] for block in blocks if not block.dense]
    for found in counts.counted(large):
        waiting |= found
        advance()
    if waiting:
        counts.put(dict(sorted(waiting.items())))
