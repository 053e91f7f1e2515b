"""`sqlbn predict`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.options import ROWS
from sqlbn.outfiles import check_new_folder


@opt.reading
def predict(
    name: opt.ModelName,
    data: opt.Data,
    options: dict[str, Any],
    store: opt.Store = "models.duckdb",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="Write .parquet or .csv (Spark: a folder of such files); else CSV to standard "
            "output.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", help="Do not carry this column through (repeat)."),
    ] = None,
    order_by: Annotated[
        list[str] | None, typer.Option("--order-by", help="Sort the rows by this column (repeat).")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Score rows: input columns, the prediction, a probability for each class."""
    rows_of = {key: options.pop(key) for key in ROWS if key in options}
    if out is not None and options.get("engine") == "spark":
        check_new_folder(out)  # before Spark is started for it
    with api.load(store, name, progress=STATE.progress(), **options) as model:
        rows = model.write_predictions(
            data,
            out if out is not None else "-",
            exclude=exclude or (),
            order_by=order_by or (),
            progress=STATE.progress(),
            **rows_of,
        )
    if as_json:
        typer.echo(json.dumps({"rows": rows, "out": str(out) if out else None}), err=out is None)
    elif out is not None and not STATE.quiet:
        typer.echo(f"{rows:,} rows scored into {out}")
