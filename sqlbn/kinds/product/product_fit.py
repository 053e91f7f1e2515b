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
from sqlbn.engines.relations import Encoded
from sqlbn.errors import ColumnError
from sqlbn.kinds.estimates import Chain, Smoothing
from sqlbn.kinds.first_pass import Decider, count_information, decide_structure
from sqlbn.kinds.kind import Fitting, Job, Selection, Weighting
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import ArrayLoo, suits_arrays
from sqlbn.kinds.product.attribute_weights import search_weights
from sqlbn.kinds.product.factor_tables import AttributeValues, FactorTables
from sqlbn.kinds.product.level_weights import LevelWeights, fit_weights
from sqlbn.kinds.product.product_selection import fixed_loss, select, selected_array_loss
from sqlbn.kinds.product.seen_chain import find_chains
from sqlbn.kinds.selection import chosen_loss
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided
from sqlbn.search.methods import search_network
from sqlbn.search.search_options import Searching
from sqlbn.structure.information import DECIMALS, Information
from sqlbn.structure.shape import Shape, Structure


@dataclass(frozen=True)
class Refined:
    """The counts and the shape that are kept, and what is noted of the choice."""

    counts: FamilyCounts
    shape: Shape
    smoothing: Smoothing
    chosen: Mapping[str, Any]
    # By leave-one-out, where it was found on the way.
    loss: float | None = None


class Refinement(ABC):
    """What is chosen of a product when its families have been counted."""

    # What a change cannot choose again, told to the user.
    kept_notes: tuple[str, ...] = ()
    has_loo = True
    loss: Loss = "rmse"

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
        if refined.loss is not None:
            return refined.loss
        order, classes = refined.shape.structure.order, job.prepared.class_counts
        return fixed_loss(refined.counts, order, classes, refined.smoothing, loss)


class Whole(Refinement):
    """All attributes with all their parents."""

    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        shape, tried = Shape.whole(structure), smoothings_of(job)
        if len(tried) == 1:
            return Refined(counts, shape, tried[0], {})
        order, classes = structure.order, job.prepared.class_counts
        with job.progress.stage("loocv", "leave-one-out of both smoothings", job.encoded.rows):
            losses = {s: fixed_loss(counts, order, classes, s, "rmse") for s in tried}
        best = min(tried, key=lambda s: round(losses[s], DECIMALS))
        chosen = {"smoothing": best.rule, "smoothing_losses": _by_rule(job, losses, best, "rmse")}
        return Refined(counts, shape, best, chosen, losses[best])

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

    def refine(self, job: Job, counts: FamilyCounts, structure: Structure) -> Refined:
        depth = max(map(len, structure.parents), default=0)
        best, losses = select(
            counts,
            structure.order,
            job.prepared.class_counts,
            smoothings_of(job),
            self.selection.within(depth, job.encoded.limits),
            job.loocv_sample,
            job.progress,
            job.is_trial,
        )
        n, smoothing = best.n_attributes, next(iter(losses))
        shape = Shape.selective(structure, best.k, n)
        if not job.is_trial:
            with job.progress.stage("cut back", f"keeping {n} attributes with k = {best.k}"):
                counts = counts.cut_back(shape.families)
        chosen: dict[str, Any] = {**shape.chosen, "smoothing": smoothing.rule}
        if len(losses) > 1:
            chosen["smoothing_losses"] = _by_rule(job, losses, smoothing, self.loss)
        return Refined(counts, shape, smoothing, chosen)

    def again(self, now: Shape, structure: Structure) -> Shape:
        return Shape.selective(structure, now.k, len(now.selected))

    def array_loss(self, passes: ArrayLoo, depth: int) -> float:
        return selected_array_loss(passes, self.selection.within(depth, passes.limits))

    def loo_loss(self, job: Job, refined: Refined, loss: Loss) -> float:
        chosen = refined.shape.chosen
        k, n_attributes = chosen["selected_k"], chosen["selected_attributes"]
        return chosen_loss(job.workspace, loss, k, n_attributes, refined.smoothing.rule)


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
        shape = Shape(structure, used, weights=tuple((w,) for w in weights))
        noted = ("cost", "null_cost", "evaluations")
        chosen = {name: getattr(found, name) for name in noted}
        return Refined(counts.cut_back(shape.families), shape, job.smoothing, chosen)

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
            self.refined = Refined(counts, shape, job.smoothing, shape.chosen)
        if job.weightings != ("none",) and follows is None:
            self.refined = self._weighted(self.refined)
        elif self.refined.shape.shifts:
            self.chosen["weights"] = job.weightings[0]
        self.chosen |= {
            **self.refined.chosen,
            **job.learner.chosen(self.info, self.refined.shape.structure),
            **_confidence(self._decided, job.rule),
        }

    def _weighted(self, refined: Refined) -> Refined:
        """With weights of attributes or levels, if they help."""
        job, shape, smoothing = self.job, refined.shape, refined.smoothing
        if job.encoded.rows < job.encoded.limits.choice_rows:
            job.progress.note(
                f"{job.encoded.rows:,} rows are too few to fit weights by: the plain product"
            )
            return replace(refined, chosen={**refined.chosen, "weights": "none"})
        loss = self._refinement.loss
        with job.progress.stage("weights", "weights by leave-one-out", job.encoded.rows):
            classes = job.prepared.class_counts
            shape, found = weighted_shape(
                refined.counts, shape, classes, smoothing, job.weightings, loss
            )
        chosen = {**refined.chosen, "weights": found.weighting}
        chosen |= {"weights_losses": dict(found.losses)} if found.losses else {}
        if found.losses:
            listed = ", ".join(f"{how} {value:.4f}" for how, value in found.losses.items())
            job.progress.note(
                f"weights: {found.weighting}, by {loss} on rows that they were not fitted on "
                f"({listed})"
            )
        return replace(refined, shape=shape, chosen=chosen, loss=found.losses.get(found.weighting))

    def _parents(self) -> Structure:
        """The structure that the counts ask for."""
        if self._decided is not None:
            return self._decided.structure
        return self.job.learner.structure(self.info)

    def _is_quick(self) -> bool:
        """Whether a trial is one of few rows, whose RMSE is found without counts."""
        return self._refinement.loss == "rmse" and suits_arrays(self.job.encoded)

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
            shape,
            self.refined.smoothing,
            job.progress,
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


def smoothings_of(job: Job) -> tuple[Smoothing, ...]:
    """Those to choose among; of few rows only the first."""
    tried = job.smoothings or (job.smoothing,)
    return tried if job.encoded.rows >= job.encoded.limits.choice_rows else tried[:1]


def _by_rule(
    job: Job, losses: Mapping[Smoothing, float], best: Smoothing, loss: Loss
) -> dict[str, float]:
    """The losses of both smoothings, and a word about the choice."""
    found: dict[str, float] = {smoothing.rule: value for smoothing, value in losses.items()}
    others = ", ".join(f"{rule} {value:.4f}" for rule, value in found.items() if rule != best.rule)
    job.progress.note(
        f"smoothing: {best.rule}, {loss} {losses[best]:.4f} by leave-one-out; {others}"
    )
    return found


def weighted_shape(
    counts: FamilyCounts,
    shape: Shape,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    weightings: Sequence[Weighting],
    loss: Loss,
    rows: Encoded | None = None,
) -> tuple[Shape, LevelWeights]:
    """The shape with the weights that rows ask for: those that are counted, or some of them."""
    order = [i for i in shape.structure.order if i in shape.selected]
    chains = find_chains(counts, smoothing, _ignored(counts, smoothing))
    found = fit_weights(counts, order, class_counts, smoothing, chains, weightings, loss, rows)
    if found.weighting == "none":
        return shape, found
    levels = tuple(
        found.weights.get(i, (*(0.0,) * len(p), 1.0)) for i, p in enumerate(shape.structure.parents)
    )
    names = [str(row[0]) for row in counts.workspace.read("classes", "class", order=["code"])]
    shifts = dict(zip(names, found.shifts, strict=True))
    return replace(shape, weights=levels, shifts=shifts), found


def finish_product(
    counts: FamilyCounts,
    books: Sequence[Codebook],
    info: Information,
    shape: Shape,
    smoothing: Smoothing,
    progress: Progress,
) -> None:
    """The tables of a product when its families have been counted."""
    weights = {i: shape.weights[i] for i in counts.families} if shape.weights is not None else None
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        chains = find_chains(counts, smoothing, _ignored(counts, smoothing), weights)
        FactorTables(counts, smoothing, chains).make()
    _write_chains(counts, books, shape, smoothing, chains)
    selected = set(counts.families)
    write_structure(counts.workspace, books, info, shape.structure, selected, shape.weights)


def _ignored(counts: FamilyCounts, smoothing: Smoothing) -> tuple[tuple[int, ...], ...]:
    return AttributeValues.of(counts.encoded, smoothing).ignored


def _write_chains(
    counts: FamilyCounts,
    books: Sequence[Codebook],
    shape: Shape,
    smoothing: Smoothing,
    chains: Mapping[int, Chain],
) -> None:
    """The workspace's `strengths`, `weights` and `class_shifts`, where there are any."""
    workspace = counts.workspace
    if smoothing.is_hierarchical:
        strengths = [
            (books[i].name, level, strength)
            for i, chain in chains.items()
            for level, strength in enumerate(chain.strengths, 1)
        ]
        workspace.fill("strengths", strengths)
    if shape.shifts:
        weights = [
            (books[i].name, level, weight)
            for i, chain in chains.items()
            for level, weight in enumerate(chain.weights or ())
        ]
        workspace.fill("weights", weights)
        workspace.fill("class_shifts", list(shape.shifts.items()))
