"""Cross-validation: stratified folds that are the same for every learner."""

from __future__ import annotations

import time

from sqlbn.engines import DuckDBEngine
from sqlbn.errors import OptionError
from sqlbn.evaluation.dealing import PLACE, deal
from sqlbn.evaluation.losses import Evaluation, pooled
from sqlbn.evaluation.positive import positive_of_rows
from sqlbn.evaluation.scoring import evaluate_source
from sqlbn.fitting import learn
from sqlbn.learners.fit_options import FitOptions
from sqlbn.progress import Progress
from sqlbn.sources import Source


def fit_and_evaluate(
    engine: DuckDBEngine,
    training: Source,
    test: Source,
    options: FitOptions,
    progress: Progress,
    title: str,
    ranking: bool = True,
    positive: str | None = None,
) -> Evaluation:
    """Losses on the test rows of a model of the training rows; the model is thrown away."""
    started = time.perf_counter()
    draft, spec = learn(engine, training, options, Progress())
    fitted = time.perf_counter() - started
    with progress.stage("evaluate", f"{title}: fitted in {fitted:.1f} s, testing"):
        result = evaluate_source(draft, spec, test, options.weight, ranking, positive)
    result.seconds["fit"] = fitted
    draft.drop()
    return result


def cross_validate(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    folds: int,
    progress: Progress,
    asked: str | None = None,
) -> tuple[Evaluation, list[Evaluation]]:
    """All rows predicted once, by a model that has not seen their fold; pooled, and by fold."""
    if folds < 2:
        raise OptionError("give at least 2", folds=folds)
    with progress.stage("folds", f"dealing rows to {folds} folds"):
        dealt, _ = deal(engine, source, options, engine.settings.seed, stratified=True)
        positive = positive_of_rows(engine, dealt, options, asked)
    rows = int(engine.lake.row(dealt.select("count(*)"))[0])
    if folds > rows:
        raise OptionError(
            f"{source.label} has {rows:,} rows; give at most as many folds", folds=folds
        )
    options = options.of_used_columns()
    parts = [
        fit_and_evaluate(
            engine,
            dealt.filtered(f"{PLACE} % {folds} <> {fold}"),
            dealt.filtered(f"{PLACE} % {folds} = {fold}"),
            options,
            progress,
            f"fold {fold + 1} of {folds}",
            positive=positive,
        )
        for fold in range(folds)
    ]
    return pooled(parts), parts
