"""Leave-one-out tables of averaging models: logarithms without the row itself, by its own class.

A table is keyed by the number of (super parent's value, class of the row) and the value of an
attribute. All logarithms are relative to how often the attribute's value occurs, which is the same
for every class and super parent: what is added up stays near 1.

With weights that are importances the logarithms of a row's own class depend on its weight too: the
tables have the counts `n` of that class, and the query makes the logarithms of them.
"""

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
from sqlbn.kinds.average.super_tables import by_class, without_gaps
from sqlbn.kinds.average.superparents import (
    Averaged,
    Implication,
    find_implications,
    implied_columns,
)

Array = npt.NDArray[Any]

# Stands for the count of an attribute that is a super parent itself.
NO_COUNT = -1.0


@dataclass(frozen=True)
class LooTurn:
    """A super parent: the numbers of its values by class (-1 where no row can have them)."""

    subset: Family
    cells: SeenCells
    keys: Array
    numbers: Array


class AverageLooTables:
    """Makes the tables of one selection; `drop` removes them."""

    def __init__(self, averaged: Averaged, order: Sequence[int], rotated: bool) -> None:
        self._averaged, self._order, self._rotated = averaged, order, rotated
        self._counts: SubsetCounts = averaged.counts
        self._session = self._counts.workspace.session
        self._limits = self._session.limits
        self._cards = self._counts.encoded.cards
        self._classes = np.asarray(averaged.class_counts, float)
        self._n_classes = len(self._classes)
        self._smoothing, self._importance = averaged.smoothing, self._counts.encoded.importance
        self._total = float(self._classes.sum())
        self._tables: list[str] = []
        self._n_keys = 0
        self.sets, weights = averaged.turns()
        self.radices = self._cards
        self._turns, self._weights = self._number(), weights
        self.n_numbers = 1 + max(int(t.numbers.max(initial=-1)) for t in self._turns)
        self._frequency = self._frequencies()
        # A shift that no sum of logarithms can make up for; and what these sums are at most.
        self.away = self._far_away()
        self.high, self.low = 0.0, 0.0
        self.super_table = self._make_super()
        self.child_tables = {v: self._make_child(v) for v in order}

    def drop(self) -> None:
        """Remove the tables."""
        for table in self._tables:
            self._session.row_engine.unbroadcast(table)
            self._session.drop_table(table)
        self._tables.clear()

    # -- numbers -----------------------------------------------------------------------------

    def _far_away(self) -> float:
        """A power of two well above any sum of one logarithm an attribute.

        None is larger than that of the smallest share, times how rare a value is.
        """
        rarest = {
            v: max(math.log(self._total + 1), -float(logs.min(where=np.isfinite(logs), initial=0)))
            for v, logs in self._frequency.items()
        }
        most = [
            self._smoothing.of(n).most_log_ratio(self._total, n) + rarest[v]
            for v, n in ((v, max(self._cards[v], 1)) for v in self._order)
        ]
        return float(2 ** math.ceil(math.log2(4 * self._averaged.n * sum(most) + 1024)))

    def _number(self) -> list[LooTurn]:
        found = []
        offset = first = 0
        for subset in self.sets:
            cells = self._averaged.seen(subset)
            counts = cells.counts
            left = counts.sum(axis=1, keepdims=True) - np.minimum(counts, 1.0)
            # What of a value is left when a row of some importance is out, only the row knows.
            alive = (counts > 0) & ((left > 0) | (not subset) | self._importance)
            numbers = np.full(counts.shape, -1)
            numbers[alive] = np.arange(first, first + int(alive.sum()))
            first += int(alive.sum())
            cards = [self._cards[v] for v in subset]
            steps = np.array(strides(cards), dtype=np.int64)
            keys = (offset + cells.codes @ steps)[:, None] * self._n_classes + np.arange(
                self._n_classes
            )
            offset += math.prod(cards)
            self._n_keys = offset * self._n_classes
            found.append(LooTurn(subset, cells, keys, numbers))
        return found

    # -- logarithms --------------------------------------------------------------------------

    def _by_slot(self, logs: Array, own: Array, y: Array) -> Array:
        """Logs by class with the own class's replaced, in the order of the slots."""
        logs = logs.copy()
        logs[np.arange(len(y)), y] = own
        if not self._rotated:
            return logs
        turned = (y[:, None] + np.arange(self._n_classes)) % self._n_classes
        return np.take_along_axis(logs, turned, axis=1)

    def _bound_own(self, logs: Array, y: Array, ends: Sequence[Array]) -> None:
        """Take note of how large logarithms may be that the row's own weight is still to change.

        Their own class's are between those of a row of no weight and of all the weight there is.
        """
        self._bound(np.concatenate([self._by_slot(logs, own, y) for own in ends]))

    def _frequencies(self) -> dict[int, Array]:
        """For each attribute ln of how often each of its values occurs."""
        with np.errstate(divide="ignore"):
            return {
                v: np.log(self._counts.array_of((v,)).sum(axis=1) / self._total)
                for v in self._order
            }

    def _start_logs(self) -> tuple[Array, Array, dict[str, Array]]:
        """Keys, logs, and levels and what else is known of all super parents' values."""
        keys, logs, others = [], [], list[dict[str, Array]]()
        for turn, weight in zip(self._turns, self._weights, strict=True):
            at, y = np.nonzero(turn.numbers >= 0)
            cells = self._n_classes * math.prod(self._cards[v] for v in turn.subset)
            estimate = self._smoothing.of(cells)
            # What P(y, x_s) is divided by is the same everywhere, and left out.
            log, n = np.log(estimate.above(turn.cells.counts[at])), turn.cells.counts[at, y]
            own = np.log(estimate.above(np.maximum(n - 1, 0)))
            relative = np.full(len(at), math.log(weight)) - sum(
                self._frequency[v][turn.cells.codes[at, place]]
                for place, v in enumerate(turn.subset)
            )
            other = {"level": np.full(len(at), len(turn.subset), np.int8)}
            if self._importance:
                share = np.full(len(at), estimate.share)
                ends = [np.log(estimate.above(n)), np.log(share)]
                self._bound_own(log + relative[:, None], y, [end + relative for end in ends])
                own = np.zeros(len(at))
                alone = turn.cells.totals[at] if turn.subset else np.full(len(at), np.inf)
                other |= {"n": n.astype(float), "share": share, "alone": alone}
            keys.append(turn.keys[at, y])
            logs.append(self._by_slot(log, own, y) + relative[:, None])
            others.append(other)
        joined = {name: np.concatenate([other[name] for other in others]) for name in others[0]}
        return np.concatenate(keys), np.concatenate(logs), joined

    def _unseen(self, attribute: int) -> Array:
        """Whether a value is left out with the row: by value and class of the row.

        Its logarithm is then 0 for every super parent, as it is none itself. Of importances only
        the row knows: see `alone`.
        """
        counts = self._counts.array_of((attribute,))
        left = counts.sum(axis=1, keepdims=True) - np.minimum(counts, 1.0)
        found: Array = (left <= 0) & self._smoothing.is_neutral & (not self._importance)
        return found

    def _child_logs(self, attribute: int) -> tuple[Array, Array, dict[str, Array]]:
        """Keys and logs of an attribute given each super parent that does not contain it.

        And for importances the row's own counts, and the weight of a row that is `alone`.
        """
        keys, logs = [np.zeros(0, np.int64)], [np.zeros((0, self._n_classes))]
        counts, alone = [np.zeros(0)], [np.zeros(0)]
        totals = self._counts.array_of((attribute,)).sum(axis=1).astype(float)
        estimate = self._smoothing.of(self._cards[attribute])
        frequency, unseen = self._frequency[attribute], self._unseen(attribute)
        for turn in self._turns:
            if attribute in turn.subset:
                continue
            place, cells = self._counts.seen_with(turn.subset, turn.cells, attribute)
            at, y = np.nonzero((cells.counts > 0) & (turn.numbers[place] >= 0))
            joint, parent = cells.counts[at], turn.cells.counts[place[at]]
            log = np.log(estimate.above(joint)) - np.log(estimate.below(parent))
            n, above = cells.counts[at, y], parent[np.arange(len(y)), y]
            own = estimate.log_left_out(n, above)
            codes = cells.codes[at]
            rare = frequency[codes]
            if self._importance:
                ends = [estimate.log_left_out(n, above, w) - rare for w in (np.zeros(len(n)), n)]
                self._bound_own(log - rare[:, None], y, ends)
                own = np.zeros(len(at))
            keys.append(turn.numbers[place[at], y] * self._cards[attribute] + codes)
            found = self._by_slot(log, own, y) - rare[:, None]
            logs.append(np.where(unseen[codes, y][:, None], 0.0, found))
            counts.append(n.astype(float))
            alone.append(totals[codes] if self._smoothing.is_neutral else np.full(len(at), np.inf))
        counted = {"n": np.concatenate(counts), "alone": np.concatenate(alone)}
        return np.concatenate(keys), np.concatenate(logs), counted if self._importance else {}

    def _bound(self, logs: Array) -> Array:
        if logs.size:
            self.high += max(float(logs.max()), 0.0)
            self.low += min(float(logs.min()), 0.0)
        return logs

    # -- tables ------------------------------------------------------------------------------

    def _put(self, columns: dict[str, Array]) -> str:
        name = self._session.fresh_name("loo")
        self._session.create_table(name, columns)
        self._tables.append(name)
        return name

    def _make_super(self) -> str:
        keys, logs, others = self._start_logs()
        # Far away until the last of its attributes comes in.
        far = np.where(others["level"] > 0, self.away, 0.0)[:, None]
        columns = {"number": np.arange(len(keys), dtype=np.uint32), **others}
        if not self._importance:
            self._bound(logs)
        columns |= by_class("l", logs - far)
        most = self._limits.average_gapless_keys
        return self._put(without_gaps(keys, columns, self._n_keys, most, -self.away))

    def _make_child(self, attribute: int) -> str:
        keys, logs, counted = self._child_logs(attribute)
        if not self._importance:
            self._bound(logs)
        card, rank = self._cards[attribute], {v: r for r, v in enumerate(self._order)}
        all_keys, all_logs, n_super = [keys], [logs], 0
        for turn in self._turns:
            if attribute in turn.subset:
                at, y = np.nonzero(turn.numbers >= 0)
                codes = turn.cells.codes[at, turn.subset.index(attribute)]
                all_keys.append(turn.numbers[at, y] * card + codes)
                comes_in = max(turn.subset, key=rank.__getitem__) == attribute
                own = np.full((len(at), self._n_classes), self.away if comes_in else 0.0)
                all_logs.append(own)
                n_super += len(at)
        keys, logs = np.concatenate(all_keys), np.concatenate(all_logs)
        # A super parent itself is counted elsewhere.
        gaps = {"n": NO_COUNT, "alone": np.inf}
        for name, values in counted.items():
            counted[name] = np.append(values, np.full(n_super, gaps[name]))
        n_keys = self.n_numbers * card
        if n_keys * self._n_classes > self._limits.average_loo_values:
            return self._put({"key": keys.astype(np.int64), **counted, **by_class("l", logs)})
        # Without gaps a join hands the rows on untouched.
        complete = np.zeros((n_keys, self._n_classes))
        complete[keys] = logs
        for name, values in counted.items():
            counted[name] = np.full(n_keys, gaps[name])
            counted[name][keys] = values
        columns = {"key": np.arange(n_keys, dtype=np.uint32), **counted}
        return self._put(columns | by_class("l", complete))

    def make_implied(self, min_count: int) -> dict[int, tuple[str, list[int]]]:
        """For each attribute with values that imply another's: a table, and the others.

        Keyed by value and class of the row: the counts are those without it. Of a row of some
        importance all counts lose the same, so that only the least count that is asked for is still
        to be compared, with the count `n` of the value less the row: keyed by value.
        """
        n = self._n_classes
        if self._importance:
            return self._implied_of(find_implications(self._counts, self._order, min_count), 1)
        found = [
            replace(i, code=i.code * n + y)
            for y in range(n)
            for i in find_implications(self._counts, self._order, min_count, left_out=y)
        ]
        return self._implied_of(found, n)

    def _implied_of(
        self, found: Sequence[Implication], slots: int
    ) -> dict[int, tuple[str, list[int]]]:
        """The tables of implications whose values have so many keys each."""
        others: dict[int, set[int]] = {}
        for i in found:
            others.setdefault(i.special, set()).add(i.general)
        tables = implied_columns(found, [card * slots for card in self._cards])
        if self._importance:
            for j, columns in tables.items():
                totals = self._counts.array_of((j,)).sum(axis=1).astype(float)
                columns["n"] = np.append(totals, 0.0)  # the last key is that of unseen values
        return {j: (self._put(columns), sorted(others[j])) for j, columns in tables.items()}
