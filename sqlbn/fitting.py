"""The road from rows to a model: prepare, encode, count, structure, parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.averaging import (
    affordable_subsets,
    count_average,
    make_tables,
    single_information,
)
from sqlbn.collecting import REMEDY, Collectable, fit_collection
from sqlbn.counts.counter import entropies, plan
from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.counts.margins import (
    are_storable,
    count_margins,
    keep_margins,
    margin_subsets,
    plan_margins,
)
from sqlbn.counts.room import affordable
from sqlbn.describing import fit_meta, variables_of, write_structure, write_variables
from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.encode.encoded import Encoded, discard, sampled
from sqlbn.encode.partitions import AUTO
from sqlbn.engines import DuckDBEngine
from sqlbn.history import start_history
from sqlbn.learners.base import Collecting, Learner
from sqlbn.options import FitOptions
from sqlbn.preparing import (
    Encoding,
    Looked,
    Prepared,
    encode_rows,
    look,
    prepare,
    prepare_like,
)
from sqlbn.progress import Progress
from sqlbn.scoring.array_loo import ArrayLoo, suits_arrays
from sqlbn.scoring.averaged import Averaged
from sqlbn.scoring.loo_losses import Loss
from sqlbn.scoring.parameters import FactorTables
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, latest_cmi
from sqlbn.search.measures import Measures
from sqlbn.search.networks import search_network
from sqlbn.search.samples import Samples
from sqlbn.selecting import (
    chosen_loss,
    fixed_average_loss,
    fixed_loss,
    loss_in_arrays,
    select,
    select_average,
)
from sqlbn.sources import Source
from sqlbn.store.spec import ModelSpec, read_spec, write_meta
from sqlbn.structure.forest import GammaSums, score_gains
from sqlbn.structure.information import Information, information
from sqlbn.structure.parents import Structure
from sqlbn.structure.shape import Shape
from sqlbn.weighing import weigh


@dataclass(frozen=True)
class Pattern:
    """Another model that a fit follows: in its encoding, and perhaps in its structure too."""

    encoding: Encoding
    shape: Shape | None = None


def learn(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
) -> tuple[Draft, ModelSpec]:
    """A model of the source, as tables in the engine."""
    if options.method == AUTO and pattern is None:
        from sqlbn.choosing import learn_best

        return learn_best(engine, source, options, progress)
    return learn_judged(engine, source, options, progress, pattern)[:2]


def learn_judged(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
    loss: Loss | None = None,
    looked: Looked | None = None,
) -> tuple[Draft, ModelSpec, float]:
    """A model in one encoding; with `loss` also that of leave-one-out, else NaN."""
    draft = Draft(engine, weighted=options.weight is not None)
    try:
        if pattern is None:
            looked = looked or look(engine, source, options, progress)
            prepared = prepare(looked, draft, options, progress)
        else:
            prepared = prepare_like(engine, source, draft, pattern.encoding, progress)
        shape = pattern.shape if pattern is not None else None
        fitted, judged = _fitted(draft, prepared, options, progress, shape, loss)
        _write_variables(draft, prepared)
        start_history(draft, prepared.training, options)
        write_meta(draft, {**fit_meta(prepared, options, progress), **fitted.chosen})
        return draft, read_spec(draft), judged
    except BaseException:
        draft.drop()
        raise


def loss_of(
    engine: DuckDBEngine, looked: Looked, options: FitOptions, loss: Loss
) -> tuple[Sequence[Codebook], float]:
    """The leave-one-out loss of one encoding, and its codebooks; no model is made of it."""
    draft = Draft(engine, weighted=options.weight is not None)
    try:
        prepared = prepare(looked, draft, options, Progress())
        return prepared.books, _fitted(
            draft, prepared, options, Progress(), None, loss, is_trial=True
        )[1]
    finally:
        draft.drop()


def _fitted(
    draft: Draft,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
    shape: Shape | None,
    loss: Loss | None,
    is_trial: bool = False,
) -> tuple[Fitted, float]:
    """The learner's own tables, and its loss where one is asked for."""
    _check_room(draft, prepared, options)
    encoded = encode_rows(draft.engine, prepared, progress)
    try:
        fit = _way_of(options.make_learner())
        fitted = fit(Job(draft, encoded, prepared, options, progress, shape, is_trial))
        return fitted, fitted.judge(loss) if loss is not None else math.nan
    finally:
        discard(draft.engine, encoded)


def _write_variables(draft: Draft, prepared: Prepared) -> None:
    """All variables in the order of the columns, also those that were left out."""
    learned, place = prepared.learned, prepared.training.attributes.index
    n_classes = prepared.class_book.n_values
    found = variables_of(draft, prepared.books, n_classes, learned.elementary)
    write_variables(draft, sorted([*found, *learned.left_out], key=lambda v: place(v.name)))


def _no_judge(loss: Loss) -> float:
    raise AssertionError("a learner without leave-one-out")


@dataclass(frozen=True)
class Job:
    """What a way of fitting works on; `shape` is that of a model to follow, if there is one.

    Of a trial only the loss matters.
    """

    draft: Draft
    encoded: Encoded
    prepared: Prepared
    options: FitOptions
    progress: Progress
    shape: Shape | None
    is_trial: bool = False


@dataclass(frozen=True)
class Fitted:
    """What a fit chose, for the meta table, and its loss by leave-one-out while rows are there."""

    chosen: dict[str, Any]
    judge: Callable[[Loss], float] = _no_judge


def _way_of(learner: Learner) -> Callable[[Job], Fitted]:
    """The road from codes to tables that a learner takes."""
    if learner.averaging is not None:
        return _fit_average
    if learner.weighing is not None:
        return _fit_weighed
    if learner.searching is not None:
        return _fit_network
    return _fit_collection if learner.collecting is not None else _fit_product


def _check_room(draft: Draft, prepared: Prepared, options: FitOptions) -> None:
    """Refuse counts that will not fit on the disk before the rows are read for them."""
    learner, codes = options.make_learner(), prepared.counted()
    learner.check([book.name for book in prepared.books])
    averaging, collecting = learner.averaging, learner.collecting
    # Which attributes an averaging learner keeps may be known only after counting.
    if averaging is not None and averaging.attributes is None:
        affordable_subsets(draft, codes, range(codes.n_attributes), averaging)
    if collecting is not None:
        affordable(draft, codes, _collectable(prepared, collecting).early, REMEDY)


def _fit_product(job: Job) -> Fitted:
    """A product of P(x | parents, y): structure, counts of families, tables; what was chosen."""
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner = options.make_learner()
    names = tuple(book.name for book in prepared.books)
    decided = None
    if options.rule is not None and shape is None:
        decided, info = _decided(job, options.rule)
        decided.write(draft, names)
        structure = decided.structure
    else:
        info = replace(_information(job), names=names)
        structure = learner.structure(info) if shape is None else shape.structure
    families = (
        {i: (i, *parents) for i, parents in enumerate(structure.parents)}
        if shape is None
        else shape.families
    )
    if job.is_trial and (options.loss or "rmse") == "rmse" and suits_arrays(encoded):
        return _tried_in_arrays(job, families, structure)
    with progress.stage("parameters", "pass 2: counting families", encoded.rows, len(families)):
        counts = count_families(draft, encoded, families, advance=progress.advance)
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
            return chosen_loss(draft, loss, k, n_attributes)
        return fixed_loss(counts, order, class_counts, options.smoothing.m, loss)

    return Fitted(chosen, judge)


def _tried_in_arrays(
    job: Job, families: Mapping[int, Sequence[int]], structure: Structure
) -> Fitted:
    """A trial on few rows: no counts are made."""
    engine, m, order = job.draft.engine, job.options.smoothing.m, structure.order
    classes, selection = job.prepared.class_counts, job.options.make_learner().selection
    depth = max((len(family) - 1 for family in families.values()), default=0)

    def judge(loss: Loss) -> float:
        return loss_in_arrays(
            ArrayLoo(engine, job.encoded, families, order, classes, m), selection, depth
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
    write_structure(counts.draft, books, info, structure, set(counts.families), weights)


def _fit_weighed(job: Job) -> Fitted:
    """Naive Bayes with a weight for every attribute; what the search found."""
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner, chosen = options.make_learner(), {}
    assert learner.weighing is not None
    info = _information(job)
    families = {i: (i,) for i in range(encoded.n_attributes)}
    with progress.stage("parameters", "pass 2: counting families", encoded.rows, len(families)):
        counts = count_families(draft, encoded, families, advance=progress.advance)
    if shape is None:
        seed = draft.engine.settings.seed
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


def _fit_network(job: Job) -> Fitted:
    """A product whose parents a search has found; the decisions are a table of their own."""
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    searching = options.make_learner().searching
    assert searching is not None
    info, chosen = _information(job), dict[str, Any]()
    if shape is None:
        found = search_network(draft.engine, encoded, searching, progress)
        found.log.write(draft, [book.name for book in prepared.books])
        shape, chosen = Shape.whole(found.structure), found.chosen
    families = shape.families
    with progress.stage("parameters", "counting parameters", encoded.rows, len(families)):
        counts = count_families(draft, encoded, families, advance=progress.advance)
    finish_product(counts, prepared.books, info, shape.structure, options.smoothing, progress)
    return Fitted(chosen)


def _fit_average(job: Job) -> Fitted:
    """A mean of products: counts of all small sets of attributes, tables; what was chosen."""
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress, shape = job.options, job.progress, job.shape
    learner, d = options.make_learner(), encoded.n_attributes
    averaging = learner.averaging
    assert averaging is not None
    most = averaging.attributes if averaging.attributes is not None else d
    if shape is not None:
        most = len(shape.selected)
    # Only where attributes are left out must their information be known before the one pass.
    info = _information(job) if most < d else None
    kept = range(d) if info is None else info.order[:most]
    averaged = count_average(
        draft,
        encoded,
        averaging,
        sorted(shape.selected) if shape is not None else kept,
        prepared.class_counts,
        options.smoothing.m,
        progress,
    )
    if info is None:
        info = single_information(averaged.counts, d, prepared.class_counts)
        keep_margins(averaged.counts, pairs=False)
    structure = learner.structure(info)
    chosen = shape.chosen if shape is not None else {}
    if learner.selection is not None and shape is None:
        order = [v for v in structure.order if v in averaged.kept]
        best = select_average(averaged, order, learner.selection, options.loocv_sample, progress)
        averaged = averaged.keep(order[: best.n_attributes])
        chosen = Shape(structure, averaged.kept, best.k).chosen
    if not job.is_trial:
        finish_average(averaged, prepared.books, info, structure, progress)

    def judge(loss: Loss) -> float:
        if chosen:
            return chosen_loss(draft, loss, chosen["selected_k"], chosen["selected_attributes"])
        order = [v for v in structure.order if v in averaged.kept]
        return fixed_average_loss(averaged, order, loss)

    return Fitted(chosen, judge)


def finish_average(
    averaged: Averaged,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    progress: Progress,
) -> None:
    """The tables of an averaging model when its sets have been counted."""
    with progress.stage("factors", "making the tables of probabilities"):
        make_tables(averaged, [book.name for book in books])
    write_structure(averaged.counts.draft, books, info, structure, set(averaged.kept))


def _fit_collection(job: Job) -> Fitted:
    """A product of sums: counts of the sets that the terms need, tables; what was chosen."""
    prepared, options = job.prepared, job.options
    collecting = options.make_learner().collecting
    assert collecting is not None
    model = fit_collection(
        job.draft,
        job.encoded,
        _collectable(prepared, collecting),
        prepared.class_counts,
        options.smoothing,
        job.progress,
        job.shape,
    )
    found = model.shape
    write_structure(job.draft, prepared.books, model.info, found.structure, set(found.selected))
    return Fitted(super_parent_of(found, prepared.books))


def super_parent_of(shape: Shape, books: Sequence[Codebook]) -> dict[str, Any]:
    """The super parent of a collection, for the meta table."""
    return {} if shape.super_parent is None else {"superparent": books[shape.super_parent].name}


def _collectable(prepared: Prepared, collecting: Collecting) -> Collectable:
    return Collectable(collecting, tuple(book.name for book in prepared.books))


def _information(job: Job) -> Information:
    """Pass 1: MI and CMI; the margins that they come from stay in the draft.

    Where the structure is found from a sample, or the pairs are too many to be stored, the margins
    are those of single attributes.
    """
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
    options, progress = job.options, job.progress
    learner = options.make_learner()
    pairs = learner.uses_pairs
    sample = options.structure_sample
    stored = (sample is None or sample >= encoded.rows) and are_storable(
        encoded, margin_subsets(encoded, pairs)
    )
    blocks = plan_margins(encoded, pairs and stored)
    title = "pass 1: counting for structure"
    if stored or not pairs:
        with progress.stage("structure", title, encoded.rows, len(blocks)):
            margins, info = count_margins(
                draft, encoded, pairs, prepared.class_counts, learner.score, progress.advance
            )
    else:
        margins, _ = count_margins(draft, encoded, False, prepared.class_counts)
        info = _information_of_rows(draft.engine, encoded, options, progress, title)
    margins.describe("margin_families")
    return info


def _decided(job: Job, rule: Rule) -> tuple[Decided, Information]:
    """Pass 1 by decisions: the parents that a bound is sure of, from samples that grow.

    Single attributes are counted in all rows, as the model tells of them, and so their order is
    that of all rows; CMI is that of the largest sample a pair was counted in.
    """
    draft, encoded, progress = job.draft, job.encoded, job.progress
    samples = Samples(draft.engine, encoded, rule.block)
    d = encoded.n_attributes
    try:
        with progress.stage("structure", "pass 1: deciding on parents", encoded.rows):
            margins, info = count_margins(draft, encoded, False, job.prepared.class_counts)
            margins.describe("margin_families")
            measures = Measures(draft.engine, encoded, samples, progress.advance)
            decided = job.options.make_learner().decide(measures, info.order, rule)
            return decided, replace(info, cmi=latest_cmi(measures, d))
    finally:
        samples.discard()


def _sureness(decided: Decided | None, options: FitOptions) -> dict[str, Any]:
    """What the meta table says of decisions by a bound."""
    if decided is None:
        return {}
    asked = ("bound", "delta", "delta_star", "tau", "block")
    given = {key: getattr(options.rule, key) for key in asked}
    return {"bound": given, "delta_star": decided.delta_star, "structure_rows": decided.rows}


def _information_of_rows(
    engine: DuckDBEngine, encoded: Encoded, options: FitOptions, progress: Progress, title: str
) -> Information:
    """MI and CMI of the rows, or of a sample of them, from counts that are not kept."""
    d, learner = encoded.n_attributes, options.make_learner()
    rows = sampled(engine, encoded, options.structure_sample)
    blocks = plan(learner.families(d), rows)
    gammas = GammaSums(rows.cards) if learner.score == "bayes" else None
    try:
        with progress.stage("structure", title, rows.rows, len(blocks)):
            watched = (gammas.add,) if gammas is not None else ()
            sums = entropies(engine, rows, blocks, progress.advance, *watched)
            total = float(engine.row(f"SELECT {rows.total_sql} FROM {rows.relation}")[0])
            info = information(sums, d, total)
            if learner.score is None:
                return info
            scored = gammas.sums if gammas is not None else sums
            return replace(info, gains=score_gains(learner.score, scored, rows.cards, total))
    finally:
        if rows is not encoded:
            discard(engine, rows)


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
        options.smoothing.m,
        selection,
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
