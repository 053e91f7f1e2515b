"""`sqlbn network learn`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sqlbn.cli import options as opt
from sqlbn.cli.searches import search_summary
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.engines.sql import identifier, literal
from sqlbn.model import Model
from sqlbn.networks import network_calls as learning
from sqlbn.text import json_text

# What a fit takes and a search for a network has no use for.
NOT_HERE = (
    "learner", "k", "kmax", "select", "loss", "n", "subsumption", "weighted", "min_count",
    "attributes", "score", "superparent", "order", "parents_from_first", "parents", "map",
    "loocv_sample", "structure_sample", "backoff", "encodings", "weight", "weight_kind",
    *opt.BOUND,
)  # fmt: skip


Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="A class, parent of all others: the network then predicts it."
    ),
]
Bound = Annotated[
    str | None, typer.Option("--bound", help="vfbn: normal or hoeffding. [default: normal]")
]
Delta = Annotated[
    float | None,
    typer.Option("--delta", help="vfbn: probability of error of one comparison. [default: 1e-9]"),
]
DeltaStar = Annotated[
    float | None,
    typer.Option("--delta-star", help="vfbn: instead, that of all decisions together."),
]
Tau = Annotated[
    float | None,
    typer.Option(
        "--tau",
        help="vfbn: a difference nobody cares about, as a share of the mean log-likelihood "
        "without arcs. [default: 0.0005]",
    ),
]
Block = Annotated[
    int | None, typer.Option("--block", help="vfbn: rows between two looks. [default: 10000]")
]
MaxParameters = Annotated[
    int, typer.Option("--max-parameters", help="Free parameters a table may have.")
]
MaxParents = Annotated[
    int | None, typer.Option("--max-parents", help="Parents a variable may have.")
]


@opt.learning(*NOT_HERE)
def learn(
    data: opt.Data,
    options: dict[str, Any],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="hgc: hill climbing on all rows; vfbn1: each of its steps from as few rows as the "
            "bound asks for; vfbn2: so for every variable at a time, the fastest.",
        ),
    ] = "vfbn2",
    target: Target = None,
    store: opt.Store = "models.duckdb",
    name: opt.Name = "network",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a model of that name.")
    ] = False,
    score: Annotated[
        str | None, typer.Option("--score", help="hgc: bdeu, k2 or bic. [default: bdeu]")
    ] = None,
    ess: Annotated[
        float | None,
        typer.Option("--ess", help="hgc: rows that BDeu's prior is worth. [default: 1]"),
    ] = None,
    bound: Bound = None,
    delta: Delta = None,
    delta_star: DeltaStar = None,
    tau: Tau = None,
    block: Block = None,
    max_parameters: MaxParameters = 10_000,
    max_parents: MaxParents = None,
    max_changes: Annotated[
        int,
        typer.Option("--max-changes", help="How often the arc between two variables may change."),
    ] = 2,
    as_json: opt.Json = False,
) -> None:
    """Learn a Bayesian network and store it as tables. Ctrl-C keeps what was found so far."""
    with learning.learn(
        data,
        method,
        target=target,
        store=store,
        name=name,
        replace=replace,
        progress=STATE.progress(),
        score=score,
        ess=ess,
        bound=bound,
        delta=delta,
        delta_star=delta_star,
        tau=tau,
        block=block,
        max_parameters=max_parameters,
        max_parents=max_parents,
        max_changes=max_changes,
        **options,
    ) as model:
        if as_json:
            told = {"name": name, "store": str(store), **model.meta, "arcs": arcs_of(model)}
            typer.echo(json_text(told))
        elif not STATE.quiet:
            print_network(model)
            place = f"ATTACH {literal(str(store))} AS m; USE m.{identifier(name)};"
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
