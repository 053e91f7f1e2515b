"""Selective naive Bayes: every attribute has a weight, from Bayesian selection and averaging."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlbn.learners.base import Learner, Weighing
from sqlbn.learners.registry import register
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure, no_parents


@register
class Snb(Learner):
    """Naive Bayes whose attributes count in part: no parameter is left to choose."""

    name: ClassVar[str] = "snb"
    summary: ClassVar[str] = "selective naive Bayes: attributes weighted by averaging models"
    weighs: ClassVar[bool] = True
    discretises: ClassVar[str] = "modl"

    def __init__(self, map: bool = False) -> None:
        self._weighing = Weighing(single=map)

    @property
    def weighing(self) -> Weighing:
        return self._weighing

    def structure(self, info: Information) -> Structure:
        return no_parents(info)

    def options(self) -> dict[str, Any]:
        return {"map": True} if self._weighing.single else {}
