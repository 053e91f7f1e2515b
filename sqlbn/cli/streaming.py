"""`sqlbn stream`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.living.drift import LEAST, RECENT
from sqlbn.living.streaming import StreamBatch
from sqlbn.outfiles import output_format, replacing
from sqlbn.report.plots import check_plot, plot_stream

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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all batches to this .csv or .parquet.")
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
    form = output_format(out) if out is not None else None
    batches = api.stream(
        data,
        target,
        batch=batch,
        window=window,
        measure=measure,
        store=store,
        name=name,
        replace=replace,
        progress=STATE.progress(),
        **options,
    )
    if out is not None:
        with replacing(out) as part:
            _write(part, form == "csv", batches)
    if plot is not None:
        plot_stream(plot, batches, measure, f"{target}, batches of {batch:,} rows")
        echo(f"drawn: {plot}", err=True)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(b) for b in batches]))
    else:
        _print(batches, measure)


def _print(batches: Sequence[StreamBatch], measure: str) -> None:
    every = max(1, -(-len(batches) // _MOST_LINES))
    shown = [b for i, b in enumerate(batches) if b.drift or i % every == 0 or i == len(batches) - 1]
    rows = [
        [b.batch, b.rows_before, b.loss, b.recent, b.running, "drift" if b.drift else ""]
        for b in shown
    ]
    header = ["batch", "rows before", measure, "recent", "all so far", ""]
    echo(text_table(header, rows) if rows else "one batch: nothing to test on")
    if every > 1:
        echo(f"(one batch in {every}; all are in --out and --json)")
    if not any(b.high is not None for b in batches):
        echo(f"(too few batches to judge drift: it takes {LEAST + RECENT + 1})")


def _write(path: Path, as_csv: bool, batches: Sequence[StreamBatch]) -> None:
    """All batches as a table."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    types = {"int": pa.int64(), "float": pa.float64(), "float | None": pa.float64()}
    schema = pa.schema(
        [(f.name, types.get(str(f.type), pa.bool_())) for f in dataclasses.fields(StreamBatch)]
    )
    table = pa.Table.from_pylist([dataclasses.asdict(b) for b in batches], schema)
    if as_csv:
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
