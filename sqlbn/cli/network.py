"""`sqlbn network`: what can be done with a Bayesian network that is there already."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn.cli import network_following, network_learning, sampling
from sqlbn.cli import options as opt
from sqlbn.cli.reporting import reporting
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.engines.output_files import check_folder
from sqlbn.errors import OptionError
from sqlbn.lists import listed, pairs_in
from sqlbn.networks import network_calls as api
from sqlbn.networks import write_bif
from sqlbn.networks.network import Network
from sqlbn.networks.stored_networks import read_network
from sqlbn.text import json_text

app = typer.Typer(
    help="Bayesian networks: score rows, ask for probabilities, draw rows, export, plot.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("learn")(reporting(network_learning.learn))
app.command("follow")(reporting(network_following.follow))
app.command("sample")(reporting(sampling.sample))


@app.command("score")
@reporting
@opt.reading
def score(
    data: opt.Data,
    options: dict[str, Any],
    bif: opt.Bif = None,
    store: opt.NetworkStore = None,
    name: opt.NetworkName = None,
    as_json: opt.Json = False,
) -> None:
    """Mean natural-log likelihood of rows: how well a network explains them.

    Columns are found by the variables' names. With --bif, rows with a value or a combination of
    probability 0 are counted and left out; a stored model has a probability for values it never
    saw, and of a classifier it is P(attributes, class).
    """
    found = api.score(data, bif=bif, store=store, name=name, progress=STATE.progress(), **options)
    if as_json:
        typer.echo(json_text(dataclasses.asdict(found)))
        return
    size = f"{found.variables} variables, {found.arcs} arcs"
    left_out = f", {found.impossible_rows:,} impossible" if found.impossible_rows else ""
    echo(
        f"log likelihood {found.log_likelihood:.6f} a row "
        f"({found.rows:,} rows{left_out}; {size}; {found.seconds:.1f} s)"
    )


@app.command("query")
@reporting
def query(
    of: Annotated[
        list[str],
        typer.Option(
            "--of",
            metavar="LIST",
            help="A variable, or several (a,b or repeat): all combinations of states.",
        ),
    ],
    given: Annotated[
        list[str] | None,
        typer.Option("--given", help="What is known, as VARIABLE=STATE (a=1,b=2 or repeat)."),
    ] = None,
    bif: opt.Bif = None,
    store: opt.NetworkStore = None,
    name: opt.NetworkName = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """P(variables | evidence), exact.

    For example: sqlbn network query --bif asia.bif --of lung --given smoke=yes --given xray=no

    The states of a stored model are its categories, intervals and groups as `sqlbn show --cpt`
    prints them; a missing value is '?'.
    """
    evidence = _evidence(pairs_in(given or []))
    found = api.query(listed(of), evidence, bif=bif, store=store, name=name)
    if as_json:
        asked = found.column_names[:-1]
        typer.echo(json_text({"of": asked, "given": evidence, "rows": found.to_pylist()}))
    else:
        rows = [list(row.values()) for row in found.to_pylist()]
        echo(text_table(found.column_names, rows))


def _evidence(words: list[str]) -> dict[str, str]:
    """VARIABLE=STATE, where the name may not hold a '=' but the state may."""
    found: dict[str, str] = {}
    for word in words:
        variable, sign, state = word.partition("=")
        if not sign or not variable:
            raise OptionError(f"--given {word}: write VARIABLE=STATE")
        if found.setdefault(variable, state) != state:
            raise OptionError(
                f"--given {word}: {variable!r} is {found[variable]!r} already; it has one state"
            )
    return found


@app.command("export")
@reporting
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="Write this .bif or .bif.gz file.")],
    bif: opt.Bif = None,
    store: opt.NetworkStore = None,
    name: opt.NetworkName = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Write a network as a .bif file, gzipped where the name ends in .gz."""
    if not out.name.lower().endswith((".bif", ".bif.gz")):
        raise OptionError(f"--out {out}: the name must end in .bif or .bif.gz")
    check_folder(out, "--out")
    network = read_network(bif, store, name).network
    write_bif(network, out)
    _report(network, out, "written to", as_json)


def _report(network: Network, out: Path, done: str, as_json: bool) -> None:
    """What was made of a network, and where it is."""
    variables, arcs = len(network), len(network.arcs)
    if as_json:
        typer.echo(json_text({"out": out, "variables": variables, "arcs": arcs}))
    elif not STATE.quiet:
        echo(f"{variables} variables, {arcs} arcs {done} {out}")


@app.command("plot")
@reporting
def plot(
    out: Annotated[Path, typer.Option("--out", "-o", help="Write this .svg or .png file.")],
    bif: opt.Bif = None,
    store: opt.NetworkStore = None,
    name: opt.NetworkName = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The variable to mark. [default: the class]"),
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Draw a network in layers, parents before their children; the class is marked."""
    network = api.plot(out, bif=bif, store=store, name=name, target=target)
    _report(network, out, "drawn into", as_json)
