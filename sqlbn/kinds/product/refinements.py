"""What is chosen of a product when its families have been counted: all, a part, or weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.relations import Encoded
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Job, Selection
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import ArrayLoo, suits_arrays
from sqlbn.kinds.product.attribute_weights import search_weights
from sqlbn.kinds.product.product_selection import fixed_loss, nested_losses, selected_array_model
from sqlbn.kinds.selection import NestedLosses, best_with_loss
from sqlbn.structure.information import DECIMALS, Information
from sqlbn.structure.shape import Choice, Shape, Structure


@dataclass(frozen=True)
class Refined:
    """The counts and the shape that are kept, and what is noted of the choice."""

    counts: FamilyCounts
    shape: Shape
    smoothing: Smoothing
    chosen: Mapping[str, Any]
    # By leave-one-out without weights, where it was found on the way.
    loss: float | None = None
    # With weights, by rows that these have not seen; what is then compared, smaller is better.
    weighted_loss: float | None = None
    score: float | None = None
    nested: NestedLosses | None = None

    @property
    def best_loss(self) -> float:
        """With weights, where there are any."""
        found = self.weighted_loss if self.weighted_loss is not None else self.loss
        return found if found is not None else math.nan

    def rank(self, loss: Loss) -> float:
        """What candidates are compared by, smaller is better."""
        if self.score is not None:
            return round(self.score, DECIMALS)
        value = self.loss if self.loss is not None else 0.0
        return round(-value if loss == "mcc" else value, DECIMALS)


def smoothings_of(job: Job) -> tuple[Smoothing, ...]:
    """Those to choose among; of few rows only the first."""
    tried = job.smoothings or (job.smoothing,)
    return tried if job.encoded.rows >= job.encoded.limits.choice_rows else tried[:1]


class Refinement(ABC):
    """What is chosen of a product when its families have been counted."""

    # What a change cannot choose again, told to the user.
    kept_notes: tuple[str, ...] = ()
    has_loo = True
    loss: Loss = "rmse"

    @abstractmethod
    def candidates(self, job: Job, counts: FamilyCounts, structure: Structure) -> list[Refined]:
        """The best model with each smoothing."""

    def kept(self, job: Job, best: Refined) -> Refined:
        """The best of them, with no more counts than it needs."""
        return best

    def follow(self, shape: Shape, job: Job, info: Information) -> Shape:
        """The shape of a model to follow, on these rows."""
        return shape

    @abstractmethod
    def again(self, now: Shape, structure: Structure) -> Shape:
        """The shape of a changed model in which the choice stays as it was."""

    def tries_in_arrays(self, codes: Encoded) -> bool:
        """Whether a trial is one of few rows, whose RMSE is found without tables of counts."""
        return self.loss == "rmse" and suits_arrays(codes)

    def array_model(self, passes: ArrayLoo, depth: int, is_rough: bool) -> tuple[Choice, float]:
        """What is kept by leave-one-out in arrays, and its RMSE.

        `depth` is the largest number of parents. A rough choice gives up early.
        """
        surface = passes.surface([depth])["rmse"]
        return Choice(depth, surface.shape[1] - 1), float(surface[0, -1])

    def loo_loss(self, job: Job, refined: Refined, loss: Loss) -> float:
        """The loss by leave-one-out."""
        if refined.loss is not None:
            return refined.loss
        order, classes = refined.shape.structure.order, job.prepared.class_counts
        return fixed_loss(refined.counts, order, classes, refined.smoothing, loss)


class Whole(Refinement):
    """All attributes with all their parents."""

    def candidates(self, job: Job, counts: FamilyCounts, structure: Structure) -> list[Refined]:
        shape, tried = Shape.whole(structure), smoothings_of(job)
        found = [Refined(counts, shape, smoothing, {}) for smoothing in tried]
        if len(tried) == 1:
            return found
        order, classes = structure.order, job.prepared.class_counts
        with job.progress.stage("loocv", "leave-one-out of both smoothings", job.encoded.rows):
            return [
                replace(r, loss=fixed_loss(counts, order, classes, r.smoothing, self.loss))
                for r in found
            ]

    def again(self, now: Shape, structure: Structure) -> Shape:
        return Shape.whole(structure)


@dataclass(frozen=True)
class Selective(Refinement):
    """How many parents, and how many of the first attributes: by leave-one-out."""

    selection: Selection
    kept_notes = ("the selection by leave-one-out stays as it is",)

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        """That of the selection."""
        return self.selection.loss

    def candidates(self, job: Job, counts: FamilyCounts, structure: Structure) -> list[Refined]:
        depth = max(map(len, structure.parents), default=0)
        selection, candidates = self.selection.within(depth, job.encoded.limits), list[Refined]()
        for smoothing in smoothings_of(job):
            nested = nested_losses(
                counts,
                structure.order,
                job.prepared.class_counts,
                smoothing,
                selection,
                job.loocv_sample,
                job.progress,
                job.is_trial,
                job.race,
            )
            choice, loss = best_with_loss(nested.surfaces, selection, nested.exact)
            sizes = {choice.n_attributes}
            if len(job.weightings) > 1:  # weights may select better than the order of attributes
                sizes.add(len(structure.order))
            for n in sorted(sizes):
                shape = Shape.selective(structure, choice.k, n)
                noted: dict[str, Any] = {**shape.chosen, "smoothing": smoothing.rule}
                noted |= {"race": nested.race} if nested.race is not None else {}
                candidates.append(Refined(counts, shape, smoothing, noted, loss, nested=nested))
        return candidates

    def kept(self, job: Job, best: Refined) -> Refined:
        if job.is_trial:
            return best
        shape = best.shape
        title = f"keeping {len(shape.selected)} attributes with k = {shape.k}"
        with job.progress.stage("cut back", title):
            return replace(best, counts=best.counts.cut_back(shape.families))

    def again(self, now: Shape, structure: Structure) -> Shape:
        return Shape.selective(structure, now.k, len(now.selected))

    def array_model(self, passes: ArrayLoo, depth: int, is_rough: bool) -> tuple[Choice, float]:
        selection = self.selection.within(depth, passes.limits)
        return selected_array_model(passes, selection, is_rough)


@dataclass(frozen=True)
class Weighted(Refinement):
    """Weights of attributes from a search over subsets: of all models tried, or of the best one."""

    single: bool
    kept_notes = ("the weights of the attributes stay as they are",)
    has_loo = False

    def candidates(self, job: Job, counts: FamilyCounts, structure: Structure) -> list[Refined]:
        seed = job.workspace.session.settings.seed
        weighed = search_weights(
            counts, job.prepared.class_counts, job.smoothing, seed, job.progress
        )
        found = weighed.selected
        single = tuple(float(i in found.best) for i in counts.families)
        weights = single if self.single else found.weights
        used = tuple(i for i in counts.families if weights[i] > 0)
        shape = Shape(structure, used, weights=tuple((w,) for w in weights))
        noted = ("cost", "null_cost", "evaluations")
        chosen = {name: getattr(found, name) for name in noted}
        chosen |= {"chunks": weighed.chunks} if weighed.chunks else {}
        return [Refined(counts, shape, job.smoothing, chosen)]

    def kept(self, job: Job, best: Refined) -> Refined:
        return replace(best, counts=best.counts.cut_back(best.shape.families))

    def follow(self, shape: Shape, job: Job, info: Information) -> Shape:
        return replace(shape, structure=job.learner.structure(info))

    def again(self, now: Shape, structure: Structure) -> Shape:
        return replace(now, structure=structure)
