"""`sqlbn.export`: a stored model as a file that needs no sqlbn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from sqlbn.engines.output_files import check_folder, replacing
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ExportError, OptionError
from sqlbn.exporting.document import document_pieces
from sqlbn.exporting.pmml import pmml_pieces
from sqlbn.exporting.script import Script
from sqlbn.exporting.targets import target_of
from sqlbn.lists import as_list, names_in
from sqlbn.networks.bif import bif_lines
from sqlbn.networks.stored_networks import network_of
from sqlbn.store.spec import ModelSpec

Format = Literal["sql", "json", "bif", "pmml"]
_OF_SQL = ("dialect", "table", "key", "view")


def export(
    store: str | Path,
    name: str,
    out: str | Path | None = None,
    *,
    format: str = "sql",
    dialect: str | None = None,
    table: str | None = None,
    key: str | Sequence[str] = (),
    view: str | None = None,
) -> str | Path:
    """A stored model as SQL, JSON, BIF or PMML: its text, or the file it was written to.

    With `format` sql: a script for the database `dialect` (duckdb, spark, postgres, …) that makes
    the model's tables and predicts the rows of `table` ("input"). The result has the columns `key`
    of that table (all that the model looks at), `prediction` and one probability a class; with
    `view` it is a view.
    """
    from sqlbn.api import load

    with load(store, name) as model:
        return model.export(
            out, format=format, dialect=dialect, table=table, key=key, view=view, name=name
        )


def export_pieces(
    workspace: Workspace,
    spec: ModelSpec,
    format: str,
    name: str,
    options: dict[str, Any],
) -> Iterator[str]:
    """The text of a model in a format, in pieces."""
    if format not in get_args(Format):
        raise OptionError(f"--format {format}: choose {', '.join(get_args(Format))}")
    given = [option for option in _OF_SQL if options.get(option)]
    if format != "sql" and given:
        raise OptionError(f"--{given[0]} goes with --format sql")
    if format == "json":
        return document_pieces(workspace, spec)
    if format == "pmml":
        return pmml_pieces(workspace, spec)
    if format == "bif":
        return bif_lines(network_of(workspace, spec))
    target = target_of(options.get("dialect") or "duckdb")
    table = options.get("table") or "input"
    known = {book.name for book in spec.books}
    key = names_in(as_list(options.get("key")), known.__contains__)
    return Script(workspace, spec, target, name, table, key, options.get("view")).pieces()


def write_pieces(pieces: Iterator[str], out: Path) -> None:
    """The pieces in a file, which is whole or not there."""
    check_folder(out, "--out")
    try:
        with replacing(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
    except OSError as error:
        raise ExportError(f"cannot write {str(out)!r}: {error.strerror}") from error
