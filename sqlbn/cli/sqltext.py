"""`sqlbn sql`: the statements that a fit or a prediction would run."""

from __future__ import annotations

from pathlib import Path

import typer

from sqlbn import explain
from sqlbn.cli import options as opt
from sqlbn.cli.reporting import reporting
from sqlbn.options import DEFAULT_LEARNER

app = typer.Typer(
    help="Print the SQL that a fit or a prediction would run, without running it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("fit")
@reporting
def sql_fit(
    data: opt.Data,
    target: opt.Target,
    learner: opt.LearnerName = DEFAULT_LEARNER,
    k: opt.K = None,
    m: opt.M = 1.0,
    backoff: opt.BackoffRule = "cell",
    bins: opt.Bins = 5,
    weight: opt.Weight = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    numeric: opt.Numeric = None,
    keep: opt.Keep = None,
    where: opt.Where = None,
    table: opt.Table = None,
    query: opt.Query = None,
    seed: opt.Seed = 0,
    traceback: opt.Traceback = False,
) -> None:
    """The statements of a fit. Columns are looked at; nothing is encoded, counted or stored."""
    steps = explain.fit_statements(
        data,
        target,
        learner,
        **opt.given(
            k=k, m=m, backoff=backoff, bins=bins, weight=weight, columns=columns, exclude=exclude,
            categorical=categorical, numeric=numeric, keep=keep, where=where, table=table,
            query=query, seed=seed,
        ),
    )  # fmt: skip
    for title, statement in steps:
        typer.echo(f"-- {title}\n{statement};\n")


@app.command("predict")
@reporting
def sql_predict(
    name: opt.ModelName,
    data: opt.Data,
    store: opt.Store = Path("models.duckdb"),
    where: opt.Where = None,
    table: opt.Table = None,
    query: opt.Query = None,
    traceback: opt.Traceback = False,
) -> None:
    """The query of a prediction, over the tables of the model's schema."""
    typer.echo(
        explain.predict_statement(store, name, data, where=where, table=table, query=query) + ";"
    )
