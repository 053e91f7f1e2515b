"""Counts of a model as they lie in its tables, read family by family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.counts.margins import MARGINS
from sqlbn.draft import Draft
from sqlbn.living.recoding import Recoding

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

    def __init__(self, draft: Draft, class_variable: int) -> None:
        self._draft, self._class_variable = draft, class_variable
        self._families: dict[frozenset[int], list[StoredFamily]] = {}
        self._columns: dict[str, dict[str, Array]] = {}
        for table, described in TABLES:
            for family in self._described(table, described):
                self._families.setdefault(frozenset(family.variables[:-1]), []).append(family)

    def _described(self, table: str, described: str) -> list[StoredFamily]:
        axes: dict[int, list[tuple[int, int]]] = {}
        for position, variable, radix in self._draft.engine.rows(
            f"SELECT position, variable, radix FROM {self._draft.table(described)} "
            "ORDER BY position, axis"
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
            engine, name = self._draft.engine, self._draft.table(table)
            wide = engine.row(f"SELECT max(key) > {2**62} FROM {name}")[0]
            # Keys past 64 bits do not fit an array of numbers; Python's own do.
            key = "key::VARCHAR" if wide else "key::BIGINT"
            found = engine.arrays(f"SELECT position, {key} AS key, n FROM {name} ORDER BY position")
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
