"""The encoding chosen by the data: leave-one-out losses of the same rows compare encodings.

All candidates are fitted on a part of the rows; the best of them, and the best of those that cut
finer, which more rows may favour, are fitted on all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlbn.draft import Draft
from sqlbn.encode.partitions import Discretisation, candidates
from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.encode.types import type_group
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import SqlbnWarning
from sqlbn.fitting import learn_judged
from sqlbn.learners.base import checked_loss
from sqlbn.options import FitOptions
from sqlbn.progress import Progress
from sqlbn.quoting import identifier
from sqlbn.scoring.loo_losses import Loss
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.store.spec import ModelSpec
from sqlbn.structure.information import DECIMALS

# The part of the rows on which all encodings are tried: on large data six of them then cost less
# than one fit of all rows.
_SHARE = 8
# Fewer rows than this say nothing about how fine to cut: then all are tried on all rows.
_LEAST_ROWS = 2000
# Types whose values are categories in every encoding, or nothing at all.
_NEVER_CUT = ("text", "boolean", "other")


@dataclass(frozen=True)
class Trial:
    """One encoding on some rows: its loss, and how many codes its attributes have in all.

    `warned` is what the fit said of columns; the user hears only of the model that is kept.
    """

    encoding: Discretisation
    rows: int
    value: float
    n_codes: int
    numeric: bool
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
    # Rows without a class teach nothing, however many there are.
    target = identifier(source.column(options.target, "the target"))
    rows = int(engine.row(source.select(f"count({target})"))[0])
    trials: list[Trial] = []
    if rows >= _SHARE * _LEAST_ROWS and len(chosen) > 2:
        part = _part(engine, source, rows)
        for encoding in chosen:
            if not _is_known(encoding, trials):
                trial, draft, _ = _tried(engine, part, options, encoding, loss, progress)
                draft.drop()
                trials.append(trial)
        chosen = _left(trials, loss)
    return _best_of(engine, source, options, chosen, trials, loss, progress)


def _best_of(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    chosen: Sequence[Discretisation],
    trials: list[Trial],
    loss: Loss,
    progress: Progress,
) -> tuple[Draft, ModelSpec]:
    """Fit every encoding that is left on all rows, and keep the best model."""
    best: tuple[Trial, Draft, ModelSpec] | None = None
    full: list[Trial] = []
    for encoding in chosen:
        if _is_known(encoding, full):
            continue
        found = _tried(engine, source, options, encoding, loss, progress)
        full.append(found[0])
        if best is not None and _rank(best[0], loss) <= _rank(found[0], loss):
            found[1].drop()
            continue
        if best is not None:
            best[1].drop()
        best = found
    assert best is not None
    _write(best[1], [*trials, *full], best[0], loss)
    for message in best[0].warned:
        warnings.warn(message, SqlbnWarning, stacklevel=2)
    return best[1], best[2]


def _tried(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    encoding: Discretisation,
    loss: Loss,
    progress: Progress,
) -> tuple[Trial, Draft, ModelSpec]:
    """One fit in one encoding, with its loss."""
    bins = encoding.bins if encoding.method == "ef" else None
    asked = replace(options, discretise=encoding.method, bins=bins, encodings=None)
    with (
        progress.stage("encodings", f"trying {encoding}"),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        draft, spec, value = learn_judged(engine, source, asked, Progress(), loss=loss)
    rows = int(spec.meta["rows"])
    progress.note(f"{encoding}: {loss} {value:.4f} by leave-one-out on {rows:,} rows")
    n_codes = sum(book.n_values for book in spec.books)
    numeric = _has_quantities(source, options, spec)
    messages = tuple(str(warning.message) for warning in told)
    return Trial(encoding, rows, value, n_codes, numeric, messages), draft, spec


def _part(engine: DuckDBEngine, source: Source, rows: int) -> Source:
    """A repeatable part of the rows."""
    assert source.row_key is not None
    share = max(1 / _SHARE, _LEAST_ROWS / rows)
    threshold = math.ceil(share * 2**32)
    shuffle = shuffle_sql(source.row_key, engine.settings.seed)
    return source.filtered(f"{shuffle} < {threshold}")


def _has_quantities(source: Source, options: FitOptions, spec: ModelSpec) -> bool:
    """Whether another encoding may cut columns otherwise, also such that this one left out."""
    categories = {book.name for book in spec.books if book.kind == "categorical"}
    others = set(options.candidates(source)) - categories
    return any(type_group(source.columns[n]) not in _NEVER_CUT for n in others)


def _is_known(encoding: Discretisation, trials: Sequence[Trial]) -> bool:
    """Whether another trial was the same: without quantities only grouping makes a difference."""
    plain = [t for t in trials if not t.encoding.groups_values]
    return bool(plain) and not plain[0].numeric and not encoding.groups_values


def _rank(trial: Trial, loss: Loss) -> float:
    value = -trial.value if loss == "mcc" else trial.value
    return round(value, DECIMALS)


def _left(trials: Sequence[Trial], loss: Loss) -> list[Discretisation]:
    """The best, and the best of those that cut finer; ties go to the first."""
    best = min(trials, key=lambda t: _rank(t, loss))
    finer = [t for t in trials if t.n_codes > best.n_codes]
    second = [min(finer, key=lambda t: _rank(t, loss))] if finer else []
    return [t.encoding for t in (best, *second)]


def _write(draft: Draft, trials: Sequence[Trial], best: Trial, loss: Loss) -> None:
    draft.fill(
        "encodings",
        "encoding VARCHAR, rows BIGINT, codes BIGINT, loss VARCHAR, value DOUBLE, chosen BOOLEAN",
        [(str(t.encoding), t.rows, t.n_codes, loss, t.value, t is best) for t in trials],
    )
