"""Lookup tables of an averaging model: super parents' values, and all others given them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Family
from sqlbn.counts.subsets import SeenCells, SubsetCounts
from sqlbn.engines.packing import strides
from sqlbn.kinds.average.superparents import SUPER_TABLE, Averaged, SuperParents
from sqlbn.kinds.product.factor_tables import Factor, write_factors

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Turn:
    """One super parent: its seen values, numbered from `first` on."""

    subset: Family
    weight: float
    first: int
    keys: Array
    cells: SeenCells

    @property
    def numbers(self) -> slice:
        """The numbers of its values."""
        return slice(self.first, self.first + len(self.keys))


def _turns(averaged: Averaged, supers: SuperParents) -> list[Turn]:
    """The super parents with the values that were seen."""
    found: list[Turn] = []
    first = 0
    for subset, weight, offset in zip(supers.sets, supers.weights, supers.offsets, strict=True):
        cells = averaged.seen(subset)
        steps = np.array(strides([supers.radices[v] for v in subset]), dtype=np.int64)
        found.append(Turn(subset, weight, first, offset + cells.codes @ steps, cells))
        first += len(cells.codes)
    return found


def joint_codes(counts: SubsetCounts, turn: Turn, attribute: int) -> Array:
    """N(super parent's value, attribute's value, class) for every seen value of a super parent."""
    together = tuple(sorted((*turn.subset, attribute)))
    table = np.moveaxis(counts.array_of(together), together.index(attribute), -2)
    found: Array = table[tuple(turn.cells.codes.T)].astype(float)
    return found


class SuperTables:
    """Makes the tables that scoring joins, and the workspace's `factors`."""

    def __init__(self, averaged: Averaged, supers: SuperParents) -> None:
        counts, self._smoothing = averaged.counts, averaged.smoothing
        self._counts, self._supers, self._kept = counts, supers, averaged.kept
        self._workspace, self._cards = counts.workspace, counts.encoded.cards
        self._limits = counts.workspace.session.limits
        self._total = float(sum(averaged.class_counts))
        self._n_classes = len(averaged.class_counts)
        self._turns = _turns(averaged, supers)
        self._n_values = sum(len(t.keys) for t in self._turns)
        # N(super parent's value, y), and the logarithm that every estimate given it divides by.
        self._parents = np.concatenate([t.cells.counts for t in self._turns])
        # It is the same for all attributes: they have one m.
        self._divisors = np.log(self._smoothing.of(self._n_classes).below(self._parents))

    @property
    def seen(self) -> list[int]:
        """How many values of each super parent were seen."""
        return [len(t.keys) for t in self._turns]

    def make(self) -> None:
        """Every table."""
        factors = self._plan()
        self._make_super(any(f.role == "sparse" for f in factors))
        for factor in factors:
            if factor.role == "child":
                self._make_complete(factor)
            else:
                self._make_sparse(factor)
        write_factors(self._workspace, factors)

    def _plan(self) -> list[Factor]:
        """Attributes in groups that share a table; large ones alone and only where seen."""
        factors: list[Factor] = []
        open_group: Factor | None = None
        for v in self._kept:
            if not self._is_complete(v):
                factors.append(Factor(len(factors), "sparse", (v,), (v,), -1))
                continue
            if open_group is not None:
                joined = (*open_group.variables, v)
                if self._values_of(joined) <= self._limits.average_fused_values:
                    open_group = replace(open_group, variables=joined, members=joined)
                    factors[open_group.number] = open_group
                    continue
            open_group = Factor(len(factors), "child", (v,), (v,), -1)
            factors.append(open_group)
        return factors

    def _values_of(self, variables: Sequence[int]) -> int:
        slots = math.prod(self._supers.radices[v] for v in variables)
        return self._n_values * slots * self._n_classes

    def _is_complete(self, attribute: int) -> bool:
        values = self._values_of([attribute])
        arrays = all(
            self._counts.is_array(tuple(sorted((*t.subset, attribute))))
            for t in self._turns
            if attribute not in t.subset
        )
        most_seen = self._counts.encoded.rows * len(self._turns)
        fair = values <= self._limits.complete_per_seen * most_seen * self._n_classes
        small = values <= self._limits.average_fused_values
        return arrays and values <= self._limits.average_complete_values and (fair or small)

    # -- tables ------------------------------------------------------------------------------

    def _make_super(self, with_divisors: bool) -> None:
        starts = []
        for turn in self._turns:
            cells = self._n_classes * math.prod(self._cards[v] for v in turn.subset)
            joint = self._smoothing.of(cells).of(turn.cells.counts, self._total)
            starts.append(np.log(joint) + math.log(turn.weight))
        logs = np.concatenate(starts)
        levels = [np.full(len(t.keys), len(t.subset), np.int8) for t in self._turns]
        columns: dict[str, Array] = {
            "number": np.arange(self._n_values, dtype=np.uint32),
            "level": np.concatenate(levels),
        }
        columns |= by_class("l", logs)
        if with_divisors:
            columns |= by_class("b", -self._divisors)
        keys = np.concatenate([t.keys for t in self._turns])
        columns = without_gaps(
            keys, columns, self._supers.n_keys, self._limits.average_gapless_keys
        )
        self._workspace.session.create_table(self._workspace.table(SUPER_TABLE), columns)

    def _logs(self, attribute: int) -> Array:
        """ln P(value | super parent's value, class), for all seen values of all super parents."""
        n_values, radix = self._cards[attribute], self._supers.radices[attribute]
        estimate = self._smoothing.of(n_values)
        found = np.zeros((self._n_values, radix, self._n_classes))
        for turn in self._turns:
            if attribute in turn.subset:
                continue  # it is a parent here: nothing to multiply with
            divisor = self._divisors[turn.numbers, None, :]
            joint = joint_codes(self._counts, turn, attribute)
            found[turn.numbers, :n_values] = np.log(estimate.above(joint)) - divisor
            if not self._supers.neutral:
                found[turn.numbers, n_values : n_values + 1] = math.log(estimate.share) - divisor
            # Further slots are those of ignored values, which count for nothing.
        return found

    def _make_complete(self, factor: Factor) -> None:
        slots = [self._supers.radices[v] for v in factor.variables]
        total = np.zeros((self._n_values, *slots, self._n_classes))
        for axis, attribute in enumerate(factor.variables):
            shape = [1] * len(slots)
            shape[axis] = slots[axis]
            total += self._logs(attribute).reshape(self._n_values, *shape, self._n_classes)
        flat = total.reshape(-1, self._n_classes)
        columns: dict[str, Array] = {"key": np.arange(len(flat), dtype=np.uint32)}
        self._workspace.session.create_table(
            self._workspace.table(factor.table), columns | by_class("l", flat)
        )

    def _make_sparse(self, factor: Factor) -> None:
        attribute = factor.variables[0]
        radix = self._supers.radices[attribute]
        estimate = self._smoothing.of(self._cards[attribute])
        keys, logs = [], []
        for turn in self._turns:
            if attribute in turn.subset:
                # A parent counts for nothing as a child: its own value is the only one it meets.
                numbers = np.arange(turn.first, turn.first + len(turn.keys))
                codes = turn.cells.codes[:, turn.subset.index(attribute)]
                keys.append(numbers * radix + codes)
                logs.append(np.zeros((len(numbers), self._n_classes)))
                continue
            places, cells = self._counts.seen_with(turn.subset, turn.cells, attribute)
            numbers = places + turn.first
            keys.append(numbers * radix + cells.codes)
            logs.append(np.log(estimate.above(cells.counts)) - self._divisors[numbers])
        columns: dict[str, Array] = {"key": np.concatenate(keys).astype(np.int64)}
        columns |= by_class("l", np.concatenate(logs))
        self._workspace.session.create_table(self._workspace.table(factor.table), columns)


def without_gaps(
    keys: Array, columns: dict[str, Array], n_keys: int, most: int, start: float = 0.0
) -> dict[str, Array]:
    """A table of super parents' values with a row for every key, where these are not too many.

    Rows then pass a join untouched. What was not seen has a level below all others: it is scored
    like the rest, from `start` on, and never looked at.
    """
    if n_keys > most:
        return {"key": keys, **columns}
    found: dict[str, Array] = {"key": np.arange(n_keys, dtype=np.uint32)}
    for name, values in columns.items():
        unseen = -1 if name == "level" else 0 if name == "number" else start
        found[name] = np.full(n_keys, unseen, values.dtype)
        found[name][keys] = values
    return found


def by_class(name: str, values: Array) -> dict[str, Array]:
    """An array with one column a class as columns of a table."""
    return {f"{name}_{j}": np.ascontiguousarray(values[:, j]) for j in range(values.shape[1])}
