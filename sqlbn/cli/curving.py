"""`sqlbn curve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.evaluating import positive_line
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.engines.output_files import check_table_file, write_table
from sqlbn.evaluation.cross_validation import points_table
from sqlbn.evaluation.metrics import OF_POSITIVE, RANKINGS, check_measure
from sqlbn.lists import listed, names_in
from sqlbn.report.plots import check_plot, plot_curves
from sqlbn.text import json_text

_LEARNERS = ("nb", "kdb:1", "kdb:2", "kdb:3", "skdb")
_SIZES = ("1000", "10000", "100000")


@opt.learning("learner", "k", "kmax", "n", *opt.BOUND)
def curve(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    learners: Annotated[
        list[str] | None,
        typer.Option(
            "--learners",
            metavar="LIST",
            help="Learners; kdb:3 is kdb with k = 3. [default: nb,kdb:1,kdb:2,kdb:3,skdb]",
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--sizes",
            metavar="LIST",
            help="Numbers of training rows. [default: 1000,10000,100000]",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Random training sets a size.")] = 10,
    measure: Annotated[str, typer.Option("--measure", help="The loss to print and draw.")] = "rmse",
    positive: opt.Positive = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the losses of all training sets to this .parquet, .csv or .json.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the curves into this .svg or .png.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Learning curves: losses on held-out rows as the training set grows."""
    check_measure(measure)
    check_plot(plot)
    check_table_file(out)
    rows = api.as_sizes(listed(sizes or _SIZES))
    named = names_in(listed(learners or _LEARNERS))
    points = api.curve(
        data,
        target,
        named,
        rows,
        repeats=repeats,
        ranking=measure in RANKINGS,
        positive=positive,
        progress=STATE.progress(),
        **options,
    )
    if out is not None:
        write_table(points_table(points), out)
    if plot is not None:
        plot_curves(plot, points, measure, f"{target}, {repeats} training sets of each size")
        echo(f"drawn: {plot}", err=True)
    if as_json:
        typer.echo(json_text([point.to_dict() for point in points]))
        return
    by_place = {(p.learner, p.size): p for p in points}
    body = [
        [f"{size:,}", *(by_place[learner, size].mean(measure) for learner in named)]
        for size in rows
    ]
    echo(text_table([f"rows \\ {measure}", *named], body))

    if points[0].positive is not None and measure in OF_POSITIVE:
        echo(f"({positive_line(measure, points[0].positive, positive is not None)})")
