"""The fit of a product: structure, counts of families, what a refinement keeps of them, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.errors import ColumnError
from sqlbn.kinds.estimates import Chain, Smoothing
from sqlbn.kinds.first_pass import (
    Decider,
    count_information,
    decide_structure,
    information_in_arrays,
    is_countable,
)
from sqlbn.kinds.kind import Fitting, Job, Weighting
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import ArrayLoo
from sqlbn.kinds.product.factor_tables import AttributeValues, FactorTables
from sqlbn.kinds.product.level_weights import WeightsChoice, compared_by, fit_weights
from sqlbn.kinds.product.refinements import Refined, Refinement, smoothings_of
from sqlbn.kinds.product.seen_chain import find_chains
from sqlbn.kinds.selection import NestedLosses, write_loocv
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided
from sqlbn.search.methods import search_network
from sqlbn.search.search_options import Searching
from sqlbn.structure.information import DECIMALS, Information
from sqlbn.structure.shape import Choice, Shape, Structure


class ProductFit(Fitting):
    """Parents from counts of pairs, or by decisions that a bound is sure of."""

    info: Information
    refined: Refined
    title = "pass 2: counting families"

    def __init__(self, job: Job, refinement: Refinement, decide: Decider | None = None) -> None:
        super().__init__(job)
        self._refinement, self._decide = refinement, decide
        self._decided: Decided | None = None
        # What a trial in arrays is of: families and the order of the attributes.
        self._tried: tuple[Mapping[int, Family], Sequence[int]] | None = None

    def count(self) -> None:
        job = self.job
        if job.rule is not None and self._decide is not None and job.shape is None:
            self._decided, info = decide_structure(job, job.rule, self._decide)
            self._decided.write(job.workspace, job.names)
        elif job.is_trial and self._refinement.tries_in_arrays(job.encoded) and is_countable(job):
            info = information_in_arrays(job)
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
        if job.is_trial and self._refinement.tries_in_arrays(job.encoded):
            self._tried = families, structure.order
            return
        with job.progress.stage("parameters", self.title, job.encoded.rows, len(families)):
            counts = count_families(
                job.workspace, job.encoded, families, advance=job.progress.advance
            )
        if follows is None:
            self.refined = self._refined(counts, structure)
            self.parents = self.refined.shape.k
        else:
            shape = self._refinement.follow(follows, job, self.info)
            kept = {"weights": job.weightings[0]} if shape.shifts else {}
            self.refined = Refined(counts, shape, job.smoothing, {**shape.chosen, **kept})
        self.chosen |= {
            **self.refined.chosen,
            **job.learner.chosen(self.info, self.refined.shape.structure),
            **_confidence(self._decided, job.rule),
        }

    def _refined(self, counts: FamilyCounts, structure: Structure) -> Refined:
        """The best of the models that a choice of smoothing and weights leaves."""
        job, chosen = self.job, self._refinement
        found = chosen.candidates(job, counts, structure)
        nested: dict[str | None, NestedLosses] = {
            r.smoothing.rule: r.nested for r in found if r.nested is not None
        }
        if nested:
            write_loocv(job.workspace, nested)
        weights = {"weights": "none"} if job.weightings != ("none",) else {}
        if weights and job.encoded.rows < job.encoded.limits.choice_rows:
            rows = f"{job.encoded.rows:,} rows"
            job.progress.note(f"{rows} are too few to fit weights by: the plain product")
        elif weights:
            with job.progress.stage("weights", "weights by leave-one-out", job.encoded.rows):
                found = [self._weighted(refined, len(found) > 1) for refined in found]
            weights = {}
        best = min(found, key=lambda refined: refined.rank(chosen.loss))
        noted = {**best.chosen, **weights}
        if len({refined.smoothing for refined in found}) > 1:
            noted |= self._told_smoothing(found, best)
        return chosen.kept(job, replace(best, chosen=noted))

    def _told_smoothing(self, found: Sequence[Refined], best: Refined) -> dict[str, Any]:
        """The best loss of each smoothing, and a word about the choice."""
        rule, losses = best.smoothing.rule, dict[str, float]()
        for refined in sorted(found, key=lambda r: r.rank(self._refinement.loss), reverse=True):
            losses[refined.smoothing.rule] = refined.best_loss
        others = ", ".join(f"{r} {value:.4f}" for r, value in losses.items() if r != rule)
        self.job.progress.note(
            f"smoothing: {rule}, {self._refinement.loss} {losses[rule]:.4f} by leave-one-out; "
            f"{others}"
        )
        return {"smoothing": rule, "smoothing_losses": losses}

    def _weighted(self, refined: Refined, is_compared: bool) -> Refined:
        """With weights of attributes or levels, if they help."""
        job, loss = self.job, self._refinement.loss
        shape, found = weighted_shape(
            refined.counts,
            refined.shape,
            job.prepared.class_counts,
            refined.smoothing,
            job.weightings,
            loss,
            is_compared=is_compared or job.is_trial,
        )
        chosen = {**refined.chosen, "weights": found.weighting}
        if not found.losses:
            return replace(refined, shape=shape, chosen=chosen)
        listed = ", ".join(f"{how} {value:.4f}" for how, value in found.losses.items())
        job.progress.note(
            f"weights with {refined.smoothing.rule}, {len(shape.selected)} attributes: "
            f"{found.weighting}, by {compared_by(loss)} of rows that they were not fitted on "
            f"({loss}: {listed})"
        )
        return replace(
            refined,
            shape=shape,
            chosen={**chosen, "weights_losses": dict(found.losses)},
            weighted_loss=found.losses[found.weighting],
            score=found.score,
        )

    def _parents(self) -> Structure:
        """The structure that the counts ask for."""
        if self._decided is not None:
            return self._decided.structure
        return self.job.learner.structure(self.info)

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
        if self._tried is None:
            return self._refinement.loo_loss(self.job, self.refined, loss)
        _, choice, value = self._best_in_arrays()
        self.parents = choice.k
        return value

    def crossed_losses(self, others: Encoded) -> tuple[float, float]:
        passes, choice, value = self._best_in_arrays(others)
        return value, passes.new_loss(choice.k, choice.n_attributes, "rmse")

    def _best_in_arrays(self, others: Encoded | None = None) -> tuple[ArrayLoo, Choice, float]:
        """A trial with the best smoothing."""
        tried = [self._in_arrays(smoothing, others) for smoothing in smoothings_of(self.job)]
        return min(tried, key=lambda found: round(found[2], DECIMALS))

    def _in_arrays(
        self, smoothing: Smoothing, others: Encoded | None = None
    ) -> tuple[ArrayLoo, Choice, float]:
        """A trial with one smoothing: what is kept, by leave-one-out, and its RMSE."""
        assert self._tried is not None
        job, (families, order) = self.job, self._tried
        passes = ArrayLoo(
            job.workspace.session,
            job.encoded,
            families,
            order,
            job.prepared.class_counts,
            smoothing,
            others=others,
        )
        depth = max((len(family) - 1 for family in families.values()), default=0)
        return passes, *self._refinement.array_model(passes, depth, is_rough=others is None)


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


def weighted_shape(
    counts: FamilyCounts,
    shape: Shape,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    weightings: Sequence[Weighting],
    loss: Loss,
    rows: Encoded | None = None,
    is_compared: bool = False,
) -> tuple[Shape, WeightsChoice]:
    """The shape with the weights that rows ask for: those that are counted, or some of them.

    `is_compared`: also by how much they help, where there is no choice.
    """
    families = {i: shape.families[i] for i in shape.structure.order if i in shape.selected}
    found = fit_weights(
        counts, families, class_counts, smoothing, weightings, loss, rows, is_compared
    )
    if found.choice.weighting == "none":
        return shape, found.choice
    levels = tuple(
        found.weights.get(i, (*(0.0,) * len(p), 1.0)) for i, p in enumerate(shape.structure.parents)
    )
    names = [str(row[0]) for row in counts.workspace.read("classes", "class", order=["code"])]
    shifts = dict(zip(names, found.shifts, strict=True))
    return replace(shape, weights=levels, shifts=shifts), found.choice


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
        chains = find_chains(counts, smoothing, ignored_codes(counts, smoothing), weights)
        FactorTables(counts, smoothing, chains).make()
    _write_chains(counts, books, shape, smoothing, chains)
    selected = set(counts.families)
    write_structure(counts.workspace, books, info, shape.structure, selected, shape.weights)


def ignored_codes(counts: FamilyCounts, smoothing: Smoothing) -> tuple[tuple[int, ...], ...]:
    """Of every attribute the codes that are no values."""
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
