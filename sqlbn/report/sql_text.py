"""The SQL of a fit or a prediction as text, for people who want to read it or run it themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlbn.api import open_for_fit, split_options
from sqlbn.data import open_source
from sqlbn.encoding.encoded import encode_statement
from sqlbn.encoding.partitions import AUTO
from sqlbn.encoding.preparing import look, prepare
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError, opt
from sqlbn.model import prediction_statement
from sqlbn.store import open_store
from sqlbn.store.spec import read_spec
from sqlbn.store.sql_objects import book_tables

Step = tuple[str, str]


def fit_statements(
    data: Any, target: str, learner: str | None = None, **options: Any
) -> list[Step]:
    """Titles and statements of a fit.

    The columns are looked at, because the encoding depends on them; nothing is encoded or counted.
    Where the structure depends on counts, the statements of pass 2 are those of a fit in which no
    attribute has a parent.
    """
    settings, chosen = split_options(target, learner, options)
    if chosen.method == AUTO:
        raise OptionError(
            f"{opt('discretise', 'auto')} decides after several fits; name the encoding to see "
            "its statements"
        )
    if chosen.bound is not None:
        raise OptionError("bound decides what to count while it counts; without it all is counted")
    with Session(settings) as session:
        source = open_for_fit(session, data, chosen)
        steps: list[Step] = []
        workspace = Workspace(session, weighted=chosen.weight is not None)
        session.listener = lambda sql: steps.append(("look at the columns (was run)", sql))
        looked = look(session, source, chosen, Progress())
        prepared = prepare(looked, workspace, chosen, Progress())
        session.listener = None
        training = prepared.training
        statement = encode_statement(
            training.source, prepared.class_book, prepared.books, training.weights, prepared.tables
        )
        steps.append(("encode", f"CREATE TABLE encoded AS\n{statement}"))
        encoded = replace(prepared.counted(), relation="encoded")
        learner, names = chosen.make_learner(), [book.name for book in prepared.books]
        return steps + learner.kind.statements(encoded, names, learner)


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
