"""The SQL of a fit or a prediction as text, for people who want to read it or run it themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlbn.counts.counter import block_statement
from sqlbn.counts.families import family_statement
from sqlbn.counts.margins import plan_margins
from sqlbn.counts.subsets import plan_subsets, subsets_of
from sqlbn.data import Source, open_source
from sqlbn.encoding.encoded import Encoded, encode_statement
from sqlbn.encoding.preparing import look, prepare
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import render
from sqlbn.engines.statement_log import StatementList
from sqlbn.engines.workspace import Workspace
from sqlbn.evaluation.prediction_query import prediction_statement
from sqlbn.kinds.collection.fit_collection import Collectable
from sqlbn.learners.base import Averaging
from sqlbn.learners.fit_options import FitOptions
from sqlbn.store import open_store
from sqlbn.store.spec import read_spec
from sqlbn.store.sql_objects import book_tables
from sqlbn.structure.parent_sets import families_of

Step = tuple[str, str]


def fit_steps(session: Session, source: Source, chosen: FitOptions) -> list[Step]:
    """Titles and statements of a fit, from a look at the columns."""
    workspace = Workspace(session, weighted=chosen.weight is not None)
    session.log = log = StatementList()
    looked = look(session, source, chosen, Progress())
    prepared = prepare(looked, workspace, chosen, Progress())
    steps = [("look at the columns (was run)", ran.sql) for ran in log.statements]
    training = prepared.training
    statement = encode_statement(
        training.source, prepared.class_book, prepared.books, training.weights, prepared.tables
    )
    steps.append(("encode", render("encode/create_encoded", rows=statement)))
    encoded = replace(prepared.counted(), relation="encoded")
    averaging = chosen.make_learner().averaging
    if averaging is not None:
        return steps + _subset_steps(encoded, averaging)
    collecting = chosen.make_learner().collecting
    if collecting is not None:
        names = tuple(book.name for book in prepared.books)
        return steps + _collection_steps(encoded, Collectable(collecting, names))
    blocks = plan_margins(encoded, chosen.make_learner().uses_pairs)
    for number, block in enumerate(blocks, 1):
        title = f"pass 1, block {number} of {len(blocks)}: counts for structure"
        steps.append((title, block_statement(block, encoded)))
    depends = len(blocks) > 0 and chosen.make_learner().uses_pairs
    note = " (parents, which pass 1 decides, come into the key)" if depends else ""
    for position, book in enumerate(prepared.books):
        statement = family_statement((position,), encoded)
        steps.append((f"pass 2: counts of {book.name}{note}", statement))
    return steps


def _subset_steps(encoded: Encoded, averaging: Averaging) -> list[Step]:
    """The one counting pass of an averaging learner."""
    d = encoded.n_attributes
    # Which attributes are kept depends on counts: those that come first stand for them.
    kept = range(d if averaging.attributes is None else min(d, averaging.attributes))
    blocks = plan_subsets(encoded, subsets_of(kept, averaging.n + 1))
    return [
        (f"block {number} of {len(blocks)}: counts", block_statement(block, encoded))
        for number, block in enumerate(blocks, 1)
    ]


def _collection_steps(encoded: Encoded, collectable: Collectable) -> list[Step]:
    """The counting of a collection; what depends on counts, with the first as super parent."""
    early, steps = collectable.early, []
    d = encoded.n_attributes
    terms = collectable.terms(range(d), collectable.named or 0) if d else []
    later = [family for family in families_of(terms) if family not in set(early)]
    for subsets, note in (
        (early, ""),
        (later, " (which sets these are, the counts before decide; here by the order of columns)"),
    ):
        blocks = plan_subsets(encoded, subsets)
        steps += [
            (f"block {number} of {len(blocks)}: counts{note}", block_statement(block, encoded))
            for number, block in enumerate(blocks, 1)
        ]
    return steps


def predict_statement(store: str | Path, name: str, data: Any, **options: Any) -> str:
    """The query of a prediction; its tables are found from the model's schema in USE."""
    with Session() as session:
        opened = open_store(store)
        spec = read_spec(opened.load(session, name))
        spec.require_class()
        prefix = opened.helpers(session, name)
        tables = book_tables(prefix) if prefix is not None else None
        source = open_source(session, data, trained=spec.trained(), **options)
        return prediction_statement(spec, prefix, source, tables=tables)
