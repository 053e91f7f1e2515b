"""Losses of a model on rows whose class is known; what rows must have to be scored."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sqlbn.data import Source
from sqlbn.data.sampling import staged
from sqlbn.encoding.codebook import Codebook, is_never_boolean
from sqlbn.encoding.profile import check_weights
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import RESERVED, select_sql
from sqlbn.engines.value_types import check_same_values
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, SqlbnWarning, opt
from sqlbn.evaluation.metrics import (
    Evaluation,
    RankingSums,
    from_sums,
    kept,
    rank,
    rankable_sql,
)
from sqlbn.kinds.compiler import (
    Scorer,
    labelled_sql,
    losses_sql,
    truth_items,
)
from sqlbn.kinds.product.product_query import is_large, scored_in_steps
from sqlbn.store.spec import ModelSpec


def evaluate_source(
    workspace: Workspace,
    spec: ModelSpec,
    source: Source,
    weight: str | None,
    ranking: bool = True,
    positive: str | None = None,
) -> Evaluation:
    """Losses of the model in a workspace on a source; without `ranking` no AUC and no aoPRC.

    Figures of a `positive` class that the model does not know are NaN.
    """
    source.column(spec.target.name, "the target")
    check_input(spec, source, outputs=False)
    source = rescannable(workspace.session, spec, source)
    weight_sql, weight_unit = None, 1
    if weight is not None:
        weights = check_weights(workspace.session, source, source.column(weight, "the weight"))
        source = source.filtered(f"{weights.value_sql()} > 0")
        weight_sql, weight_unit = weights.value_sql("i"), 2**weights.fraction_bits
    dialect = workspace.session.row_engine.dialect
    scorer = spec.scorer(workspace.prefix, source.columns, dialect=dialect)
    with (
        _labelled_scores(workspace.session, scorer, source, weight_sql) as labelled,
        workspace.session.row_engine.joins_as_written(),
    ):
        return losses_of(
            workspace.session, spec.class_names, labelled, weight_unit, ranking, positive
        )


def require_known_classes(result: Evaluation, target: str) -> None:
    """An error where there were rows and none of a known class."""
    if result.skipped and not result.rows:
        classes = ", ".join(map(repr, result.classes[:5]))
        raise ColumnError(
            f"none of the {result.skipped:,} rows has a class in {target!r} that the model knows, "
            f"such as {classes}; is it written or typed in another way there?"
        )


@contextmanager
def _labelled_scores(
    session: Session, scorer: Scorer, source: Source, weight: str | None
) -> Iterator[str]:
    """A query for the rows with their classes, weights and scores."""
    with scorer.scoring.prepared(session, scorer, source, Progress()) as ready:
        if session.row_engine.keeps_order and is_large(ready, session.limits):
            items = truth_items(ready, weight)
            with scored_in_steps(session, ready, source, items) as scored:
                yield _without_numbers(scored)
        else:
            labelled = labelled_sql(ready, source.filtered_relation, weight)
            yield labelled if ready.long is None else _without_numbers(labelled)


def _without_numbers(labelled: str) -> str:
    return select_sql(f"({labelled})", f"* EXCLUDE ({ROW})")


def losses_of(
    session: Session,
    classes: tuple[str, ...],
    labelled: str,
    weight_unit: int,
    ranking: bool,
    positive: str | None,
) -> Evaluation:
    """Losses of `labelled` rows, which are scored once.

    Scores go into a scratch file where more than one query needs them.
    """
    n, started, dialect = len(classes), time.perf_counter(), session.row_engine.dialect
    if not ranking and n <= session.limits.loss_classes:
        sums = session.row_engine.rows(losses_sql(n, labelled, dialect))
        return from_sums(classes, sums, time.perf_counter() - started, positive)
    with kept(session, rankable_sql(n, labelled, dialect) if ranking else labelled) as relation:
        sums = session.row_engine.rows(losses_sql(n, select_sql(relation), dialect))
        result = from_sums(classes, sums, time.perf_counter() - started, positive)
        if ranking and positive is not None and positive not in classes:
            result.ranking = RankingSums()
        elif ranking:
            started = time.perf_counter()
            code = classes.index(positive) if positive is not None else None
            result.ranking = rank(session, relation, n, result.weight, weight_unit, code)
            result.seconds["rank"] = time.perf_counter() - started
    return result


def rescannable(session: Session, spec: ModelSpec, source: Source) -> Source:
    """A source that can be read as often as scoring wants: twice where equal rows are one."""
    if source.rescannable or not spec.scoring.reads_twice:
        return source
    return staged(session, source, list(source.columns))


def _examples(book: Codebook) -> str:
    listed = ", ".join(map(repr, (book.categories or ())[:3]))
    return f"such as {listed}" if listed else "of many values"


def check_input(spec: ModelSpec, source: Source, outputs: bool = True) -> None:
    """An error that names the column where rows cannot be scored."""
    used = spec.scorer(None).used
    for v in used:
        book = spec.books[v]
        found = source.columns[source.column(book.column, "the model's attribute")]
        if found == "BOOLEAN" and is_never_boolean(book):
            raise ColumnError(
                f"column {book.name!r} is BOOLEAN but was text in training, {_examples(book)}; "
                "cast it to the words of training (DuckDB reads yes and no in a CSV as BOOLEAN)"
            )
        try:
            check_same_values(book.column, found, book.sql_type, book.kind == "numeric")
        except ColumnError as error:
            what = str(error).split("; ")[0]
            warnings.warn(
                f"{what}; what cannot be read as {book.sql_type} counts as a value never seen",
                SqlbnWarning,
                stacklevel=2,
            )
    ours = ["prediction", *spec.probability_columns] if outputs else []
    taken = {name.lower() for name in ours}
    for name in source.columns:
        if name.lower() in taken or name.lower().startswith(RESERVED):
            raise ColumnError(
                f"the input already has a column {name!r}, which the prediction adds; "
                f"leave it out with {opt('exclude', name)}"
            )
