"""Update, forget, merge: a model is derived anew from changed counts, in a new workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sqlbn.counts.margins import MARGINS, margin_sums
from sqlbn.counts.subsets import SubsetCounts
from sqlbn.data import Source
from sqlbn.data.no_target import display_name
from sqlbn.encoding.encoded import discard
from sqlbn.encoding.preparing import Prepared, encode_rows, prepare_like
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import NoRowsError, OptionError, SourceError, StoreError, opt
from sqlbn.kinds.kind import Added, weights_stay
from sqlbn.store.history import (
    FILES,
    HISTORY,
    Action,
    CountedFile,
    Step,
    balance,
    check_not_counted,
    check_not_forgotten,
    continued,
    counted_files,
    moment,
    write_history,
)
from sqlbn.store.meta import program_meta, write_meta
from sqlbn.store.spec import ModelSpec, made_spec
from sqlbn.store.stored_variables import variables_of, write_variables
from sqlbn.structure.shape import information_for
from sqlbn.updates.joined_codebooks import (
    Array,
    Books,
    Joined,
    check_known,
    join_books,
    joined_numeric,
    not_there,
    remaining_numeric,
    unchanged,
)
from sqlbn.updates.stored_counts import (
    TABLES,
    Part,
    RowsPart,
    StoredCounts,
    StoredPart,
    combine,
    count_again,
    subtract,
)
from sqlbn.updates.stored_model import StoredModel


@dataclass(frozen=True)
class Change:
    """What a change did: rows of this step, rows of the model now, what was left as it was.

    `news` is what the rows brought or took: classes, categories.
    """

    action: Action
    rows: int
    skipped: int
    total: int
    notes: tuple[str, ...]
    news: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rebuilt:
    """What could not be found again without the old rows, and what to note in the meta table."""

    notes: tuple[str, ...] = ()
    meta: Mapping[str, object] = field(default_factory=dict)


Changed = tuple[Workspace, ModelSpec, Change]


def update(
    model: StoredModel,
    source: Source,
    condition: str,
    again: bool,
    progress: Progress,
    refit_weights: bool = False,
) -> Changed:
    """The model with the rows of a source added; `refit_weights`: fitted again, by these rows."""
    if refit_weights and not model.spec.shifts:
        raise OptionError(
            f"{opt('refit_weights', True)}: the model has no weights; fit it with {opt('weights')}"
        )
    files = counted_files(source, condition)
    if not again:
        check_not_counted(model.steps, files)

    def change(new: Workspace, of_rows: Workspace) -> tuple[Step, Rebuilt]:
        prepared = prepare_like(new.session, source, of_rows, model.encoding, progress)
        added = _books_of(of_rows, prepared)
        joined = join_books(new, model.books, added, joined_numeric(model.books, added), 1)
        encoded = _encode_with(prepared, joined.books, progress)
        try:
            parts: list[Part] = [
                StoredPart(model.stored, joined.first),
                RowsPart(of_rows, encoded),
            ]
            total = model.rows + prepared.training.rows
            at_hand = encoded if refit_weights else None
            if at_hand is not None:
                _check_enough(at_hand, prepared, joined, total, progress)
            built = _rebuild(new, model, joined, parts, total, progress, at_hand)
        finally:
            discard(new.session, encoded)
        return _step("update", source, prepared, total, built, files), built

    nothing = step_of_nothing("update", model, source, files)
    return run_change(model, change, progress, empty=nothing)


def forget(
    model: StoredModel, source: Source, condition: str, again: bool, progress: Progress
) -> Changed:
    """The model with the rows of a source taken out; an error where they were never in."""
    files = counted_files(source, condition)
    if not again:
        check_not_forgotten(model.steps, files)

    def change(new: Workspace, of_rows: Workspace) -> tuple[Step, Rebuilt]:
        prepared = prepare_like(new.session, source, of_rows, model.encoding, progress)
        gone = _books_of(of_rows, prepared)
        total = model.rows - prepared.training.rows
        if total <= 0:
            raise SourceError(
                f"{source.label} has {prepared.training.rows:,} rows and the model {model.rows:,}: "
                "none would be left; to remove the model: sqlbn drop"
            )
        check_known(model.books, gone)
        left = Workspace(new.session, model.weighted)
        try:
            encoded = _encode_with(prepared, model.books, progress)
            try:
                _take_out(left, model, of_rows, encoded, progress)
            finally:
                discard(new.session, encoded)
            stored = StoredCounts(left, model.class_variable)
            numeric = remaining_numeric(model.books, _totals(model, stored))
            joined = join_books(new, model.books, gone, numeric, -1)
            parts = [StoredPart(stored, joined.first)]
            built = _rebuild(new, model, joined, parts, total, progress)
        finally:
            left.drop()
        return _step("forget", source, prepared, total, built, files), built

    nothing = step_of_nothing("forget", model, source, files)
    return run_change(model, change, progress, empty=nothing)


def merge(model: StoredModel, other: StoredModel, again: bool, progress: Progress) -> Changed:
    """The model of the rows of two models, from their counts alone."""
    _check_mergeable(model, other)
    check_files_apart(model, other, again)

    def change(new: Workspace, of_rows: Workspace) -> tuple[Step, Rebuilt]:
        numeric = joined_numeric(model.books, other.books)
        joined = join_books(new, model.books, other.books, numeric, 1)
        parts = [
            StoredPart(model.stored, joined.first),
            StoredPart(other.stored, joined.second),
        ]
        total = model.rows + other.rows
        built = _rebuild(new, model, joined, parts, total, progress)
        name = other.spec.meta.get("name", "another model")
        skipped = int(other.spec.meta["rows_skipped"])
        step = Step("merge", moment(), name, other.rows, skipped, total, "; ".join(built.notes))
        return step, built

    return run_change(model, change, progress, other)


def check_files_apart(model: StoredModel, other: StoredModel, again: bool) -> None:
    """An error where two models hold the rows of one file, unless they may count twice."""
    if again:
        return
    in_both = {i for i, n in balance(other.steps).items() if n > 0}
    here = [f for s in model.steps for f in s.files if balance(model.steps)[f.identity] > 0]
    for file in here:
        if file.identity in in_both:
            raise SourceError(
                f"both models hold the rows of {file.path!r}; to count them twice: "
                f"{opt('again', True)}"
            )


# -- steps of a change -------------------------------------------------------------------------


def run_change(
    model: StoredModel,
    change: Callable[[Workspace, Workspace], tuple[Step, Rebuilt]],
    progress: Progress,
    other: StoredModel | None = None,
    empty: Step | None = None,
) -> Changed:
    """Run a change into a new workspace; the old one stays as it is whatever happens.

    `empty` is the step where the source has no row: a night without news is no mistake.
    """
    session = model.workspace.session
    new, of_rows = Workspace(session, model.weighted), Workspace(session, model.weighted)
    try:
        try:
            step, built = change(new, of_rows)
        except NoRowsError:
            if empty is None:
                raise
            step, built = empty, Rebuilt()
            _copy(model, new)
        before = [*model.steps, *(other.steps if other is not None else [])]
        steps = continued(before, step)
        write_history(new, steps)
        sign = step.sign if other is None else 1
        skipped = int(model.spec.meta["rows_skipped"]) + sign * step.skipped
        seconds = {name: round(taken, 4) for name, taken in progress.seconds.items()}
        write_meta(
            new,
            model.meta(
                **program_meta(),
                rows=step.total,
                rows_skipped=max(skipped, 0),
                updated_at=step.at,
                files=_present_files(steps),
                seconds=seconds,
                unchanged="; ".join(built.notes),
                **built.meta,
            ),
        )
        spec = made_spec(new)
    except BaseException:
        new.drop()
        raise
    finally:
        of_rows.drop()
    news = _news(model.spec, spec)
    return new, spec, Change(step.action, step.rows, step.skipped, step.total, built.notes, news)


def _news(before: ModelSpec, after: ModelSpec) -> tuple[str, ...]:
    """Classes and categories that came or went."""
    found = []
    for names, others, what in (
        (after.class_names, before.class_names, "new class"),
        (before.class_names, after.class_names, "no rows left of class"),
    ):
        found += [f"{what} {name!r}" for name in names if name not in others]
    pairs = zip(before.books, after.books, strict=True)
    more = [(b.name, b.n_values - a.n_values) for a, b in pairs]
    for sign, what in ((1, "new values"), (-1, "no rows left of some values")):
        named = [f"{name} ({abs(n)})" for name, n in more if n * sign > 0]
        if named:
            listed = ", ".join(named[:8]) + (", …" if len(named) > 8 else "")
            found.append(f"{what}: {listed}")
    return tuple(found)


def step_of_nothing(
    action: Action, model: StoredModel, source: Source, files: tuple[CountedFile, ...]
) -> Step:
    """The step of a change whose source has no row."""
    return Step(action, moment(), source.label, 0, 0, model.rows, "no row", files)


def _copy(model: StoredModel, new: Workspace) -> None:
    """All tables that a change would make, as they are."""
    for table in set(model.workspace.names()) - {"meta", HISTORY, FILES}:
        if table in new.names():  # a change that found no row has begun it
            new.remove(table)
        new.copy(table, model.workspace.table(table))


def _step(
    action: Action,
    source: Source,
    prepared: Prepared,
    total: int,
    built: Rebuilt,
    files: tuple[CountedFile, ...],
) -> Step:
    training = prepared.training
    note = "; ".join(built.notes)
    return Step(action, moment(), source.label, training.rows, training.skipped, total, note, files)


def _present_files(steps: Sequence[Step]) -> list[dict[str, object]]:
    """The files whose rows are in the model now."""
    present = {identity for identity, n in balance(steps).items() if n > 0}
    found = {f.identity: f for s in steps for f in s.files if f.identity in present}
    return [{"path": f.path, "bytes": f.size} for f in found.values()]


def _books_of(workspace: Workspace, prepared: Prepared) -> Books:
    return Books(workspace, prepared.class_book, tuple(prepared.books))


def _encode_with(prepared: Prepared, books: Books, progress: Progress) -> Encoded:
    """Rows in the codes of other books, which must know all their values."""
    learned = replace(prepared.learned, books=list(books.books))
    known = replace(prepared, class_book=books.class_book, learned=learned, tables=books.tables)
    return encode_rows(books.workspace.session, known, progress)


def _check_enough(
    at_hand: Encoded, prepared: Prepared, joined: Joined, total: int, progress: Progress
) -> None:
    """An error where rows at hand are too few to fit weights by; a word where others are many."""
    least, n_classes = at_hand.limits.choice_rows, len(joined.class_counts)
    what = opt("refit_weights", True)
    if at_hand.rows < least:
        raise OptionError(
            f"{what}: {at_hand.rows:,} rows are too few to fit weights by, {least} are the least; "
            "without it the weights stay as they are"
        )
    if len(prepared.class_counts) < n_classes:
        raise OptionError(
            f"{what}: the rows have {len(prepared.class_counts)} of the {n_classes} classes; "
            "weights are fitted by rows of all of them"
        )
    if at_hand.rows < total / 2:
        progress.note(
            f"weights are fitted by the {at_hand.rows:,} rows at hand, not by the {total:,} that "
            "are counted: evaluate the model before and after"
        )


def _rebuild(
    new: Workspace,
    model: StoredModel,
    joined: Joined,
    parts: Sequence[Part],
    rows: int,
    progress: Progress,
    at_hand: Encoded | None = None,
) -> Rebuilt:
    """All tables of a model from the counts of its parts, weights from the rows `at_hand`."""
    missing = tuple(b.missing for b in joined.books.books)
    limits = new.session.limits
    encoded = Encoded("", joined.books.cards, rows, model.weighted, missing=missing, limits=limits)
    kind, outline = model.kind, model.outline
    needs = outline.learner.needs
    with progress.stage("structure", "adding up margins", rows):
        margins = SubsetCounts(new, encoded, model.stored.families(MARGINS), MARGINS)
        combine(margins, parts)
        margins.describe("margin_families")
        sums = margin_sums(margins, joined.class_counts, needs.score == "bayes", needs.bare_pairs)
        info = replace(information_for(sums, needs.score), names=outline.names)
        if info.cmi is None:
            info = replace(info, cmi=model.cmi())
        covered = partial(_are_covered, parts)
        found = kind.rederive(outline, info, covered)
        if at_hand is not None:
            found = replace(found, notes=tuple(n for n in found.notes if n != weights_stay()))
    _check_fillable(parts, kind.sets(found.shape))
    with progress.stage("parameters", "adding up families", rows):
        counts = kind.empty_counts(new, encoded, found.shape)
        combine(counts, parts)
    books, class_counts = joined.books.books, joined.class_counts
    added = Added(counts, books, class_counts, info, found.shape, at_hand)
    kind.finish(outline, added, progress)
    n_classes, elementary = len(joined.class_counts), model.encoding.elementary
    write_variables(new, variables_of(new, joined.books.books, n_classes, elementary))
    # How it was chosen once.
    for name in {"loocv", "member_loocv", "encodings", "decisions"} & set(model.workspace.names()):
        new.copy(name, model.workspace.table(name))
    return Rebuilt(found.notes, kind.chosen(outline, info, found.shape))


def _are_covered(parts: Sequence[Part], family: tuple[int, ...]) -> bool:
    return all(part.covers(family) for part in parts)


def _check_fillable(parts: Sequence[Part], sets: Sequence[tuple[int, ...]]) -> None:
    if not all(_are_covered(parts, family) for family in sets):
        raise StoreError(
            "the two models have different parents, and counts of these cannot be added up: "
            f"fit one with {opt('like')} the other {opt('same_structure', True)}"
        )


def _take_out(
    left: Workspace,
    model: StoredModel,
    of_rows: Workspace,
    encoded: Encoded,
    progress: Progress,
) -> None:
    """All stored counts without those of some rows, in the model's own codes."""
    with progress.stage("taking out", "taking rows out of the counts", encoded.rows):
        for table, described in reversed(TABLES):
            families = model.stored.families(table)
            as_sets = table == MARGINS or model.kind.counts_sets
            counts = count_again(of_rows, encoded, families, as_sets, table)
            short = subtract(left, table, model.workspace, counts)
            if short is not None:
                raise _missing_rows(model, families[short[0]], short[1])
            left.copy(described, model.workspace.table(described))


def _missing_rows(model: StoredModel, family: tuple[int, ...], n: float) -> SourceError:
    """The error of a cell that would go below zero, told by its attributes."""
    names = [repr(model.spec.books[v].name) for v in family]
    what = " and ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} others"
    return not_there(f"one combination of {what} and the class", n)


def _totals(model: StoredModel, stored: StoredCounts) -> dict[int, Array]:
    """Rows left of every code of the numeric attributes."""
    same = unchanged(model.books.cards)
    classes = same.cards[-1]
    found = {}
    for i, book in enumerate(model.spec.books):
        if book.kind == "numeric":
            keys, counts = stored.cells((i,), same)
            totals = np.zeros(book.n_values)
            np.add.at(totals, keys // classes, counts)
            found[i] = totals
    return found


def _check_mergeable(model: StoredModel, other: StoredModel) -> None:
    """An error where the counts of two models do not mean the same."""
    one, two = model.spec, other.spec
    names = [[b.name for b in spec.books] for spec in (one, two)]
    remedy = f"fit one with {opt('like')} the other"
    if one.target.name != two.target.name:
        targets = " and ".join(display_name(spec.target.name) for spec in (one, two))
        raise StoreError(f"the models predict {targets}")
    if names[0] != names[1]:
        differing = sorted(set(names[0]) ^ set(names[1])) or names[1]
        raise StoreError(f"only one model has the attribute {differing[0]!r}: {remedy}")
    for a, b in zip((*one.books, one.target), (*two.books, two.target), strict=True):
        if (a.kind, a.cuts) != (b.kind, b.cuts):
            raise StoreError(f"the models cut {a.name!r} into different intervals: {remedy}")
        if a.compared_as != b.compared_as and a.kind == "categorical":
            raise StoreError(
                f"{a.name!r} is {a.sql_type} in one model and {b.sql_type} in the other: {remedy}"
            )
    _check_same_unseen(one, two)
    for key in ("learner", "options", "m", "backoff", "estimate", "missing", "weight"):
        if one.meta[key] != two.meta[key] and not _same_options(key, one, two):
            raise StoreError(
                f"the models differ in their {key}: {one.meta[key]} and {two.meta[key]}; "
                "fit one like the other"
            )
    kinds = [spec.meta.get("weight_kind") for spec in (one, two)]
    if kinds[0] != kinds[1] and all(kinds):  # models of an early sqlbn do not tell
        raise StoreError(
            f"the models take the weights of {one.meta['weight']!r} as {kinds[0]} and {kinds[1]}: "
            f"{remedy}"
        )


def _check_same_unseen(one: ModelSpec, two: ModelSpec) -> None:
    """An error where unseen values are neutral in one model; early models do not say."""
    a, b = one.smoothing.unseen, two.smoothing.unseen
    if a != b:
        raise StoreError(
            f"unseen values are {a} in one model and {b} in the other: fit one with "
            f"{opt('unseen')} of "
            "the other"
        )


def _same_options(key: str, one: ModelSpec, two: ModelSpec) -> bool:
    """Options that only shaped the encoding do not matter when the encodings are equal."""
    import json

    if key != "options":
        return False
    found = [json.loads(spec.meta[key]) for spec in (one, two)]
    for options in found:
        options.pop("bins", None)
        options.pop("discretise", None)
    return bool(found[0] == found[1])
