"""Collections: for each attribute a sum over parent sets takes the place of a single one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from sqlbn.errors import SqlbnWarning, opt
from sqlbn.kinds.collection.collection_kind import CollectionKind
from sqlbn.kinds.kind import Kind, Needs
from sqlbn.learners.base import Learner, Smooths
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked
from sqlbn.structure.parent_sets import (
    AUTO,
    check_super_parent,
    checked_order,
    fanc_terms,
    given_terms,
    read_given,
    spc_terms,
    tc_terms,
)
from sqlbn.structure.term_rules import (
    GivenTerms,
    OrderedTerms,
    SuperParentTerms,
    TermRule,
    TriedSuperParents,
)


class _Collection(Learner):
    """A collection by some rule."""

    smooths: ClassVar[Smooths] = Smooths("laplace", "ignore")
    has_backoff: ClassVar[bool] = False
    rule: TermRule

    @property
    def needs(self) -> Needs:
        return Needs(pairs=self.rule.by_gain, bare_pairs=self.rule.by_gain)

    @property
    def kind(self) -> Kind:
        return CollectionKind(self.rule)


@register
class Collection(_Collection):
    """Parent sets that the user gives."""

    name: ClassVar[str] = "collection"
    summary: ClassVar[str] = "a collection of parent sets of your own, with weights"
    rule: GivenTerms

    def __init__(self, parents: Any = None) -> None:
        self.rule = GivenTerms(read_given(parents or {}))

    def check(self, names: Sequence[str]) -> None:
        given_terms(self.rule.given, names)
        if not self.rule.given:
            warnings.warn(
                f"a collection without parent sets is naive Bayes; name some by {opt('parents')}",
                SqlbnWarning,
                stacklevel=2,
            )

    def options(self) -> dict[str, Any]:
        given = self.rule.given
        return {"parents": {name: [s.plain for s in sets] for name, sets in given.items()}}


class _Ordered(_Collection):
    """A collection whose parent sets follow from an order of the attributes."""

    rule: OrderedTerms

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"order": self.rule.order}
        if self.rule.first is not None:
            found["parents_from_first"] = self.rule.first
        return found


@register
class Fanc(_Ordered):
    """All forests at once: no parent, and each earlier attribute."""

    name: ClassVar[str] = "fanc"
    summary: ClassVar[str] = "FAN collection: the sum over all single parents"

    def __init__(self, order: str = "schema", parents_from_first: int | None = None) -> None:
        self.rule = OrderedTerms(fanc_terms, checked_order(order), _checked(parents_from_first))


@register
class Tc(_Ordered):
    """No parent, each earlier attribute, each pair of them."""

    name: ClassVar[str] = "tc"
    summary: ClassVar[str] = "tree collection: the sum over all single parents and pairs"

    def __init__(self, order: str = "schema", parents_from_first: int | None = None) -> None:
        self.rule = OrderedTerms(tc_terms, checked_order(order), _checked(parents_from_first))


@register
class Spc(_Ordered):
    """As fanc, with and without a super-parent beside each."""

    name: ClassVar[str] = "spc"
    summary: ClassVar[str] = "super-parent collection: fanc with a super parent beside each"
    rule: SuperParentTerms

    def __init__(
        self,
        superparent: str = AUTO,
        order: str = "schema",
        parents_from_first: int | None = None,
    ) -> None:
        first = _checked(parents_from_first)
        self.rule = SuperParentTerms(spc_terms, checked_order(order), first, superparent)

    def check(self, names: Sequence[str]) -> None:
        check_super_parent(self.rule.superparent, names)

    def options(self) -> dict[str, Any]:
        return {"superparent": self.rule.superparent, **super().options()}


@register
class Spcr(_Ordered):
    """spc with the super-parent that tells the classes of the training rows best."""

    name: ClassVar[str] = "spcr"
    summary: ClassVar[str] = "spc whose super parent is chosen on the training rows"

    def __init__(self, order: str = "schema", parents_from_first: int | None = None) -> None:
        self.rule = TriedSuperParents(spc_terms, checked_order(order), _checked(parents_from_first))


def _checked(parents_from_first: int | None) -> int | None:
    found: int | None = checked("parents_from_first", parents_from_first)
    return found
