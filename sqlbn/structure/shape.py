"""The structure of a model, decided from information alone: naive Bayes, KDB, TAN and FAN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from sqlbn.options.catalogue import checked
from sqlbn.structure.information import (
    DECIMALS,
    CountSums,
    Family,
    Information,
    Matrix,
    information,
    pair_families,
    rounded,
)
from sqlbn.structure.parent_sets import Term


@dataclass(frozen=True)
class Structure:
    """Attributes in MI order, and the parents of each (besides the class), strongest first."""

    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def family(self, attribute: int, class_variable: int) -> tuple[int, ...]:
        """The attribute, its parents in their order, the class."""
        return (attribute, *self.parents[attribute], class_variable)


def no_parents(info: Information) -> Structure:
    """Naive Bayes."""
    return Structure(tuple(info.order), ((),) * len(info.order))


def k_dependence(info: Information, k: int) -> Structure:
    """KDB: the k earlier attributes with the highest CMI; ties go to the earlier in MI order."""
    order = info.order
    parents: list[tuple[int, ...]] = [()] * len(order)
    if info.cmi is not None:
        for place, i in enumerate(order):
            # Sorting is stable: among equals the MI order stays.
            ranked = sorted(order[:place], key=lambda j: -info.cmi[i, j])  # type: ignore[index]
            parents[i] = tuple(ranked[:k])
    return Structure(tuple(order), tuple(parents))


def spanning_tree(info: Information) -> Structure:
    """TAN: the maximum spanning tree on CMI, grown from the attribute with the highest MI.

    Ties: the new attribute earlier in MI order, then the parent earlier in MI order.
    """
    order = info.order
    parents: list[tuple[int, ...]] = [()] * len(order)
    if info.cmi is None:
        return Structure(tuple(order), tuple(parents))
    # For each attribute outside the tree: its strongest link and the parent's place in the order.
    link = {i: (info.cmi[order[0], i], 0) for i in order[1:]}
    while link:
        new = max(link, key=lambda i: (link[i][0], -order.index(i)))
        parents[new] = (order[link.pop(new)[1]],)
        place = order.index(new)
        for i, (strength, at) in link.items():
            if (info.cmi[new, i], -place) > (strength, -at):
                link[i] = (info.cmi[new, i], place)
    return Structure(tuple(order), tuple(parents))


Select = Literal["both", "attributes", "k"]


@dataclass(frozen=True)
class Choice:
    """How many parents, and how many of the attributes in MI order."""

    k: int
    n_attributes: int


def choose(
    surface: npt.NDArray[np.float64], ks: list[int], select: Select, larger_is_better: bool = False
) -> Choice:
    """The cell with the smallest loss; ties: fewer attributes, then fewer parents.

    Losses are compared after rounding: the last bits of a parallel sum must not decide.
    """
    d = surface.shape[1] - 1
    rounded = np.round(-surface if larger_is_better else surface, DECIMALS)
    counts = [d] if select == "k" else list(range(d + 1))
    best = min((float(rounded[at, n]), n, k) for at, k in enumerate(ks) for n in counts)
    return Choice(k=best[2], n_attributes=best[1])


@dataclass(frozen=True)
class Shape:
    """The order of all attributes, the parents of each, and which attributes are used at all.

    `k` is how many parents a selection has left them; None where nothing was selected. A collection
    has `terms` instead of parents, and perhaps a super parent. `weights` are exponents of the
    probabilities, where not all count in full: of every attribute those of the levels of its chain
    (no parents, one, …); `shifts` are added to the logarithms of classes, by name.
    An ensemble has the shapes of its `members`, and no parents of its own.
    """

    structure: Structure
    selected: tuple[int, ...]
    k: int | None = None
    terms: tuple[Term, ...] = ()
    super_parent: int | None = None
    weights: tuple[tuple[float, ...], ...] | None = None
    shifts: Mapping[str, float] = field(default_factory=dict)
    members: tuple[Shape, ...] = ()

    @property
    def chosen(self) -> dict[str, int]:
        """What a selection chose, for the model's meta table."""
        if self.k is None:
            return {}
        return {"selected_k": self.k, "selected_attributes": len(self.selected)}

    @property
    def families(self) -> dict[int, Family]:
        """Each used attribute with its parents."""
        return {i: (i, *self.structure.parents[i]) for i in self.selected}

    def weighted_as(self, other: Shape) -> Shape:
        """The same with another's weights; where a chain has become another, on its last level."""
        if other.weights is None:
            return self
        weights = []
        for i, parents in enumerate(self.structure.parents):
            known = other.weights[i]
            if len(known) != len(parents) + 1:
                known = (*(0.0,) * len(parents), math.fsum(known))
            weights.append(known)
        return replace(self, weights=tuple(weights), shifts=other.shifts)

    @property
    def depth(self) -> int:
        """The most parents that an attribute has."""
        return max(map(len, self.structure.parents), default=0)

    def up_to(self, depth: int) -> Shape:
        """The same with no more than so many parents, the first ones."""
        parents = tuple(p[:depth] for p in self.structure.parents)
        return replace(self, structure=Structure(self.structure.order, parents))

    def evenly_weighted(self, weight: float | None) -> Shape:
        """The deepest level of every chain with one weight; None: without weights."""
        if weight is None:
            return replace(self, weights=None)
        weights = tuple((*(0.0,) * len(p), weight) for p in self.structure.parents)
        return replace(self, weights=weights)

    @staticmethod
    def whole(structure: Structure) -> Shape:
        """All attributes with all their parents."""
        return Shape(structure, tuple(sorted(structure.order)))

    @staticmethod
    def selective(structure: Structure, k: int | None, n_attributes: int) -> Shape:
        """The first attributes of the order with the first k of their parents."""
        kept = tuple(sorted(structure.order[:n_attributes]))
        parents = tuple(p[:k] if i in kept else () for i, p in enumerate(structure.parents))
        return Shape(Structure(structure.order, parents), kept, k)


Score = Literal["bic", "aic", "bayes"]


def checked_score(name: str) -> Score:
    """The score of that name, or an error that lists them."""
    return cast(Score, checked("score", name))


def score_gains(
    score: Score, sums: Mapping[Family, float], cards: Sequence[int], total: float
) -> Matrix:
    """By how much a link raises the score, a row of the data; `sums` are of n ln n or ln Gamma."""
    d = len(cards) - 1
    weight = {"bic": math.log(total) / 2, "aic": 1.0, "bayes": 0.0}[score]

    def value(family: Family) -> float:
        return sums[family] - weight * math.prod(cards[v] for v in family)

    gains = np.zeros((d, d))
    for i, j, y in pair_families(d):
        gain = (value((i, j, y)) + value((y,))) - (value((i, y)) + value((j, y)))
        gains[i, j] = gains[j, i] = gain / total
    return rounded(gains)


def information_for(sums: CountSums, score: Score | None = None) -> Information:
    """MI; CMI where there are pairs; the gains of links where a score asks for them."""
    info = information(sums.n_log_n, len(sums.cards) - 1, sums.total)
    if score is None or info.cmi is None:
        return info
    scored = sums.log_gamma if sums.log_gamma is not None else sums.n_log_n
    return replace(info, gains=score_gains(score, scored, sums.cards, sums.total))


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
