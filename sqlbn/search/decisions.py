"""What a search by bounds works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlbn.engines.workspace import Workspace
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import Verdict
from sqlbn.search.graph import Change, Limits
from sqlbn.search.tallies import CELL_BYTES

TABLE = "decisions"


@dataclass(frozen=True)
class Decision:
    """One step of a search."""

    change: Change
    candidates: int
    rows: int
    rows_read: int
    checks: int
    margin: float
    error: float
    delta: float
    reason: str

    @staticmethod
    def of(change: Change, verdict: Verdict, rows_read: int) -> Decision:
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
        """The draft's `decisions`."""
        workspace.fill(
            TABLE,
            "step INTEGER, variable VARCHAR, action VARCHAR, parent VARCHAR, candidates INTEGER, "
            "rows BIGINT, rows_read BIGINT, checks INTEGER, margin DOUBLE, bound DOUBLE, "
            "delta DOUBLE, reason VARCHAR",
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
    limits: Limits
    memory: int

    def most_cells(self, searches: int) -> int:
        """Cells that the table of one candidate may have, so that so many at least have room."""
        return max(1, self.memory // (CELL_BYTES * max(1, searches)))

    def cells(self, child: int, parents: Sequence[int]) -> int:
        """Cells of the counts of a variable with these parents."""
        found = 1
        for v in (*self.fixed, *parents, child):
            found *= self.cards[v]
        return found
