"""Forest-augmented naive Bayes: a parent only where a score of the network gains by it."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlbn.kinds.kind import Kind, Needs
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner, Smooths
from sqlbn.learners.registry import register
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import checked_order, needs_pairs, ordered
from sqlbn.structure.shape import Structure, checked_score, forest


@register
class Fan(Learner):
    """The forest of links between attributes with the highest score."""

    name: ClassVar[str] = "fan"
    summary: ClassVar[str] = "forest-augmented naive Bayes: one parent each where a score gains"
    smooths: ClassVar[Smooths] = Smooths("laplace", "ignore")
    has_backoff: ClassVar[bool] = False

    def __init__(self, score: str = "bic", order: str = "mi") -> None:
        self._score = checked_score(score)
        self.order = checked_order(order)

    @property
    def needs(self) -> Needs:
        return Needs(pairs=True, bare_pairs=needs_pairs(self.order), score=self._score)

    @property
    def kind(self) -> Kind:
        return ProductKind()

    def structure(self, info: Information) -> Structure:
        order = ordered(info, self.order)
        if info.gains is None:
            return Structure(tuple(order), ((),) * len(order))
        return forest(info.gains, order)

    def options(self) -> dict[str, Any]:
        return {"score": self._score, "order": self.order}
