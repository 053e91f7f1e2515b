"""How each kind of model is derived again from counts: its shape, its counts, its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.counts.subsets import SubsetCounts, subsets_of
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.encoded import Encoded
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.average.fit_average import average_of, finish_average
from sqlbn.kinds.collection.collection_tables import CountedTerms
from sqlbn.kinds.collection.fit_collection import Collectable, make_collection
from sqlbn.kinds.product.fit_product import finish_product
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.learners.fit_options import FitOptions
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure

Covered = Callable[[Family], bool]


@dataclass(frozen=True)
class Living:
    """A model as far as it outlives a change: options, shape, whether pairs are stored."""

    options: FitOptions
    names: tuple[str, ...]
    shape: Shape
    has_pairs: bool


@dataclass(frozen=True)
class Rederived:
    """The shape of a changed model, and what could not be found again without the old rows."""

    shape: Shape
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Added:
    """The counts of a changed model added up, and what they tell."""

    counts: FamilyCounts
    books: Sequence[Codebook]
    class_counts: Sequence[float]
    info: Information
    shape: Shape


class Kind(ABC):
    """A kind of model: a product, an average, a collection.

    `counts_sets`: its counts are those of sets of attributes, not of attributes with parents.
    """

    counts_sets: ClassVar[bool]

    def __init__(self, living: Living) -> None:
        self.living = living

    @abstractmethod
    def wanted(self, info: Information) -> Shape:
        """The shape that these counts ask for, selection left as it is."""

    @abstractmethod
    def sets(self, shape: Shape) -> list[Family]:
        """The sets of attributes whose counts that shape needs."""

    @abstractmethod
    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        """A table for them."""

    @abstractmethod
    def finish(self, added: Added, progress: Progress) -> None:
        """All further tables of the model."""

    def chosen(self, info: Information, shape: Shape) -> dict[str, Any]:
        """What is worth noting of the shape in the meta table."""
        return self.living.options.make_learner().chosen(info, shape.structure)

    def rederive(self, info: Information, covered: Covered) -> Rederived:
        """The best shape that the counts at hand can fill."""
        living, notes = self.living, list(self._selection_notes())
        learner = living.options.make_learner()
        if learner.searching is not None:
            notes.append("the structure stays as it is: it was searched for in rows, not in counts")
            return Rederived(living.shape, tuple(notes))
        if learner.uses_pairs and not living.has_pairs:
            notes.append("the structure stays as it is: pairs of attributes are not stored")
            return Rederived(living.shape, tuple(notes))
        shape = self.wanted(info)
        if all(covered(family) for family in self.sets(shape)):
            return Rederived(shape, tuple(notes))
        notes.append(
            "the structure stays as it is: the counts now ask for other parents, which were never "
            "counted together"
        )
        return Rederived(living.shape, tuple(notes))

    def _selection_notes(self) -> list[str]:
        learner = self.living.options.make_learner()
        if learner.weighing is not None:
            return ["the weights of the attributes stay as they are"]
        if learner.selection is None:
            return []
        return ["the selection by leave-one-out stays as it is"]


class ProductKind(Kind):
    """P(y) times P(x | parents, y) of every attribute."""

    counts_sets = False

    def wanted(self, info: Information) -> Shape:
        structure = self.living.options.make_learner().structure(info)
        now = self.living.shape
        if now.weights is not None:
            return replace(now, structure=structure)
        if now.k is None:
            return Shape.whole(structure)
        return Shape.selective(structure, now.k, len(now.selected))

    def sets(self, shape: Shape) -> list[Family]:
        return list(shape.families.values())

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return FamilyCounts(workspace, encoded, shape.families)

    def finish(self, added: Added, progress: Progress) -> None:
        shape, smoothing = added.shape, self.living.options.smoothing
        finish_product(
            added.counts,
            added.books,
            added.info,
            shape.structure,
            smoothing,
            progress,
            shape.weights,
        )


class AverageKind(Kind):
    """A mean of products over super parents."""

    counts_sets = True

    def wanted(self, info: Information) -> Shape:
        learner = self.living.options.make_learner()
        assert learner.averaging is not None
        structure = learner.structure(info)
        most = learner.averaging.attributes
        if learner.selection is not None:
            kept: Sequence[int] = self.living.shape.selected
        else:
            kept = structure.order[:most]
        return Shape(structure, tuple(sorted(kept)), self.living.shape.k)

    def rederive(self, info: Information, covered: Covered) -> Rederived:
        found = super().rederive(info, covered)
        # The order of the attributes is known whatever was counted together.
        order = Structure(tuple(info.order), found.shape.structure.parents)
        return Rederived(replace(found.shape, structure=order), found.notes)

    def sets(self, shape: Shape) -> list[Family]:
        learner = self.living.options.make_learner()
        assert learner.averaging is not None
        return subsets_of(shape.selected, learner.averaging.n + 1)

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return SubsetCounts(workspace, encoded, self.sets(shape))

    def finish(self, added: Added, progress: Progress) -> None:
        options = self.living.options
        averaging = options.make_learner().averaging
        counts, shape = added.counts, added.shape
        assert averaging is not None
        assert isinstance(counts, SubsetCounts)
        classes, smoothing = added.class_counts, options.smoothing
        averaged = average_of(counts, averaging, shape.selected, classes, smoothing)
        finish_average(averaged, added.books, added.info, shape.structure, progress)


class CollectionKind(Kind):
    """A product of sums over parent sets."""

    counts_sets = True

    @property
    def _collectable(self) -> Collectable:
        collecting = self.living.options.make_learner().collecting
        assert collecting is not None
        return Collectable(collecting, self.living.names)

    def wanted(self, info: Information) -> Shape:
        by_rows = self._collectable.collecting.by_rows
        return self._collectable.shape(info, self.living.shape.super_parent if by_rows else None)

    def _selection_notes(self) -> list[str]:
        if not self._collectable.collecting.by_rows:
            return []
        return ["the super parent stays as it is: the rows that chose it are not at hand"]

    def sets(self, shape: Shape) -> list[Family]:
        return self._collectable.needed(shape.terms)

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return SubsetCounts(workspace, encoded, self.sets(shape))

    def finish(self, added: Added, progress: Progress) -> None:
        counts, shape = added.counts, added.shape
        assert isinstance(counts, SubsetCounts)
        smoothing = self.living.options.smoothing
        with progress.stage("factors", "making the tables of probabilities"):
            terms = CountedTerms(counts, shape.terms, smoothing)
            make_collection(counts.workspace, terms, self.living.names)
        used = set(shape.selected)
        write_structure(counts.workspace, added.books, added.info, shape.structure, used)

    def chosen(self, info: Information, shape: Shape) -> dict[str, Any]:
        if shape.super_parent is None:
            return {}
        return {"superparent": self.living.names[shape.super_parent]}


def kind_of(living: Living) -> Kind:
    """The kind that a model is of."""
    learner = living.options.make_learner()
    if learner.averaging is not None:
        return AverageKind(living)
    return ProductKind(living) if learner.collecting is None else CollectionKind(living)
