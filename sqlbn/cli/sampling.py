"""`sqlbn sample`, which is also `sqlbn network sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.networks import sample_rows as drawing
from sqlbn.text import json_text


def sample(
    rows: Annotated[int, typer.Option("--rows", help="Rows to draw.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write this .parquet or .csv file.")],
    bif: Annotated[
        Path | None, typer.Option("--bif", help="Draw from the network in this .bif or .bif.gz.")
    ] = None,
    store: opt.NetworkStore = None,
    name: opt.NetworkName = None,
    random: Annotated[
        str | None,
        typer.Option("--random", help="Draw from a random network instead: nb, tan or ban."),
    ] = None,
    attributes: Annotated[
        int | None, typer.Option("--attributes", help="--random: attributes. [default: 19]")
    ] = None,
    values: Annotated[
        int | None,
        typer.Option(
            "--values", help="--random, --irrelevant: states of an attribute. [default: 2]"
        ),
    ] = None,
    classes: Annotated[
        int | None, typer.Option("--classes", help="--random: states of the class. [default: 2]")
    ] = None,
    edges: Annotated[
        int | None,
        typer.Option(
            "--edges",
            help="--random ban: edges, those from the class included. "
            "[default: 50 for 19 attributes, else in proportion]",
        ),
    ] = None,
    irrelevant: Annotated[
        int, typer.Option("--irrelevant", help="Add attributes that depend on nothing.")
    ] = 0,
    noise: Annotated[
        float,
        typer.Option("--noise", help="Probability that an attribute's cell holds any state."),
    ] = 0.0,
    missing: Annotated[
        float, typer.Option("--missing", help="Probability that an attribute's cell is NULL.")
    ] = 0.0,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            help="The variable without noise and NULLs. [default: the class, --bif: none]",
        ),
    ] = None,
    save_bif: Annotated[
        Path | None, typer.Option("--save-bif", help="Write the network to this .bif or .bif.gz.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the network and the rows.")] = 0,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads to draw and write with.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one."""
    network = drawing.sample(
        out,
        rows,
        bif=bif,
        store=store,
        name=name,
        random=random,
        seed=seed,
        attributes=attributes,
        values=values,
        classes=classes,
        edges=edges,
        irrelevant=irrelevant,
        noise=noise,
        missing=missing,
        target=target,
        save_bif=save_bif,
        threads=threads,
        progress=STATE.progress(),
    )
    variables, arcs = len(network), len(network.arcs)
    if as_json:
        told = {"rows": rows, "out": str(out), "variables": variables, "arcs": arcs, "seed": seed}
        typer.echo(json_text(told))
    elif not STATE.quiet:
        echo(f"{rows:,} rows of {variables} variables ({arcs} arcs) drawn into {out}")
