"""Cross-validation with folds that are the same for every learner, and learning curves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlbn.data import Source
from sqlbn.data.sampling import shuffle_sql, staged
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.row_engine import Numbering, Persisted
from sqlbn.engines.sql import RESERVED, identifier, render, select_sql
from sqlbn.errors import OptionError, opt
from sqlbn.evaluation.auto_encoding import learn
from sqlbn.evaluation.held_out import evaluate_source
from sqlbn.evaluation.metrics import (
    Evaluation,
    deviation,
    pooled,
    positive_of_rows,
    without_nan,
)
from sqlbn.learners.fit_options import FitOptions
from sqlbn.learners.registry import learner_names, takes

if TYPE_CHECKING:
    import pyarrow as pa


PLACE = f"{RESERVED}place"
_ROW = f"{RESERVED}row"
_SHUFFLE = f"{RESERVED}shuffle"


def deal(
    session: Session, source: Source, options: FitOptions, seed: int, stratified: bool
) -> tuple[Source, Persisted]:
    """The columns of a fit with a place each, and the rows as they are persisted.

    Places depend on the seed and on the rows' order in the source, on nothing else. Stratified
    means sorted by class first: every n-th place is then a fair share of each class.
    """
    target, names = source.column(options.target, "the target"), options.columns_of(source)
    if source.row_key is None or not source.rescannable:
        source = staged(session, source, names)
    assert source.row_key is not None
    first, row_engine = identifier(target) if stratified else None, session.row_engine
    query = render(
        "evaluate/deal",
        columns=names,
        first=first or "",
        place_name=PLACE if row_engine.numbers_rows else None,
        shuffle_name=_SHUFFLE,
        row_name=_ROW,
        row_key=source.row_key,
        shuffle=shuffle_sql(source.row_key, seed, row_engine.dialect),
        relation=source.numbered_relation,
        where=source.where_sql,
    )
    # Where that is a choice, in a file: the rows may be many.
    numbering = _order(first, session.limits.fold_piece)
    kept = row_engine.persist(query, "dealt", session.memory_bytes, numbering)
    relation = kept.relation
    if not row_engine.numbers_rows:
        relation = f"({select_sql(relation, f'*, {kept.row_number} AS {PLACE}')})"
    dealt = Source(
        relation=relation,
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=_ROW,
        place=PLACE,
    )
    return dealt, kept


def _order(first: str | None, piece: int) -> Numbering:
    """The order of the places, for row engines that are told how to number rows."""
    order, pieces = [_SHUFFLE, _ROW], [f"{_SHUFFLE} // {piece}"]
    if first is not None:
        order, pieces = [f"{first} NULLS LAST", *order], [first, *pieces]
    return Numbering(tuple(order), tuple(pieces))


def fit_and_evaluate(
    session: Session,
    training: Source,
    test: Source,
    options: FitOptions,
    progress: Progress,
    title: str,
    ranking: bool = True,
    positive: str | None = None,
    keep: Callable[[str], None] | None = None,
) -> Evaluation:
    """Losses on the test rows of a model of the training rows; the model is thrown away.

    `keep` as in `evaluate_source`.
    """
    started = time.perf_counter()
    workspace, spec = learn(session, training, options, Progress())
    fitted = time.perf_counter() - started
    with progress.stage("evaluate", f"{title}: fitted in {fitted:.1f} s, testing"):
        result = evaluate_source(workspace, spec, test, options.weight, ranking, positive, keep)
    result.seconds["fit"] = fitted
    workspace.drop()
    return result


def cross_validate(
    session: Session,
    source: Source,
    options: FitOptions,
    folds: int,
    progress: Progress,
    asked: str | None = None,
    repeats: int = 1,
    keep: Callable[[int, int, str], None] | None = None,
) -> tuple[Evaluation, list[Evaluation]]:
    """All rows predicted once a repeat, by a model that has not seen their fold.

    Pooled, and by repeat and fold. `keep` gets the query for the rows of each: their key in the
    source, class, prediction, P(class).
    """
    if folds < 2:
        raise OptionError("give at least 2", folds=folds)
    reduced, parts = options.of_used_columns(), list[Evaluation]()
    for repeat in range(repeats):
        with progress.stage("folds", f"dealing rows to {folds} folds"):
            seed = session.settings.seed + repeat
            dealt, kept = deal(session, source, options, seed, stratified=True)
            if repeat == 0:
                positive = positive_of_rows(session, dealt, options, asked)
        if repeat == 0:
            rows = int(session.row_engine.row(dealt.select("count(*)"))[0])
            if folds > rows:
                raise OptionError(
                    f"{source.label} has {rows:,} rows; give at most as many folds", folds=folds
                )
        for fold in range(folds):
            title = f"fold {fold + 1} of {folds}"
            parts.append(
                fit_and_evaluate(
                    session,
                    dealt.filtered(f"{PLACE} % {folds} <> {fold}"),
                    dealt.filtered(f"{PLACE} % {folds} = {fold}"),
                    reduced,
                    progress,
                    f"repeat {repeat + 1} of {repeats}, {title}" if repeats > 1 else title,
                    positive=positive,
                    keep=partial(keep, repeat, fold) if keep is not None else None,
                )
            )
        session.row_engine.unpersist(kept)
    return pooled(parts), parts


@dataclass(frozen=True)
class Point:
    """One learner at one size: the losses of the repeats."""

    learner: str
    size: int
    losses: tuple[dict[str, float], ...]
    positive: str | None = None

    def known(self, loss: str) -> list[float]:
        """A loss of the repeats that have it: test rows of one class alone have no AUC."""
        return [found[loss] for found in self.losses if not math.isnan(found[loss])]

    def mean(self, loss: str) -> float:
        """The mean of a loss over the repeats; NaN where none has it."""
        known = self.known(loss)
        return math.fsum(known) / len(known) if known else math.nan

    def deviation(self, loss: str) -> float:
        """The standard deviation over the repeats; 0 for a single one."""
        return deviation(self.known(loss))

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        repeats = [without_nan(found) for found in self.losses]
        told = {"learner": self.learner, "size": self.size, "positive": self.positive}
        return {**told, "repeats": repeats}


def named_learner(text: str, options: FitOptions, given: Mapping[str, Any]) -> FitOptions:
    """Options for a learner written as in `kdb:3`: the number is k, for skdb kmax, for ande n.

    Of the options that only some learners take, it gets those that it knows.
    """
    name, _, number = text.partition(":")
    if name not in learner_names() or (number and not number.isdigit()):
        known = ", ".join(learner_names())
        raise OptionError(f"write {known}, with a number as in kdb:3", learners=text)
    if number and name not in ("kdb", "skdb", "ande"):
        raise OptionError(f"{name} takes no number", learners=text)
    depth = int(number) if number else None
    own = {key: value for key, value in given.items() if takes(name, key)}
    if depth is not None:
        own[{"kdb": "k", "skdb": "kmax", "ande": "n"}[name]] = depth
    return replace(options, learner=name, learner_options=own)


def learning_curves(
    session: Session,
    source: Source,
    options: FitOptions,
    learners: Sequence[str],
    sizes: Sequence[int],
    repeats: int,
    progress: Progress,
    ranking: bool,
    given: Mapping[str, Any],
    asked: str | None = None,
) -> list[Point]:
    """Every learner on training sets of every size; in a repeat all meet the same rows."""
    if repeats < 1 or not sizes or min(sizes) < 1:
        raise OptionError("give at least one repeat, and sizes of at least 1 row")
    chosen = {text: named_learner(text, options, given) for text in learners}
    for option in given:
        if not any(takes(text.partition(":")[0], option) for text in learners):
            raise OptionError(f"{opt(option)} is for none of the learners {', '.join(learners)}")
    reduced = {text: learner.of_used_columns() for text, learner in chosen.items()}
    rows = int(session.row_engine.row(source.select("count(*)"))[0])
    test_rows = min(session.limits.curve_test_rows, max(1, rows // 10))
    if max(sizes) > rows - test_rows:
        raise OptionError(
            f"of {rows:,} rows {test_rows:,} are for testing; give at most {rows - test_rows:,}",
            sizes=max(sizes),
        )
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    positive: str | None = None
    for repeat in range(repeats):
        dealt, kept = deal(
            session, source, options, session.settings.seed + repeat, stratified=False
        )
        test = dealt.filtered(f"{PLACE} < {test_rows}")
        if repeat == 0:
            positive = positive_of_rows(session, dealt, options, asked)
        for size in sizes:
            training = dealt.filtered(f"{PLACE} BETWEEN {test_rows} AND {test_rows + size - 1}")
            for text, learner in reduced.items():
                title = f"repeat {repeat + 1} of {repeats}, {size:,} rows, {text}"
                result = fit_and_evaluate(
                    session, training, test, learner, progress, title, ranking, positive
                )
                found.setdefault((text, size), []).append(result.losses)
        session.row_engine.unpersist(kept)
    return [Point(text, size, tuple(losses), positive) for (text, size), losses in found.items()]


def points_table(points: Sequence[Point]) -> pa.Table:
    """A row for every learner, size and repeat, with a column for every loss."""
    import pyarrow as pa

    rows = [
        {"learner": p.learner, "size": p.size, "repeat": number, "positive": p.positive, **losses}
        for p in points
        for number, losses in enumerate(map(without_nan, p.losses))
    ]
    fixed = {"learner": pa.string(), "size": pa.int64(), "repeat": pa.int64()}
    types = {**fixed, "positive": pa.string()}
    return pa.Table.from_pylist(
        rows, pa.schema([(name, types.get(name, pa.float64())) for name in rows[0]])
    )
