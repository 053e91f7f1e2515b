"""`sqlbn sql`: the statements that a fit or a prediction would run."""

from __future__ import annotations

from typing import Any

import typer

from sqlbn.cli import options as opt
from sqlbn.cli.reporting import reporting
from sqlbn.cli.text import echo_data
from sqlbn.report import sql_text as explain
from sqlbn.text import json_text, printable

app = typer.Typer(
    help="Print the SQL that a fit or a prediction would run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("fit")
@reporting
@opt.learning("memory_limit", "threads", "temp_dir", "quiet", *opt.ENGINE, *opt.BOUND)
def sql_fit(
    data: opt.Data, target: opt.Target, options: dict[str, Any], as_json: opt.Json = False
) -> None:
    """The statements of a fit, to read: columns are looked at, the rest is only printed."""
    steps = explain.fit_statements(data, target, **options)
    if as_json:
        typer.echo(json_text([{"title": title, "sql": sql} for title, sql in steps]))
        return
    for title, statement in steps:
        echo_data(f"-- {printable(title)}\n{statement};\n\n")


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
    as_json: opt.Json = False,
    traceback: opt.Traceback = False,
) -> None:
    """The query of a prediction, over the tables of the model's schema."""
    opt.require_data(data, query)
    asked = {"where": where, "table": table, "query": query, "encoding": encoding}
    sql = explain.predict_statement(store, name, data, trust_sql=trust_sql, **asked)
    if as_json:
        typer.echo(json_text({"name": name, "store": store, "sql": sql}))
    else:
        echo_data(f"{sql};\n")
