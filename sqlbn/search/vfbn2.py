"""VFBN2: a search of its own for every variable, all fed by the same blocks of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.search.blocks import RowStream
from sqlbn.search.contest import Contest, ContestResult, Estimates
from sqlbn.search.decisions import ArcChange, Decision, Graph, Log, Task
from sqlbn.search.tallies import (
    Move,
    Tally,
)

Array = npt.NDArray[Any]


class _Search:
    """The next step of one variable: which parent to add or to remove, or neither."""

    def __init__(self, tally: Tally, task: Task) -> None:
        self.tally, self._limits = tally, task.tuning
        self.contest = Contest(len(tally.moves) + 1, task.rule)
        # Candidates by their first numbers; those that are dropped are no longer counted.
        self._numbers = np.arange(len(tally.moves))
        self._moves = list(tally.moves)
        self._next_look = 0.0

    @property
    def none(self) -> int:
        """The candidate that changes nothing."""
        return self.contest.n_candidates - 1

    def close(self, closed: Array) -> bool:
        """No longer think of parents that have come to descend from the variable.

        Whether the contest can go on: not where others were dropped because of what is gone now.
        """
        alive = self.contest.alive
        gone = [
            at
            for at, m in enumerate(self._moves)
            if alive[at] and not m.removes and closed[m.parent]
        ]
        dropped = not alive.all()
        self.contest.drop(np.array(gone, int))
        return not (gone and dropped)

    def look(self, block: Array, rows: int) -> ContestResult | None:
        """Count a block; the verdict if there is one."""
        self._let_go()
        self.tally.add(block)
        n = self.tally.n
        if n < min(self._next_look, rows):
            return None
        ranged = self.contest.rule.bound == "hoeffding"
        recent, final = block[:, : self._limits.paired_rows], n >= rows
        found = self.tally.estimates(recent, len(self._moves), ranged, final)
        whole = _spread(found, self._numbers, self.contest.n_candidates)
        verdict = self.contest.check(n, whole, exhausted=final)
        self._next_look = min(self.contest.next_look, self._limits.look_growth * n)
        return verdict

    def _let_go(self) -> None:
        wanted = self.contest.alive[self._numbers]
        if not wanted.all():
            self.tally.keep(wanted)
            self._numbers = self._numbers[wanted]

    def change(self, candidate: int) -> ArcChange:
        """What a candidate stands for."""
        if candidate == self.none:
            return ArcChange("none", self.tally.child)
        move = self._moves[candidate]
        return ArcChange("delete" if move.removes else "add", self.tally.child, move.parent)


def _spread(found: Estimates, numbers: Array, n: int) -> Estimates:
    """Estimates of the moves that are left, in the places that the contest knows them by."""
    places = np.append(numbers, n - 1)
    if len(places) == n:
        return found
    back = np.zeros(n, int)
    back[places] = np.arange(len(places))

    def wide(values: Array) -> Array:
        out = np.zeros(n)
        out[places] = values
        return out

    correlation = found.correlation
    return replace(
        found,
        means=wide(found.means),
        deviations=wide(found.deviations),
        observed=wide(found.observed),
        slack=wide(found.slack),
        ranges=None if found.ranges is None else wide(found.ranges),
        care=None if found.care is None else wide(found.care),
        correlation=lambda one, others: correlation(int(back[one]), back[others]),
    )


def moves_of(task: Task, graph: Graph, child: int) -> list[Move]:
    """What may be done with a variable's parents now."""
    parents, closed = graph.parents[child], graph.closed_parents(child)
    limits, most_cells = task.limits, task.most_cells(len(graph))
    found = []
    for other in range(len(graph)):
        if other == child or not limits.may_change(child, other):
            continue
        more = (*parents, other)
        if other in parents:
            found.append(Move(other, removes=True))
        elif (
            not closed[other] and limits.fits(child, more) and task.cells(child, more) <= most_cells
        ):
            found.append(Move(other))
    return found


class _Searches:
    """The searches of all variables: some active, the others waiting for memory."""

    def __init__(self, task: Task, graph: Graph) -> None:
        self._task, self._graph = task, graph
        self._waiting = deque(range(len(graph)))
        self.active: dict[int, _Search] = {}

    def activate(self) -> int:
        """Let in as many as there is memory for, one at least; how many had nothing to decide."""
        task, graph, finished = self._task, self._graph, 0
        size = task.tuning.candidate_cell_bytes
        used = sum(s.tally.cells for s in self.active.values()) * size
        while self._waiting:
            child = self._waiting[0]
            moves = moves_of(task, graph, child)
            if not moves:
                self._waiting.popleft()
                finished += 1
                continue
            # Counted before they are laid out: who waits asks again at every block.
            parents = graph.parents[child]
            wider = [parents if m.removes else (*parents, m.parent) for m in moves]
            used += sum(task.cells(child, above) for above in wider) * size
            if self.active and used > task.memory:
                break
            self._waiting.popleft()
            tally = task.tally(child, parents, moves)
            self.active[child] = _Search(tally, task)
        return finished

    def end(self, child: int, again: bool) -> None:
        """A search has taken its step; it waits for the next one, or that was all."""
        del self.active[child]
        if again:
            self._waiting.append(child)


def vfbn2(
    stream: RowStream, task: Task, log: Log, graph: Graph, advance: Callable[[], None]
) -> None:
    """Add arcs to a graph, and remove them, until every search has found nothing more to do."""
    searches = _Searches(task, graph)
    while True:
        advance_by(advance, searches.activate())
        if not searches.active:
            return
        block = stream.next_block()
        log.rows_read += block.shape[1]
        for child in sorted(searches.active):
            search = searches.active[child]
            if not search.close(graph.closed_parents(child)):
                searches.end(child, again=True)
                continue
            verdict = search.look(block, stream.rows)
            if verdict is None:
                continue
            change = search.change(verdict.winners[0])
            log.decisions.append(Decision.of(change, verdict, log.rows_read))
            graph.apply(change)
            task.limits.changed(change)
            searches.end(child, again=change.action != "none")
            advance_by(advance, change.action == "none")


def advance_by(advance: Callable[[], None], times: int) -> None:
    """Tell that so many variables are done."""
    for _ in range(times):
        advance()
