"""`sqlbn prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.engines.output_files import check_table_file, write_table
from sqlbn.evaluation import univariate
from sqlbn.evaluation.univariate import Preparation
from sqlbn.lists import listed, names_in
from sqlbn.report.plots import check_plot, plot_profiles
from sqlbn.text import json_text

# Variables whose profile is printed, parts and classes of each, and variables that are drawn.
_PROFILES = 3
_MOST_PARTS = 30
_MOST_CLASSES = 8
_DRAWN = 9


@opt.learning(*(name for name in opt.learning_options() if name not in univariate.DATA_OPTIONS))
def prepare(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    variable: Annotated[
        list[str] | None,
        typer.Option(
            "--variable",
            metavar="LIST",
            help="Show the parts of these variables (a,b or repeat). [default: the best 3]",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the best variables, or these, into this .svg or .png."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the variables to this .parquet, .csv or .json."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Tell what every column says about the class on its own; no model is learned."""
    check_plot(plot)
    check_table_file(out)
    found = univariate.prepare(data, target, progress=STATE.progress(), **options)
    known = set(found.variables["attribute"].to_pylist())
    chosen = names_in(listed(variable), known.__contains__)
    for name in chosen:
        found.profile_of(name)
    best = [r["attribute"] for r in found.variables.to_pylist() if r["level"] > 0]
    if plot is not None:
        drawn = chosen or best[:_DRAWN]
        plot_profiles(
            plot,
            found,
            drawn,
            f"shares of {target}; a part is as wide as it has of the {found.rows:,} rows",
        )
        echo(f"drawn: {plot}", err=True)
    if out is not None:
        write_table(found.variables, out)
    if as_json:
        shown = chosen or found.variables["attribute"].to_pylist()
        profiles = {name: found.profile_of(name) for name in shown}
        variables = found.variables.to_pylist()
        typer.echo(json_text({"rows": found.rows, "variables": variables, "profile": profiles}))
        return
    _print(found, chosen or best[:_PROFILES])


def _print(found: Preparation, profiles: list[str]) -> None:
    classes = found.classes.to_pylist()
    counts = ", ".join(f"{row['class']} {row['n']:,}" for row in classes[:12])
    more = f", … {len(classes)} in all" if len(classes) > 12 else ""
    echo(f"{found.rows:,} rows; {found.target}: {counts}{more}\n")
    rows = [
        [r["attribute"], r["kind"], r["parts"], f"{r['level']:.6f}", r["n_missing"], r["used"]]
        for r in found.variables.to_pylist()
    ]
    echo(text_table(["variable", "kind", "parts", "level", "missing", "used"], rows))
    for name in profiles:
        echo("")
        _print_profile(found, name)


def _print_profile(found: Preparation, name: str) -> None:
    parts = found.profile_of(name)
    names = found.classes["class"].to_pylist()[:_MOST_CLASSES]
    rows = [
        [
            p["part"] if p["part"] is not None else "(missing)",
            p["rows"],
            *(f"{p['shares'][c]:7.2%}" for c in names),
        ]
        for p in parts
    ]
    echo(text_table([name, "rows", *names], rows[:_MOST_PARTS]))
    if len(parts) > _MOST_PARTS:
        echo(f"… {len(parts):,} parts in all")
