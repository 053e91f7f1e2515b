"""VFBN2: a search of its own for every variable, all fed by the same blocks of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.search.blocks import RowStream
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import Contest, Verdict
from sqlbn.search.decisions import Decision, Log
from sqlbn.search.graph import Change, Graph, Limits
from sqlbn.search.tallies import CELL_BYTES, PAIRED_ROWS, Move, Tally

Array = npt.NDArray[Any]


class _Search:
    """The next step of one variable: which parent to add or to remove, or neither."""

    def __init__(self, tally: Tally, rule: Rule) -> None:
        self.tally = tally
        self.contest = Contest(len(tally.moves) + 1, rule)
        # Candidates by their first numbers; those that are dropped are no longer counted.
        self._numbers = np.arange(len(tally.moves))
        self._moves = list(tally.moves)

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

    def look(self, block: Array, rows: int) -> Verdict | None:
        """Count a block; the verdict if there is one."""
        self._let_go()
        self.tally.add(block)
        found = self.tally.estimates(block[:, :PAIRED_ROWS], len(self._moves))
        whole = _spread(found, self._numbers, self.contest.n_candidates)
        return self.contest.check(self.tally.n, whole, exhausted=self.tally.n >= rows)

    def _let_go(self) -> None:
        wanted = self.contest.alive[self._numbers]
        if not wanted.all():
            self.tally.keep(wanted)
            self._numbers = self._numbers[wanted]

    def change(self, candidate: int) -> Change:
        """What a candidate stands for."""
        if candidate == self.none:
            return Change("none", self.tally.child)
        move = self._moves[candidate]
        return Change("delete" if move.removes else "add", self.tally.child, move.parent)


def _spread(found: Any, numbers: Array, n: int) -> Any:
    """Estimates of the moves that are left, in the places that the contest knows them by."""
    from dataclasses import replace

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
        ranges=wide(found.ranges),
        care=wide(found.care),
        correlation=lambda one, others: correlation(int(back[one]), back[others]),
    )


def moves_of(child: int, graph: Graph, limits: Limits, most_cells: int, cards: Sequence[int],
             fixed: int) -> list[Move]:
    """What may be done with a variable's parents now."""
    parents = graph.parents[child]
    closed = graph.closed_parents(child)
    base = fixed * cards[child]
    for p in parents:
        base *= cards[p]
    found = []
    for other in range(len(graph)):
        if other == child or not limits.may_change(child, other):
            continue
        if other in parents:
            found.append(Move(other, removes=True))
        elif (
            not closed[other]
            and limits.fits(child, (*parents, other))
            and base * cards[other] <= most_cells
        ):
            found.append(Move(other))
    return found


def vfbn2(
    stream: RowStream,
    cards: Sequence[int],
    fixed: Sequence[int],
    rule: Rule,
    limits: Limits,
    memory: int,
    log: Log,
    graph: Graph,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Fill an empty graph, decision by decision; `memory` is in bytes."""
    d = len(graph)
    fixed_rows = int(np.prod([cards[v] for v in fixed], dtype=int))
    most_cells = max(1, memory // (CELL_BYTES * max(1, d)))
    waiting, active = deque(range(d)), dict[int, _Search]()
    used = 0
    while waiting or active:
        while waiting:
            child = waiting[0]
            moves = moves_of(child, graph, limits, most_cells, cards, fixed_rows)
            if not moves:  # nothing may change: there is nothing to decide
                waiting.popleft()
                advance()
                continue
            tally = Tally(child, graph.parents[child], fixed, moves, cards)
            if active and used + tally.cells * CELL_BYTES > memory:
                break
            waiting.popleft()
            active[child] = _Search(tally, rule)
            used += tally.cells * CELL_BYTES
        if not active:
            return
        block = stream.next_block()
        log.rows_read += block.shape[1]
        for child in sorted(active):
            search = active[child]
            if not search.close(graph.closed_parents(child)):
                del active[child]
                waiting.append(child)
                continue
            verdict = search.look(block, stream.rows)
            if verdict is None:
                continue
            change = search.change(verdict.winners[0])
            log.decisions.append(Decision.of(change, verdict, log.rows_read))
            del active[child]
            if change.action != "none":
                graph.apply(change)
                limits.changed(change)
                waiting.append(child)
            else:
                advance()
        used = sum(s.tally.cells for s in active.values()) * CELL_BYTES
