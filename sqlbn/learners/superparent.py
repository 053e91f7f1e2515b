"""Super-parent classifier: one attribute is a parent of all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlbn.kinds.kind import Kind, Needs
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner, Smooths
from sqlbn.learners.registry import register
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import (
    AUTO,
    best_super_parent,
    check_super_parent,
    checked_order,
    needs_pairs,
    ordered,
    position_of,
)
from sqlbn.structure.shape import Structure, star


@register
class SuperParent(Learner):
    """Naive Bayes in which every attribute also depends on the same one."""

    name: ClassVar[str] = "superparent"
    summary: ClassVar[str] = "super-parent classifier: all others depend on one attribute"
    smooths: ClassVar[Smooths] = Smooths("laplace", "ignore")
    has_backoff: ClassVar[bool] = False

    def __init__(self, superparent: str = AUTO, order: str = "mi") -> None:
        self.superparent = superparent
        self.order = checked_order(order)

    @property
    def needs(self) -> Needs:
        by_gain = self.superparent == AUTO or needs_pairs(self.order)
        return Needs(pairs=by_gain, bare_pairs=by_gain)

    @property
    def kind(self) -> Kind:
        return ProductKind()

    def check(self, names: Sequence[str]) -> None:
        check_super_parent(self.superparent, names)

    def structure(self, info: Information) -> Structure:
        order = ordered(info, self.order)
        if not order:
            return Structure((), ())
        return star(self._center(info), order)

    def chosen(self, info: Information, structure: Structure) -> dict[str, Any]:
        return {"superparent": info.names[structure.order[0]]} if structure.order else {}

    def _center(self, info: Information) -> int:
        if self.superparent == AUTO:
            return best_super_parent(info)
        return position_of(self.superparent, info.names, "superparent")

    def options(self) -> dict[str, Any]:
        return {"superparent": self.superparent, "order": self.order}
