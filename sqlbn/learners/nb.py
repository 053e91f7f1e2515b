"""Naive Bayes: no attribute depends on another."""

from __future__ import annotations

from typing import ClassVar

from sqlbn.kinds.ensemble.ensemble_kind import averaged
from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked


@register
class Nb(Learner):
    """One counting pass over single attributes."""

    name: ClassVar[str] = "nb"
    summary: ClassVar[str] = "naive Bayes: attributes independent given the class"

    def __init__(self, members: int = 1) -> None:
        self._members = int(checked("members", members))

    @property
    def kind(self) -> Kind:
        return averaged(ProductKind(), self._members)
