"""Selective naive Bayes: every attribute has a weight, from Bayesian selection and averaging."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.kinds.product.refinements import Weighted
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register


@register
class Snb(Learner):
    """Naive Bayes whose attributes count in part: no parameter is left to choose."""

    name: ClassVar[str] = "snb"
    summary: ClassVar[str] = "selective naive Bayes: attributes weighted by averaging models"
    discretises: ClassVar[str] = "modl"

    def __init__(self, map: bool = False) -> None:
        self._weighted = Weighted(single=map)

    @property
    def kind(self) -> Kind:
        return ProductKind(self._weighted)

    def options(self) -> dict[str, Any]:
        return {"map": True} if self._weighted.single else {}
