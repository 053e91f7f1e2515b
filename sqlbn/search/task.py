"""What a search by bounds works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.search.bounds import Rule
from sqlbn.search.graph import Limits
from sqlbn.search.tallies import CELL_BYTES


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
