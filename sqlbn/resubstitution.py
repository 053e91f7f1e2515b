"""The super parent of spcr: every attribute is tried, on the rows that were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlbn.counts.subsets import SubsetCounts
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.engines import DuckDBEngine
from sqlbn.progress import Progress
from sqlbn.scoring.collection_query import CollectionQuery
from sqlbn.scoring.collection_tables import CollectionTables, CountedTerms
from sqlbn.scoring.estimates import log_prior
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.structure.information import DECIMALS
from sqlbn.structure.terms import Term
from sqlbn.templates import render


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
            means = {}
            for super_parent, terms in tried.items():
                counted = CountedTerms(counts, tuple(terms), smoothing)
                total = _probability(rows, counted, prior)
                means[super_parent] = round(total / float(sum(class_counts)), DECIMALS)
                progress.advance()
        finally:
            engine.execute(f"DROP TABLE {rows}")
    return min(means, key=lambda s: (-means[s], s))


def _put_together(engine: DuckDBEngine, encoded: Encoded) -> str:
    """The rows that differ in more than the class, with the weight of each class; their table."""
    name = engine.fresh_name("rows")
    d = encoded.n_attributes
    engine.run(
        "rows_by_class",
        table=name,
        names=NAMES,
        codes=[{"sql": encoded.column(v), "alias": f"{NAMES.code}{v}"} for v in range(d)],
        classes=range(encoded.cards[-1]),
        total=encoded.total_sql,
        relation=encoded.relation,
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
