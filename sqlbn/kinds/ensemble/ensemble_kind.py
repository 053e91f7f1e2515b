"""Ensembles: the mean of the probabilities of several products, each in an order of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import literal
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.ensemble.ensemble_fit import EnsembleFit, finish_ensemble
from sqlbn.kinds.ensemble.ensemble_mean import MEANS
from sqlbn.kinds.ensemble.ensemble_query import ensemble_scores, folded_sums, mean_scores
from sqlbn.kinds.ensemble.member_weights import reweighed
from sqlbn.kinds.ensemble.members import ensemble_shape, member_families, read_members
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import (
    Added,
    Covered,
    Fitting,
    Job,
    Kind,
    Outline,
    Readable,
    Rederived,
    Scoring,
    Selection,
    StructureLearner,
    Titled,
    weights_stay,
)
from sqlbn.kinds.product.long_form import in_quickest_form
from sqlbn.kinds.product.product_kind import ProductKind, ProductScoring, chains_document
from sqlbn.kinds.product.refinements import Refinement, Selective
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape


@dataclass(frozen=True)
class EnsembleKind(Kind):
    """Several products of one learner; `refinement` is what is chosen of each after counting."""

    counts_sets: ClassVar[bool] = False
    members: int
    refinement: Refinement

    @property
    def options(self) -> frozenset[str]:
        return ProductKind(self.refinement).options | {"loocv_sample"}

    @property
    def selection(self) -> Selection | None:
        return self.refinement.selection if isinstance(self.refinement, Selective) else None

    @property
    def recuts(self) -> int:
        return self.members - 1

    def has_loo(self, smoothing: Smoothing) -> bool:
        return smoothing.has_loo

    def numbers_rows(self, with_loss: bool) -> bool:
        return True

    def fitting(self, job: Job) -> Fitting:
        return EnsembleFit(job, self.members, self.refinement)

    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        return ProductKind(self.refinement).statements(encoded, names, learner)

    def read_shape(
        self, workspace: Workspace, meta: Mapping[str, str], books: Sequence[Codebook], shape: Shape
    ) -> Shape:
        members = read_members(workspace, [book.name for book in books])
        if meta.get("mean") == "arithmetic":
            members = tuple(member.evenly_weighted(None) for member in members)
        shifts = {}
        if "class_shifts" in workspace.names():
            listed = workspace.read("class_shifts", "class", "shift")
            shifts = {str(name): float(shift) for name, shift in listed}
        return replace(shape, members=members, shifts=shifts)

    def wanted(self, outline: Outline, info: Information) -> Shape:
        return ensemble_shape(info, outline.shape.members, outline.shape.shifts)

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        notes = (*self.kept_notes, *([weights_stay()] if outline.shape.shifts else []))
        return Rederived(self.wanted(outline, info), notes)

    @property
    def kept_notes(self) -> tuple[str, ...]:
        return ("the members stay as they are: their orders, parents, selection and mean",)

    def sets(self, shape: Shape) -> list[Family]:
        return list(member_families(shape.members).values())

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return FamilyCounts(workspace, encoded, member_families(shape.members))

    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        shape, smoothing = added.shape, outline.smoothing
        if added.at_hand is not None:
            with progress.stage("weights", "weights by leave-one-out", added.at_hand.rows):
                shape = reweighed(
                    added.counts,
                    shape,
                    added.class_counts,
                    smoothing,
                    outline.weightings,
                    self.loss,
                    added.at_hand,
                )
        finish_ensemble(added.counts, shape, added.books, added.info, smoothing, progress)


def averaged(kind: ProductKind, members: int) -> Kind:
    """A product, or an ensemble of so many of them."""
    return kind if members == 1 else EnsembleKind(members, kind.refinement)


def _read_factors(workspace: Workspace, n_members: int) -> tuple[tuple[int, ...], ...]:
    """The numbers of the factors of every member."""
    factors: list[list[int]] = [[] for _ in range(n_members)]
    for number, member in workspace.read("member_factors", "factor", "member", order=["factor"]):
        factors[member].append(int(number))
    known = [int(row[0]) for row in workspace.read("factors", "factor", order=["factor"])]
    if sorted(n for numbers in factors for n in numbers) != known:
        raise ValueError("member_factors: not every factor once")
    return tuple(map(tuple, factors))


def _readable(names: Sequence[str], shapes: Sequence[Shape]) -> dict[str, Readable]:
    return {
        f"{member}_{names[i]}": Readable(i, member * len(names) + i, family)
        for member, shape in enumerate(shapes)
        for i, family in shape.families.items()
    }


@dataclass(frozen=True)
class GeometricScoring(ProductScoring):
    """A product of all members: their weights are in the tables."""

    marker: ClassVar[str] = "members"
    mixture: ClassVar[str] = "a mean of several networks"
    nearest: ClassVar[str] = "skdb or kdb"
    shapes: tuple[Shape, ...] = ()

    def readable(
        self, names: Sequence[str], selected: Sequence[int], parents: Sequence[tuple[int, ...]]
    ) -> dict[str, Readable]:
        return _readable(names, self.shapes)


@dataclass(frozen=True)
class EnsembleScoring(Scoring):
    """The sums of every member's factors, and the arithmetic mean of what they say."""

    marker: ClassVar[str] = "members"
    mixture: ClassVar[str] = GeometricScoring.mixture
    nearest: ClassVar[str] = GeometricScoring.nearest
    shapes: tuple[Shape, ...]
    factors: tuple[tuple[int, ...], ...]

    @classmethod
    def read(cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing) -> Scoring:
        said = [row[0] for row in workspace.read("meta", "value", where=f"key = {literal('mean')}")]
        mean = next((mean for mean in MEANS if said == [mean]), None)
        if mean is None:
            raise ValueError(f"meta.mean is none of {', '.join(MEANS)}")
        shapes = read_members(workspace, [book.name for book in books])
        factors = _read_factors(workspace, len(shapes))
        return GeometricScoring(shapes) if mean == "geometric" else cls(shapes, factors)

    @property
    def name(self) -> str:
        return "ensemble"

    def readable(
        self, names: Sequence[str], selected: Sequence[int], parents: Sequence[tuple[int, ...]]
    ) -> dict[str, Readable]:
        return _readable(names, self.shapes)

    @property
    def joins_factors(self) -> bool:
        return True

    @property
    def has_long_form(self) -> bool:
        return True

    def stages(self, scorer: Scorer) -> Sequence[Scorer]:
        known = {factor.number: factor for factor in scorer.factors}
        return [
            replace(scorer, factors=tuple(known[n] for n in numbers), scoring=ProductScoring())
            for numbers in self.factors
        ]

    def folded(self, scored: str, is_first: bool, scorer: Scorer) -> str:
        n = len(scorer.class_names)
        return folded_sums(scored, n, is_first, scorer.kept, scorer.dialect)

    def from_sums(self, summed: str, scorer: Scorer) -> str:
        n, members = len(scorer.class_names), len(self.factors)
        return mean_scores(summed, n, members, scorer.kept, scorer.dialect)

    @contextmanager
    def prepared(
        self, session: Session, scorer: Scorer, source: Source, progress: Progress
    ) -> Iterator[Scorer]:
        with in_quickest_form(session, scorer, source, progress) as formed:
            yield formed

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        return ensemble_scores(scorer, coded, self.factors, reorder)

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        members = [chains_document(workspace, member) for member in self.stages(scorer)]
        return {"members": [{"chains": chains} for chains in members]}
