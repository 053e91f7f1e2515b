"""The SQL of a fit or a prediction as text, for people who want to read it or run it themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlbn.data import Source, open_source
from sqlbn.encoding.encoded import encode_statement
from sqlbn.encoding.preparing import look, prepare
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import render
from sqlbn.engines.statement_log import StatementList
from sqlbn.engines.workspace import Workspace
from sqlbn.evaluation.prediction_query import prediction_statement
from sqlbn.learners.fit_options import FitOptions
from sqlbn.store import open_store
from sqlbn.store.spec import read_spec
from sqlbn.store.sql_objects import book_tables

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
    learner, names = chosen.make_learner(), [book.name for book in prepared.books]
    return steps + learner.kind.statements(encoded, names, learner)


def predict_statement(store: str | Path, name: str, data: Any, **options: Any) -> str:
    """The query of a prediction; its tables are found from the model's schema in USE."""
    with Session() as session:
        opened = open_store(store)
        spec = read_spec(opened.load(session, name))
        spec.require_class()
        spec.require_columns("the query is that of the macro `predict`")
        prefix = opened.helpers(session, name)
        tables = book_tables(prefix) if prefix is not None else None
        source = open_source(session, data, trained=spec.trained(), **options)
        return prediction_statement(spec, prefix, source, tables=tables)
