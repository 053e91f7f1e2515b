"""`sqlbn network follow`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn.cli import network_learning as how
from sqlbn.cli import options as opt
from sqlbn.cli.searches import search_summary
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.networks import following
from sqlbn.text import json_text

# Lines of the table for people; all blocks are in --json.
_MOST_LINES = 20


@opt.learning(*how.NOT_HERE)
def follow(
    data: opt.Data,
    options: dict[str, Any],
    window: Annotated[
        int, typer.Option("--window", help="The network is of the last so many rows.")
    ],
    target: how.Target = None,
    store: Annotated[
        Path | None, typer.Option("--store", "-s", help="Keep the last network in this file.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="The name of the last network in the store.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a model of that name.")
    ] = False,
    bound: how.Bound = None,
    delta: how.Delta = None,
    delta_star: how.DeltaStar = None,
    tau: how.Tau = None,
    block: how.Block = None,
    max_parameters: how.MaxParameters = 10_000,
    max_parents: how.MaxParents = None,
    as_json: opt.Json = False,
) -> None:
    """Follow rows in their order: a network that changes where the last rows say so."""
    found = following.follow(
        data,
        window=window,
        target=target,
        store=store,
        name=name,
        replace=replace,
        progress=STATE.progress(),
        bound=bound,
        delta=delta,
        delta_star=delta_star,
        tau=tau,
        block=block,
        max_parameters=max_parameters,
        max_parents=max_parents,
        **options,
    )
    with found.model as model:
        if as_json:
            blocks = [dataclasses.asdict(b) for b in found.blocks]
            typer.echo(json_text({"blocks": blocks, "arcs": how.arcs_of(model)}))
            return
        _print(found.blocks)
        if not STATE.quiet:
            echo(f"\n{search_summary(model)}")


def _print(blocks: Sequence[following.FollowedBlock]) -> None:
    every = max(1, -(-len(blocks) // _MOST_LINES))
    shown = [b for i, b in enumerate(blocks) if b.changes or i % every == 0 or i == len(blocks) - 1]
    rows = [[b.block, b.rows_before, b.log_likelihood, b.arcs, "; ".join(b.changes)] for b in shown]
    header = ["block", "rows before", "log-likelihood", "arcs", "changes"]
    echo(text_table(header, rows) if rows else "no row behind the first window")
    if every > 1:
        echo(f"(one block in {every} and all with changes; all are in --json)")
