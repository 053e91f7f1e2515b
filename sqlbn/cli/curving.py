"""`sqlbn curve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.errors import OptionError
from sqlbn.evaluation.losses import check_measure
from sqlbn.evaluation.ranking import RANKINGS
from sqlbn.report.plots import check_plot, plot_curves


@opt.learning("learner", "k", "kmax", "n", *opt.BOUND)
def curve(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    learners: Annotated[
        str, typer.Option("--learners", help="Comma-separated; kdb:3 is kdb with k = 3.")
    ] = "nb,kdb:1,kdb:2,kdb:3,skdb",
    sizes: Annotated[
        str, typer.Option("--sizes", help="Comma-separated numbers of training rows.")
    ] = "1000,10000,100000",
    repeats: Annotated[int, typer.Option("--repeats", help="Random training sets a size.")] = 10,
    measure: Annotated[str, typer.Option("--measure", help="The loss to print and draw.")] = "rmse",
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the curves into this .svg or .png.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Learning curves: losses on held-out rows as the training set grows."""
    check_measure(measure)
    check_plot(plot)
    rows = [_number(text) for text in sizes.split(",")]
    named = [text.strip() for text in learners.split(",")]
    points = api.curve(
        data,
        target,
        named,
        rows,
        repeats=repeats,
        ranking=measure in RANKINGS,
        progress=STATE.progress(),
        **options,
    )
    if plot is not None:
        plot_curves(plot, points, measure, f"{target}, {repeats} training sets of each size")
        echo(f"drawn: {plot}", err=True)
    if as_json:
        typer.echo(json.dumps([point.to_dict() for point in points]))
        return
    by_place = {(p.learner, p.size): p for p in points}
    body = [
        [f"{size:,}", *(by_place[learner, size].mean(measure) for learner in named)]
        for size in rows
    ]
    echo(text_table([f"rows \\ {measure}", *named], body))


def _number(text: str) -> int:
    try:
        return int(float(text))
    except ValueError as error:
        raise OptionError(f"--sizes {text!r}: write numbers, such as 1000,1e5") from error
