"""`sqlbn network`: learn, follow, score, ask, draw, export and plot a Bayesian network."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.commands.describe_commands import search_summary
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.cli.output import table as text_table
from sqlbn.errors import OptionError

if TYPE_CHECKING:
    from sqlbn import Model, Network
    from sqlbn.api.results import FollowedBlock

# Lines of the table for people; all blocks are in --json.
_MOST_LINES = 20


def learn(
    data: list[str],
    options: dict[str, Any],
    method: str,
    target: str | None,
    store: str,
    name: str,
    replace: bool,
    json: bool,
) -> None:
    """Learn a Bayesian network and store it as tables. Ctrl-C keeps what was found so far."""
    from sqlbn.api import results

    with sqlbn.networks.learn(
        data,
        method,
        target=target,
        store=store,
        name=name,
        replace=replace,
        quiet=STATE.quiet,
        **options,
    ) as model:
        if json:
            echo_json({"name": name, "store": str(store), **model.meta, "arcs": arcs_of(model)})
        elif not STATE.quiet:
            print_network(model)
            place = f"ATTACH {results.literal(store)} AS m; USE m.{results.identifier(name)};"
            echo(f"\nStored as {name!r} in {store}. In SQL:")
            echo(f"  {place} FROM decisions;")


def arcs_of(model: Model) -> list[dict[str, str]]:
    """Every arc, for programs."""
    arcs = model.parents.select(["parent", "attribute"]).to_pylist()
    return [{"from": a["parent"], "to": a["attribute"]} for a in arcs]


def print_network(model: Model) -> None:
    """The arcs by variable, and what the search says of itself."""
    above: dict[str, list[str]] = {n: [] for n in model.attributes.column("attribute").to_pylist()}
    for row in model.parents.to_pylist():
        above[row["attribute"]].append(row["parent"])
    rows = [(child, ", ".join(parents) or "-") for child, parents in above.items()]
    echo(text_table(["variable", "parents"], rows))
    echo(f"\n{search_summary(model)}")


def follow(
    data: list[str],
    options: dict[str, Any],
    window: int,
    target: str | None,
    store: str | None,
    name: str | None,
    replace: bool,
    json: bool,
) -> None:
    """Follow rows in their order: a network that changes where the last rows say so."""
    found = sqlbn.networks.follow(
        data,
        window=window,
        target=target,
        store=store,
        name=name,
        replace=replace,
        quiet=STATE.quiet,
        **options,
    )
    with found.model as model:
        if json:
            blocks = [dataclasses.asdict(b) for b in found.blocks]
            echo_json({"blocks": blocks, "arcs": arcs_of(model)})
            return
        _print_blocks(found.blocks)
        if not STATE.quiet:
            echo(f"\n{search_summary(model)}")


def _print_blocks(blocks: Sequence[FollowedBlock]) -> None:
    every = max(1, -(-len(blocks) // _MOST_LINES))
    shown = [b for i, b in enumerate(blocks) if b.changes or i % every == 0 or i == len(blocks) - 1]
    rows = [[b.block, b.rows_before, b.log_likelihood, b.arcs, "; ".join(b.changes)] for b in shown]
    header = ["block", "rows before", "log-likelihood", "arcs", "changes"]
    echo(text_table(header, rows) if rows else "no row behind the first window")
    if every > 1:
        echo(f"(one block in {every} and all with changes; all are in --json)")


def score(
    data: list[str],
    options: dict[str, Any],
    bif: Path | None,
    store: str | None,
    name: str | None,
    json: bool,
) -> None:
    """Mean natural-log likelihood of rows: how well a network explains them.

    Columns are found by the variables' names. With --bif, rows with a value or a combination of
    probability 0 are counted and left out; a stored model has a probability for values it never
    saw, and of a classifier it is P(attributes, class).
    """
    found = sqlbn.networks.score(
        data, bif=bif, store=store, name=name, quiet=STATE.quiet, **options
    )
    if json:
        echo_json(dataclasses.asdict(found))
        return
    size = f"{found.variables} variables, {found.arcs} arcs"
    left_out = f", {found.impossible_rows:,} impossible" if found.impossible_rows else ""
    echo(
        f"log likelihood {found.log_likelihood:.6f} a row "
        f"({found.rows:,} rows{left_out}; {size}; {found.seconds:.1f} s)"
    )


def query(
    of: Sequence[str],
    given: Sequence[str] | None,
    bif: Path | None,
    store: str | None,
    name: str | None,
    json: bool,
) -> None:
    """P(variables | evidence), exact.

    The states of a stored model are its categories, intervals and groups as `sqlbn show --cpt`
    prints them; a missing value is '?'.
    """
    evidence = _evidence(given or ())
    found = sqlbn.networks.query(of, evidence, bif=bif, store=store, name=name)
    if json:
        asked = found.column_names[:-1]
        echo_json({"of": asked, "given": evidence, "rows": found.to_pylist()})
    else:
        rows = [list(row.values()) for row in found.to_pylist()]
        echo(text_table(found.column_names, rows))


def _evidence(words: Sequence[str]) -> dict[str, str]:
    """VARIABLE=STATE, where the name may not hold a '=' but the state may."""
    found: dict[str, str] = {}
    for word in words:
        variable, sign, state = word.partition("=")
        if not sign or not variable:
            raise OptionError("write VARIABLE=STATE", given=word)
        if found.setdefault(variable, state) != state:
            raise OptionError(
                f"{variable!r} is {found[variable]!r} already; it has one state", given=word
            )
    return found


def export(out: Path, bif: Path | None, store: str | None, name: str | None, json: bool) -> None:
    """Write a network as a .bif file, gzipped where the name ends in .gz."""
    from sqlbn.api import results

    if not out.name.lower().endswith((".bif", ".bif.gz")):
        raise OptionError("the name must end in .bif or .bif.gz", out=out)
    results.check_folder(out, "out")
    network = results.read_network(bif, store, name).network
    sqlbn.write_bif(network, out)
    _report(network, out, "written to", json)


def plot(
    out: Path,
    bif: Path | None,
    store: str | None,
    name: str | None,
    target: str | None,
    json: bool,
) -> None:
    """Draw a network in layers, parents before their children; the class is marked."""
    network = sqlbn.networks.plot(out, bif=bif, store=store, name=name, target=target)
    _report(network, out, "drawn into", json)


def _report(network: Network, out: Path, done: str, json: bool) -> None:
    """What was made of a network, and where it is."""
    variables, arcs = len(network), len(network.arcs)
    if json:
        echo_json({"out": out, "variables": variables, "arcs": arcs})
    elif not STATE.quiet:
        echo(f"{variables} variables, {arcs} arcs {done} {out}")


def sample(out: Path, rows: int, seed: int, json: bool, **options: Any) -> None:
    """Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one."""
    network = sqlbn.sample(out, rows, seed=seed, quiet=STATE.quiet, **options)
    variables, arcs = len(network), len(network.arcs)
    if json:
        told = {"rows": rows, "out": str(out), "variables": variables, "arcs": arcs, "seed": seed}
        echo_json(told)
    elif not STATE.quiet:
        echo(f"{rows:,} rows of {variables} variables ({arcs} arcs) drawn into {out}")
