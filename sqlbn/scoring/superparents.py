"""The super parents of an averaging model: which sets of attributes take turns, under which keys.

The keys of all super parents' values share one range of numbers: a row is unfolded into one key a
super parent, and from there on is scored like several rows of naive Bayes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from sqlbn.counts.cover import Family
from sqlbn.counts.packing import key_type

SUPER_TABLE = "predict_super"


def implied_table(attribute: int) -> str:
    """The table that says what each value of an attribute implies."""
    return f"predict_implied_{attribute}"


@dataclass(frozen=True)
class SuperParents:
    """Sets of attributes with their weights, the largest sets first; the last is the empty one.

    A row is scored with the largest sets of which at least one was seen: smaller ones, and naive
    Bayes at last (the empty set), are for rows with nothing but news. `radices` are the codes of
    each attribute of the model: its values, one for unseen and, where `drops`, one for a value
    that another one implies. Where `neutral` an unseen value is left out, as an implied one is.
    `implied[j]` are the attributes that some value of j implies.
    `n_seen` is the number of super parents' values that were seen.
    """

    sets: tuple[Family, ...]
    weights: tuple[float, ...]
    radices: tuple[int, ...]
    drops: bool
    neutral: bool
    implied: tuple[tuple[int, ...], ...]
    n_seen: int

    @property
    def offsets(self) -> list[int]:
        """The first key of each set."""
        return [0, *accumulate(self.keys_of(s) for s in self.sets)][:-1]

    @property
    def n_keys(self) -> int:
        """Keys of all sets."""
        return sum(self.keys_of(s) for s in self.sets)

    @property
    def key_type(self) -> str:
        """The engine type of the keys."""
        return key_type(self.n_keys)

    @property
    def ignores(self) -> bool:
        """Whether some codes say nothing of the class."""
        return self.drops or self.neutral

    def n_counting(self, attribute: int) -> int:
        """How many codes of an attribute are not ignored; these come first."""
        return self.radices[attribute] - self.drops - self.neutral

    def keys_of(self, subset: Family) -> int:
        """Combinations of codes of a set."""
        return math.prod(self.radices[v] for v in subset)


def turns(
    kept: Sequence[int], n: int, weights: dict[Family, float] | None
) -> tuple[tuple[Family, ...], tuple[float, ...]]:
    """The sets of n, n-1, … 0 of the kept attributes that have a weight above zero."""
    sets = [s for size in range(n, 0, -1) for s in combinations(sorted(kept), size)]
    if weights is not None:
        sets = [s for s in sets if weights[s] > 0]
    found = [1.0 if weights is None else weights[s] for s in sets]
    return (*sets, ()), (*found, 1.0)
