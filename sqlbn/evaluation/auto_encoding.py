"""The encoding chosen by the data: honest losses of the same rows compare encodings.

All candidates are tried on a part of the rows, and only judged; the one that is expected to be the
best on all of them is fitted, and a second one only where all rows contradict what was expected.
What trials say of all rows is in encoding_trials.py.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from sqlbn.data import Source
from sqlbn.data.sampling import WORD, shuffle_sql, staged
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.column_arrays import ColumnArrays
from sqlbn.encoding.learn_codebooks import AUTO, Discretisation, candidates, learn_classes
from sqlbn.encoding.preparing import Looked, look, look_alike, training_rows
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.value_types import type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnWarning
from sqlbn.evaluation.encoding_trials import (
    HalfLosses,
    Trial,
    as_loss,
    expected,
    is_known,
    pooled,
    seen,
)
from sqlbn.evaluation.held_out import evaluate_source
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.product_selection import planned_form
from sqlbn.learners.fit_options import FitOptions
from sqlbn.pipeline import (
    Pattern,
    fit_with_loo,
    tries_in_arrays,
    try_arrays,
    try_encoding,
)
from sqlbn.store.meta import add_meta
from sqlbn.store.spec import ModelSpec, made_spec

T = TypeVar("T")

# Types whose values are categories in every encoding, or nothing at all.
_NEVER_CUT = ("text", "boolean", "other")


@dataclass(frozen=True)
class Field:
    """Rows that encodings are compared on, looked at once.

    `warned` is what the look said of columns; the user hears only of the model that is kept. Few
    rows are in `columns`, where nothing else is asked of them.
    """

    session: Session
    source: Source
    options: FitOptions
    loss: Loss
    looked: Looked
    warned: tuple[str, ...]
    columns: ColumnArrays | None = None

    @classmethod
    def of(cls, session: Session, source: Source, options: FitOptions, loss: Loss) -> Field:
        """Look at the columns of some rows."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            looked = look(session, source, options, Progress())
        return cls(session, source, options, loss, looked, _messages(told))

    @property
    def rows(self) -> int:
        """How many are trained on: those without a class or a weight teach nothing."""
        return self.looked.training.rows if self.columns is None else self.columns.rows

    @property
    def n_classes(self) -> int:
        """How many classes they have."""
        return len(self.looked.classes if self.columns is None else self.columns.classes)

    def part(self, encodings: Sequence[Discretisation]) -> Field:
        """A repeatable part of the rows to try encodings on: every trial reads it several times.

        All of them where they are few.
        """
        limits, rows = self.session.limits, self.rows
        # More than arrays hold would be tried by queries, which take ten times as long to plan.
        values = len(self.looked.classes) * max(1, len(self.looked.training.attributes))
        most = max(limits.trial_rows, limits.loo_array_estimates // 2 // values)
        share = min(max(rows / limits.trial_parts, limits.trial_rows), most) / max(rows, 1)
        if share <= 1 / 2:
            drawn, options = self._drawn(0, share), self.options.of_used_columns()
            return Field.of(self.session, drawn, options, self.loss)._in_arrays(encodings)
        found = self._in_arrays(encodings)
        if found.columns is not None:
            return found
        drawn = self._drawn(0, 1)
        looked = replace(self.looked, training=replace(self.looked.training, source=drawn))
        options = self.options.of_used_columns()
        return replace(self, source=drawn, options=options, looked=looked)

    def _in_arrays(self, encodings: Sequence[Discretisation]) -> Field:
        """With the rows in arrays where trials need nothing else."""
        asked = [_plain(self.options, encoding) for encoding in encodings]
        if not all(tries_in_arrays(self.session, self.looked, each) for each in asked):
            return self
        return replace(self, columns=ColumnArrays.read(self.session, self.looked))

    def halves(self) -> tuple[Field, Field]:
        """The rows in two parts, copied."""
        return self._half(0, 1 / 2), self._half(1 / 2, 1)

    def _half(self, low: float, high: float) -> Field:
        if self.columns is not None:
            return replace(self, columns=self.columns.part(low, high))
        drawn, keep = self._drawn(low, high), self.options.choices(self.source).keep
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SqlbnWarning)
            looked = look_alike(self.session, drawn, self.looked, keep)
        return replace(self, source=drawn, options=self.options.of_used_columns(), looked=looked)

    def _drawn(self, low: float, high: float) -> Source:
        """The rows whose shuffled numbers are in a range, copied with a row number of their own."""
        source, session = self.looked.training.source, self.session
        assert source.row_key is not None
        shuffle = shuffle_sql(source.row_key, session.settings.seed, session.row_engine.dialect)
        first, end = math.ceil(low * WORD), math.ceil(high * WORD)
        drawn = source.with_numbers.filtered(f"{shuffle} >= {first}", f"{shuffle} < {end}")
        return staged(session, drawn, self.options.columns_of(self.source))

    def tried(self, encoding: Discretisation) -> Trial:
        """An encoding on these rows; no model is made."""
        asked = _plain(self.options, encoding)
        if self.columns is not None:
            books, (value, _), parents = try_arrays(self.session, self.columns, asked, self.loss)
        else:
            books, value, parents = try_encoding(self.session, self.looked, asked, self.loss)
        return replace(self.trial(encoding, books, value), parents=parents)

    def crossed(
        self, encoding: Discretisation, other: Field, parents: int | None = None
    ) -> tuple[float, float]:
        """The loss by leave-one-out of a model of these rows, and its loss on other rows.

        No more parents are tried than so many.
        """
        asked = _plain(self.options, encoding, parents)
        if self.columns is not None:
            return try_arrays(self.session, self.columns, asked, self.loss, other.columns)[1]
        workspace, spec, own = fit_with_loo(
            self.session, self.source, asked, Progress(), loss=self.loss, looked=self.looked
        )
        try:
            found = evaluate_source(workspace, spec, other.source, asked.weight, ranking=False)
        finally:
            workspace.drop()
        return own, found.losses[self.loss]

    def together(self, jobs: Sequence[Callable[[Session], T]], progress: Progress) -> list[T]:
        """What trials of encodings find, which run side by side where they are made in arrays."""
        if self.columns is not None:
            return self.session.together(jobs, progress.advance)
        found = []
        for job in jobs:
            found.append(job(self.session))
            progress.advance()
        return found

    def trial(self, encoding: Discretisation, books: Sequence[Codebook], value: float) -> Trial:
        """What is told of an encoding."""
        n_codes, rows = sum(book.n_values for book in books), self.rows
        return Trial(encoding, rows, value, n_codes, self._has_quantities(books))

    def _has_quantities(self, books: Sequence[Codebook]) -> bool:
        """Whether another encoding may cut columns otherwise, also such that this one left out."""
        categories = {book.name for book in books if book.kind == "categorical"}
        others = set(self.options.candidates(self.source)) - categories
        return any(type_group(self.source.columns[n]) not in _NEVER_CUT for n in others)


@dataclass(frozen=True)
class Candidate:
    """A model of all rows in one encoding, and what its fit said of columns."""

    trial: Trial
    workspace: Workspace
    warned: tuple[str, ...]


def learn(
    session: Session,
    source: Source,
    options: FitOptions,
    progress: Progress,
    pattern: Pattern | None = None,
) -> tuple[Workspace, ModelSpec]:
    """A model of the source, as tables in the engine; in the best encoding where none is named."""
    if options.method == AUTO and pattern is None:
        return learn_best(session, source, options, progress)
    looked = None
    if options.effort is not None and pattern is None:
        looked = look(session, source, options, progress)
        options = _as_plain(session, options, looked, progress)
    return fit_with_loo(session, source, options, progress, pattern, looked=looked)[:2]


def _as_plain(
    session: Session, options: FitOptions, looked: Looked, progress: Progress
) -> FitOptions:
    """Where an effort has too little to choose by: one plain model."""
    rows, classes = looked.training.rows, looked.classes
    learner, why = options.make_learner(), _too_little(rows, classes, session.limits)
    if why is None or learner.single is learner:
        return options
    plain = options.as_single()
    progress.note(f"{why} to choose by: the plain learner {plain.learner}")
    return plain


def planned(session: Session, source: Source, options: FitOptions) -> list[str]:
    """What a fit of these rows would try and choose; their classes are counted, nothing else."""
    columns = options.candidates(source)
    if options.weight is not None:
        source.column(options.weight, "the weight")
    target = source.column(options.target, "the target")
    training = training_rows(session, source, target, columns, None)
    _, classes = learn_classes(session, training.source, target, None)
    little = _too_little(training.rows, classes, session.limits)
    if options.effort is None or little is None:
        rows = min(training.rows, options.loocv_sample or training.rows)
        kind, sizes = options.make_learner().kind, (len(columns), len(classes))
        lines = [*options.plan(), *kind.outlook(*sizes, session.limits)]
        nested = "race" in kind.options
        return [*lines, planned_form(session, rows, *sizes)] if nested else lines
    first = next((e for e in candidates(options.encodings) if not e.is_supervised), None)
    plain = _with(options.as_single(), first or Discretisation())
    return [f"{little} to choose by: one plain model", *plain.plan()]


def _too_little(rows: int, classes: Sequence[tuple[str, float]], limits: Limits) -> str | None:
    """Why rows say too little to choose anything by, where they do."""
    if len(classes) == 1:
        return f"rows of one class, {classes[0][0]!r}, are too little"
    if rows < limits.choice_rows:
        return f"{rows:,} rows are too few"
    if rows < 2 * len(classes):
        return f"{rows:,} rows of {len(classes):,} classes are too few"
    return None


def learn_best(
    session: Session, source: Source, options: FitOptions, progress: Progress
) -> tuple[Workspace, ModelSpec]:
    """The model in the encoding with the smallest loss; its table `encodings` tells of all."""
    loss = options.make_learner().kind.loss
    chosen = candidates(options.encodings)
    if source.row_key is None or not source.rescannable:
        source = staged(session, source, options.columns_of(source))
        options = options.of_used_columns()
    whole = Field.of(session, source, options, loss)
    if options.effort is not None:
        whole = replace(whole, options=_as_plain(session, options, whole.looked, progress))
    weights = whole.looked.training.weights
    if weights is not None:  # a part may have whole numbers only
        whole = replace(whole, options=replace(whole.options, weight_kind=weights.kind))
    why = "no other was to be tried"
    if len(chosen) > 1:
        part = whole.part(chosen)
        halves = part.halves() if part.rows >= session.limits.trial_fewest else ()
        if not has_too_few(part, halves):
            return _best_of(whole, _trials(part, halves, chosen, progress), progress)
        chosen = [next((e for e in chosen if not e.is_supervised), Discretisation())]
        little = _too_little(whole.rows, whole.looked.classes, session.limits)
        little = little or f"{part.rows:,} rows are too few"
        why = f"{little} to choose an encoding by"
    best = _fitted(whole, chosen[0], [], progress)
    return _kept(whole, best, [best.trial], [best.trial], why, progress)


def has_too_few(part: Field, halves: Sequence[Field]) -> bool:
    """Whether rows are too few to choose by: each half must tell classes apart."""
    return not halves or any(half.n_classes < 2 or half.rows < part.n_classes for half in halves)


def _trials(
    part: Field, halves: Sequence[Field], chosen: Sequence[Discretisation], progress: Progress
) -> list[Trial]:
    """The losses of encodings on the rows and on their halves; no model is made."""
    title = "trying encodings"
    with (
        progress.stage("encodings", title, part.rows, 3 * len(chosen)),
        warnings.catch_warnings(),  # of this thread and those that it waits for
    ):
        warnings.simplefilter("ignore", SqlbnWarning)
        trials = _on_whole(part, chosen, progress)
        trials = _on_halves(part, halves, trials, progress)
    for trial in trials:
        _tell(trial, part.loss, progress)
    return trials


def _on_whole(part: Field, chosen: Sequence[Discretisation], progress: Progress) -> list[Trial]:
    """Encodings on the rows, without those that would be the same as another."""
    trials, left = list[Trial](), list(chosen)
    while left and all(trial.encoding.groups_values for trial in trials):
        trials.append(part.tried(left.pop(0)))
        progress.advance()
    left = [encoding for encoding in left if not is_known(encoding, trials)]

    def tried(encoding: Discretisation, session: Session) -> Trial:
        return replace(part, session=session).tried(encoding)

    jobs = [partial(tried, encoding) for encoding in left]
    return trials + part.together(jobs, progress)


def _on_halves(
    part: Field, halves: Sequence[Field], trials: Sequence[Trial], progress: Progress
) -> list[Trial]:
    """The same with what models of both halves lose, by leave-one-out and on the other half.

    Half the rows have no use for more parents than all of them.
    """

    def crossed(own: Field, left: Field, trial: Trial, session: Session) -> tuple[float, float]:
        return replace(own, session=session).crossed(trial.encoding, left, trial.parents)

    one, other = halves
    pairs = ((one, other), (other, one))
    jobs = [partial(crossed, *pair, trial) for trial in trials for pair in pairs]
    found = part.together(jobs, progress)
    rows, loss, done = (one.rows, other.rows), part.loss, []
    for at, trial in enumerate(trials):
        own, others = zip(*found[2 * at : 2 * at + 2], strict=True)
        losses = HalfLosses(pooled(own, rows, loss), pooled(others, rows[::-1], loss))
        done.append(replace(trial, halves=losses))
    return done


def _best_of(field: Field, trials: list[Trial], progress: Progress) -> tuple[Workspace, ModelSpec]:
    """Fit the encoding that is expected to be the best, and one more where it is a disappointment.

    That is where another one is expected to be better than the first turned out to be.
    """
    loss, hopes = (
        field.loss,
        {t.encoding: expected(t, trials, field.rows, field.loss) for t in trials},
    )
    tried = {t.encoding: t for t in trials}
    first = min(hopes, key=hopes.__getitem__)
    best = _fitted(field, first, trials, progress)
    full, value = [best.trial], seen(best.trial, tried[first], loss)
    rival = min((e for e in hopes if e != first), key=hopes.__getitem__, default=first)
    worth = value - field.session.limits.trial_worth * abs(value)
    if trials[0].rows < field.rows and hopes[rival] < worth and rival != first:
        found = _fitted(field, rival, trials, progress)
        full.append(found.trial)
        if seen(found.trial, tried[rival], loss) < value:
            best, found = found, best
        found.workspace.drop()
    why = _reason(best.trial.encoding, hopes, loss)
    return _kept(field, best, trials, full, why, progress)


def _reason(best: Discretisation, hopes: dict[Discretisation, float], loss: Loss) -> str:
    """Why an encoding was chosen, in a line."""
    told = ", ".join(f"{e} {as_loss(value, loss):.4f}" for e, value in hopes.items())
    return f"{loss} on all rows as expected from trials: {told}"


def _kept(
    field: Field,
    best: Candidate,
    trials: Sequence[Trial],
    full: Sequence[Trial],
    why: str,
    progress: Progress,
) -> tuple[Workspace, ModelSpec]:
    """The model that is left, with what is told of the choice."""
    chosen = f"{best.trial.encoding}: {why}"
    progress.note(f"chosen {chosen}")
    _write(best, trials, full, field)
    add_meta(best.workspace, {"encoding_choice": chosen})
    for message in (*field.warned, *best.warned):
        warnings.warn(message, SqlbnWarning, stacklevel=2)
    return best.workspace, made_spec(best.workspace)


def _fitted(
    field: Field, encoding: Discretisation, trials: Sequence[Trial], progress: Progress
) -> Candidate:
    """A model in one encoding, with its loss; one that was tried on these rows has it already."""
    known = [t for t in trials if (t.encoding, t.rows) == (encoding, field.rows)]
    learner = field.options.make_learner()
    is_free, is_single = learner.kind.selection is not None, learner.single is learner
    progress.note(f"fitting {encoding}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        workspace, spec, value = fit_with_loo(
            field.session,
            field.source,
            _with(field.options, encoding),
            progress,
            loss=field.loss if is_free or not known else None,
            looked=field.looked,
        )
    trial = known[0] if known else field.trial(encoding, spec.books, value)
    if not known:
        _tell(trial, field.loss, progress)
    elif is_free and is_single:  # a trial gives up early; of an ensemble it is one member
        trial = replace(trial, value=value)
    return Candidate(trial, workspace, _messages(told))


def _plain(options: FitOptions, encoding: Discretisation, parents: int | None = None) -> FitOptions:
    """For a trial: weights cost more to fit than all else of few rows.

    Of both smoothings the one that finer cuts go with: one pass of leave-one-out is enough. Of an
    ensemble one member stands for the others.
    """
    smoothing = "hierarchical" if options.smoothing == AUTO else options.smoothing
    single = options.make_learner().single
    if parents is not None:
        single = single.up_to(parents)
    learner, own = single.name, single.options()
    plain = replace(options, learner=learner, learner_options=own, weights=None)
    return replace(_with(plain, encoding), smoothing=smoothing)


def _with(options: FitOptions, encoding: Discretisation) -> FitOptions:
    bins = encoding.bins if encoding.method == "ef" else None
    return replace(options, discretise=encoding.method, bins=bins, encodings=())


def _tell(trial: Trial, loss: Loss, progress: Progress) -> None:
    said = f"{loss} {trial.value:.4f} by leave-one-out on {trial.rows:,} rows"
    if trial.halves is not None:
        said += f", {trial.halves.crossed:.4f} cross-fitted on halves"
    progress.note(f"{trial.encoding}: {said}")


def _messages(told: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    return tuple(str(warning.message) for warning in told)


def _write(best: Candidate, trials: Sequence[Trial], full: Sequence[Trial], field: Field) -> None:
    """The workspace's `encodings`; of two trials on the same rows the last."""
    loss, tried = field.loss, {t.encoding: t for t in trials}
    told = {(t.encoding, t.rows): (t, expected(t, trials, field.rows, loss)) for t in trials}
    for t in full:
        hope = told.get((t.encoding, t.rows), (t, seen(t, tried[t.encoding], loss)))[1]
        told[t.encoding, t.rows] = (t, hope)
    best.workspace.fill(
        "encodings",
        [
            (
                str(t.encoding),
                t.rows,
                t.n_codes,
                loss,
                t.value,
                t.halves.crossed if t.halves is not None else None,
                as_loss(hope, loss),
                t is best.trial,
            )
            for t, hope in told.values()
        ],
    )
