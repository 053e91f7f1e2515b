"""Counts of attributes with their parents and the class: counted once, read at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import read_codes
from sqlbn.counts.counter import block_statement, counted_blocks
from sqlbn.counts.cover import Block, Family, cells_of
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import (
    key_type,
    packed_sql,
    strides,
    unpacked_sql,
)
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SeenCounts:
    """Counts of the cells of a family that rows are in, by their packed keys in order."""

    keys: Array
    n: Array
    radices: Sequence[int]

    @staticmethod
    def of(columns: Sequence[Array], radices: Sequence[int], w: Array | None) -> SeenCounts:
        """Of rows, whose codes are in columns; each counts for its weight."""
        keys = np.zeros(len(columns[0]), np.int64)
        for codes, radix in zip(columns, radices, strict=True):
            keys *= radix
            keys += codes
        if w is None:
            found, n = np.unique(keys, return_counts=True)
            return SeenCounts(found, n, radices)
        found, places = np.unique(keys, return_inverse=True)
        return SeenCounts(found, np.bincount(places, w, len(found)), radices)

    @property
    def nbytes(self) -> int:
        """What they take."""
        return self.keys.nbytes + self.n.nbytes

    def at(self, level: int) -> SeenCounts:
        """Those of the family without its last parents."""
        if level == len(self.radices) - 2:
            return self
        codes = np.unravel_index(self.keys, self.radices)
        radices = [*self.radices[: level + 1], self.radices[-1]]
        found = SeenCounts.of([*codes[: level + 1], codes[-1]], radices, self.n.astype(float))
        return replace(found, n=found.n.astype(self.n.dtype))

    def by_class(self) -> tuple[list[Array], Array]:
        """The cells in order: codes of each axis but the class, and counts by class."""
        n_classes = self.radices[-1]
        cells, y = np.divmod(self.keys, n_classes)
        is_new = np.ones(len(cells), bool)
        is_new[1:] = cells[1:] != cells[:-1]
        n = np.zeros((int(is_new.sum()), n_classes))
        n[np.cumsum(is_new) - 1, y] = self.n
        return list(np.unravel_index(cells[is_new], self.radices[:-1])), n


class FamilyCounts:
    """A table (position, key, n) in a workspace: for each attribute the counts of its family.

    `families[i]` is attribute i and its parents in order; the key packs their codes and, last,
    the class. A prefix of a family is a level of back-off.
    """

    def __init__(
        self,
        workspace: Workspace,
        encoded: Encoded,
        families: Mapping[int, Family],
        table: str = "counts",
        keeps_arrays: bool = True,
    ) -> None:
        self.workspace, self.encoded, self.families, self.name = workspace, encoded, families, table
        self._arrays: dict[int, Array] = {}
        self._seen: dict[int, SeenCounts] = {}
        self._offset = 0
        share = workspace.session.limits.kept_counts_share if keeps_arrays else 0.0
        self._room = share * workspace.session.memory_bytes
        cells = max((self.cells(i) for i in families), default=1)
        wide = "HUGEINT" if key_type(cells) == "HUGEINT" else "BIGINT"
        number = "USMALLINT" if max(families, default=0) < 2**16 else "UINTEGER"
        self._number_type = number
        workspace.create(table, "counts", {"position": number, "key": wide})

    @property
    def table(self) -> str:
        """The quoted name of the table."""
        return self.workspace.table(self.name)

    @property
    def limits(self) -> Limits:
        """The tuning constants of the session."""
        return self.workspace.session.limits

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.encoded.cards[-1]

    def axes(self, position: int, level: int | None = None) -> Family:
        """Value, parents up to a level (all where None), class."""
        family = self.families[position]
        kept = family if level is None else family[: level + 1]
        return (*kept, self.encoded.class_variable)

    def radices(self, position: int, level: int | None = None) -> list[int]:
        """Number of codes on each axis."""
        return [self.encoded.cards[v] for v in self.axes(position, level)]

    def cells(self, position: int, level: int | None = None) -> int:
        """Cells of the table at a level."""
        return cells_of(self.axes(position, level), self.encoded.cards)

    def depth(self, position: int) -> int:
        """The deepest level: the number of parents."""
        return len(self.families[position]) - 1

    def place(self, position: int) -> int:
        """The number of an attribute's family in the table."""
        return position + self._offset

    def part(self, families: Mapping[int, Family], offset: int) -> FamilyCounts:
        """Some of the counts, read as those of one model: its attributes lie behind an offset."""
        found = copy(self)
        found.families, found._offset = families, offset
        return found

    # -- counting ----------------------------------------------------------------------------

    def counted(self, positions: Sequence[int]) -> Iterator[dict[int, Array]]:
        """Count families over all rows; the counts that are still to be put into the table.

        Families too large for an array go from the row engine into the table at once.
        """
        small = [p for p in positions if self._fits_array(p)]
        blocks = [Block(self.axes(p), (), self.cells(p), dense=True) for p in small]
        found = counted_blocks(self.workspace.session, blocks, self.encoded)
        for position, (_, counts, _) in zip(small, found, strict=True):
            yield {position: counts}
        yield from self._counted_apart([p for p in positions if not self._fits_array(p)])

    def _counted_apart(self, positions: Sequence[int]) -> Iterator[dict[int, Array]]:
        """Count families of which only the cells that were seen have room."""
        if not self._suits_arrays(positions):
            for position in positions:
                self._insert_counted(position)
                yield {}
            return
        used = sorted({v for p in positions for v in self.families[p]})
        codes, w = read_codes(self.workspace.session, self.encoded, used)
        columns = dict(zip((*used, self.encoded.class_variable), codes, strict=True))
        weights, waiting = w if self.encoded.weighted else None, dict[int, SeenCounts]()
        for position in positions:
            own = [columns[v] for v in self.axes(position)]
            waiting[position] = SeenCounts.of(own, self.radices(position), weights)
            if sum(len(seen.keys) for seen in waiting.values()) > self.limits.inserted_together:
                self.put({}, waiting)
                waiting = {}
            yield {}
        self.put({}, waiting)

    def _suits_arrays(self, positions: Sequence[int]) -> bool:
        """Whether rows are so few that a query a family is planned for longer than they take."""
        session, rows = self.workspace.session, self.encoded.rows
        if not session.row_engine.is_local or rows > self.limits.seen_array_rows:
            return False
        used = {v for p in positions for v in self.families[p]}
        needed = 8 * rows * (len(used) + 4)
        wide = any(key_type(self.cells(p)) == "HUGEINT" for p in positions)
        return not wide and needed <= self.limits.array_share * session.memory_bytes

    def _fits_array(self, position: int) -> bool:
        cells, limits = self.cells(position), self.limits
        return cells <= max(limits.block_cells, 2 * self.encoded.rows) and self._is_array(cells)

    def _is_array(self, cells: int) -> bool:
        return cells <= self.limits.array_cells

    def _insert_counted(self, position: int) -> None:
        session = self.workspace.session
        query = family_statement(self.families[position], self.encoded)
        with session.row_engine.collect(query) as found:
            self._insert(position, found)

    def _insert(self, position: int, counted: str) -> None:
        """The rows (k, n) of a relation, as counts of a position."""
        query = render("count/placed_counts", position=position, counted=counted)
        self.workspace.insert_from(self.name, query)

    def put(
        self, arrays: Mapping[int, Array], seen_counts: Mapping[int, SeenCounts] | None = None
    ) -> None:
        """Insert counts that are at hand, for several families in one statement."""
        positions, keys, numbers = [], [], []
        for position, counts in arrays.items():
            flat = counts.reshape(-1)
            seen = np.flatnonzero(flat)
            positions.append(np.full(len(seen), position, np.uint32))
            keys.append(seen)
            numbers.append(flat[seen])
        self._keep(arrays)
        for position, of_cells in (seen_counts or {}).items():
            positions.append(np.full(len(of_cells.keys), position, np.uint32))
            keys.append(of_cells.keys)
            numbers.append(of_cells.n)
        self._keep_seen(seen_counts or {})
        if not positions:
            return
        session = self.workspace.session
        view = session.register_columns(
            {
                "p": np.concatenate(positions),
                "k": np.concatenate(keys),
                "n": np.concatenate(numbers),
            }
        )
        try:
            self.workspace.insert_from(self.name, render("count/arrays", arrays=view))
        finally:
            session.unregister(view)

    def _keep(self, arrays: Mapping[int, Array]) -> None:
        """Keep counts for later steps, as far as there is room."""
        for position, counts in arrays.items():
            if counts.nbytes <= self._room:
                self._room -= counts.nbytes
                self._arrays[position] = counts

    def _keep_seen(self, seen: Mapping[int, SeenCounts]) -> None:
        for position, counts in seen.items():
            if counts.nbytes <= self._room:
                self._room -= counts.nbytes
                self._seen[position] = counts

    # -- reading -----------------------------------------------------------------------------

    def array(self, position: int, level: int) -> Array:
        """The counts at a level as an array: value, parents, class."""
        kept = self._arrays.get(self.place(position))
        if kept is not None:
            deeper = tuple(range(level + 1, self.depth(position) + 1))
            return kept.sum(axis=deeper) if deeper else kept
        radices = self.radices(position, level)
        seen = self._seen.get(self.place(position))
        if seen is not None:
            upper = seen.at(level)
            counts = np.zeros(self.cells(position, level))
            counts[upper.keys] = upper.n
            return counts.reshape(radices)
        codes = self.codes(position)
        found = self.workspace.session.arrays(
            render(
                "count/level_counts",
                key=packed_sql([codes[v] for v in self.axes(position, level)], radices),
                counts=self.table,
                position=self.place(position),
            )
        )
        counts = np.zeros(self.cells(position, level))
        # Keys past 64 bits come as floats; at this level they are small again.
        counts[found["k"].astype(np.int64)] = found["n"].astype(float)
        return counts.reshape(radices)

    def seen_cells(self, position: int) -> tuple[list[Array], Array]:
        """The cells that were seen, in the order of their keys: codes by axis, counts by class."""
        kept = self._arrays.get(self.place(position))
        if kept is not None:
            flat = kept.reshape(-1, self.n_classes)
            seen = np.flatnonzero(flat.any(axis=1))
            return list(np.unravel_index(seen, kept.shape[:-1])), flat[seen].astype(float)
        found_before = self._seen.get(self.place(position))
        if found_before is not None:
            return found_before.by_class()
        family, codes = self.families[position], self.codes(position)
        found = self.workspace.session.arrays(
            render(
                "count/cells_by_class",
                codes=[codes[v] for v in family],
                y=codes[self.encoded.class_variable],
                counts=self.table,
                position=self.place(position),
            )
        )
        axes = [np.asarray(found[f"c{axis}"]) for axis in range(len(family))]
        is_new = np.ones(len(axes[0]), bool)
        if len(is_new):
            is_new[1:] = np.any([axis[1:] != axis[:-1] for axis in axes], axis=0)
        n = np.zeros((int(is_new.sum()), self.n_classes))
        n[np.cumsum(is_new) - 1, found["y"]] = found["n"].astype(float)
        return [axis[is_new] for axis in axes], n

    def codes(self, position: int) -> dict[int, str]:
        """For each variable of a family, its code out of the stored key."""
        radices = self.radices(position)
        return {
            v: unpacked_sql("key", stride, radix)
            for v, stride, radix in zip(self.axes(position), strides(radices), radices, strict=True)
        }

    def cut_back(self, families: Mapping[int, Family]) -> FamilyCounts:
        """The counts of fewer attributes with fewer parents, in place of these."""
        deep = f"{self.name}_deep"
        self.workspace.rename(self.name, deep)
        name, self.name = self.name, deep
        result = FamilyCounts(self.workspace, self.encoded, families, name)
        whole = [p for p, family in families.items() if family == self.families[p]]
        if whole:
            query = render("count/kept_counts", counts=self.table, positions=whole)
            self.workspace.insert_from(name, query)
            result._keep({p: self._arrays[p] for p in whole if p in self._arrays})
            result._keep_seen({p: self._seen[p] for p in whole if p in self._seen})
        arrays, seen = dict[int, Array](), dict[int, SeenCounts]()
        for position, family in families.items():
            if family == self.families[position]:
                continue
            level = len(family) - 1
            if position in self._arrays:
                arrays[position] = self.array(position, level)
                continue
            if position in self._seen:
                seen[position] = self._seen[position].at(level)
                continue
            codes = self.codes(position)
            query = render(
                "count/level_counts",
                key=packed_sql(
                    [codes[v] for v in self.axes(position, level)], self.radices(position, level)
                ),
                counts=self.table,
                position=position,
            )
            result._insert(position, f"({query})")
        result.put(arrays, seen)
        self.workspace.remove(self.name)
        return result

    def preload(self) -> None:
        """Read the stored counts as arrays, as many as may be kept: one query instead of many."""
        wanted: dict[int, Array] = {}
        for position in self.families:
            cells = self.cells(position)
            size = 8.0 * cells
            if self._is_array(cells) and size <= self._room:
                self._room -= size
                kind = float if self.encoded.weighted else np.int64
                wanted[position] = np.zeros(cells, kind)
        found = self.workspace.session.arrays(
            render("count/stored_counts", counts=self.table, positions=list(wanted))
        )
        stops = np.searchsorted(found["position"], list(wanted), side="right")
        starts = np.searchsorted(found["position"], list(wanted))
        for (position, counts), start, stop in zip(wanted.items(), starts, stops, strict=True):
            counts[found["key"][start:stop]] = found["n"][start:stop]
            self._arrays[position] = counts.reshape(self.radices(position))

    def describe(self, table: str = "families") -> None:
        """Fill a table of the workspace, `families`: how the keys are packed."""
        rows = []
        for position in self.families:
            axes, radices = self.axes(position), self.radices(position)
            for axis, (v, radix, stride) in enumerate(
                zip(axes, radices, strides(radices), strict=True)
            ):
                variable = None if v == self.encoded.class_variable else v
                rows.append((position, axis, variable, radix, str(stride)))
        self.workspace.fill(table, rows, {"position": self._number_type})


def count_families(
    workspace: Workspace,
    encoded: Encoded,
    families: Mapping[int, Family],
    table: str = "counts",
    advance: Callable[[], None] = lambda: None,
) -> FamilyCounts:
    """Pass 2: every family counted."""
    counts = FamilyCounts(workspace, encoded, families, table)
    waiting: dict[int, Array] = {}
    for found in counts.counted(list(families)):
        waiting |= found
        if sum(a.size for a in waiting.values()) > counts.limits.inserted_together:
            counts.put(waiting)
            waiting = {}
        advance()
    if waiting:
        counts.put(waiting)
    return counts


def family_statement(family: Family, encoded: Encoded) -> str:
    """The query that counts an attribute with its parents and the class."""
    axes = (*family, encoded.class_variable)
    return block_statement(Block(axes, (), cells_of(axes, encoded.cards), dense=True), encoded)
