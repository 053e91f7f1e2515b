"""`sqlbn export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_data, echo_json


def export(
    name: str, options: dict[str, Any], store: str, format: str, out: Path | None, json: bool
) -> None:
    """Write a model for other programs: as a SQL script for many databases, JSON, BIF or PMML.

    A script makes the model's tables and ends with a query, which gives a prediction and a
    probability for each class for every row of --table. It needs sqlglot. JSON has all that it
    takes to score rows; BIF and PMML have the models that they can say.
    """
    from sqlbn.api import results

    if out is not None:
        results.check_folder(out, "out")
    found = sqlbn.export(store, name, out, format=format, **options)
    if json:
        written = {"out": out} if out is not None else {"text": found}
        echo_json({"name": name, "format": format, **written})
    elif out is None:
        echo_data(str(found))
    elif not STATE.quiet:
        echo(f"{name} written to {out}")
