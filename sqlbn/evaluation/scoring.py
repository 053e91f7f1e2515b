"""Losses of a model on rows whose class is known; what rows must have to be scored."""

from __future__ import annotations

import time

from sqlbn.draft import Draft
from sqlbn.encode.weights import check_weights
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError
from sqlbn.evaluation.losses import Evaluation, from_sums
from sqlbn.scoring.names import RESERVED
from sqlbn.scoring.query import losses_sql
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.store.spec import ModelSpec


def evaluate_source(
    draft: Draft, spec: ModelSpec, source: Source, weight: str | None
) -> Evaluation:
    """Losses of the model in a draft on a source."""
    source.column(spec.target.name, "the target")
    check_input(spec, source, outputs=False)
    source = rescannable(draft.engine, spec, source)
    weight_sql = None
    if weight is not None:
        weights = check_weights(draft.engine, source, source.column(weight, "the weight"))
        source = source.filtered(f"{weights.value_sql()} > 0")
        weight_sql = weights.value_sql("i")
    scorer = spec.scorer(draft.prefix, source.columns)
    sql = losses_sql(scorer, source.filtered_relation, weight_sql)
    started = time.perf_counter()
    with draft.engine.joins_as_written():
        sums = draft.engine.rows(sql)
    return from_sums(spec.class_names, sums, time.perf_counter() - started)


def rescannable(engine: DuckDBEngine, spec: ModelSpec, source: Source) -> Source:
    """A source that can be read as often as scoring wants: twice where equal rows are one."""
    if (spec.supers is None and spec.collected is None) or source.rescannable:
        return source
    return staged(engine, source, list(source.columns))


def check_input(spec: ModelSpec, source: Source, outputs: bool = True) -> None:
    """An error that names the column where rows cannot be scored."""
    used = spec.scorer(None).used
    for v in used:
        source.column(spec.books[v].name, "the model's attribute")
    ours = ["prediction", *spec.probability_columns] if outputs else []
    taken = {name.lower() for name in ours}
    for name in source.columns:
        if name.lower() in taken or name.lower().startswith(RESERVED):
            raise ColumnError(
                f"the input already has a column {name!r}, which the prediction adds; "
                f"leave it out with --exclude {name}"
            )
