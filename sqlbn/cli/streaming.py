"""`sqlbn stream`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.evaluating import positive_line
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.engines.output_files import check_table_file, write_table
from sqlbn.evaluation.metrics import OF_POSITIVE
from sqlbn.report.plots import check_plot, plot_stream
from sqlbn.text import json_text
from sqlbn.updates.stream import LEAST, RECENT, StreamBatch

if TYPE_CHECKING:
    import pyarrow as pa

# Lines of the table for people; all batches are in --out and --json.
_MOST_LINES = 20


@opt.learning()
def stream(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    batch: Annotated[int, typer.Option("--batch", help="Rows that come at a time.")] = 10_000,
    window: Annotated[
        int | None, typer.Option("--window", help="Forget all but the last so many rows.")
    ] = None,
    measure: Annotated[
        str, typer.Option("--measure", help="The loss to watch, print and draw.")
    ] = "zero_one",
    positive: opt.Positive = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write all batches to this .parquet, .csv or .json."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the losses into this .svg or .png.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", "-s", help="Keep the last model in this DuckDB file.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="The name of the last model in the store.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a model of that name.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Follow rows in their order: predict a batch, then learn it; warn where the loss drifts."""
    check_plot(plot)
    check_table_file(out)
    batches = api.stream(
        data,
        target,
        batch=batch,
        window=window,
        measure=measure,
        positive=positive,
        store=store,
        name=name,
        replace=replace,
        progress=STATE.progress(),
        **options,
    )
    if out is not None:
        write_table(_table(batches), out)
    if plot is not None:
        plot_stream(plot, batches, measure, f"{target}, batches of {batch:,} rows")
        echo(f"drawn: {plot}", err=True)
    if as_json:
        typer.echo(json_text([dataclasses.asdict(b) for b in batches]))
    else:
        _print(batches, measure, positive is not None)


def _print(batches: Sequence[StreamBatch], measure: str, asked: bool) -> None:
    every = max(1, -(-len(batches) // _MOST_LINES))
    shown = [b for i, b in enumerate(batches) if b.drift or i % every == 0 or i == len(batches) - 1]
    rows = [
        [b.batch, b.rows_before, b.loss, b.recent, b.running, "drift" if b.drift else ""]
        for b in shown
    ]
    header = ["batch", "rows before", measure, "recent", "all so far", ""]
    echo(text_table(header, rows) if rows else "one batch: nothing to test on")
    if batches and batches[-1].positive is not None and measure in OF_POSITIVE:
        echo(f"({positive_line(measure, batches[-1].positive, asked)})")
    if every > 1:
        echo(f"(one batch in {every}; all are in --out and --json)")
    if not any(b.high is not None for b in batches):
        echo(f"(too few batches to judge drift: it takes {LEAST + RECENT + 1})")


def _table(batches: Sequence[StreamBatch]) -> pa.Table:
    """All batches as a table."""
    import pyarrow as pa

    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "float | None": pa.float64(),
        "bool": pa.bool_(),
        "str | None": pa.string(),
    }
    schema = pa.schema([(f.name, types[str(f.type)]) for f in dataclasses.fields(StreamBatch)])
    return pa.Table.from_pylist([dataclasses.asdict(b) for b in batches], schema)
