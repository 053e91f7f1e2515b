"""Tree-augmented naive Bayes: each attribute depends on at most one other."""

from __future__ import annotations

from typing import ClassVar

from sqlbn.kinds.ensemble.ensemble_kind import averaged
from sqlbn.kinds.kind import Kind, Needs
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked
from sqlbn.search.dependence import decide_tree
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure, spanning_tree


@register
class Tan(Learner):
    """The tree of strongest links between attributes given the class."""

    name: ClassVar[str] = "tan"
    summary: ClassVar[str] = "tree-augmented naive Bayes: one parent each, a spanning tree"

    def __init__(self, members: int = 1) -> None:
        self._members = int(checked("members", members))

    @property
    def needs(self) -> Needs:
        return Needs(pairs=True)

    def structure(self, info: Information) -> Structure:
        return spanning_tree(info)

    @property
    def kind(self) -> Kind:
        return averaged(ProductKind(decide=decide_tree), self._members)
