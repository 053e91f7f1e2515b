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

from sqlbn.data import Source
from sqlbn.data.sampling import shuffle_sql, staged
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.learn_codebooks import AUTO, Discretisation, candidates
from sqlbn.encoding.preparing import Looked, look
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.value_types import type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnWarning
from sqlbn.kinds.losses import Loss
from sqlbn.learners.fit_options import FitOptions
from sqlbn.pipeline import Pattern, fit_with_loo, try_encoding
from sqlbn.store.spec import ModelSpec
from sqlbn.structure.information import DECIMALS


@dataclass(frozen=True)
class Trial:
    """One encoding on some rows: its loss, and how many codes its attributes have in all."""

    encoding: Discretisation
    rows: int
    value: float
    n_codes: int
    numeric: bool


def in_order_of_trial(chosen: Sequence[Discretisation]) -> list[Discretisation]:
    """The fewest intervals, what finds their number itself, then more and more intervals."""
    by_bins = sorted((e for e in chosen if e.method == "ef"), key=lambda e: e.bins)
    return [*by_bins[:1], *(e for e in chosen if e.method != "ef"), *by_bins[1:]]


def is_known(encoding: Discretisation, trials: Sequence[Trial]) -> bool:
    """Whether another trial was the same: without quantities only grouping makes a difference."""
    plain = [t for t in trials if not t.encoding.groups_values]
    return bool(plain) and not plain[0].numeric and not encoding.groups_values


def is_hopeless(
    encoding: Discretisation,
    trials: Sequence[Trial],
    loss: Loss,
    past_best: float = Limits.trial_past_best,
) -> bool:
    """Whether fewer intervals were too many already."""
    coarser = [rank(t, loss) for t in trials if t.encoding.method == "ef"]
    if encoding.method != "ef" or len(coarser) < 2 or coarser[-1] <= coarser[-2]:
        return False
    best = min(rank(t, loss) for t in trials)
    return coarser[-1] > best + past_best * abs(best)


def rank(trial: Trial, loss: Loss) -> float:
    """The loss, smaller is better; the last bits of a parallel sum do not decide."""
    value = -trial.value if loss == "mcc" else trial.value
    return round(value, DECIMALS)


def finalists(trials: Sequence[Trial], loss: Loss, of_part: bool) -> list[Discretisation]:
    """The best, and of a part others that more rows may favour; ties go to the first.

    Such are those that cut finer; of mdl and modl, whose cuts the classes make, the other one; and
    beside these the best of those whose cuts they do not make.
    """
    best = min(trials, key=lambda t: rank(t, loss))
    others = [t for t in trials if of_part and t is not best and _may_overtake(t, best)]
    fair = [t for t in trials if of_part and is_fair(t.encoding) and not is_fair(best.encoding)]
    more = [min(found, key=lambda t: rank(t, loss)) for found in (others, fair) if found]
    return list(dict.fromkeys(t.encoding for t in (best, *more)))


def is_fair(encoding: Discretisation) -> bool:
    """Whether cuts do not look at the classes, so that leave-one-out does not flatter them."""
    return encoding.method == "ef"


def _may_overtake(trial: Trial, best: Trial) -> bool:
    both_find = trial.encoding.method != "ef" and best.encoding.method != "ef"
    return trial.n_codes > best.n_codes or both_find


def is_out(
    encoding: Discretisation,
    best: Trial,
    trials: Sequence[Trial],
    loss: Loss,
    flattery: float = Limits.trial_flattery,
) -> bool:
    """Whether all rows will not favour the second encoding, now that the best has seen them.

    So where it was behind by more than the best gained by all rows: it would have to gain more than
    twice as much. (In all cases seen in which it came out first after a gain, on letter, pendigits
    and satellite, it was behind by half of that or less.) A best one that lost was flattered by the
    part, then twice that is allowed. Out is also who will have fewer intervals than the best found
    in all rows. Beside one whose cuts the classes made it may be behind by a tenth, too.
    """
    part = {t.encoding: t for t in trials}
    if not part:
        return False
    second, before = part[encoding], part[best.encoding]
    gained = rank(before, loss) - rank(best, loss)
    allowed = max(gained, -2 * gained)
    if not is_fair(best.encoding):
        allowed = max(allowed, flattery * abs(rank(before, loss)))
    elif is_fair(encoding) and second.n_codes <= best.n_codes:
        return True
    return rank(second, loss) - rank(before, loss) > allowed


def contradicted(
    trials: Sequence[Trial], full: Sequence[Trial], loss: Loss
) -> list[Discretisation]:
    """The next encoding to fit because all rows may contradict what the part said of it, if any.

    It was ruled out by the part: behind the best of all rows as it is now, even if all rows had
    made its loss smaller by as much as that of the one that gained most, or not at all. Where they
    made the loss of the best larger, the part had flattered it, and others come before it; where
    they favoured one that was behind, they may favour others that were.
    """
    part = {t.encoding: rank(t, loss) for t in trials}
    if not part or trials[0].rows == full[0].rows:
        return []
    gained = max(0.0, *(part[t.encoding] - rank(t, loss) for t in full))
    best = min(rank(t, loss) for t in full)
    left = {e: value for e, value in part.items() if e not in {t.encoding for t in full}}
    first = min(left, key=left.__getitem__, default=None)
    return [first] if first is not None and left[first] - gained < best else []


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

    def part(self) -> Field:
        """A repeatable part of the rows, copied: every trial reads it several times."""
        training, session = self.looked.training, self.session
        assert training.source.row_key is not None
        limits = session.limits
        share = max(1 / limits.trial_parts, limits.trial_rows / training.rows)
        shuffle = shuffle_sql(
            training.source.row_key, session.settings.seed, session.row_engine.dialect
        )
        drawn = training.source.with_numbers.filtered(f"{shuffle} < {math.ceil(share * 2**32)}")
        copied = staged(session, drawn, self.options.columns_of(self.source))
        return Field.of(session, copied, self.options.of_used_columns(), self.loss)

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
    workspace: Workspace
    spec: ModelSpec
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
    whole, trials = Field.of(session, source, options, loss), list[Trial]()
    weights = whole.looked.training.weights
    if weights is not None:  # a part may have whole numbers only
        whole = replace(whole, options=replace(whole.options, weight_kind=weights.kind))
    if len(chosen) > 2:
        # Rows without a class or a weight teach nothing, however many there are.
        limits = whole.session.limits
        least = limits.trial_least_parts * limits.trial_rows
        is_large = whole.looked.training.rows >= least
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
            books, value = try_encoding(field.session, field.looked, asked, field.loss)
        trials.append(field.trial(encoding, books, value))
        _tell(trials[-1], field.loss, progress)
    return sorted(trials, key=lambda t: chosen.index(t.encoding))


def _best_of(
    field: Field, chosen: Sequence[Discretisation], trials: list[Trial], progress: Progress
) -> tuple[Workspace, ModelSpec]:
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
    return best.workspace, best.spec


def _better(best: Candidate | None, found: Candidate, loss: Loss) -> Candidate:
    """The one with the smaller loss; the tables of the other are dropped."""
    if best is None:
        return found
    if rank(best.trial, loss) <= rank(found.trial, loss):
        found.workspace.drop()
        return best
    best.workspace.drop()
    return found


def _fitted(
    field: Field, encoding: Discretisation, trials: Sequence[Trial], progress: Progress
) -> Candidate:
    """A model in one encoding, with its loss; one that was tried on these rows has it already."""
    known = [t for t in trials if (t.encoding, t.rows) == (encoding, field.looked.training.rows)]
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
    trial = known[0] if known and not is_free else field.trial(encoding, spec.books, value)
    if not known:
        _tell(trial, field.loss, progress)
    return Candidate(trial, workspace, spec, _messages(told))


def _with(options: FitOptions, encoding: Discretisation) -> FitOptions:
    bins = encoding.bins if encoding.method == "ef" else None
    return replace(options, discretise=encoding.method, bins=bins, encodings=())


def _tell(trial: Trial, loss: Loss, progress: Progress) -> None:
    said = f"{loss} {trial.value:.4f} by leave-one-out on {trial.rows:,} rows"
    progress.note(f"{trial.encoding}: {said}")


def _messages(told: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    return tuple(str(warning.message) for warning in told)


def _write(best: Candidate, trials: Sequence[Trial], loss: Loss) -> None:
    """The workspace's `encodings`; of two trials on the same rows the last."""
    trials = list({(t.encoding, t.rows): t for t in trials}.values())
    best.workspace.fill(
        "encodings",
        [(str(t.encoding), t.rows, t.n_codes, loss, t.value, t is best.trial) for t in trials],
    )
