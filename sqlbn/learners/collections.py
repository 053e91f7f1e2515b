"""Collections: for each attribute a sum over parent sets takes the place of a single one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sqlbn.errors import SqlbnWarning, opt
from sqlbn.learners.base import (
    Architecture,
    Collecting,
    Learner,
    Smooths,
)
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import AUTO, checked_order, given_terms, read_given
from sqlbn.structure.shape import Structure, no_parents


@register
class Collection(Learner):
    """Parent sets that the user gives."""

    name: ClassVar[str] = "collection"
    summary: ClassVar[str] = "a collection of parent sets of your own, with weights"
    smooths: ClassVar[Smooths] = Smooths("laplace", "ignore")
    has_backoff: ClassVar[bool] = False

    def __init__(self, parents: Any = None) -> None:
        self._collecting = Collecting("given", given=read_given(parents or {}))

    @property
    def collecting(self) -> Collecting:
        return self._collecting

    def check(self, names: Sequence[str]) -> None:
        given_terms(self._collecting.given, names)
        if not self._collecting.given:
            warnings.warn(
                f"a collection without parent sets is naive Bayes; name some by {opt('parents')}",
                SqlbnWarning,
                stacklevel=2,
            )

    def structure(self, info: Information) -> Structure:
        return no_parents(info)

    def options(self) -> dict[str, Any]:
        given = self._collecting.given
        return {"parents": {name: [s.plain for s in sets] for name, sets in given.items()}}


class _Architecture(Learner):
    """A collection whose parent sets follow from an order of the attributes."""

    architecture: ClassVar[Architecture]
    by_rows: ClassVar[bool] = False
    smooths: ClassVar[Smooths] = Smooths("laplace", "ignore")
    has_backoff: ClassVar[bool] = False

    def __init__(self, order: str = "schema", parents_from_first: int | None = None) -> None:
        self._collecting = Collecting(
            self.architecture,
            order=checked_order(order),
            first=checked("parents_from_first", parents_from_first),
            by_rows=self.by_rows,
        )

    @property
    def collecting(self) -> Collecting:
        return self._collecting

    @property
    def uses_pairs(self) -> bool:
        return self.orders_by_gain

    @property
    def orders_by_gain(self) -> bool:
        return self._collecting.by_gain

    def structure(self, info: Information) -> Structure:
        return no_parents(info)

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"order": self._collecting.order}
        if self._collecting.first is not None:
            found["parents_from_first"] = self._collecting.first
        return found


@register
class Fanc(_Architecture):
    """All forests at once: no parent, and each earlier attribute."""

    name: ClassVar[str] = "fanc"
    summary: ClassVar[str] = "FAN collection: the sum over all single parents"
    architecture: ClassVar[Architecture] = "fanc"


@register
class Tc(_Architecture):
    """No parent, each earlier attribute, each pair of them."""

    name: ClassVar[str] = "tc"
    summary: ClassVar[str] = "tree collection: the sum over all single parents and pairs"
    architecture: ClassVar[Architecture] = "tc"


@register
class Spc(_Architecture):
    """As fanc, with and without a super parent beside each."""

    name: ClassVar[str] = "spc"
    summary: ClassVar[str] = "super-parent collection: fanc with a super parent beside each"
    architecture: ClassVar[Architecture] = "spc"

    def __init__(
        self,
        superparent: str = AUTO,
        order: str = "schema",
        parents_from_first: int | None = None,
    ) -> None:
        super().__init__(order, parents_from_first)
        self._collecting = replace(self._collecting, superparent=superparent)

    @property
    def named(self) -> str | None:
        name = self._collecting.superparent
        return name if name != AUTO else None

    def options(self) -> dict[str, Any]:
        return {"superparent": self._collecting.superparent, **super().options()}


@register
class Spcr(_Architecture):
    """spc with the super parent that tells the classes of the training rows best."""

    name: ClassVar[str] = "spcr"
    summary: ClassVar[str] = "spc whose super parent is chosen on the training rows"
    architecture: ClassVar[Architecture] = "spc"
    by_rows: ClassVar[bool] = True
