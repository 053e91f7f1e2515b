"""`sqlbn export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo, echo_data
from sqlbn.engines.output_files import check_folder
from sqlbn.exporting.targets import TARGETS
from sqlbn.lists import listed
from sqlbn.text import json_text


def export(
    name: opt.ModelName,
    store: opt.Store = "models.duckdb",
    format: Annotated[str, typer.Option("--format", "-f", help="sql, json, bif or pmml.")] = "sql",
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", help=f"sql: {', '.join(TARGETS)}. [default: duckdb]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write this file; else standard output.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", help="sql: the table of rows to predict. [default: input]"),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="LIST",
            help="sql: columns of that table to give with the prediction (a,b or repeat). "
            "[default: all that the model looks at]",
        ),
    ] = None,
    view: Annotated[
        str | None, typer.Option("--view", help="sql: make a view of this name of the prediction.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Write a model for other programs: as a SQL script for many databases, JSON, BIF or PMML.

    A script makes the model's tables and ends with a query, which gives a prediction and a
    probability for each class for every row of --table. It needs sqlglot. JSON has all that it
    takes to score rows; BIF and PMML have the models that they can say.
    """
    if out is not None:
        check_folder(out, "--out")
    with api.load(store, name) as model:
        found = model.export(
            out, format=format, dialect=dialect, table=table, key=listed(key), view=view, name=name
        )
    if as_json:
        made = {"out": out} if out is not None else {"text": found}
        typer.echo(json_text({"name": name, "format": format, **made}))
    elif out is None:
        echo_data(str(found))
    elif not STATE.quiet:
        echo(f"{name} written to {out}")
