"""The graph that a search changes arc by arc, and the decisions that it notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sqlbn.engines.limits import Limits
from sqlbn.engines.workspace import Workspace
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import ContestResult
from sqlbn.search.tallies import Move, Tally

Action = Literal["add", "delete", "reverse", "none"]


@dataclass(frozen=True)
class ArcChange:
    """One step of a search: an arc between two variables, or that nothing changes."""

    action: Action
    child: int
    parent: int | None = None


class Graph:
    """Variables 0..d-1 with their parents in the order in which they came.

    >>> graph = Graph(3)
    >>> graph.apply(ArcChange("add", 1, 0))
    >>> graph.apply(ArcChange("add", 2, 1))
    >>> graph.makes_cycle(child=0, parent=2), graph.makes_cycle(child=2, parent=0)
    (True, False)
    """

    def __init__(self, d: int) -> None:
        self.parents: list[tuple[int, ...]] = [()] * d
        # above[i, j]: j is i itself or one of its ancestors.
        self._above: npt.NDArray[Any] = np.eye(d, dtype=bool)

    def __len__(self) -> int:
        return len(self.parents)

    def makes_cycle(self, child: int, parent: int) -> bool:
        """Whether an arc would lead back to where it comes from."""
        return bool(self._above[parent, child])

    def closed_parents(self, child: int) -> npt.NDArray[Any]:
        """For every variable, whether it cannot become a parent: it comes from the child."""
        found: npt.NDArray[Any] = self._above[:, child].copy()
        return found

    def can_reverse(self, child: int, parent: int) -> bool:
        """Whether no other way leads from the parent to the child."""
        others = [p for p in self.parents[child] if p != parent]
        return not self._above[others, parent].any()

    def apply(self, change: ArcChange) -> None:
        """Make a change; that it leaves no cycle is for the caller to see to."""
        child, parent = change.child, change.parent
        if change.action == "none":
            return
        assert parent is not None
        if change.action == "add":
            self.parents[child] = (*self.parents[child], parent)
            below = self._above[:, child]
            self._above[below] |= self._above[parent]
            return
        self.parents[child] = tuple(p for p in self.parents[child] if p != parent)
        if change.action == "reverse":
            self.parents[parent] = (*self.parents[parent], child)
        self._walk()

    def _walk(self) -> None:
        """Ancestors anew: needed where an arc went away."""
        d = len(self.parents)
        above = np.eye(d, dtype=bool)
        for i in self.order():
            for p in self.parents[i]:
                above[i] |= above[p]
        self._above = above

    def order(self) -> list[int]:
        """Parents before children; of those that could come next the one with the lowest number."""
        left = {i: set(above) for i, above in enumerate(self.parents)}
        found: list[int] = []
        while left:
            ready = [i for i, above in left.items() if not above]
            assert ready, "the graph has a cycle"
            found += ready
            for i in ready:
                del left[i]
            for above in left.values():
                above.difference_update(ready)
        return found


class ArcLimits:
    """What the user allows: parameters of a table, parents, changes between the same two."""

    def __init__(
        self,
        cards: Iterable[int],
        fixed: int,
        max_parameters: int,
        max_parents: int | None,
        max_changes: int,
    ) -> None:
        self._cards, self._fixed = tuple(cards), fixed
        self._max_parameters, self._max_parents = max_parameters, max_parents
        self._max_changes = max_changes
        self._changes: dict[frozenset[int], int] = {}

    def fits(self, child: int, parents: Iterable[int]) -> bool:
        """Whether a table of a child with these parents is small enough."""
        listed = list(parents)
        if self._max_parents is not None and len(listed) > self._max_parents:
            return False
        return self.parameters(child, listed) <= self._max_parameters

    def parameters(self, child: int, parents: Iterable[int]) -> int:
        """Free parameters of a table; the class, if there is one, is a parent too."""
        rows = self._fixed
        for p in parents:
            rows *= self._cards[p]
        return rows * (self._cards[child] - 1)

    def may_change(self, one: int, other: int) -> bool:
        """Whether the arc between two variables may come or go once more."""
        return self._changes.get(frozenset((one, other)), 0) < self._max_changes

    def changed(self, change: ArcChange) -> None:
        """Take note of a change."""
        if change.parent is not None:
            pair = frozenset((change.child, change.parent))
            self._changes[pair] = self._changes.get(pair, 0) + 1


def changes_of(graph: Graph, limits: ArcLimits) -> Iterator[ArcChange]:
    """Every arc that may be added, deleted or reversed without a cycle, always in this order."""
    for child in range(len(graph)):
        parents = graph.parents[child]
        for other in range(len(graph)):
            if other == child or not limits.may_change(child, other):
                continue
            if other not in parents:
                if not graph.makes_cycle(child, other) and limits.fits(child, (*parents, other)):
                    yield ArcChange("add", child, other)
                continue
            yield ArcChange("delete", child, other)
            turned = (*graph.parents[other], child)
            if graph.can_reverse(child, other) and limits.fits(other, turned):
                yield ArcChange("reverse", child, other)


def new_parents(graph: Graph, change: ArcChange) -> dict[int, tuple[int, ...]]:
    """The variables whose parents a change touches, with what they would be, sorted."""
    child, parent = change.child, change.parent
    assert parent is not None
    now = graph.parents[child]
    if change.action == "add":
        return {child: tuple(sorted((*now, parent)))}
    found = {child: tuple(sorted(p for p in now if p != parent))}
    if change.action == "reverse":
        found[parent] = tuple(sorted((*graph.parents[parent], child)))
    return found


TABLE = "decisions"


@dataclass(frozen=True)
class Decision:
    """One step of a search."""

    change: ArcChange
    candidates: int
    rows: int
    rows_read: int
    checks: int
    margin: float
    error: float
    delta: float
    reason: str

    @staticmethod
    def of(change: ArcChange, verdict: ContestResult, rows_read: int) -> Decision:
        """What a contest decided when so many rows had been read in all."""
        return Decision(
            change,
            verdict.candidates,
            verdict.rows,
            rows_read,
            verdict.checks,
            verdict.margin,
            verdict.error,
            verdict.delta,
            verdict.reason,
        )


@dataclass
class Log:
    """All decisions of a search, in order; `interrupted` where somebody broke it off."""

    decisions: list[Decision] = field(default_factory=list)
    rows_read: int = 0
    interrupted: bool = False

    @property
    def delta_star(self) -> float:
        """Probability that any decision differs from that of endless data: what was spent."""
        return sum(d.delta for d in self.decisions)

    def write(self, workspace: Workspace, names: Sequence[str]) -> None:
        """The workspace's `decisions`."""
        workspace.fill(
            TABLE,
            [
                (
                    step,
                    names[d.change.child],
                    d.change.action,
                    None if d.change.parent is None else names[d.change.parent],
                    d.candidates,
                    d.rows,
                    d.rows_read,
                    d.checks,
                    d.margin,
                    d.error,
                    d.delta,
                    d.reason,
                )
                for step, d in enumerate(self.decisions, start=1)
            ],
        )


@dataclass(frozen=True)
class Task:
    """The numbers of values of all variables, parents that never change, rule and limits.

    `memory` is what the counts of all candidates may take, in bytes.
    """

    cards: Sequence[int]
    fixed: tuple[int, ...]
    rule: Rule
    limits: ArcLimits
    memory: int
    tuning: Limits = field(default_factory=Limits)

    def most_cells(self, searches: int) -> int:
        """Cells that the table of one candidate may have, so that so many at least have room."""
        return max(1, self.memory // (self.tuning.candidate_cell_bytes * max(1, searches)))

    def tally(self, child: int, parents: Sequence[int], moves: Sequence[Move]) -> Tally:
        """Empty counts of a variable's moves."""
        care = self.tuning.stopping_care
        return Tally(child, parents, self.fixed, moves, self.cards, care)

    def cells(self, child: int, parents: Sequence[int]) -> int:
        """Cells of the counts of a variable with these parents."""
        found = 1
        for v in (*self.fixed, *parents, child):
            found *= self.cards[v]
        return found
