"""Tables of counts added up from several parts: stored models, and rows that are counted now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.counts.margins import MARGINS
from sqlbn.counts.subsets import SubsetCounts, count_subsets, plan_subsets
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.updates.joined_codebooks import Recoding

Array = npt.NDArray[Any]


# Tables of counts, and those that say how their keys are packed.
TABLES = (("counts", "families"), (MARGINS, "margin_families"))


@dataclass(frozen=True)
class StoredFamily:
    """Where a family's counts lie: its attributes in the order of the key, then the class."""

    table: str
    position: int
    variables: Family
    radices: tuple[int, ...]


class StoredCounts:
    """All counts of a model: those it scores with, and the margins its structure comes from."""

    def __init__(self, workspace: Workspace, class_variable: int) -> None:
        self._workspace, self._class_variable = workspace, class_variable
        self._families: dict[frozenset[int], list[StoredFamily]] = {}
        self._columns: dict[str, dict[str, Array]] = {}
        for table, described in TABLES:
            for family in self._described(table, described):
                self._families.setdefault(frozenset(family.variables[:-1]), []).append(family)

    def _described(self, table: str, described: str) -> list[StoredFamily]:
        axes: dict[int, list[tuple[int, int]]] = {}
        columns = ("position", "variable", "radix")
        for position, variable, radix in self._workspace.read(
            described, *columns, order=("position", "axis")
        ):
            number = self._class_variable if variable is None else variable
            axes.setdefault(position, []).append((number, radix))
        return [
            StoredFamily(table, position, tuple(v for v, _ in listed), tuple(r for _, r in listed))
            for position, listed in axes.items()
        ]

    def families(self, table: str) -> dict[int, Family]:
        """The sets of attributes of one table, by position, in the order of their keys."""
        return {
            f.position: f.variables[:-1]
            for found in self._families.values()
            for f in found
            if f.table == table
        }

    def covers(self, variables: Iterable[int]) -> bool:
        """Whether some family tells how often values of these attributes met."""
        return self.smallest(variables) is not None

    def smallest(self, variables: Iterable[int]) -> StoredFamily | None:
        """The family with fewest attributes that has all of these; None where none has."""
        wanted = frozenset(variables)
        if wanted in self._families:
            return self._families[wanted][0]
        larger = [found[0] for s, found in self._families.items() if wanted <= s]
        return min(larger, key=lambda f: np.prod(f.radices, dtype=float), default=None)

    def cells(self, variables: Family, recoding: Recoding) -> tuple[Array, Array]:
        """Keys and counts of some attributes, in this order, and the class, in other codes."""
        family = self.smallest(variables)
        assert family is not None, variables
        columns = self._read(family.table)
        first, last = np.searchsorted(
            columns["position"], [family.position, family.position + 1]
        ).tolist()
        keys, counts = columns["key"][first:last], columns["n"][first:last]
        wanted = (*variables, recoding.class_variable)
        if wanted == family.variables and recoding.keeps(wanted):
            return keys, counts
        moved = recoding.repack(keys, family.variables, family.radices, wanted)
        return _summed(moved, counts) if len(wanted) < len(family.variables) else (moved, counts)

    def _read(self, table: str) -> dict[str, Array]:
        """A table of counts, sorted by position, read once."""
        if table not in self._columns:
            session, name = self._workspace.session, self._workspace.table(table)
            wide = session.row(select_sql(name, f"max(key) > {2**62}"))[0]
            # Keys past 64 bits do not fit an array of numbers; Python's own do.
            key_type = "VARCHAR" if wide else "BIGINT"
            found = session.arrays(render("store/cells", counts=name, type=key_type, condition=""))
            if wide:
                found["key"] = np.array([int(text) for text in found["key"]], dtype=object)
            self._columns[table] = found
        return self._columns[table]


def _summed(keys: Array, counts: Array) -> tuple[Array, Array]:
    """Equal keys put together."""
    found, at = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(found), counts.dtype)
    np.add.at(sums, at, counts)
    return found, sums


class Part(Protocol):
    """Some rows of a model that is put together."""

    def covers(self, family: Family) -> bool:
        """Whether it can tell the counts of a family."""

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        """Insert its counts of all families into a table (position, key, n)."""


class StoredPart:
    """The rows of a stored model, known by its counts alone."""

    def __init__(self, stored: StoredCounts, recoding: Recoding) -> None:
        self._stored, self._recoding = stored, recoding

    def covers(self, family: Family) -> bool:
        return self._stored.covers(family)

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        waiting: list[tuple[int, object, object]] = []
        cells = 0
        for position, family in counts.families.items():
            keys, numbers = self._stored.cells(family, self._recoding)
            waiting.append((position, keys, numbers))
            cells += len(keys)
            if cells > counts.limits.inserted_together:
                _insert(counts.workspace, raw, waiting)
                waiting, cells = [], 0
        _insert(counts.workspace, raw, waiting)


class RowsPart:
    """Encoded rows: whatever is asked is counted."""

    def __init__(self, workspace: Workspace, encoded: Encoded) -> None:
        self._workspace, self._encoded = workspace, encoded

    def covers(self, family: Family) -> bool:
        return True

    def pour(self, counts: FamilyCounts, raw: str) -> None:
        table = self._workspace.session.fresh_name("rows")
        as_sets = isinstance(counts, SubsetCounts)
        found = count_again(self._workspace, self._encoded, counts.families, as_sets, table)
        counts.workspace.insert_from(raw, select_sql(found.table, "position, key, n"))
        self._workspace.remove(table)


def count_again(
    workspace: Workspace,
    encoded: Encoded,
    families: Mapping[int, Family],
    as_sets: bool,
    table: str,
) -> FamilyCounts:
    """Count rows for families that have their positions already.

    `as_sets`: by a covering plan of all of them, else one after the other.
    """
    if not as_sets:
        return count_families(workspace, encoded, families, table)
    blocks = plan_subsets(encoded, list(families.values()))
    return count_subsets(workspace, encoded, families, blocks, table=table, observe=lambda *_: None)


def combine(counts: FamilyCounts, parts: Sequence[Part]) -> None:
    """Fill an empty table of counts with the sums over all parts."""
    workspace = counts.workspace
    raw = workspace.session.fresh_name("raw")
    workspace.copy(raw, f"({select_sql(counts.table, limit=0)})")
    try:
        for part in parts:
            part.pour(counts, raw)
        summed = render("store/summed_counts", parts=workspace.table(raw))
        workspace.insert_from(counts.name, summed)
    finally:
        workspace.remove(raw)
    counts.preload()


def _insert(workspace: Workspace, raw: str, waiting: Sequence[tuple[int, object, object]]) -> None:
    if not waiting:
        return
    keys = np.concatenate([np.asarray(k) for _, k, _ in waiting])
    wide = keys.dtype == object
    columns = {
        "p": np.concatenate(
            [np.full(len(np.asarray(k)), position, np.uint32) for position, k, _ in waiting]
        ),
        # Neither numpy nor Arrow has whole numbers past 64 bits that the engine reads as such.
        "k": keys.astype(str) if wide else keys.astype(np.int64),
        "n": np.concatenate([np.asarray(n) for _, _, n in waiting]),
    }
    session = workspace.session
    view = session.register_columns(columns)
    key = "k::HUGEINT" if wide else "k"
    try:
        workspace.insert_from(raw, select_sql(view, f"p, {key}, n"))
    finally:
        session.unregister(view)


def subtract(
    workspace: Workspace, table: str, whole: Workspace, counts: FamilyCounts
) -> tuple[int, float] | None:
    """A table of counts without others of the same families, in a new workspace.

    The position of a family with a count that would go below zero, and by how much; None where all
    is well.
    """
    left = render(
        "store/subtracted_counts",
        counts=whole.table(table),
        others=counts.table,
        type=workspace.n_type,
    )
    workspace.copy(table, f"({left})")
    below = select_sql(workspace.table(table), "position, -n", where="n < 0", order="ALL", limit=1)
    short = workspace.session.rows(below)
    return (int(short[0][0]), float(short[0][1])) if short else None
