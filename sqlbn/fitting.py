"""The road from rows to a model: open, profile, encode, count, structure, parameters."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import duckdb

from sqlbn import __version__
from sqlbn.averaging import (
    affordable_subsets,
    count_average,
    make_tables,
    single_information,
)
from sqlbn.collecting import REMEDY, Collectable, fit_collection
from sqlbn.counts.counter import entropies, plan
from sqlbn.counts.families import FamilyCounts, count_families
from sqlbn.counts.room import affordable
from sqlbn.draft import Draft
from sqlbn.encode.books import learn_classes, learn_codebooks
from sqlbn.encode.codebook import BookTables, Codebook
from sqlbn.encode.encoded import Encoded, discard, encode, sampled
from sqlbn.encode.profile import profile_columns
from sqlbn.encode.types import is_nan_sql, plain_type, type_group
from sqlbn.encode.weights import Weights, check_weights
from sqlbn.engines import DuckDBEngine
from sqlbn.learners.base import Collecting, Learner
from sqlbn.options import FitOptions
from sqlbn.progress import Progress
from sqlbn.quoting import identifier
from sqlbn.scoring.parameters import FactorTables
from sqlbn.selecting import select, select_average
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.store.spec import FORMAT, ModelSpec, probability_names, read_spec, write_meta
from sqlbn.structure.forest import GammaSums, score_gains
from sqlbn.structure.information import Information, information
from sqlbn.structure.parents import Structure


@dataclass(frozen=True)
class Training:
    """The rows that are trained on, and what was left out of them."""

    source: Source
    target: str
    attributes: list[str]
    weights: Weights | None
    rows: int
    skipped: int


@dataclass(frozen=True)
class Prepared:
    """Codebooks, before a single count."""

    training: Training
    class_book: Codebook
    class_counts: list[float]
    books: list[Codebook]
    tables: BookTables


def training_rows(engine: DuckDBEngine, source: Source, options: FitOptions) -> Training:
    """Rows with a target and a positive weight, from a source that is cheap to scan again."""
    target = source.column(options.target, "the target")
    attributes = options.candidates(source)
    weight = source.column(options.weight, "the weight") if options.weight else None
    if not source.rescannable:
        source = staged(engine, source, [target, *attributes, *([weight] if weight else [])])
    read = int(engine.row(source.select("count(*)"))[0])
    used = source.filtered(f"{_present(source, target)}")
    weights = None
    if weight is not None:
        weights = check_weights(engine, source, weight)
        used = used.filtered(f"{weights.value_sql()} > 0")
    rows = int(engine.row(used.select("count(*)"))[0])
    return Training(used, target, attributes, weights, rows, read - rows)


def _present(source: Source, column: str) -> str:
    name = identifier(column)
    is_float = type_group(source.columns[column]) == "float"
    not_nan = f" AND NOT {is_nan_sql(name)}" if is_float else ""
    return f"{name} IS NOT NULL{not_nan}"


def prepare(
    engine: DuckDBEngine, source: Source, draft: Draft, options: FitOptions, progress: Progress
) -> Prepared:
    """Kinds of columns, categories and cut points; fills the draft's `classes` and codebooks."""
    with progress.stage("profile", "looking at the columns"):
        training = training_rows(engine, source, options)
        class_book, classes = learn_classes(
            engine, training.source, training.target, training.weights
        )
        rows, profiles = profile_columns(
            engine, training.source, training.attributes, options.choices(training.source)
        )
    _write_classes(draft, classes)
    with progress.stage("codebooks", "learning categories and cut points", rows, len(profiles)):
        books = learn_codebooks(
            engine,
            training.source,
            draft,
            profiles,
            rows,
            options.bins,
            training.weights,
            frozenset(options.keep),
            progress,
        )
    class_counts = [float(n) for _, n in classes]
    return Prepared(
        training, class_book, class_counts, books, BookTables.of(draft.prefix, training.target)
    )


def _write_classes(draft: Draft, classes: Sequence[tuple[str, float]]) -> None:
    columns = probability_names([name for name, _ in classes])
    draft.fill(
        "classes",
        f'code UINTEGER, class VARCHAR, n {draft.n_type}, "column" VARCHAR',
        [
            (i, name, n, column)
            for i, ((name, n), column) in enumerate(zip(classes, columns, strict=True))
        ],
    )


def learn(
    engine: DuckDBEngine, source: Source, options: FitOptions, progress: Progress
) -> tuple[Draft, ModelSpec]:
    """A model of the source, as tables in the engine."""
    draft = Draft(engine, weighted=options.weight is not None)
    try:
        prepared = prepare(engine, source, draft, options, progress)
        _check_room(draft, prepared, options)
        encoded = _encode(engine, prepared, progress)
        try:
            fit = _way_of(options.make_learner())
            chosen = fit(draft, encoded, prepared, options, progress)
        finally:
            discard(engine, encoded)
        write_meta(draft, {**_meta(prepared, options, progress), **chosen})
        return draft, read_spec(draft)
    except BaseException:
        draft.drop()
        raise


def _way_of(learner: Learner) -> Callable[..., dict[str, Any]]:
    """The road from codes to tables that a learner takes."""
    if learner.averaging is not None:
        return _fit_average
    return _fit_collection if learner.collecting is not None else _fit_product


def _check_room(draft: Draft, prepared: Prepared, options: FitOptions) -> None:
    """Refuse counts that will not fit on the disk before the rows are read for them."""
    learner = options.make_learner()
    learner.check([book.name for book in prepared.books])
    cards = (*(b.n_values for b in prepared.books), prepared.class_book.n_values)
    codes = Encoded("", cards, prepared.training.rows, options.weight is not None)
    averaging, collecting = learner.averaging, learner.collecting
    # Which attributes an averaging learner keeps may be known only after counting.
    if averaging is not None and averaging.attributes is None:
        affordable_subsets(draft, codes, range(codes.n_attributes), averaging)
    if collecting is not None:
        affordable(draft, codes, _collectable(prepared, collecting).early, REMEDY)


def _fit_product(
    draft: Draft, encoded: Encoded, prepared: Prepared, options: FitOptions, progress: Progress
) -> dict[str, Any]:
    """A product of P(x | parents, y): structure, counts of families, tables; what was chosen."""
    learner = options.make_learner()
    info = _information(draft.engine, encoded, options, progress)
    info = replace(info, names=tuple(book.name for book in prepared.books))
    structure = learner.structure(info)
    families = {i: (i, *parents) for i, parents in enumerate(structure.parents)}
    with progress.stage("parameters", "pass 2: counting families", encoded.rows, len(families)):
        counts = count_families(draft, encoded, families, advance=progress.advance)
    counts, structure, chosen = _selected(counts, structure, prepared, options, progress)
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        FactorTables(counts, options.smoothing).make()
    _write_structure(draft, prepared.books, info, structure, set(counts.families))
    return {**chosen, **learner.chosen(info, structure)}


def _fit_average(
    draft: Draft, encoded: Encoded, prepared: Prepared, options: FitOptions, progress: Progress
) -> dict[str, Any]:
    """A mean of products: counts of all small sets of attributes, tables; what was chosen."""
    learner, d = options.make_learner(), encoded.n_attributes
    averaging = learner.averaging
    assert averaging is not None
    most = averaging.attributes if averaging.attributes is not None else d
    # Only where attributes are left out must their information be known before the one pass.
    info = _information(draft.engine, encoded, options, progress) if most < d else None
    kept = info.order[:most] if info is not None else range(d)
    averaged = count_average(
        draft, encoded, averaging, kept, prepared.class_counts, options.smoothing.m, progress
    )
    info = info or single_information(averaged.counts, d, prepared.class_counts)
    structure, chosen = learner.structure(info), {}
    if learner.selection is not None:
        order = [v for v in structure.order if v in averaged.kept]
        best = select_average(averaged, order, learner.selection, options.loocv_sample, progress)
        averaged = averaged.keep(order[: best.n_attributes])
        chosen = {"selected_k": best.k, "selected_attributes": best.n_attributes}
    with progress.stage("factors", "making the tables of probabilities"):
        make_tables(averaged, [book.name for book in prepared.books])
    _write_structure(draft, prepared.books, info, structure, set(averaged.kept))
    return chosen


def _fit_collection(
    draft: Draft, encoded: Encoded, prepared: Prepared, options: FitOptions, progress: Progress
) -> dict[str, Any]:
    """A product of sums: counts of the sets that the terms need, tables; what was chosen."""
    collecting = options.make_learner().collecting
    assert collecting is not None
    collectable = _collectable(prepared, collecting)
    model = fit_collection(
        draft, encoded, collectable, prepared.class_counts, options.smoothing, progress
    )
    structure = Structure(model.order, ((),) * len(model.order))
    _write_structure(draft, prepared.books, model.info, structure, model.used)
    if model.super_parent is None:
        return {}
    return {"superparent": collectable.names[model.super_parent]}


def _collectable(prepared: Prepared, collecting: Collecting) -> Collectable:
    return Collectable(collecting, tuple(book.name for book in prepared.books))


def _encode(engine: DuckDBEngine, prepared: Prepared, progress: Progress) -> Encoded:
    training = prepared.training
    with progress.stage("encode", "encoding", training.rows):
        return encode(
            engine,
            training.source,
            prepared.class_book,
            prepared.books,
            training.weights,
            prepared.tables,
            training.rows,
        )


def _information(
    engine: DuckDBEngine, encoded: Encoded, options: FitOptions, progress: Progress
) -> Information:
    d, learner = encoded.n_attributes, options.make_learner()
    rows = sampled(engine, encoded, options.structure_sample)
    blocks = plan(learner.families(d), rows)
    gammas = GammaSums(rows.cards) if learner.score == "bayes" else None
    try:
        with progress.stage("structure", "pass 1: counting for structure", rows.rows, len(blocks)):
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


def _selected(
    counts: FamilyCounts,
    structure: Structure,
    prepared: Prepared,
    options: FitOptions,
    progress: Progress,
) -> tuple[FamilyCounts, Structure, dict[str, int]]:
    """The counts, the structure and what to note of them after selection, if there is any."""
    selection = options.make_learner().selection
    if selection is None:
        return counts, structure, {}
    best = select(
        counts,
        structure.order,
        prepared.class_counts,
        options.smoothing.m,
        selection,
        options.loocv_sample,
        progress,
    )
    kept = sorted(structure.order[: best.n_attributes])
    parents = tuple(p[: best.k] if i in kept else () for i, p in enumerate(structure.parents))
    families = {i: (i, *parents[i]) for i in kept}
    with progress.stage("cut back", f"keeping {len(kept)} attributes with k = {best.k}"):
        left = counts.cut_back(families)
    chosen = {"selected_k": best.k, "selected_attributes": best.n_attributes}
    return left, Structure(structure.order, parents), chosen


def _write_structure(
    draft: Draft,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    selected: set[int],
) -> None:
    rank = {attribute: place for place, attribute in enumerate(structure.order)}
    draft.fill(
        "attributes",
        "position USMALLINT, attribute VARCHAR, kind VARCHAR, n_values UINTEGER, mi DOUBLE, "
        "rank USMALLINT, selected BOOLEAN, type VARCHAR, missing_code UINTEGER",
        [
            (
                i,
                b.name,
                b.kind,
                b.n_values,
                float(info.mi[i]),
                rank[i],
                i in selected,
                plain_type(b.sql_type),
                b.missing,
            )
            for i, b in enumerate(books)
        ],
    )
    cmi = info.cmi
    draft.fill(
        "parents",
        "attribute VARCHAR, parent VARCHAR, rank USMALLINT, cmi DOUBLE",
        [
            (books[i].name, books[j].name, place, float(cmi[i, j]) if cmi is not None else None)
            for i in structure.order
            for place, j in enumerate(structure.parents[i])
        ],
    )
    draft.fill(
        "cmi",
        "attribute VARCHAR, other VARCHAR, cmi DOUBLE",
        [
            (books[i].name, books[j].name, float(cmi[i, j]))
            for i in range(len(books))
            for j in range(len(books))
            if i != j
        ]
        if cmi is not None
        else [],
    )


def _meta(prepared: Prepared, options: FitOptions, progress: Progress) -> dict[str, Any]:
    training = prepared.training
    learner = options.make_learner()
    return {
        "format": FORMAT,
        "sqlbn": __version__,
        "duckdb": duckdb.__version__,
        "python": platform.python_version(),
        "dialect": "duckdb",
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "learner": learner.name,
        "options": {**learner.options(), "bins": options.bins},
        "target": training.target,
        "target_type": plain_type(prepared.class_book.sql_type),
        "m": options.smoothing.m,
        "backoff": options.smoothing.backoff,
        "estimate": options.smoothing.estimate,
        "missing": options.smoothing.missing,
        "weight": options.weight or "",
        "where": options.where or "",
        "source": training.source.label,
        "files": [{"path": f.path, "bytes": f.size} for f in training.source.files],
        "rows": training.rows,
        "rows_skipped": training.skipped,
        "seconds": {name: round(taken, 4) for name, taken in progress.seconds.items()},
    }
