"""Distinct rows of a source through the arrays of an averaging model, into a table of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Source
from sqlbn.engines.sql import NAMES, select_sql
from sqlbn.engines.threads import ahead
from sqlbn.kinds.average.array_scores import scores_of
from sqlbn.kinds.average.super_arrays import SuperArrays, array_bytes, read_arrays
from sqlbn.kinds.average.superparents import SuperParents, scoring_seconds
from sqlbn.kinds.compiler import Scorer, coded_rows
from sqlbn.kinds.row_queries import distinct_rows, identity

Array = npt.NDArray[Any]


@contextmanager
def scored_in_arrays(
    session: Session, scorer: Scorer, supers: SuperParents, source: Source, progress: Progress
) -> Iterator[str | None]:
    """A relation with the log scores of all distinct rows, by their identity.

    None where the query has to compute them: on a cluster, and where the model is too large.
    """
    row_engine, limits = session.row_engine, session.limits
    room = limits.average_array_share * session.memory_bytes
    fits = row_engine.is_local and array_bytes(session, scorer, supers) <= room
    rows = int(row_engine.row(select_sql(source.filtered_relation, "count(*)"))[0]) if fits else 0
    if not rows or not scorer.factors:
        yield None
        return
    keys = identity(scorer.used, [book.slots for book in scorer.books])
    coded = coded_rows(scorer, source.filtered_relation, [("0", NAMES.w)])
    width = len(scorer.used) + 8 * len(keys)
    distinct = row_engine.persist(
        distinct_rows(coded, scorer.used, keys, scorer.dialect), "distinct_rows", rows * width
    )
    table = session.fresh_name("scores")
    try:
        n = int(row_engine.row(select_sql(distinct.relation, "count(*)"))[0])
        arrays = read_arrays(session, scorer, supers).as_factors(limits.average_product_safe)
        names = [key["alias"] for key in keys]
        size = chunk_rows(n, limits)
        with progress.stage("score", _title(session, supers, scorer, n), n, -(-n // size)):
            _score(session, scorer, arrays, distinct.relation, names, table, size, progress)
    finally:
        row_engine.unpersist(distinct)
    try:
        yield table
    finally:
        session.drop_table(table)


def chunk_rows(rows: int, limits: Limits) -> int:
    """Rows of a chunk, whatever the threads: few rows are cut up, too, but not too small."""
    most = limits.average_array_rows
    return min(most, max(most // 16, -(-rows // 4)))


def _title(session: Session, supers: SuperParents, scorer: Scorer, rows: int) -> str:
    sizes = (len(scorer.used), len(scorer.class_names))
    taken = scoring_seconds(session.limits, rows, len(supers.sets), *sizes) / session.threads
    title = f"scoring {rows:,} distinct rows by {len(supers.sets) - 1:,} super-parents"
    return title + (f", about {taken:.0f} s" if taken >= 1 else "")


def _score(
    session: Session,
    scorer: Scorer,
    arrays: SuperArrays,
    relation: str,
    names: Sequence[str],
    table: str,
    size: int,
    progress: Progress,
) -> None:
    """The table: the identity of each distinct row, and its scores."""
    used, limits = scorer.used, session.limits
    items = ", ".join([*names, *(f"{NAMES.code}{v}" for v in used)])
    kind = np.min_scalar_type(max(arrays.radices))

    def job(columns: list[Array]) -> Callable[[], dict[str, Array]]:
        def done() -> dict[str, Array]:
            codes = np.zeros((len(arrays.radices), len(columns[0])), kind)
            codes[used] = columns[len(names) :]
            scores = scores_of(arrays, codes, limits)
            by_class = {f"{NAMES.score}{j}": column for j, column in enumerate(scores.T.copy())}
            return dict(zip(names, columns, strict=False)) | by_class

        return done

    with session.beside(select_sql(relation, items), size) as reader:
        jobs = (job([c.to_numpy(zero_copy_only=False) for c in batch.columns]) for batch in reader)
        made = False
        for found in ahead(session.threads, jobs):
            session.append(table, found) if made else session.create_table(table, found)
            made = True
            progress.advance()
