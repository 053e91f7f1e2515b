"""Naive Bayes: no attribute depends on another."""

from __future__ import annotations

from typing import ClassVar

from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure, no_parents


@register
class Nb(Learner):
    """One counting pass over single attributes."""

    name: ClassVar[str] = "nb"
    has_leave_one_out: ClassVar[bool] = True
    summary: ClassVar[str] = "naive Bayes: attributes independent given the class"

    def structure(self, info: Information) -> Structure:
        return no_parents(info)
