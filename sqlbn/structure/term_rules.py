"""Which parent sets a collection has: those that are given, or that follow from an order.

A `TermRule` says which sets of attributes are counted first and what parent sets these counts give.
A learner with other parent sets, or other weights of them, has a rule of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import (
    AUTO,
    Given,
    Order,
    Term,
    behind,
    best_super_parent,
    families_of,
    given_terms,
    needs_pairs,
    ordered,
    position_of,
)
from sqlbn.structure.shape import Shape, Structure

Family = tuple[int, ...]
# From an order of the attributes, and how many of it may be parents (None: all), to terms.
Architecture = Callable[[Sequence[int], int | None], list[Term]]


class TermRule(ABC):
    """The parent sets of every attribute, and when they are known.

    `by_rows`: the super-parent is the one under which the classes of the training rows are most
    probable.
    """

    by_rows: ClassVar[bool] = False

    @property
    def by_gain(self) -> bool:
        """Whether what attributes add to each other (`gain`) is asked for."""
        return False

    @abstractmethod
    def early(self, names: Sequence[str]) -> list[Family]:
        """The sets that are counted first: all of them where no count decides which they are."""

    @abstractmethod
    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        """Order and terms that the counts ask for; `super_parent` is the one that rows chose."""

    def tried(self, info: Information, names: Sequence[str]) -> Mapping[int, Sequence[Term]]:
        """The terms of each super-parent that is to be tried on the rows."""
        return {}

    def example(self, names: Sequence[str]) -> Sequence[Term]:
        """The terms where no count says anything: attributes in the order of the columns."""
        d = len(names)
        nothing = np.zeros((d, d))
        info = Information(np.zeros(d), nothing, beyond=nothing, names=tuple(names))
        return self.shape(info, names, 0 if self.by_rows and d else None).terms


def needed_sets(terms: Sequence[Term], d: int) -> list[Family]:
    """The sets whose counts some terms need; every attribute alone, too."""
    return families_of([*(Term(i, ()) for i in range(d)), *terms])


def shape_of_terms(
    order: Sequence[int], terms: Sequence[Term], super_parent: int | None = None
) -> Shape:
    """The shape of a collection."""
    structure = Structure(tuple(order), ((),) * len(order))
    used = tuple(sorted({v for term in terms for v in term.family}))
    return Shape(structure, used, None, tuple(terms), super_parent)


def small_sets(d: int, size: int) -> list[Family]:
    """All sets of so many attributes or fewer, smaller ones first."""
    return [s for n in range(1, size + 1) for s in combinations(range(d), n)]


@dataclass(frozen=True)
class GivenTerms(TermRule):
    """What the user says."""

    given: Given

    def early(self, names: Sequence[str]) -> list[Family]:
        return needed_sets(given_terms(self.given, names), len(names))

    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        return shape_of_terms(info.order, given_terms(self.given, names))


@dataclass(frozen=True)
class OrderedTerms(TermRule):
    """An architecture over an order of the attributes; `first` is how many of it may be parents."""

    architecture: Architecture
    order: Order = "schema"
    first: int | None = None

    @property
    def by_gain(self) -> bool:
        return needs_pairs(self.order)

    def early(self, names: Sequence[str]) -> list[Family]:
        schema = range(len(names))
        if self.first is None or self.order == "schema":
            # Without a limit the sets are the same in every order.
            return self._all_sets(schema, names)
        return small_sets(len(names), 2 if self.by_gain else 1)

    def _all_sets(self, order: Sequence[int], names: Sequence[str]) -> list[Family]:
        """The sets to count, once the order is known."""
        return needed_sets(self.architecture(order, self.first), len(names))

    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        order = ordered(info, self.order)
        return shape_of_terms(order, self.architecture(order, self.first))


@dataclass(frozen=True)
class SuperParentTerms(OrderedTerms):
    """An architecture whose first attribute is a super-parent: by name, or `auto` by gain."""

    superparent: str = AUTO

    @property
    def by_gain(self) -> bool:
        return self.superparent == AUTO or needs_pairs(self.order)

    def early(self, names: Sequence[str]) -> list[Family]:
        if self.superparent == AUTO:
            return small_sets(len(names), 2)
        return super().early(names)

    def _all_sets(self, order: Sequence[int], names: Sequence[str]) -> list[Family]:
        first = position_of(self.superparent, names, "superparent")
        return super()._all_sets(behind(first, order), names)

    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        order = ordered(info, self.order)
        if not order:
            return shape_of_terms((), ())
        if self.superparent == AUTO:
            first = best_super_parent(info)
        else:
            first = position_of(self.superparent, names, "superparent")
        return self._behind(first, order)

    def _behind(self, first: int, order: Sequence[int]) -> Shape:
        order = behind(first, order)
        return shape_of_terms(order, self.architecture(order, self.first), first)


@dataclass(frozen=True)
class TriedSuperParents(SuperParentTerms):
    """The same with the super-parent that the training rows choose."""

    by_rows: ClassVar[bool] = True

    @property
    def by_gain(self) -> bool:
        return needs_pairs(self.order)

    def early(self, names: Sequence[str]) -> list[Family]:
        return OrderedTerms.early(self, names)

    def _all_sets(self, order: Sequence[int], names: Sequence[str]) -> list[Family]:
        terms = [t for s in order for t in self._behind(s, order).terms]
        return needed_sets(terms, len(names))

    def tried(self, info: Information, names: Sequence[str]) -> Mapping[int, Sequence[Term]]:
        order = ordered(info, self.order)
        return {s: self._behind(s, order).terms for s in range(len(order))}

    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        order = ordered(info, self.order)
        if super_parent is None:
            return shape_of_terms(order, ())
        return self._behind(super_parent, order)
