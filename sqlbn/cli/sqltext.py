"""`sqlbn sql`: the statements that a fit or a prediction would run."""

from __future__ import annotations

from typing import Any

import typer

from sqlbn import explain
from sqlbn.cli import options as opt
from sqlbn.cli.reporting import reporting

app = typer.Typer(
    help="Print the SQL that a fit or a prediction would run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("fit")
@reporting
@opt.learning("memory_limit", "threads", "temp_dir", "quiet", *opt.ENGINE, *opt.BOUND)
def sql_fit(data: opt.Data, target: opt.Target, options: dict[str, Any]) -> None:
    """The statements of a fit, to read: columns are looked at, the rest is only printed."""
    steps = explain.fit_statements(data, target, **options)
    for title, statement in steps:
        typer.echo(f"-- {title}\n{statement};\n")


@app.command("predict")
@reporting
def sql_predict(
    name: opt.ModelName,
    data: opt.Data,
    store: opt.Store = "models.duckdb",
    where: opt.Where = None,
    table: opt.Table = None,
    query: opt.Query = None,
    encoding: opt.Encoding = None,
    trust_sql: opt.TrustSql = False,
    traceback: opt.Traceback = False,
) -> None:
    """The query of a prediction, over the tables of the model's schema."""
    opt.require_data(data, query)
    asked = {"where": where, "table": table, "query": query, "encoding": encoding}
    statement = explain.predict_statement(store, name, data, trust_sql=trust_sql, **asked)
    typer.echo(f"{statement};")
