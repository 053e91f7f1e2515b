"""A model as a file that needs no sqlbn: the formats, and their options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from sqlbn.engines.output_files import check_folder, replacing
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ExportError, OptionError, opt
from sqlbn.exporting.document import document_pieces
from sqlbn.exporting.pmml import pmml_pieces
from sqlbn.exporting.script import Script
from sqlbn.exporting.targets import target_of
from sqlbn.networks.bif import bif_lines
from sqlbn.networks.stored_networks import network_of
from sqlbn.options.lists import as_list, names_in
from sqlbn.store.spec import ModelSpec

Format = Literal["sql", "json", "bif", "pmml"]
_OF_SQL = ("dialect", "table", "key", "view")


def export_pieces(
    workspace: Workspace,
    spec: ModelSpec,
    format: str,
    name: str,
    options: dict[str, Any],
) -> Iterator[str]:
    """The text of a model in a format, in pieces."""
    if format not in get_args(Format):
        raise OptionError(f"choose {', '.join(get_args(Format))}", format=format)
    spec.require_columns("there is no export")
    given = [option for option in _OF_SQL if options.get(option)]
    if format != "sql" and given:
        raise OptionError(f"{opt(given[0])} requires {opt('format', 'sql')}")
    if format == "json":
        return document_pieces(workspace, spec)
    if format == "pmml":
        return pmml_pieces(workspace, spec)
    if format == "bif":
        return bif_lines(network_of(workspace, spec))
    target = target_of(options.get("dialect") or "duckdb")
    table = options.get("table") or "input"
    known = {book.column for book in spec.books}
    key = names_in(as_list(options.get("key")), known.__contains__)
    return Script(workspace, spec, target, name, table, key, options.get("view")).pieces()


def write_pieces(pieces: Iterator[str], out: Path) -> None:
    """The pieces in a file, which is whole or not there."""
    check_folder(out, "out")
    try:
        with replacing(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
    except OSError as error:
        raise ExportError(f"cannot write {str(out)!r}: {error.strerror}") from error
