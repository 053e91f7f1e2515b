"""`sqlbn predict`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.data.opening import check_there
from sqlbn.engines.output_files import check_new_folder, check_rows_file
from sqlbn.lists import listed
from sqlbn.options import ROWS
from sqlbn.text import json_text


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
            "output, with --json a JSON object a line.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="LIST", help="Do not carry these columns through (a,b or repeat)."
        ),
    ] = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option(
            "--order-by", metavar="LIST", help="Sort the rows by these columns (a,b or repeat)."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Values that the model has never seen are an error."),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Score rows: input columns, the prediction, a probability for each class.

    Rows keep their order; Spark's folder of files has none.
    """
    rows_of = {key: options.pop(key) for key in ROWS if key in options}
    check_there(api.engine_settings(options), data)
    if out is not None:  # before an engine is started for it
        (check_new_folder if options.get("engine") == "spark" else check_rows_file)(out)
    with api.load(store, name, progress=STATE.progress(), **options) as model:
        rows = model.write_predictions(
            data,
            out if out is not None else "-",
            exclude=listed(exclude),
            order_by=listed(order_by),
            progress=STATE.progress(),
            as_json=as_json,
            strict=strict,
            **rows_of,
        )
        unseen = model.unseen
    summary: dict[str, Any] = {"rows": rows, "out": out, "unseen": unseen.shares}
    if as_json and out is not None:
        typer.echo(json_text(summary))
    elif unseen.columns and not STATE.quiet:  # beside the rows on standard output
        echo(json_text(summary) if as_json else f"unseen values: {unseen}", err=True)
    if out is not None and not as_json and not STATE.quiet:
        echo(f"{rows:,} rows scored into {out}")
