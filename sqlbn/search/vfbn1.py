"""VFBN1: hill climbing whose every step is decided by SelectCandidates, on rows of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.search.blocks import RowStream
from sqlbn.search.contest import Contest, ContestResult, Estimates
from sqlbn.search.decisions import ArcChange, Decision, Graph, Log, Task, changes_of
from sqlbn.search.tallies import (
    Move,
    Tally,
    standardised,
)

Array = npt.NDArray[Any]


def vfbn1(
    stream: RowStream, task: Task, log: Log, graph: Graph, advance: Callable[[], None]
) -> None:
    """Improve a graph step by step."""
    while True:
        step = _Step(task, graph)
        if not step.changes:
            return
        verdict = None
        while verdict is None:
            block = stream.next_block()
            log.rows_read += block.shape[1]
            verdict = step.look(block, stream.rows)
        change = step.change(verdict.winners[0])
        log.decisions.append(Decision.of(change, verdict, log.rows_read))
        if change.action == "none":
            return
        graph.apply(change)
        task.limits.changed(change)
        advance()


class _Step:
    """All changes of one step. A change is one move, a reversal two of different variables."""

    def __init__(self, task: Task, graph: Graph) -> None:
        self.changes: list[ArcChange] = []
        self._parts: list[list[tuple[int, Move]]] = []
        moves: dict[int, dict[Move, None]] = {}
        most_cells = task.most_cells(len(graph) ** 2)
        for change in changes_of(graph, task.limits):
            parts = _parts_of(change)
            if any(_cells(task, graph, child, move) > most_cells for child, move in parts):
                continue
            self.changes.append(change)
            self._parts.append(parts)
            for child, move in parts:
                moves.setdefault(child, {})[move] = None
        self._tallies = [
            task.tally(child, graph.parents[child], list(wanted))
            for child, wanted in sorted(moves.items())
        ]
        self._limits = task.tuning
        self._contest = Contest(len(self.changes) + 1, task.rule)
        self._n_alive = len(self.changes) + 1
        self._first, self._second = self._places()
        self.n, self._next_look = 0, 0.0

    def change(self, candidate: int) -> ArcChange:
        """What a candidate stands for; the last one changes nothing."""
        return self.changes[candidate] if candidate < len(self.changes) else ArcChange("none", 0)

    def look(self, block: Array, rows: int) -> ContestResult | None:
        """Count a block; the verdict if there is one."""
        self._let_go()
        for tally in self._tallies:
            tally.add(block)
        self.n += block.shape[1]
        if self.n < min(self._next_look, rows):
            return None
        final = self.n >= rows
        found = self._estimates(block[:, : self._limits.paired_rows], final)
        verdict = self._contest.check(self.n, found, exhausted=final)
        self._next_look = min(self._contest.next_look, self._limits.look_growth * self.n)
        return verdict

    def _let_go(self) -> None:
        """No longer count what no change that is still possible needs."""
        alive = self._contest.alive
        if self._n_alive == int(alive.sum()):
            return
        self._n_alive = int(alive.sum())
        needed = {part for at in np.flatnonzero(alive[:-1]) for part in self._parts[at]}
        for tally in self._tallies:
            wanted = np.array([(tally.child, m) in needed for m in tally.moves], bool)
            if not wanted.all():
                tally.keep(wanted)
        self._tallies = [t for t in self._tallies if t.moves]
        self._first, self._second = self._places()

    def _places(self) -> tuple[Array, Array]:
        """For every change where its moves stand; behind all stands one that is worth nothing."""
        places: dict[tuple[int, Move], int] = {}
        for tally in self._tallies:
            for move in tally.moves:
                places[tally.child, move] = len(places)
        nothing = len(places)
        both = np.full((len(self._parts), 2), nothing, np.int64)
        for at, parts in enumerate(self._parts):
            for which, part in enumerate(parts):
                both[at, which] = places.get(part, nothing)
        return both[:, 0], both[:, 1]

    def _estimates(self, recent: Array, final: bool) -> Estimates:
        ranged = self._contest.rule.bound == "hoeffding"
        rivals = len(self.changes)
        found = [t.estimates(recent, rivals, ranged, final) for t in self._tallies]
        first, second = self._first, self._second

        def joined(name: str) -> Array:
            """Of every change the sum over its moves; nothing for what was dropped."""
            values = [getattr(e, name)[:-1] for e in found]
            flat = np.concatenate([*values, [0.0]])
            whole: Array = np.append(flat[first] + flat[second], 0.0)
            return whole

        rows = _RowGains(self._tallies, first, second, recent)
        return Estimates(
            means=joined("means"),
            deviations=self._deviations(joined("deviations"), rows),
            observed=joined("observed"),
            slack=joined("slack"),
            ranges=joined("ranges") if ranged else None,
            care=np.append(np.ones(len(first)), self._limits.stopping_care),
            correlation=rows.correlation,
        )

    def _deviations(self, sums: Array, rows: _RowGains) -> Array:
        """Those of changes: what one move of a reversal takes the other mostly gives back."""
        twofold = np.flatnonzero(self._second < self._second.max(initial=0))
        twofold = twofold[self._contest.alive[twofold]]
        if len(twofold):
            sums[twofold] *= rows.cancelling(twofold)
        return sums


class _RowGains:
    """What every change gains on some rows; worked out when it is asked for."""

    def __init__(self, tallies: Sequence[Tally], first: Array, second: Array, rows: Array) -> None:
        self._tallies, self._first, self._second, self._rows = tallies, first, second, rows
        self._moves: Array | None = None

    def _of_moves(self) -> Array:
        if self._moves is None:
            parts = [t.row_gains(t.gains(), self._rows) for t in self._tallies]
            self._moves = np.vstack([*parts, np.zeros((1, self._rows.shape[1]))])
        return self._moves

    def _of(self, changes: Array) -> Array:
        moves = self._of_moves()
        inside = changes < len(self._first)  # the last candidate, no change, gains nothing
        rows = np.zeros((len(changes), self._rows.shape[1]))
        places = changes[inside]
        rows[inside] = moves[self._first[places]] + moves[self._second[places]]
        return rows

    def cancelling(self, changes: Array) -> Array:
        """The deviation of a sum of two moves, as a share of the sum of their deviations."""
        moves = self._of_moves()
        apart = moves[self._first[changes]].std(axis=1) + moves[self._second[changes]].std(axis=1)
        together = self._of(changes).std(axis=1)
        share: Array = np.divide(together, apart, out=np.ones(len(changes)), where=apart > 1e-12)
        return np.minimum(share, 1.0)

    def correlation(self, one: int, others: Array) -> Array:
        """How the gains of two changes go together."""
        unit = standardised(self._of(np.append(others, one)))
        found: Array = np.clip(unit[:-1] @ unit[-1], -1.0, 1.0)
        return found


def _cells(task: Task, graph: Graph, child: int, move: Move) -> int:
    """Cells of the table that a move needs: that of the larger of the two families."""
    parents = graph.parents[child]
    return task.cells(child, parents if move.removes else (*parents, move.parent))


def _parts_of(change: ArcChange) -> list[tuple[int, Move]]:
    assert change.parent is not None
    if change.action == "add":
        return [(change.child, Move(change.parent))]
    gone = (change.child, Move(change.parent, removes=True))
    return [gone] if change.action == "delete" else [gone, (change.parent, Move(change.child))]
