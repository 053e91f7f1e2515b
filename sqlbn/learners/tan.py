"""Tree-augmented naive Bayes: each attribute depends on at most one other."""

from __future__ import annotations

from typing import ClassVar

from sqlbn.counts.cover import Family
from sqlbn.learners.base import Decider, Learner
from sqlbn.learners.registry import register
from sqlbn.search.dependence import decide_tree
from sqlbn.structure.information import Information, pair_families
from sqlbn.structure.shape import Structure, spanning_tree


@register
class Tan(Learner):
    """The tree of strongest links between attributes given the class."""

    name: ClassVar[str] = "tan"
    has_leave_one_out: ClassVar[bool] = True
    summary: ClassVar[str] = "tree-augmented naive Bayes: one parent each, a spanning tree"

    def families(self, d: int) -> list[Family]:
        return super().families(d) + pair_families(d)

    def structure(self, info: Information) -> Structure:
        return spanning_tree(info)

    @property
    def decider(self) -> Decider | None:
        return decide_tree
