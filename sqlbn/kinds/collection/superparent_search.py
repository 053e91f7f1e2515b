"""The super parent of spcr: every attribute is tried, on the rows that were trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.subsets import SubsetCounts
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import NAMES, render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.collection.collection_query import CollectionQuery
from sqlbn.kinds.collection.collection_tables import CollectionTables, CountedTerms
from sqlbn.kinds.estimates import Smoothing, log_prior
from sqlbn.structure.information import DECIMALS
from sqlbn.structure.parent_sets import Term

Array = npt.NDArray[Any]


class CollectionArrays:
    """Rows of codes; `room` bytes are for terms that several models share."""

    def __init__(
        self, counts: SubsetCounts, smoothing: Smoothing, codes: Array, room: float
    ) -> None:
        self._counts, self._smoothing, self._codes, self._room = counts, smoothing, codes, room
        self._kept: dict[Term, Array] = {}

    def scores(self, terms: Sequence[Term], prior: Sequence[float]) -> Array:
        """Log scores: one row a row, one column a class."""
        counted = CountedTerms(self._counts, tuple(terms), self._smoothing)
        sums: dict[int, Array] = {}
        for term in terms:
            values = self._values(counted, term)
            sums[term.child] = sums[term.child] + values if term.child in sums else values
        total = np.tile(np.asarray(prior, float), (len(self._codes), 1))
        for values in sums.values():
            # An attribute without a term left says nothing.
            total += np.log(np.where(values > 0, values, 1.0))
        return total

    def _values(self, counted: CountedTerms, term: Term) -> Array:
        """The term of each row, by class."""
        if term in self._kept:
            return self._kept[term]
        table = counted.estimates(term)
        key = np.ravel_multi_index(
            tuple(self._codes[:, v] for v in (term.child, *term.parents)), table.shape[:-1]
        )
        found = table.reshape(-1, table.shape[-1])[key]
        if len(term.parents) < 2 and found.nbytes <= self._room:
            self._room -= found.nbytes
            self._kept[term] = found
        return found


def most_probable(
    counts: SubsetCounts,
    tried: Mapping[int, Sequence[Term]],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    progress: Progress,
) -> int:
    """The super parent under whose terms the classes of the rows are most probable on average.

    Rows that are equal but for the class are put together first: the rows are read once, and each
    super parent scores what is left of them.
    """
    session, encoded = counts.workspace.session, counts.encoded
    prior = tuple(log_prior(class_counts, smoothing))
    with progress.stage("superparent", "trying super parents", encoded.rows, len(tried)):
        rows = _distinct_rows(session, encoded)
        try:
            arrays = _few_rows(rows, counts, tried, smoothing)
            means = {}
            for super_parent, terms in tried.items():
                if arrays is not None:
                    total = arrays.probability(terms, prior)
                else:
                    total = _probability(rows, CountedTerms(counts, tuple(terms), smoothing), prior)
                means[super_parent] = round(total / float(sum(class_counts)), DECIMALS)
                progress.advance()
        finally:
            session.drop_table(rows)
    return min(means, key=lambda s: (-means[s], s))


@dataclass(frozen=True)
class _FewRows:
    """Rows in memory, with the weight of each class."""

    scoring: CollectionArrays
    weights: Array

    def probability(self, terms: Sequence[Term], prior: Sequence[float]) -> float:
        """The sum of P(true class) over all rows."""
        scores = self.scoring.scores(terms, prior)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        right = (self.weights * shares).sum(axis=1) / shares.sum(axis=1)
        return math.fsum(right.tolist())


def _few_rows(
    rows: str,
    counts: SubsetCounts,
    tried: Mapping[int, Sequence[Term]],
    smoothing: Smoothing,
) -> _FewRows | None:
    """The rows in memory where they are few; None where a query is better."""
    session, encoded = counts.workspace.session, counts.encoded
    n_classes, d = encoded.cards[-1], encoded.n_attributes
    n_rows = int(session.row(select_sql(rows, "count(*)"))[0])
    families = {term.family for terms in tried.values() for term in terms}
    if n_rows * n_classes > session.limits.superparent_array_values or not all(
        map(counts.is_array, families)
    ):
        return None
    # In the order of their codes: sums must not depend on that of the rows.
    found = session.arrays(select_sql(rows, f"* EXCLUDE ({NAMES.row})", order="ALL"))
    codes = np.stack([found[f"{NAMES.code}{v}"].astype(np.int64) for v in range(d)], axis=1)
    weights = np.stack([found[f"{NAMES.w}{j}"].astype(float) for j in range(n_classes)], axis=1)
    room = session.limits.superparent_terms_share * session.memory_bytes
    return _FewRows(CollectionArrays(counts, smoothing, codes, room), weights)


def _distinct_rows(session: Session, encoded: Encoded) -> str:
    """The rows that differ in more than the class, with the weight of each class; their table.

    It lies in the model's database, so such rows of another lake come to the driver.
    """
    name = session.fresh_name("rows")
    d = encoded.n_attributes
    query = render(
        "loo/rows_by_class",
        names=NAMES,
        codes=[{"sql": encoded.column(v), "alias": f"{NAMES.code}{v}"} for v in range(d)],
        classes=range(encoded.cards[-1]),
        total=encoded.total_sql,
        relation=encoded.relation,
    )
    with session.row_engine.collect(query) as found:
        numbered = f"row_number() OVER () AS {NAMES.row}, *"
        session.create_from(name, select_sql(found, numbered))
    return name


def _probability(rows: str, counted: CountedTerms, prior: tuple[float, ...]) -> float:
    """The sum of P(true class) over all rows."""
    session = counted.counts.workspace.session
    workspace = Workspace(session)
    try:
        tables = CollectionTables(counted, workspace)
        tables.make()
        query = CollectionQuery(workspace.prefix, prior, tables.plan.factors, tables.plan.collected)
        scored = query.scores(select_sql(rows), [])
        with session.joins_as_written():
            found = session.row(
                render(
                    "loo/superparent_search",
                    names=NAMES,
                    classes=range(len(prior)),
                    scored=scored,
                    rows=rows,
                )
            )
        return float(found[0])
    finally:
        workspace.drop()
