"""`sqlbn.export`: a stored model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from sqlbn.api.fit_calls import load

if TYPE_CHECKING:
    from sqlbn.options.catalogue import ScriptKeywords


def export(
    store: str | Path,
    name: str,
    out: str | Path | None = None,
    *,
    format: str = "sql",
    **options: Unpack[ScriptKeywords],
) -> str | Path:
    """A stored model as SQL, JSON, BIF or PMML: its text, or the file it was written to.

    With `format` sql: a script for the database `dialect` (duckdb, spark, postgres, …) that makes
    the model's tables and predicts the rows of `table` ("input"). The result has the columns `key`
    of that table (all that the model looks at), `prediction` and one probability a class; with
    `view` it is a view.
    """
    with load(store, name) as model:
        return model.export(out, format=format, name=name, **options)
