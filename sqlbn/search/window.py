"""A network that follows rows in time: new blocks are added, old ones taken out, arcs re-checked.

Every variable keeps the counts of what one parent more or less would be worth, over a window. After
each block the old decision, that its parents are the right ones, is put to the test again.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.search.bounds import Rule, error
from sqlbn.search.contest import Estimates
from sqlbn.search.decisions import ArcChange, Decision, Graph, Task
from sqlbn.search.tallies import Move, Tally
from sqlbn.search.vfbn2 import moves_of

Array = npt.NDArray[Any]


class WindowTables:
    """The counts of every variable with its parents, over a window."""

    def __init__(self, task: Task, graph: Graph) -> None:
        self._task, self._graph = task, graph
        self._counts = [self._empty(i) for i in range(len(graph))]

    def _empty(self, child: int) -> Array:
        return np.zeros(self._task.cells(child, self._graph.parents[child]), np.int64)

    def _keys(self, child: int, block: Array) -> Array:
        found = np.zeros(block.shape[1], np.int64)
        for v in (*self._task.fixed, *self._graph.parents[child], child):
            found = found * self._task.cards[v] + block[v]
        return found

    def add(self, block: Array, sign: int = 1) -> None:
        """Count a block, or take it out."""
        for child in range(len(self._counts)):
            self._add(child, block, sign)

    def _add(self, child: int, block: Array, sign: int) -> None:
        counts = self._counts[child]
        counts += sign * np.bincount(self._keys(child, block), minlength=len(counts))

    def recount(self, child: int, blocks: deque[Array]) -> None:
        """Start anew with a variable whose parents have changed."""
        self._counts[child] = self._empty(child)
        for block in blocks:
            self._add(child, block, 1)

    def log_likelihood(self, block: Array) -> float:
        """The mean of ln P(row) over a block, by m-estimates with m = 1; the class is given."""
        total = 0.0
        for child, counts in enumerate(self._counts):
            r = self._task.cards[child]
            table = counts.reshape(-1, r)
            p = (table + 1 / r) / (table.sum(axis=1, keepdims=True) + 1)
            total += float(np.log(p).reshape(-1)[self._keys(child, block)].mean())
        return total


class FollowedGraph:
    """A graph that is kept true to the last blocks of a stream."""

    def __init__(self, task: Task, graph: Graph) -> None:
        self._task, self.graph = task, graph
        self._blocks: deque[Array] = deque()
        self._tallies = [self._tally(i) for i in range(len(graph))]
        self.tables = WindowTables(task, graph)
        self.rows = 0

    @property
    def rule(self) -> Rule:
        """When a change is made."""
        return self._task.rule

    def _tally(self, child: int) -> Tally:
        task, graph = self._task, self.graph
        tally = task.tally(child, graph.parents[child], moves_of(task, graph, child))
        for block in self._blocks:
            tally.add(block)
        return tally

    def add(self, block: Array) -> None:
        """Rows come into the window."""
        self._count(block, 1)
        self._blocks.append(block)

    def forget(self) -> None:
        """The oldest block leaves the window."""
        self._count(self._blocks.popleft(), -1)

    def _count(self, block: Array, sign: int) -> None:
        for tally in self._tallies:
            tally.add(block, sign)
        self.tables.add(block, sign)
        self.rows += sign * block.shape[1]

    def review(self, rows_read: int) -> list[Decision]:
        """Put every variable's parents to the test, and change what has become worse."""
        found = []
        for child in range(len(self.graph)):
            decision = self._doubt(child, rows_read)
            if decision is not None:
                found.append(decision)
                self.graph.apply(decision.change)
                self._follow(child)
        return found

    def _follow(self, changed: int) -> None:
        """What may be done has changed, for the variable itself and where cycles come or go."""
        for child, tally in enumerate(self._tallies):
            moves = moves_of(self._task, self.graph, child)
            if child == changed or moves != tally.moves:
                self._tallies[child] = self._tally(child)
        self.tables.recount(changed, self._blocks)

    def _doubt(self, child: int, rows_read: int) -> Decision | None:
        """The change that is better than none by more than the bound; or a parent without use."""
        tally, rule = self._tallies[child], self._task.rule
        if not tally.moves or self.rows == 0:
            return None
        recent = self._blocks[-1][:, : self._task.tuning.paired_rows]
        estimates = tally.estimates(recent, len(tally.moves))
        errors, delta = _errors(rule, self.rows, estimates, len(tally.moves))
        best = int(np.argmax(estimates.means[:-1]))
        reason = "bound"
        if estimates.means[best] <= errors[best]:
            best = self._useless(tally.moves, estimates, errors)
            reason = "tie"
            if best < 0:
                return None
        move = tally.moves[best]
        return Decision(
            ArcChange("delete" if move.removes else "add", child, move.parent),
            len(tally.moves) + 1,
            self.rows,
            rows_read,
            1,
            float(estimates.means[best]),
            float(errors[best]),
            delta * len(tally.moves),
            reason,
        )

    def _useless(self, moves: list[Move], estimates: Estimates, errors: Array) -> int:
        """A parent that is worth less than nobody cares about, and not the cells it takes."""
        found = [
            at
            for at, move in enumerate(moves)
            if move.removes and errors[at] < self._task.rule.tau and estimates.observed[at] > 0
        ]
        return max(found, key=lambda at: float(estimates.observed[at]), default=-1)


def _errors(rule: Rule, n: int, estimates: Estimates, rivals: int) -> tuple[Array, float]:
    """By how much a gain over no change may be too high, and the delta of each comparison."""
    scale = estimates.ranges if rule.bound == "hoeffding" else estimates.deviations
    assert scale is not None
    delta = rule.comparison_delta(rivals, float(scale.max(initial=0.0)))
    found: Array = error(rule.bound, n, delta, scale) + estimates.slack
    return found, delta
