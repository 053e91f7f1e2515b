"""`sqlbn sql`: the statements that a fit or a prediction would run."""

from __future__ import annotations

from typing import Any

from sqlbn.cli.output import echo_data, echo_json
from sqlbn.text import printable


def fit(data: list[str], target: str, options: dict[str, Any], json: bool) -> None:
    """The statements of a fit, to read: columns are looked at, the rest is only printed."""
    if not any(options.get(key) for key in ("learner", "effort", "discretise", "k")):
        options = {**options, "effort": "quick"}  # what is chosen by trials has no one statement
    from sqlbn.api.describe_calls import fit_statements

    steps = fit_statements(data, target, **options)
    if json:
        echo_json([{"title": title, "sql": sql} for title, sql in steps])
        return
    for title, statement in steps:
        echo_data(f"-- {printable(title)}\n{statement};\n\n")


def predict(name: str, data: list[str], options: dict[str, Any], store: str, json: bool) -> None:
    """The query of a prediction, over the tables of the model's schema."""
    from sqlbn.api.describe_calls import prediction_query

    sql = prediction_query(store, name, data, **options)
    if json:
        echo_json({"name": name, "store": store, "sql": sql})
    else:
        echo_data(f"{sql};\n")
