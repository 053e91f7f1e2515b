"""The shape of a model: what was decided from the rows, apart from all counts."""

from __future__ import annotations

from dataclasses import dataclass

from sqlbn.counts.cover import Family
from sqlbn.structure.parents import Structure
from sqlbn.structure.terms import Term


@dataclass(frozen=True)
class Shape:
    """The order of all attributes, the parents of each, and which attributes are used at all.

    `k` is how many parents a selection has left them; None where nothing was selected. A collection
    has `terms` instead of parents, and perhaps a super parent. `weights` are exponents of the
    attributes' probabilities, where not all count in full.
    """

    structure: Structure
    selected: tuple[int, ...]
    k: int | None = None
    terms: tuple[Term, ...] = ()
    super_parent: int | None = None
    weights: tuple[float, ...] | None = None

    @property
    def chosen(self) -> dict[str, int]:
        """What a selection chose, for the model's meta table."""
        if self.k is None:
            return {}
        return {"selected_k": self.k, "selected_attributes": len(self.selected)}

    @property
    def families(self) -> dict[int, Family]:
        """Each used attribute with its parents."""
        return {i: (i, *self.structure.parents[i]) for i in self.selected}

    @staticmethod
    def whole(structure: Structure) -> Shape:
        """All attributes with all their parents."""
        return Shape(structure, tuple(range(len(structure.order))))

    @staticmethod
    def selective(structure: Structure, k: int, n_attributes: int) -> Shape:
        """The first attributes of the order with the first k of their parents."""
        kept = tuple(sorted(structure.order[:n_attributes]))
        parents = tuple(p[:k] if i in kept else () for i, p in enumerate(structure.parents))
        return Shape(Structure(structure.order, parents), kept, k)
