"""The covering plan: few blocks of variables such that every wanted family lies inside one.

A family is a tuple of variables whose joint counts are wanted. A block is counted by one GROUP BY
over a packed key; its families are summed out of the result. Families too large for an array get a
block of their own that is counted sparsely.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlbn.engines.limits import Limits

Family = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """Variables counted together, and the families to be summed out of them."""

    variables: tuple[int, ...]
    families: tuple[Family, ...]
    cells: int
    dense: bool


def cells_of(variables: Sequence[int], cards: Sequence[int]) -> int:
    """Cells of the joint table of some variables."""
    return math.prod(cards[v] for v in variables)


def cover(
    families: Sequence[Family],
    cards: Sequence[int],
    max_cells: int = Limits.block_cells,
    max_variables: int = Limits.block_variables,
) -> list[Block]:
    """Blocks that cover all families: greedy, deterministic, any size of family."""
    unique = list(dict.fromkeys(tuple(sorted(f)) for f in families))
    small = [f for f in unique if cells_of(f, cards) <= max_cells]
    blocks = _greedy_cover(small, cards, max_cells, max_variables) if small else []
    large = [f for f in unique if cells_of(f, cards) > max_cells]
    return blocks + [Block(f, (f,), cells_of(f, cards), dense=False) for f in large]


def _greedy_cover(
    families: list[Family], cards: Sequence[int], max_cells: int, max_variables: int
) -> list[Block]:
    shared = _shared_variables(families)
    # Large families first: they seed blocks that smaller ones then fall into.
    families = sorted(families, key=lambda f: -len(f))
    inner = [tuple(v for v in f if v not in shared) for f in families]
    state = _Uncovered(inner, len(cards))
    base = cells_of(shared, cards)
    blocks = []
    for seed in range(len(families)):
        if state.covered[seed]:
            continue
        state.start_block()
        cells = base
        for v in inner[seed]:
            state.add(v)
            cells *= cards[v]
        limit = max(max_variables, len(inner[seed]))
        while len(state.block) < limit:
            best = state.best_addition(cards, max_cells // cells)
            if best is None:
                break
            state.add(best)
            cells *= cards[best]
        inside = tuple(families[i] for i in sorted({seed, *state.close_block()}))
        state.covered[seed] = True
        blocks.append(Block(tuple(sorted([*state.block, *shared])), inside, cells, dense=True))
    return blocks


def _shared_variables(families: Sequence[Family]) -> list[int]:
    """Variables that nearly all families have, such as the class: they go into every block.

    Following them family by family would make the plan quadratic in the number of pairs. A family
    without them must still fit a block that has them, so none is shared where that could fail.
    """
    seen = Counter(v for f in families for v in f)
    largest = max(map(len, families))
    common = [v for v, n in sorted(seen.items()) if n > len(families) / 2]
    fits = all(set(common) <= set(f) for f in families if len(f) == largest)
    return common if len(families) > 8 and fits and largest > len(common) else []


class _Uncovered:
    """Which families are not yet covered, and what each variable would add to the open block."""

    def __init__(self, families: Sequence[Family], n_variables: int) -> None:
        self.covered: npt.NDArray[np.bool_] = np.zeros(len(families), bool)
        self._sizes = np.array([len(f) for f in families])
        self._sums = np.array([sum(f) for f in families])
        self._singles = np.flatnonzero(self._sizes == 1)
        members: list[list[int]] = [[] for _ in range(n_variables)]
        for i, family in enumerate(families):
            for v in family:
                members[v].append(i)
        self._of = [np.array(m, dtype=np.int64) for m in members]
        self._n_variables = n_variables
        self.block: list[int] = []
        self._complete: list[int] = []
        self._absent = self._sizes.copy()
        self._absent_sum = self._sums.copy()
        self._gain = np.zeros(n_variables)

    def start_block(self) -> None:
        """Forget the last block; only what it touched is reset."""
        for v in self.block:
            touched = self._of[v]
            self._absent[touched] = self._sizes[touched]
            self._absent_sum[touched] = self._sums[touched]
        self.block, self._complete = [], []
        # A family of one variable is completed by that variable alone.
        left = self._singles[~self.covered[self._singles]]
        self._gain = np.bincount(self._sums[left], minlength=self._n_variables).astype(float)

    def add(self, variable: int) -> None:
        """Put a variable into the block and update what the others would complete."""
        touched = self._of[variable]
        self._absent[touched] -= 1
        self._absent_sum[touched] -= variable
        # Where a single member is absent, the sum of the absent names it.
        almost = touched[(self._absent[touched] == 1) & ~self.covered[touched]]
        np.add.at(self._gain, self._absent_sum[almost], 1)
        self._complete += touched[self._absent[touched] == 0].tolist()
        self.block.append(variable)

    def best_addition(self, cards: Sequence[int], room: int) -> int | None:
        """The variable that completes most families and still fits; None where none does."""
        gain = self._gain.copy()
        gain[self.block] = 0
        for v in np.argsort(-gain, kind="stable"):
            if gain[v] <= 0:
                return None
            if cards[v] <= room:
                return int(v)
        return None

    def close_block(self) -> list[int]:
        """Mark and return the families that the block covers."""
        inside = [i for i in self._complete if not self.covered[i]]
        self.covered[inside] = True
        return inside
