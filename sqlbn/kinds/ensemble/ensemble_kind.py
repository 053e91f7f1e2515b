"""Ensembles: the mean of the probabilities of several products, each in an order of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import literal
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.ensemble.ensemble_fit import EnsembleFit, finish_ensemble
from sqlbn.kinds.ensemble.ensemble_mean import MEANS, Mean
from sqlbn.kinds.ensemble.ensemble_query import ensemble_scores, folded_sums, mean_scores
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
)
from sqlbn.kinds.product.product_fit import ProductFit
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
        found = {"structure_sample", "backoff", "weight", "loocv_sample"}
        return frozenset(found)

    @property
    def selection(self) -> Selection | None:
        return self.refinement.selection if isinstance(self.refinement, Selective) else None

    def has_loo(self, smoothing: Smoothing) -> bool:
        return smoothing.has_loo

    def numbers_rows(self, with_loss: bool) -> bool:
        return True

    def fitting(self, job: Job) -> Fitting:
        # Encodings are compared by the first member: it stands for the others.
        if job.is_trial:
            return ProductFit(job, self.refinement)
        return EnsembleFit(job, self.members, self.selection)

    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        return ProductKind(self.refinement).statements(encoded, names, learner)

    def read_shape(
        self, workspace: Workspace, meta: Mapping[str, str], books: Sequence[Codebook], shape: Shape
    ) -> Shape:
        return replace(shape, members=read_members(workspace, [book.name for book in books]))

    def wanted(self, outline: Outline, info: Information) -> Shape:
        return ensemble_shape(info, outline.shape.members)

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        return Rederived(self.wanted(outline, info), self.kept_notes)

    @property
    def kept_notes(self) -> tuple[str, ...]:
        return ("the members stay as they are: their orders, parents, selection and mean",)

    def sets(self, shape: Shape) -> list[Family]:
        return list(member_families(shape.members).values())

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return FamilyCounts(workspace, encoded, member_families(shape.members))

    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        smoothing = outline.smoothing
        finish_ensemble(added.counts, added.shape, added.books, added.info, smoothing, progress)


@dataclass(frozen=True)
class EnsembleScoring(Scoring):
    """The sums of every member's factors, and a mean of what they say."""

    marker: ClassVar[str] = "members"
    mixture: ClassVar[str] = "a mean of several networks"
    nearest: ClassVar[str] = "skdb or kdb"
    mean: Mean
    shapes: tuple[Shape, ...]
    factors: tuple[tuple[int, ...], ...]

    @classmethod
    def read(
        cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
    ) -> EnsembleScoring:
        said = [row[0] for row in workspace.read("meta", "value", where=f"key = {literal('mean')}")]
        mean = next((mean for mean in MEANS if said == [mean]), None)
        if mean is None:
            raise ValueError(f"meta.mean is none of {', '.join(MEANS)}")
        shapes = read_members(workspace, [book.name for book in books])
        factors: list[list[int]] = [[] for _ in shapes]
        for number, member in workspace.read(
            "member_factors", "factor", "member", order=["factor"]
        ):
            factors[member].append(int(number))
        known = [int(row[0]) for row in workspace.read("factors", "factor", order=["factor"])]
        if sorted(n for numbers in factors for n in numbers) != known:
            raise ValueError("member_factors: not every factor once")
        return cls(mean, shapes, tuple(map(tuple, factors)))

    @property
    def name(self) -> str:
        return "ensemble"

    def readable(
        self, names: Sequence[str], selected: Sequence[int], parents: Sequence[tuple[int, ...]]
    ) -> dict[str, Readable]:
        return {
            f"{member}_{names[i]}": Readable(i, member * len(names) + i, family)
            for member, shape in enumerate(self.shapes)
            for i, family in shape.families.items()
        }

    @property
    def joins_factors(self) -> bool:
        return True

    def stages(self, scorer: Scorer) -> Sequence[Scorer]:
        known = {factor.number: factor for factor in scorer.factors}
        return [
            replace(scorer, factors=tuple(known[n] for n in numbers), scoring=ProductScoring())
            for numbers in self.factors
        ]

    def folded(self, scored: str, is_first: bool, scorer: Scorer) -> str:
        n = len(scorer.class_names)
        return folded_sums(scored, n, self.mean, is_first, scorer.kept, scorer.dialect)

    def from_sums(self, summed: str, scorer: Scorer) -> str:
        n, members = len(scorer.class_names), len(self.factors)
        return mean_scores(summed, n, self.mean, members, scorer.kept, scorer.dialect)

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        return ensemble_scores(scorer, coded, self.factors, self.mean, reorder)

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        members = [chains_document(workspace, member) for member in self.stages(scorer)]
        return {"mean": self.mean, "members": [{"chains": chains} for chains in members]}
