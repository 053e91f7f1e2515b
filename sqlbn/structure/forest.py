"""FAN: the forest of links between attributes that raises a score of the whole network most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import spectrum
from sqlbn.counts.cover import Family, cells_of
from sqlbn.errors import OptionError
from sqlbn.structure.information import Matrix, pair_families, rounded
from sqlbn.structure.shape import Structure

Score = Literal["bic", "aic", "bayes"]


def checked_score(name: str) -> Score:
    """The score of that name, or an error that lists them."""
    for score in get_args(Score):
        if score == name:
            return score  # type: ignore[no-any-return]
    raise OptionError(f"--score {name}: choose bic, aic or bayes")


class GammaSums:
    """Sums of ln Gamma over the cells of families: BDeu, with an equivalent sample size of 1."""

    def __init__(self, cards: Sequence[int]) -> None:
        self._cards = cards
        self.sums: dict[Family, float] = {}

    def add(self, family: Family, counts: npt.NDArray[Any], cells: npt.NDArray[Any] | None) -> None:
        """Take note of a family that was counted; as an array, or as a spectrum of counts."""
        alpha = 1 / cells_of(family, self._cards)
        empty = math.lgamma(alpha)
        self.sums[family] = math.fsum(
            n * (math.lgamma(count + alpha) - empty)
            for count, n in zip(*map(np.ndarray.tolist, spectrum(counts, cells)), strict=True)
        )


def score_gains(
    score: Score, sums: Mapping[Family, float], cards: Sequence[int], total: float
) -> Matrix:
    """By how much a link raises the score, a row of the data; `sums` are of n ln n or ln Gamma."""
    d = len(cards) - 1
    weight = {"bic": math.log(total) / 2, "aic": 1.0, "bayes": 0.0}[score]

    def value(family: Family) -> float:
        return sums[family] - weight * cells_of(family, cards)

    gains = np.zeros((d, d))
    for i, j, y in pair_families(d):
        gain = (value((i, j, y)) + value((y,))) - (value((i, y)) + value((j, y)))
        gains[i, j] = gains[j, i] = gain / total
    return rounded(gains)


def forest(gains: Matrix, order: Sequence[int]) -> Structure:
    """The best forest of links that raise the score; every tree grows from its first in order.

    Ties: the link whose first end is earlier in the order, then whose second is.
    """
    place = {attribute: at for at, attribute in enumerate(order)}
    d = len(order)
    links = [(order[a], order[b]) for a in range(d) for b in range(a + 1, d)]
    # Sorting is stable: among equals the order of the attributes stays.
    links = sorted((e for e in links if gains[e] > 0), key=lambda e: -gains[e])
    tree, near = list(range(d)), {i: list[int]() for i in range(d)}
    for i, j in links:
        if tree[i] != tree[j]:
            merged = tree[j]
            tree = [tree[i] if t == merged else t for t in tree]
            near[i].append(j)
            near[j].append(i)
    parents: list[tuple[int, ...]] = [()] * d
    reached: set[int] = set()
    for root in order:
        waiting = [root] if root not in reached else []
        while waiting:
            node = waiting.pop()
            reached.add(node)
            for other in sorted(near[node], key=place.__getitem__):
                if other not in reached:
                    parents[other] = (node,)
                    waiting.append(other)
    return Structure(tuple(order), tuple(parents))


def star(center: int, order: Sequence[int]) -> Structure:
    """Every attribute depends on one, which comes first."""
    parents = [() if i == center else (center,) for i in range(len(order))]
    return Structure((center, *(i for i in order if i != center)), tuple(parents))
