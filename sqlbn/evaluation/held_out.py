"""Losses of a model on rows whose class is known; what rows must have to be scored."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlbn.data import Source
from sqlbn.data.sampling import staged
from sqlbn.encoding.codebook import Codebook, column_sql, is_never_boolean
from sqlbn.encoding.profile import check_weights
from sqlbn.engines import Session
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.limits import added
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import ROW
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.sql import NAMES, RESERVED, literal, render, select_sql
from sqlbn.engines.value_types import check_same_values
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, OptionError, SqlbnWarning, opt
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
from sqlbn.kinds.losses import TIE
from sqlbn.kinds.product.product_query import is_large, scored_in_steps
from sqlbn.store.spec import ModelSpec


def evaluate_source(
    workspace: Workspace,
    spec: ModelSpec,
    source: Source,
    weight: str | None,
    ranking: bool = True,
    positive: str | None = None,
    keep: Callable[[str], None] | None = None,
) -> Evaluation:
    """Losses of the model in a workspace on a source; without `ranking` no AUC and no aoPRC.

    Figures of a `positive` class that the model does not know are NaN. `keep` is called with a
    query for the rows one by one, while it can be run: `row`, `class`, `predicted`, `p_true`; the
    row is told by the row key of the source.
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
        _labelled_scores(
            workspace.session, scorer, source, weight_sql, numbered=keep is not None
        ) as labelled,
        workspace.session.row_engine.joins_as_written(),
    ):
        return losses_of(
            workspace.session, spec.class_names, labelled, weight_unit, ranking, positive, keep
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
    session: Session, scorer: Scorer, source: Source, weight: str | None, numbered: bool
) -> Iterator[str]:
    """A query for the rows with their classes, weights and scores; `numbered` by the row key."""
    if numbered:  # not by another place, which a deal to folds has
        source = replace(source, place=None)
    with scorer.scoring.prepared(session, scorer, source, Progress()) as ready:
        if session.row_engine.keeps_order and is_large(ready, session.limits):
            items = truth_items(ready, weight)
            with scored_in_steps(session, ready, source, items) as scored:
                yield scored if numbered else _without_numbers(scored)
        elif numbered:
            rows = source.in_places(source.columns)
            yield labelled_sql(ready, rows, weight, column_sql("i", ROW))
        else:
            labelled = labelled_sql(ready, source.filtered_relation, weight)
            yield labelled if ready.long is None else _without_numbers(labelled)


def _without_numbers(labelled: str) -> str:
    return select_sql(f"({labelled})", f"* EXCLUDE ({ROW})")


def losses_of(
    session: Session,
    classes: tuple[str, ...],
    labelled: str,
    weight_unit: int = 1,
    ranking: bool = True,
    positive: str | None = None,
    keep: Callable[[str], None] | None = None,
) -> Evaluation:
    """Losses of rows with their classes, weights and log scores, whoever made these.

    Into a scratch file where more than one query needs the scores: rows are scored once.
    """
    n, started, dialect = len(classes), time.perf_counter(), session.row_engine.dialect
    if not ranking and keep is None and n <= session.limits.loss_classes:
        sums = session.row_engine.rows(losses_sql(n, labelled, dialect))
        return from_sums(classes, sums, time.perf_counter() - started, positive)
    with kept(session, rankable_sql(n, labelled, dialect) if ranking else labelled) as relation:
        sums = session.row_engine.rows(losses_sql(n, select_sql(relation), dialect))
        result = from_sums(classes, sums, time.perf_counter() - started, positive)
        if keep is not None:
            keep(_single_rows(classes, relation, dialect))
        if ranking and positive is not None and positive not in classes:
            result.ranking = RankingSums()
        elif ranking:
            started = time.perf_counter()
            code = classes.index(positive) if positive is not None else None
            result.ranking = rank(session, relation, n, result.weight, weight_unit, code)
            result.seconds["rank"] = time.perf_counter() - started
    return result


def _single_rows(classes: tuple[str, ...], relation: str, dialect: Dialect) -> str:
    """The rows one by one: their key, their class, what was predicted, P(their class)."""
    scores = [f"{NAMES.score}{j}" for j in range(len(classes))]
    return render(
        "evaluate/single_rows",
        names=NAMES,
        row=ROW,
        scored=relation,
        top=dialect.greatest(scores),
        total=added([f"exp({score} - {NAMES.top})" for score in scores]),
        classes=[literal(name) for name in classes],
        tie=literal(TIE),
    )


class SingleRows:
    """Rows one by one, kept until they are written into a file."""

    def __init__(self, session: Session, out: str) -> None:
        self._session, self._out, self._kept = session, out, list[Persisted]()

    @classmethod
    def to(cls, session: Session, out: str | Path | None) -> SingleRows | None:
        """For a file, if there is to be one; an error where it cannot be written."""
        if out is None:
            return None
        if not session.row_engine.is_local:
            raise OptionError(
                f"rows one by one are written by the engine duckdb only: leave {opt('out')} out"
            )
        session.row_engine.check_target(str(out))
        return cls(session, str(out))

    def add(self, repeat: int, fold: int, rows: str) -> None:
        """Take the rows of a query."""
        items = f"{repeat} AS repeat, {fold} AS fold, *"
        query = select_sql(f"({rows})", items)
        self._kept.append(self._session.row_engine.persist(query, "single"))

    def write(self) -> None:
        """Write the file."""
        union = " UNION ALL ".join(select_sql(table.relation) for table in self._kept)
        ordered = select_sql(f"({union})", order='repeat, fold, "row"')
        self._session.row_engine.write(ordered, self._out)
        for table in self._kept:
            self._session.row_engine.unpersist(table)


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
