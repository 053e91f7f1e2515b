"""The log of a search: every decision with the rows it took and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlbn.draft import Draft
from sqlbn.search.contest import Verdict
from sqlbn.search.graph import Change

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

    def write(self, draft: Draft, names: Sequence[str]) -> None:
        """The draft's `decisions`."""
        draft.fill(
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
