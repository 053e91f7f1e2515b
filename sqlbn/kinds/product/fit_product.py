"""Products of P(x | parents, y): parents from information, from a search, or none but weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.progress import Progress
from sqlbn.errors import ColumnError
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import (
    Fitted,
    Job,
    count_information,
    decide_structure,
)
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import ArrayLoo, suits_arrays
from sqlbn.kinds.product.attribute_weights import weigh
from sqlbn.kinds.product.factor_tables import FactorTables
from sqlbn.kinds.product.selection import (
    chosen_loss,
    fixed_loss,
    loss_in_arrays,
    select,
)
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.learners.fit_options import FitOptions
from sqlbn.search.dependence import Decided
from sqlbn.search.methods import search_network
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


def fit_product(job: Job) -> Fitted:
    """A product of P(x | parents, y): structure, counts of families, tables; what was chosen."""
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner = options.make_learner()
    names = tuple(book.name for book in prepared.books)
    decided = None
    if options.rule is not None and shape is None:
        decided, info = decide_structure(job, options.rule)
        decided.write(workspace, names)
        structure = decided.structure
    else:
        info = replace(count_information(job), names=names)
        structure = learner.structure(info) if shape is None else shape.structure
    families = (
        {i: (i, *parents) for i, parents in enumerate(structure.parents)}
        if shape is None
        else shape.families
    )
    if job.is_trial and (options.loss or "rmse") == "rmse" and suits_arrays(encoded):
        return _tried_in_arrays(job, families, structure)
    with progress.stage("parameters", "pass 2: counting families", encoded.rows, len(families)):
        counts = count_families(workspace, encoded, families, advance=progress.advance)
    if shape is None:
        counts, shape = _selected(job, counts, structure)
    if not job.is_trial:
        finish_product(counts, prepared.books, info, shape.structure, options.smoothing, progress)
    chosen = {
        **shape.chosen,
        **learner.chosen(info, shape.structure),
        **_sureness(decided, options),
    }
    order, class_counts = shape.structure.order, prepared.class_counts
    k, n_attributes = shape.k, len(shape.selected)

    def judge(loss: Loss) -> float:
        if k is not None:
            return chosen_loss(workspace, loss, k, n_attributes)
        return fixed_loss(counts, order, class_counts, options.smoothing, loss)

    return Fitted(chosen, judge)


def _tried_in_arrays(
    job: Job, families: Mapping[int, Sequence[int]], structure: Structure
) -> Fitted:
    """A trial on few rows: no counts are made."""
    session, smoothing, order = job.workspace.session, job.options.smoothing, structure.order
    classes, selection = job.prepared.class_counts, job.options.make_learner().selection
    depth = max((len(family) - 1 for family in families.values()), default=0)
    selection = selection.within(depth) if selection is not None else None

    def judge(loss: Loss) -> float:
        return loss_in_arrays(
            ArrayLoo(session, job.encoded, families, order, classes, smoothing), selection, depth
        )

    return Fitted({}, judge)


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


def fit_weighed(job: Job) -> Fitted:
    """Naive Bayes with a weight for every attribute; what the search found."""
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner, chosen = options.make_learner(), {}
    assert learner.weighing is not None
    info = count_information(job)
    families = {i: (i,) for i in range(encoded.n_attributes)}
    with progress.stage("parameters", "pass 2: counting families", encoded.rows, len(families)):
        counts = count_families(workspace, encoded, families, advance=progress.advance)
    if shape is None:
        seed = workspace.session.settings.seed
        found = weigh(counts, prepared.class_counts, options.smoothing, seed, progress)
        single = tuple(float(i in found.best) for i in families)
        weights = single if learner.weighing.single else found.weights
        used = tuple(i for i in families if weights[i] > 0)
        shape = Shape(learner.structure(info), used, weights=weights)
        chosen = {
            "cost": found.cost,
            "null_cost": found.null_cost,
            "evaluations": found.evaluations,
        }
    counts = counts.cut_back(shape.families)
    structure = learner.structure(info)
    smoothing = options.smoothing
    finish_product(counts, prepared.books, info, structure, smoothing, progress, shape.weights)
    return Fitted(chosen)


def fit_network(job: Job) -> Fitted:
    """A product whose parents a search has found; the decisions are a table of their own."""
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    searching = options.make_learner().searching
    assert searching is not None
    if not prepared.books and prepared.training.target == NO_CLASS:
        raise ColumnError(
            f"no column of {prepared.training.source.label} has two different values: there is no "
            "network to learn"
        )
    info, chosen = count_information(job), dict[str, Any]()
    if shape is None:
        found = search_network(
            workspace.session, encoded, searching.method, searching.options, progress
        )
        found.log.write(workspace, [book.name for book in prepared.books])
        shape, chosen = Shape.whole(found.structure), found.chosen
    families = shape.families
    with progress.stage("parameters", "counting parameters", encoded.rows, len(families)):
        counts = count_families(workspace, encoded, families, advance=progress.advance)
    finish_product(counts, prepared.books, info, shape.structure, options.smoothing, progress)
    return Fitted(chosen)


def _sureness(decided: Decided | None, options: FitOptions) -> dict[str, Any]:
    """What the meta table says of decisions by a bound."""
    if decided is None:
        return {}
    asked = ("bound", "delta", "delta_star", "tau", "block")
    given = {key: getattr(options.rule, key) for key in asked}
    return {"bound": given, "delta_star": decided.delta_star, "structure_rows": decided.rows}


def _selected(job: Job, counts: FamilyCounts, structure: Structure) -> tuple[FamilyCounts, Shape]:
    """The counts and the shape of the model after selection, if there is any."""
    options, progress = job.options, job.progress
    selection = options.make_learner().selection
    if selection is None:
        return counts, Shape.whole(structure)
    best = select(
        counts,
        structure.order,
        job.prepared.class_counts,
        options.smoothing,
        selection.within(max(map(len, structure.parents), default=0)),
        options.loocv_sample,
        progress,
        job.is_trial,
    )
    shape = Shape.selective(structure, best.k, best.n_attributes)
    if job.is_trial:
        return counts, shape
    n = best.n_attributes
    with progress.stage("cut back", f"keeping {n} attributes with k = {best.k}"):
        left = counts.cut_back(shape.families)
    return left, shape
