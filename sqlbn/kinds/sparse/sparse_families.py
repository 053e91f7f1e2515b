"""Families of features: how what a feature says depends on which of its parents are there.

The logarithm of a family's factor is a sum over the subsets of its members that are present: what a
member adds to a row without any, what two add to that together, and so on. Only subsets that are
present in a row are looked up, so a row costs what it has, not what it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from sqlbn.kinds.estimates import Array, Smoothing, log_factor
from sqlbn.kinds.sparse.sparse_counts import SparseCounts

# The code of a value that training had not.
UNSEEN = 2**32 - 1
# Features with their codes: what is present together.
Cell = tuple[int, int]


@dataclass(frozen=True)
class CodeAxis:
    """The codes of a feature along an axis of a factor: absence first, then its values, at last
    that of values never seen, where there may be any."""

    indices: tuple[int, ...]
    codes: tuple[int, ...]
    ignored: tuple[int, ...]

    @classmethod
    def of(
        cls, counts: SparseCounts, place: int, smoothing: Smoothing, has_unseen: bool
    ) -> CodeAxis:
        """That of one feature."""
        n_values, n_codes = int(counts.n_values[place]), int(counts.n_codes[place])
        missing = n_values if counts.has_absent[place] else None
        absent = smoothing.missing_code(n_codes, missing)
        unseen = n_codes
        seen = counts.of_feature(place).sum(axis=1) > 0
        values = [
            code if seen[code] or not smoothing.is_neutral else unseen for code in range(n_values)
        ]
        codes = [*range(n_values), *([UNSEEN] if has_unseen else [])]
        indices = [unseen if absent is None else absent, *values, *([unseen] if has_unseen else [])]
        return cls(tuple(indices), tuple(codes), smoothing.ignored_codes(n_codes, missing))


@dataclass
class Changes:
    """What cells that are present together add to the score of a row without any.

    `start` is that of all families; `together` has for the members of a subset, in ascending order,
    an array: an axis for the codes of each, then the classes.
    """

    start: list[Array] = field(default_factory=list)
    together: dict[tuple[int, ...], Array] = field(default_factory=dict)
    axes: dict[int, CodeAxis] = field(default_factory=dict)

    def add(
        self,
        members: Sequence[int],
        cells: Array,
        counts: SparseCounts,
        smoothing: Smoothing,
        has_unseen: bool,
    ) -> None:
        """A family: the child, its parents in their order; `cells` are its counts."""
        for v in members:
            if v not in self.axes:
                self.axes[v] = CodeAxis.of(counts, v, smoothing, has_unseen)
        axes = [self.axes[v] for v in members]
        logs = log_factor(cells, smoothing, [axis.ignored for axis in axes])
        logs = logs[np.ix_(*(axis.indices for axis in axes), range(logs.shape[-1]))]
        for present in product((False, True), repeat=len(members)):
            found = logs
            for axis, is_there in enumerate(present):
                first = np.take(found, [0], axis=axis)
                found = np.delete(found, 0, axis=axis) - first if is_there else first
            subset = [v for v, is_there in zip(members, present, strict=True) if is_there]
            self._put(subset, np.squeeze(found, tuple(np.flatnonzero(~np.array(present)).tolist())))

    def _put(self, subset: Sequence[int], change: Array) -> None:
        if not subset:
            self.start.append(change)
            return
        order = np.argsort(subset)
        key = tuple(sorted(subset))
        change = np.transpose(change, (*order.tolist(), len(subset)))
        known = self.together.get(key)
        self.together[key] = change if known is None else known + change

    def of_one(self, place: int) -> Array:
        """What each value of a feature adds on its own."""
        return self.together[(place,)]


@dataclass(frozen=True)
class JointRows:
    """Sets of cells that change a score together, each a longer one of another: rows of a table.

    `level` is the number of cells of a set, `prefix` the number of the set without its last cell,
    which is (`place`, `code`).
    """

    level: Array
    prefix: Array
    number: Array
    place: Array
    code: Array
    changes: Array


def joint_rows(changes: Changes, rank: Mapping[int, int], n_classes: int) -> JointRows:
    """All sets of two cells and more.

    A set begins with what is last by rank: a child has few parents, a parent may have many.
    """
    numbers: dict[tuple[Cell, ...], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    values: list[Array] = []

    def number_of(cells: tuple[Cell, ...], change: Array | None) -> int:
        if cells not in numbers:
            prefix = number_of(cells[:-1], None) if len(cells) > 1 else 0
            numbers[cells] = len(rows) + 1
            rows.append((len(cells), prefix, len(rows) + 1, *cells[-1]))
            values.append(np.zeros(n_classes))
        if change is not None:
            values[numbers[cells] - 1] = change
        return numbers[cells]

    for members in sorted(changes.together, key=lambda m: (len(m), m)):
        if len(members) < 2:
            continue
        found = changes.together[members]
        order = sorted(range(len(members)), key=lambda at: -rank[members[at]])
        codes = [changes.axes[v].codes for v in members]
        for at in np.ndindex(*found.shape[:-1]):
            cells = tuple((members[i], codes[i][at[i]]) for i in order)
            number_of(cells, found[at])
    level, prefix, number, place, code = np.array(rows, np.int64).reshape(len(rows), 5).T
    found = np.array(values).reshape(len(rows), n_classes)
    return JointRows(level, prefix, number, place, code, found)
