"""The fit of an ensemble: families of all members counted together, each refined, one mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.progress import Progress
from sqlbn.kinds.ensemble.ensemble_mean import Mean, MeanChoice, choose_mean
from sqlbn.kinds.ensemble.member_weights import (
    WeighedMember,
    WeightFit,
    members_losses,
    weigh_members,
)
from sqlbn.kinds.ensemble.members import (
    drawn_structures,
    ensemble_shape,
    member_attributes,
    member_families,
    parts_of,
    write_member_loocv,
    write_members,
)
from sqlbn.kinds.estimates import Chain, Smoothing
from sqlbn.kinds.first_pass import count_information
from sqlbn.kinds.kind import Fitting, Job
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.product.factor_tables import Factor, FactorTables, write_factors
from sqlbn.kinds.product.level_weights import WeightsChoice, compared_by, rank_of
from sqlbn.kinds.product.product_fit import ignored_codes
from sqlbn.kinds.product.raced_loo import all_races
from sqlbn.kinds.product.refinements import Refined, Refinement, smoothings_of
from sqlbn.kinds.product.seen_chain import find_chains
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


class EnsembleFit(Fitting):
    """Members with cuts, orders and parents that are drawn; of each what a refinement keeps."""

    info: Information
    shape: Shape
    _counts: FamilyCounts
    _smoothing: Smoothing
    _mean: MeanChoice | None = None

    def __init__(self, job: Job, n_members: int, refinement: Refinement) -> None:
        super().__init__(job)
        self._n_members, self._refinement = n_members, refinement
        self._smoothing = job.smoothing

    def count(self) -> None:
        job, follows = self.job, self.job.shape
        own = [m.structure.order for m in follows.members] if follows is not None else []
        self._own = own or member_attributes(job.prepared.books, self._n_members)
        self.info = replace(count_information(job, self._own), names=job.names)

    def structure(self) -> None:
        job, follows = self.job, self.job.shape
        if follows is not None:
            self.shape = ensemble_shape(self.info, follows.members, follows.shifts)
            self._count(self.shape.members)
            self._mean = MeanChoice(_mean_of(follows), {})
            kept = {"weights": job.weightings[0]} if follows.shifts else {}
            self.chosen |= {"smoothing": self._smoothing.rule, **kept}
        else:
            seed, spread = job.workspace.session.settings.seed, job.encoded.limits.parents_spread
            structures = drawn_structures(job.learner, self.info, self._own, seed, spread)
            self._count([Shape.whole(structure) for structure in structures])
            self.shape = self._refined(structures)
        if self._mean is None:
            self._mean = self._compared()
            self.shape = self._with_mean()
        self.chosen |= {"mean": self._mean.mean, "mean_losses": self._mean.losses}

    def _with_mean(self) -> Shape:
        """The members with equal weights where their mean is geometric, else without any."""
        assert self._mean is not None
        n, is_product = len(self.shape.members), self._mean.mean == "geometric"
        members = [m.evenly_weighted(1 / n if is_product else None) for m in self.shape.members]
        return replace(self.shape, members=tuple(members))

    def _count(self, members: Sequence[Shape]) -> None:
        """The families of all members, in one pass over the rows for each block."""
        job, families = self.job, member_families(members)
        title = "pass 2: counting the families of all members"
        with job.progress.stage("parameters", title, job.encoded.rows, len(families)):
            self._counts = count_families(
                job.workspace, job.encoded, families, advance=job.progress.advance
            )

    # -- what is kept of the members -------------------------------------------------------------

    def _refined(self, structures: Sequence[Structure]) -> Shape:
        """Members with weights, which also select; or as leave-one-out selects each by itself.

        The first one decides on smoothing and on what gets weights.
        """
        job = self.job
        few = job.encoded.rows < job.encoded.limits.choice_rows
        if not few and job.weightings != ("none",):
            found = self._weighed([Shape.whole(structure) for structure in structures])
            if found is not None:
                return found
        if job.weightings != ("none",):
            self.chosen["weights"] = "none"
        return self._selected(structures)

    def _selected(self, structures: Sequence[Structure]) -> Shape:
        """Members without weights."""
        own, found = self.job, list[Refined]()
        whole = [Shape.whole(structure) for structure in structures]
        for part, structure in zip(parts_of(self._counts, whole), structures, strict=True):
            tried = self._refinement.candidates(own, part, structure)
            found.append(min(tried, key=lambda r: r.rank(self._loss)))
            own = replace(own, smoothings=(found[0].smoothing,))
        self._smoothing = found[0].smoothing
        if any(refined.nested is not None for refined in found):
            write_member_loocv(self.job.workspace, [refined.nested for refined in found])
        races = [r.nested.race for r in found if r.nested is not None and r.nested.race is not None]
        if races:
            self.chosen["race"] = all_races(races)
        return self._kept([refined.shape for refined in found], {})

    def _weighed(self, whole: Sequence[Shape]) -> Shape | None:
        """Members whose levels are weighed together; None where the first is better without."""
        job, n, members = self.job, len(whole), list[WeighedMember]()
        weight_fit = WeightFit.of(
            self._counts, whole, job.prepared.class_counts, self._loss, job.encoded
        )
        # A single member may do without, several say much of the same: `none` is no choice there.
        asked = tuple(w for w in job.weightings if w != "none" or n == 1)
        title = "weights of the members by leave-one-out"
        with job.progress.stage("weights", title, weight_fit.drawn.part.rows.size, n):
            for part, shape in zip(parts_of(self._counts, whole), whole, strict=True):
                if not members:
                    tried = weight_fit.compared(part, shape, smoothings_of(job), asked)
                    self._smoothing = min(tried, key=lambda s: tried[s].rank)
                    self._tell(tried)
                    choice = tried[self._smoothing]
                    if choice.weighting == "none":
                        return None
                members.append(weight_fit.member(part, shape, self._smoothing, choice))
                job.progress.advance()
            if len(job.weightings) > 1:
                members = self._enough(weight_fit, members, choice)
            names = [str(row[0]) for row in job.workspace.read("classes", "class", order=["code"])]
            shapes, shifts, losses = weigh_members(members, names, self._loss, job.encoded.limits)
        self._mean = MeanChoice("geometric", {"geometric": losses})
        self.chosen["weights"] = choice.weighting
        job.progress.note(
            f"members weighed together: {self._loss} {losses[self._loss]:.4f} of left-out rows, "
            "which weights were not fitted on, but cuts, parents and levels were chosen by"
        )
        return self._kept(shapes, shifts)

    def _enough(
        self, weight_fit: WeightFit, members: list[WeighedMember], choice: WeightsChoice
    ) -> list[WeighedMember]:
        """As many of the first members as predict best rows that weights were not fitted on.

        Fewer of them are weighed by more rows than there was room for.
        """
        found = members_losses(members, self._loss, self.job.encoded.limits)
        if not found:
            return members
        n = min(found, key=lambda n: (rank_of(found[n], self._loss), n))
        listed = ", ".join(f"{m} {values[self._loss]:.4f}" for m, values in found.items())
        self.chosen["members_losses"] = {m: values[self._loss] for m, values in found.items()}
        self.job.progress.note(
            f"members: {n} of {len(members)}, by {compared_by(self._loss)} of rows that weights "
            f"were not fitted on ({self._loss}: {listed})"
        )
        if n == len(members):
            return members
        own, shapes = replace(weight_fit, n_members=n), [member.shape for member in members[:n]]
        return [
            own.member(part, shape, self._smoothing, choice)
            for part, shape in zip(parts_of(self._counts, shapes), shapes, strict=True)
        ]

    def _tell(self, tried: Mapping[Smoothing, WeightsChoice]) -> None:
        """A line of each smoothing with the losses of what was weighed."""
        note, losses = self.job.progress.note, dict[str | None, float]()
        for smoothing, choice in tried.items():
            if choice.losses:
                losses[smoothing.rule] = choice.losses[choice.weighting]
                listed = ", ".join(f"{w} {v:.4f}" for w, v in choice.losses.items())
                note(
                    f"weights of the first member with {smoothing.rule}, parents at most "
                    f"{choice.depth}: {choice.weighting}, by "
                    f"{compared_by(self._loss)} of rows that they were not fitted on "
                    f"({self._loss}: {listed})"
                )
        if len(tried) > 1:
            self.chosen["smoothing_losses"] = losses
            note(f"smoothing: {self._smoothing.rule}")

    def _kept(self, shapes: Sequence[Shape], shifts: Mapping[str, float]) -> Shape:
        """The ensemble of these members, with no more counts than it needs."""
        job = self.job
        self.chosen["smoothing"] = self._smoothing.rule
        found = ensemble_shape(self.info, shapes, shifts)
        with job.progress.stage("cut back", "keeping what was selected of every member"):
            self._counts = self._counts.cut_back(member_families(shapes))
        return found

    @property
    def _loss(self) -> Loss:
        return self._refinement.loss

    def _compared(self, loss: Loss | None = None) -> MeanChoice:
        job = self.job
        with job.progress.stage("mean", "comparing means of the members"):
            return choose_mean(
                self._counts,
                self.shape.members,
                job.prepared.class_counts,
                self._smoothing,
                companions(loss or self._loss),
                job.loocv_sample,
            )

    def parameters(self) -> None:
        job = self.job
        finish_ensemble(
            self._counts, self.shape, job.prepared.books, self.info, self._smoothing, job.progress
        )

    def loo_loss(self, loss: Loss) -> float:
        assert self._mean is not None
        found = self._mean.losses[self._mean.mean]
        return found[loss] if loss in found else self._compared(loss).losses[self._mean.mean][loss]


def _mean_of(shape: Shape) -> Mean:
    """A geometric mean is a product, whose members have weights."""
    is_product = any(member.weights is not None for member in shape.members)
    return "geometric" if is_product else "arithmetic"


def finish_ensemble(
    counts: FamilyCounts,
    shape: Shape,
    books: Sequence[Codebook],
    info: Information,
    smoothing: Smoothing,
    progress: Progress,
) -> None:
    """The tables of an ensemble when the families of its members have been counted."""
    workspace, factors, owners = counts.workspace, list[Factor](), list[tuple[Any, ...]]()
    chains: list[dict[int, Chain]] = []
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        for member, (own, part) in enumerate(
            zip(shape.members, parts_of(counts, shape.members), strict=True)
        ):
            weights = {i: own.weights[i] for i in part.families} if own.weights else None
            chains.append(find_chains(part, smoothing, ignored_codes(part, smoothing), weights))
            made = FactorTables(part, smoothing, chains[-1]).make_tables(len(factors))
            owners += [(factor.number, member) for factor in made]
            factors += made
        write_factors(workspace, factors)
        workspace.fill("member_factors", owners)
        write_members(workspace, books, shape.members, chains)
        if shape.shifts:
            workspace.fill("class_shifts", list(shape.shifts.items()))
    # Of pairs only those of one member are counted, and nothing follows from them after a change.
    alone = replace(info, cmi=None)
    write_structure(workspace, books, alone, shape.structure, set(shape.selected))
