"""`sqlbn predict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE


def predict(
    name: opt.ModelName,
    data: opt.Data,
    store: opt.Store = Path("models.duckdb"),
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write .parquet or .csv; else CSV to standard output."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", help="Do not carry this column through (repeat)."),
    ] = None,
    order_by: Annotated[
        list[str] | None, typer.Option("--order-by", help="Sort the rows by this column (repeat).")
    ] = None,
    where: opt.Where = None,
    table: opt.Table = None,
    query: opt.Query = None,
    memory_limit: opt.MemoryLimit = None,
    threads: opt.Threads = None,
    temp_dir: opt.TempDir = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Score rows: input columns, the prediction, a probability for each class."""
    settings = opt.given(memory_limit=memory_limit, threads=threads, temp_dir=temp_dir)
    with api.load(store, name, **settings) as model:
        rows = model.write_predictions(
            data,
            out if out is not None else "-",
            table=table,
            query=query,
            where=where,
            exclude=exclude or (),
            order_by=order_by or (),
            progress=STATE.progress(),
        )
    if as_json:
        typer.echo(json.dumps({"rows": rows, "out": str(out) if out else None}), err=out is None)
    elif out is not None and not STATE.quiet:
        typer.echo(f"{rows:,} rows scored into {out}")
