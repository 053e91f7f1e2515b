"""The fit of an ensemble: families of all members counted together, each selected, one mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.progress import Progress
from sqlbn.kinds.ensemble.ensemble_mean import MeanChoice, choose_mean
from sqlbn.kinds.ensemble.members import (
    drawn_structures,
    ensemble_shape,
    member_families,
    parts_of,
    write_member_loocv,
    write_members,
)
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import count_information
from sqlbn.kinds.kind import Fitting, Job, Selection
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.product.factor_tables import Factor, FactorTables, write_factors
from sqlbn.kinds.product.product_selection import nested_losses
from sqlbn.kinds.selection import best_of
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


class EnsembleFit(Fitting):
    """Members from orders that are drawn; of each, perhaps, what leave-one-out selects."""

    info: Information
    shape: Shape
    _counts: FamilyCounts
    _mean: MeanChoice | None = None

    def __init__(self, job: Job, n_members: int, selection: Selection | None) -> None:
        super().__init__(job)
        self._n_members, self._selection = n_members, selection

    def count(self) -> None:
        self.info = replace(count_information(self.job), names=self.job.names)

    def structure(self) -> None:
        job, follows = self.job, self.job.shape
        if follows is not None:
            self.shape = replace(ensemble_shape(self.info, follows.members), k=None)
            self._count(self.shape.members)
        else:
            seed = job.workspace.session.settings.seed
            structures = drawn_structures(job.learner, self.info, self._n_members, seed)
            self._count([Shape.whole(structure) for structure in structures])
            self.shape = ensemble_shape(self.info, self._selected(structures))
        self._mean = self._compared()
        self.chosen |= {"mean": self._mean.mean, "mean_losses": self._mean.losses}

    def _count(self, members: Sequence[Shape]) -> None:
        """The families of all members, in one pass over the rows for each block."""
        job, families = self.job, member_families(members)
        title = "pass 2: counting the families of all members"
        with job.progress.stage("parameters", title, job.encoded.rows, len(families)):
            self._counts = count_families(
                job.workspace, job.encoded, families, advance=job.progress.advance
            )

    def _selected(self, structures: Sequence[Structure]) -> list[Shape]:
        """The members as leave-one-out selects them, each by itself."""
        whole = [Shape.whole(structure) for structure in structures]
        if self._selection is None:
            return whole
        job, shapes, surfaces = self.job, [], []
        depth = max((len(p) for s in structures for p in s.parents), default=0)
        selection = self._selection.within(depth, job.encoded.limits)
        for part, structure in zip(parts_of(self._counts, whole), structures, strict=True):
            found = nested_losses(
                part,
                structure.order,
                job.prepared.class_counts,
                job.smoothing,
                selection,
                job.loocv_sample,
                job.progress,
            )
            best = best_of(found, selection)
            shapes.append(Shape.selective(structure, best.k, best.n_attributes))
            surfaces.append(found)
        write_member_loocv(job.workspace, surfaces, selection.ks)
        with job.progress.stage("cut back", "keeping what was selected of every member"):
            self._counts = self._counts.cut_back(member_families(shapes))
        return shapes

    def _compared(self, loss: Loss | None = None) -> MeanChoice:
        job, asked = self.job, loss or (self._selection.loss if self._selection else "rmse")
        with job.progress.stage("mean", "comparing means of the members"):
            return choose_mean(
                self._counts,
                self.shape.members,
                job.prepared.class_counts,
                job.smoothing,
                companions(asked),
                job.loocv_sample,
            )

    def parameters(self) -> None:
        job = self.job
        finish_ensemble(
            self._counts, self.shape, job.prepared.books, self.info, job.smoothing, job.progress
        )

    def loo_loss(self, loss: Loss) -> float:
        assert self._mean is not None
        found = self._mean.losses[self._mean.mean]
        return found[loss] if loss in found else self._compared(loss).losses[self._mean.mean][loss]


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
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        for member, part in enumerate(parts_of(counts, shape.members)):
            made = FactorTables(part, smoothing).make_tables(len(factors))
            owners += [(factor.number, member) for factor in made]
            factors += made
        write_factors(workspace, factors)
        workspace.fill("member_factors", owners)
        write_members(workspace, books, shape.members)
    write_structure(workspace, books, info, shape.structure, set(shape.selected))
