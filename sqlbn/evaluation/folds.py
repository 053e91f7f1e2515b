"""Cross-validation: stratified folds that are the same for every learner."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import OptionError
from sqlbn.evaluation.losses import Evaluation, pooled
from sqlbn.fitting import learn
from sqlbn.model import evaluate_source
from sqlbn.options import FitOptions
from sqlbn.progress import Progress
from sqlbn.quoting import literal
from sqlbn.scoring.query import RESERVED
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.templates import render

_FOLD = f"{RESERVED}fold"
_ROW = f"{RESERVED}row"


def with_folds(engine: DuckDBEngine, source: Source, options: FitOptions, folds: int) -> Source:
    """The rows with a fold number each, in a scratch file.

    The fold depends on the seed, the classes and the rows' order in the source, on nothing else.
    """
    if folds < 2:
        raise OptionError(f"--folds {folds}: give at least 2")
    target = source.column(options.target, "the target")
    names = [target, *options.attributes(source)]
    if options.weight is not None:
        names.append(source.column(options.weight, "the weight"))
    if source.row_key is None or not source.rescannable:
        source = staged(engine, source, names)
    assert source.row_key is not None
    path = engine.scratch_file("folds", ".parquet")
    query = render(
        "folds",
        columns=names,
        target=target,
        folds=folds,
        fold_name=_FOLD,
        row_name=_ROW,
        row_key=source.row_key,
        shuffle=shuffle_sql(source.row_key, engine.settings.seed),
        relation=source.relation,
        where=source.where_sql,
    )
    engine.execute(
        f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION uncompressed)"
    )
    return Source(
        relation=f"read_parquet({literal(str(path))}, hive_partitioning = false)",
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=_ROW,
    )


def cross_validate(
    engine: DuckDBEngine,
    source: Source,
    options: FitOptions,
    folds: int,
    progress: Progress,
    told: Callable[[int, Evaluation], None] = lambda fold, result: None,
) -> tuple[Evaluation, list[Evaluation]]:
    """All rows predicted once, by a model that has not seen their fold; pooled, and by fold."""
    with progress.stage("folds", f"dealing rows to {folds} folds"):
        dealt = with_folds(engine, source, options, folds)
    parts = []
    for fold in range(folds):
        started = time.perf_counter()
        draft, spec = learn(engine, dealt.filtered(f"{_FOLD} <> {fold}"), options, Progress())
        fitted = time.perf_counter() - started
        with progress.stage("evaluate", f"fold {fold + 1} of {folds}: fitted in {fitted:.1f} s"):
            part = evaluate_source(draft, spec, dealt.filtered(f"{_FOLD} = {fold}"), options.weight)
        part.seconds["fit"] = fitted
        draft.drop()
        told(fold, part)
        parts.append(part)
    return pooled(parts), parts
