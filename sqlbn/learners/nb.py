"""Naive Bayes: no attribute depends on another."""

from __future__ import annotations

from typing import ClassVar

from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register


@register
class Nb(Learner):
    """One counting pass over single attributes."""

    name: ClassVar[str] = "nb"
    summary: ClassVar[str] = "naive Bayes: attributes independent given the class"

    @property
    def kind(self) -> Kind:
        return ProductKind()
