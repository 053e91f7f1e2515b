"""The encoding chosen by the data: honest losses of the same rows compare encodings.

All candidates are tried on a part of the rows, and only judged; the one that is expected to be the
best on all of them is fitted, and a second one only where all rows contradict what was expected.
What trials say of all rows is in encoding_trials.py.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlbn.data import Source
from sqlbn.data.sampling import WORD, shuffle_sql, staged
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.learn_codebooks import AUTO, Discretisation, candidates
from sqlbn.encoding.preparing import Looked, look, look_alike
from sqlbn.engines import Session
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
from sqlbn.learners.fit_options import FitOptions
from sqlbn.pipeline import Pattern, fit_with_loo, try_encoding
from sqlbn.store.meta import add_meta
from sqlbn.store.spec import ModelSpec, read_spec

# Types whose values are categories in every encoding, or nothing at all.
_NEVER_CUT = ("text", "boolean", "other")


@dataclass(frozen=True)
class Field:
    """Rows that encodings are compared on, looked at once.

    `warned` is what the look said of columns; the user hears only of the model that is kept.
    """

    session: Session
    source: Source
    options: FitOptions
    loss: Loss
    looked: Looked
    warned: tuple[str, ...]

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
        return self.looked.training.rows

    def part(self) -> Field:
        """A repeatable part of the rows, copied: every trial reads it several times.

        All of them where they are few.
        """
        limits, rows = self.session.limits, self.rows
        share = max(1 / limits.trial_parts, limits.trial_rows / max(rows, 1))
        if share > 1 / 2:
            return self
        drawn = self._drawn(0, share)
        return Field.of(self.session, drawn, self.options.of_used_columns(), self.loss)

    def halves(self) -> tuple[Field, Field]:
        """The rows in two parts, copied."""
        return self._half(0, 1 / 2), self._half(1 / 2, 1)

    def _half(self, low: float, high: float) -> Field:
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SqlbnWarning)
            books, value = try_encoding(self.session, self.looked, asked, self.loss)
        return self.trial(encoding, books, value)

    def crossed(self, encoding: Discretisation, other: Field) -> tuple[float, float]:
        """The loss by leave-one-out of a model of these rows, and its loss on other rows."""
        asked = _plain(self.options, encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SqlbnWarning)
            workspace, spec, own = fit_with_loo(
                self.session, self.source, asked, Progress(), loss=self.loss, looked=self.looked
            )
            try:
                found = evaluate_source(workspace, spec, other.source, asked.weight, ranking=False)
            finally:
                workspace.drop()
        return own, found.losses[self.loss]

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
    return fit_with_loo(session, source, options, progress, pattern)[:2]


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
    weights = whole.looked.training.weights
    if weights is not None:  # a part may have whole numbers only
        whole = replace(whole, options=replace(whole.options, weight_kind=weights.kind))
    why = "no other was to be tried"
    if len(chosen) > 1:
        part = whole.part()
        halves = part.halves() if part.rows >= session.limits.trial_fewest else ()
        if not has_too_few(part, halves):
            return _best_of(whole, _trials(part, halves, chosen, progress), progress)
        chosen = [next((e for e in chosen if not e.is_supervised), Discretisation())]
        why = f"{part.rows:,} rows are too few to choose an encoding by"
    best = _fitted(whole, chosen[0], [], progress)
    return _kept(whole, best, [best.trial], [best.trial], why, progress)


def has_too_few(part: Field, halves: Sequence[Field]) -> bool:
    """Whether rows are too few to choose by: each half must tell classes apart."""
    n_classes = len(part.looked.classes)
    return not halves or any(
        len(half.looked.classes) < 2 or half.rows < n_classes for half in halves
    )


def _trials(
    part: Field, halves: Sequence[Field], chosen: Sequence[Discretisation], progress: Progress
) -> list[Trial]:
    """The losses of encodings on the rows and on their halves; no model is made."""
    trials: list[Trial] = []
    for encoding in chosen:
        if is_known(encoding, trials):
            continue
        with progress.stage("encodings", f"trying {encoding}"):
            trial = part.tried(encoding)
            trials.append(replace(trial, halves=_on_halves(halves, encoding, part.loss)))
        _tell(trials[-1], part.loss, progress)
    return trials


def _on_halves(halves: Sequence[Field], encoding: Discretisation, loss: Loss) -> HalfLosses:
    """The losses of the models of both halves, by leave-one-out and on the other half."""
    one, other = halves
    own, crossed = zip(one.crossed(encoding, other), other.crossed(encoding, one), strict=True)
    rows = (one.rows, other.rows)
    return HalfLosses(pooled(own, rows, loss), pooled(crossed, rows[::-1], loss))


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
    return best.workspace, read_spec(best.workspace)


def _fitted(
    field: Field, encoding: Discretisation, trials: Sequence[Trial], progress: Progress
) -> Candidate:
    """A model in one encoding, with its loss; one that was tried on these rows has it already."""
    known = [t for t in trials if (t.encoding, t.rows) == (encoding, field.rows)]
    is_free = field.options.make_learner().kind.selection is not None
    with (
        progress.stage("encodings", f"fitting {encoding}"),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        workspace, spec, value = fit_with_loo(
            field.session,
            field.source,
            _with(field.options, encoding),
            Progress(),
            loss=field.loss if is_free or not known else None,
            looked=field.looked,
        )
    trial = known[0] if known else field.trial(encoding, spec.books, value)
    if not known:
        _tell(trial, field.loss, progress)
    elif is_free:  # a trial gives up early
        trial = replace(trial, value=value)
    return Candidate(trial, workspace, _messages(told))


def _plain(options: FitOptions, encoding: Discretisation) -> FitOptions:
    """For a trial: weights cost more to fit than all else of few rows.

    Of both smoothings the one that finer cuts go with: one pass of leave-one-out is enough.
    """
    smoothing = "hierarchical" if options.smoothing == AUTO else options.smoothing
    return replace(_with(options, encoding), weights=None, smoothing=smoothing)


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
