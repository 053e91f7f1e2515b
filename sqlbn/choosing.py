"""The encoding chosen by the data: leave-one-out losses of the same rows compare encodings.

All candidates are tried on a part of the rows, and only judged; the best of them is fitted on all,
and others that more rows may favour. Where all rows contradict the part, those that it may have
ruled out wrongly are fitted too: at most, every encoding once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.encode.partitions import Discretisation, candidates
from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.encode.types import type_group
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import SqlbnWarning
from sqlbn.fitting import learn_judged, loss_of
from sqlbn.learners.base import checked_loss
from sqlbn.learners.fit_options import FitOptions
from sqlbn.preparing import Looked, look
from sqlbn.progress import Progress
from sqlbn.scoring.loo_losses import Loss
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.store.spec import ModelSpec
from sqlbn.trials import (
    Trial,
    contradicted,
    finalists,
    in_order_of_trial,
    is_hopeless,
    is_known,
    is_out,
    rank,
)

# The part of the rows on which all encodings are tried: on large data six of them then cost less
# than one fit of all rows.
_SHARE = 8
# Fewer rows than this say nothing about how fine to cut.
_LEAST_ROWS = 2000
# All rows are tried where the part would be more than one of so many.
_LEAST_SHARE = 2
# Types whose values are categories in every encoding, or nothing at all.
_NEVER_CUT = ("text", "boolean", "other")


@dataclass(frozen=True)
class Field:
    """Rows that encodings are compared on, looked at once.

    `warned` is what the look said of columns; the user hears only of the model that is kept.
    """

    engine: DuckDBEngine
    source: Source
    options: FitOptions
    loss: Loss
    looked: Looked
    warned: tuple[str, ...]

    @classmethod
    def of(cls, engine: DuckDBEngine, source: Source, options: FitOptions, loss: Loss) -> Field:
        """Look at the columns of some rows."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            looked = look(engine, source, options, Progress())
        return cls(engine, source, options, loss, looked, _messages(told))

    def part(self) -> Field:
        """A repeatable part of the rows, copied: every trial reads it several times."""
        training, engine = self.looked.training, self.engine
        assert training.source.row_key is not None
        share = max(1 / _SHARE, _LEAST_ROWS / training.rows)
        shuffle = shuffle_sql(training.source.row_key, engine.settings.seed, engine.lake.dialect)
        drawn = training.source.with_numbers.filtered(f"{shuffle} < {math.ceil(share * 2**32)}")
        copied = staged(engine, drawn, self.options.columns_of(self.source))
        return Field.of(engine, copied, self.options.of_used_columns(), self.loss)

    def trial(self, encoding: Discretisation, books: Sequence[Codebook], value: float) -> Trial:
        """What is told of an encoding."""
        n_codes, rows = sum(book.n_values for book in books), self.looked.training.rows
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
    draft: Draft
    spec: ModelSpec
    warned: tuple[str, ...]


def learn_best(
    engine: DuckDBEngine, source: Source, options: FitOptions, progress: Progress
) -> tuple[Draft, ModelSpec]:
    """The model in the encoding with the smallest loss; its table `encodings` tells of all."""
    loss = checked_loss(options.loss or "rmse")
    chosen = candidates(options.encodings)
    if source.row_key is None or not source.rescannable:
        source = staged(engine, source, options.columns_of(source))
        options = options.of_used_columns()
    whole, trials = Field.of(engine, source, options, loss), list[Trial]()
    weights = whole.looked.training.weights
    if weights is not None:  # a part may have whole numbers only
        whole = replace(whole, options=replace(whole.options, weight_kind=weights.kind))
    if len(chosen) > 2:
        # Rows without a class or a weight teach nothing, however many there are.
        is_large = whole.looked.training.rows >= _LEAST_SHARE * _LEAST_ROWS
        trials = _tried(whole.part() if is_large else whole, chosen, progress)
        chosen = finalists(trials, loss, is_large)
    return _best_of(whole, chosen, trials, progress)


def _tried(field: Field, chosen: Sequence[Discretisation], progress: Progress) -> list[Trial]:
    """The losses of encodings that may win, in their order; no model is made."""
    trials: list[Trial] = []
    for encoding in in_order_of_trial(chosen):
        if is_known(encoding, trials) or is_hopeless(encoding, trials, field.loss):
            continue
        with progress.stage("encodings", f"trying {encoding}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", SqlbnWarning)
            asked = _with(field.options, encoding)
            books, value = loss_of(field.engine, field.looked, asked, field.loss)
        trials.append(field.trial(encoding, books, value))
        _tell(trials[-1], field.loss, progress)
    return sorted(trials, key=lambda t: chosen.index(t.encoding))


def _best_of(
    field: Field, chosen: Sequence[Discretisation], trials: list[Trial], progress: Progress
) -> tuple[Draft, ModelSpec]:
    """Fit every encoding that is left, on all rows, and keep the best model."""
    best: Candidate | None = None
    full: list[Trial] = []
    waiting = list(chosen)
    while waiting:
        encoding = waiting.pop(0)
        found = _fitted(field, encoding, trials, progress)
        full.append(found.trial)
        best = _better(best, found, field.loss)
        waiting = [
            e
            for e in waiting
            if not is_known(e, full) and not is_out(e, full[0], trials, field.loss)
        ] or contradicted(trials, full, field.loss)
    assert best is not None
    _write(best, [*trials, *full], field.loss)
    for message in (*field.warned, *best.warned):
        warnings.warn(message, SqlbnWarning, stacklevel=2)
    return best.draft, best.spec


def _better(best: Candidate | None, found: Candidate, loss: Loss) -> Candidate:
    """The one with the smaller loss; the tables of the other are dropped."""
    if best is None:
        return found
    if rank(best.trial, loss) <= rank(found.trial, loss):
        found.draft.drop()
        return best
    best.draft.drop()
    return found


def _fitted(
    field: Field, encoding: Discretisation, trials: Sequence[Trial], progress: Progress
) -> Candidate:
    """A model in one encoding, with its loss; one that was tried on these rows has it already."""
    known = [t for t in trials if (t.encoding, t.rows) == (encoding, field.looked.training.rows)]
    is_free = field.options.make_learner().selection is not None
    with (
        progress.stage("encodings", f"fitting {encoding}"),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        draft, spec, value = learn_judged(
            field.engine,
            field.source,
            _with(field.options, encoding),
            Progress(),
            loss=field.loss if is_free or not known else None,
            looked=field.looked,
        )
    trial = known[0] if known and not is_free else field.trial(encoding, spec.books, value)
    if not known:
        _tell(trial, field.loss, progress)
    return Candidate(trial, draft, spec, _messages(told))


def _with(options: FitOptions, encoding: Discretisation) -> FitOptions:
    bins = encoding.bins if encoding.method == "ef" else None
    return replace(options, discretise=encoding.method, bins=bins, encodings=())


def _tell(trial: Trial, loss: Loss, progress: Progress) -> None:
    said = f"{loss} {trial.value:.4f} by leave-one-out on {trial.rows:,} rows"
    progress.note(f"{trial.encoding}: {said}")


def _messages(told: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    return tuple(str(warning.message) for warning in told)


def _write(best: Candidate, trials: Sequence[Trial], loss: Loss) -> None:
    """The draft's `encodings`; of two trials on the same rows the last."""
    trials = list({(t.encoding, t.rows): t for t in trials}.values())
    best.draft.fill(
        "encodings",
        "encoding VARCHAR, rows BIGINT, codes BIGINT, loss VARCHAR, value DOUBLE, chosen BOOLEAN",
        [(str(t.encoding), t.rows, t.n_codes, loss, t.value, t is best.trial) for t in trials],
    )
