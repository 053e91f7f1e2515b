"""The fit of a product: structure, counts of families, what a refinement keeps of them, tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.progress import Progress
from sqlbn.errors import ColumnError
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import Decider, count_information, decide_structure
from sqlbn.kinds.kind import Fitting, Job, Selection
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import ArrayLoo, suits_arrays
from sqlbn.kinds.product.attribute_weights import search_weights
from sqlbn.kinds.product.factor_tables import FactorTables
from sqlbn.kinds.product.product_selection import fixed_loss, select, selected_array_loss
from sqlbn.kinds.selection import chosen_loss
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided
from sqlbn.search.methods import search_network
from sqlbn.search.search_options import Searching
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


@dataclass(frozen=True)
class Refined:
    """The counts and the shape that are kept, and what is noted of the choice."""

    counts: FamilyCounts
    shape: Shape
    chosen: Mapping[str, Any]


class Refinement(ABC):
    """What is chosen of a product when its families have been counted."""

    # What a change cannot choose again, told to the user.
    kept_notes: tuple[str, ...] = ()
    has_loo = True

    @abstractmethod
    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        """Choose."""

    def follow(self, shape: Shape, job: Job, info: Information) -> Shape:
        """The shape of a model to follow, on these rows."""
        return shape

    @abstractmethod
    def again(self, now: Shape, structure: Structure) -> Shape:
        """The shape of a changed model in which the choice stays as it was."""

    def array_loss(self, passes: ArrayLoo, depth: int) -> float:
        """The RMSE by leave-one-out in arrays; `depth` is the largest number of parents."""
        return float(passes.surface([depth])["rmse"][0, -1])

    def loo_loss(self, job: Job, refined: Refined, loss: Loss) -> float:
        """The loss by leave-one-out."""
        order, classes = refined.shape.structure.order, job.prepared.class_counts
        return fixed_loss(refined.counts, order, classes, job.smoothing, loss)


class Whole(Refinement):
    """All attributes with all their parents."""

    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        return Refined(counts, Shape.whole(structure), {})

    def again(self, now: Shape, structure: Structure) -> Shape:
        return Shape.whole(structure)


@dataclass(frozen=True)
class Selective(Refinement):
    """How many parents, and how many of the first attributes: by leave-one-out."""

    selection: Selection
    kept_notes = ("the selection by leave-one-out stays as it is",)

    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        depth = max(map(len, structure.parents), default=0)
        best = select(
            counts,
            structure.order,
            job.prepared.class_counts,
            job.smoothing,
            self.selection.within(depth, job.encoded.limits),
            job.loocv_sample,
            job.progress,
            job.is_trial,
        )
        n = best.n_attributes
        shape = Shape.selective(structure, best.k, n)
        if not job.is_trial:
            with job.progress.stage("cut back", f"keeping {n} attributes with k = {best.k}"):
                counts = counts.cut_back(shape.families)
        return Refined(counts, shape, shape.chosen)

    def again(self, now: Shape, structure: Structure) -> Shape:
        return Shape.selective(structure, now.k, len(now.selected))

    def array_loss(self, passes: ArrayLoo, depth: int) -> float:
        return selected_array_loss(passes, self.selection.within(depth, passes.limits))

    def loo_loss(self, job: Job, refined: Refined, loss: Loss) -> float:
        chosen = refined.shape.chosen
        k, n_attributes = chosen["selected_k"], chosen["selected_attributes"]
        return chosen_loss(job.workspace, loss, k, n_attributes)


@dataclass(frozen=True)
class Weighted(Refinement):
    """Weights of attributes from a search over subsets: of all models tried, or of the best one."""

    single: bool
    kept_notes = ("the weights of the attributes stay as they are",)
    has_loo = False

    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        seed = job.workspace.session.settings.seed
        found = search_weights(counts, job.prepared.class_counts, job.smoothing, seed, job.progress)
        single = tuple(float(i in found.best) for i in counts.families)
        weights = single if self.single else found.weights
        used = tuple(i for i in counts.families if weights[i] > 0)
        shape = Shape(structure, used, weights=weights)
        noted = ("cost", "null_cost", "evaluations")
        chosen = {name: getattr(found, name) for name in noted}
        return Refined(counts.cut_back(shape.families), shape, chosen)

    def follow(self, shape: Shape, job: Job, info: Information) -> Shape:
        return replace(shape, structure=job.learner.structure(info))

    def again(self, now: Shape, structure: Structure) -> Shape:
        return replace(now, structure=structure)


class ProductFit(Fitting):
    """Parents from counts of pairs, or by decisions that a bound is sure of."""

    info: Information
    refined: Refined
    title = "pass 2: counting families"

    def __init__(self, job: Job, refinement: Refinement, decide: Decider | None = None) -> None:
        super().__init__(job)
        self._refinement, self._decide = refinement, decide
        self._decided: Decided | None = None
        self._arrays: ArrayLoo | None = None
        self._depth = 0

    def count(self) -> None:
        job = self.job
        if job.rule is not None and self._decide is not None and job.shape is None:
            self._decided, info = decide_structure(job, job.rule, self._decide)
            self._decided.write(job.workspace, job.names)
        else:
            info = count_information(job)
        self.info = replace(info, names=job.names)

    def structure(self) -> None:
        job, follows = self.job, self.job.shape
        structure = self._parents() if follows is None else follows.structure
        families: Mapping[int, Family] = (
            {i: (i, *parents) for i, parents in enumerate(structure.parents)}
            if follows is None
            else follows.families
        )
        if job.is_trial and self._is_quick():
            self._use_arrays(families, structure)
            return
        with job.progress.stage("parameters", self.title, job.encoded.rows, len(families)):
            counts = count_families(
                job.workspace, job.encoded, families, advance=job.progress.advance
            )
        if follows is None:
            self.refined = self._refinement.refine(job, counts, structure)
        else:
            shape = self._refinement.follow(follows, job, self.info)
            self.refined = Refined(counts, shape, shape.chosen)
        self.chosen |= {
            **self.refined.chosen,
            **job.learner.chosen(self.info, self.refined.shape.structure),
            **_confidence(self._decided, job.rule),
        }

    def _parents(self) -> Structure:
        """The structure that the counts ask for."""
        if self._decided is not None:
            return self._decided.structure
        return self.job.learner.structure(self.info)

    def _is_quick(self) -> bool:
        """Whether a trial is one of few rows, whose RMSE is found without counts."""
        chosen = self._refinement
        loss = chosen.selection.loss if isinstance(chosen, Selective) else "rmse"
        return loss == "rmse" and suits_arrays(self.job.encoded)

    def _use_arrays(self, families: Mapping[int, Family], structure: Structure) -> None:
        job = self.job
        self._depth = max((len(family) - 1 for family in families.values()), default=0)
        self._arrays = ArrayLoo(
            job.workspace.session,
            job.encoded,
            families,
            structure.order,
            job.prepared.class_counts,
            job.smoothing,
        )

    def parameters(self) -> None:
        job, shape = self.job, self.refined.shape
        finish_product(
            self.refined.counts,
            job.prepared.books,
            self.info,
            shape.structure,
            job.smoothing,
            job.progress,
            shape.weights,
        )

    def loo_loss(self, loss: Loss) -> float:
        if self._arrays is not None:
            return self._refinement.array_loss(self._arrays, self._depth)
        return self._refinement.loo_loss(self.job, self.refined, loss)


class SearchedFit(ProductFit):
    """Parents from a search over networks; the decisions are a table of their own."""

    title = "counting parameters"

    def __init__(self, job: Job, refinement: Refinement, searching: Searching) -> None:
        super().__init__(job, refinement)
        self._searching = searching

    def count(self) -> None:
        prepared = self.job.prepared
        if not prepared.books and prepared.training.target == NO_CLASS:
            raise ColumnError(
                f"no column of {prepared.training.source.label} has two different values: there is "
                "no network to learn"
            )
        super().count()

    def _parents(self) -> Structure:
        job, searching = self.job, self._searching
        found = search_network(
            job.workspace.session, job.encoded, searching.method, searching.options, job.progress
        )
        found.log.write(job.workspace, job.names)
        self.chosen |= found.chosen
        return found.structure


def _confidence(decided: Decided | None, rule: Rule | None) -> dict[str, Any]:
    """What the meta table says of decisions by a bound."""
    if decided is None:
        return {}
    asked = ("bound", "delta", "delta_star", "tau", "block")
    given = {key: getattr(rule, key) for key in asked}
    return {"bound": given, "delta_star": decided.delta_star, "structure_rows": decided.rows}


def finish_product(
    counts: FamilyCounts,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    smoothing: Smoothing,
    progress: Progress,
    weights: Sequence[float] | None = None,
) -> None:
    """The tables of a product when its families have been counted."""
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        FactorTables(counts, smoothing, weights).make()
    write_structure(counts.workspace, books, info, structure, set(counts.families), weights)
