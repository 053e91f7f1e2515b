"""The super parent of spcr: every attribute is tried, on the rows that were trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.subsets import SubsetCounts
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.engines import DuckDBEngine
from sqlbn.progress import Progress
from sqlbn.scoring.collection_arrays import CollectionArrays
from sqlbn.scoring.collection_query import CollectionQuery
from sqlbn.scoring.collection_tables import CollectionTables, CountedTerms
from sqlbn.scoring.estimates import log_prior
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.structure.information import DECIMALS
from sqlbn.structure.terms import Term
from sqlbn.templates import render

Array = npt.NDArray[Any]

# Rows times classes up to which rows are scored in arrays. Measured against queries, on a busy
# machine: adult 1.3 and 2.0 s, mushroom 1.1 and 4.6 s, audiology (69 attributes) 36 and 255 s.
_ARRAY_VALUES = 1 << 18
# The share of the memory limit for terms that several super parents have in common.
_KEPT_SHARE = 0.1


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
    engine, encoded = counts.draft.engine, counts.encoded
    prior = tuple(log_prior(class_counts, smoothing.m_of(len(class_counts))))
    with progress.stage("superparent", "trying super parents", encoded.rows, len(tried)):
        rows = _put_together(engine, encoded)
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
            engine.execute(f"DROP TABLE {rows}")
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
    engine, encoded = counts.draft.engine, counts.encoded
    n_classes, d = encoded.cards[-1], encoded.n_attributes
    n_rows = int(engine.row(f"SELECT count(*) FROM {rows}")[0])
    families = {term.family for terms in tried.values() for term in terms}
    if n_rows * n_classes > _ARRAY_VALUES or not all(map(counts.is_array, families)):
        return None
    # In the order of their codes: sums must not depend on that of the rows.
    found = engine.arrays(f"SELECT * EXCLUDE ({NAMES.row}) FROM {rows} ORDER BY ALL")
    codes = np.stack([found[f"{NAMES.code}{v}"].astype(np.int64) for v in range(d)], axis=1)
    weights = np.stack([found[f"{NAMES.w}{j}"].astype(float) for j in range(n_classes)], axis=1)
    room = _KEPT_SHARE * engine.memory_bytes
    return _FewRows(CollectionArrays(counts, smoothing, codes, room), weights)


def _put_together(engine: DuckDBEngine, encoded: Encoded) -> str:
    """The rows that differ in more than the class, with the weight of each class; their table.

    It lies in the model's database, so such rows of another lake come to the driver.
    """
    name = engine.fresh_name("rows")
    d = encoded.n_attributes
    query = render(
        "rows_by_class",
        names=NAMES,
        codes=[{"sql": encoded.column(v), "alias": f"{NAMES.code}{v}"} for v in range(d)],
        classes=range(encoded.cards[-1]),
        total=encoded.total_sql,
        relation=encoded.relation,
    )
    with engine.lake.brought(query) as found:
        engine.execute(
            f"CREATE TABLE {name} AS SELECT row_number() OVER () AS {NAMES.row}, * FROM {found}"
        )
    return name


def _probability(rows: str, counted: CountedTerms, prior: tuple[float, ...]) -> float:
    """The sum of P(true class) over all rows."""
    engine = counted.counts.draft.engine
    draft = Draft(engine)
    try:
        tables = CollectionTables(counted, draft)
        tables.make()
        query = CollectionQuery(draft.prefix, prior, tables.plan.factors, tables.plan.collected)
        scored = query.scores(f"SELECT * FROM {rows}", [])
        with engine.joins_as_written():
            found = engine.row(
                render(
                    "resubstitution",
                    names=NAMES,
                    classes=range(len(prior)),
                    scored=scored,
                    rows=rows,
                )
            )
        return float(found[0])
    finally:
        draft.drop()
