"""`sqlbn predict`."""

from __future__ import annotations

from typing import Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.options.catalogue import PredictKeywords, names_of
from sqlbn.text import json_text


def predict(
    name: str, data: list[str], options: dict[str, Any], store: str, out: str | None, json: bool
) -> None:
    """Score rows: input columns, the prediction, a probability for each class.

    Rows keep their order; Spark's folder of files has none.
    """
    from sqlbn.api import results
    from sqlbn.api.call import engine_settings

    rows_of = {key: options.pop(key) for key in names_of(PredictKeywords) if key in options}
    results.check_there(engine_settings(options), data)
    if out is not None:  # before an engine is started for it
        on_spark = options.get("engine") == "spark"
        (results.check_new_folder if on_spark else results.check_rows_file)(out)
    progress = STATE.progress()
    with sqlbn.load(store, name, progress=progress, **options) as model:
        rows = model.write_predictions(
            data, out if out is not None else "-", progress=progress, as_json=json, **rows_of
        )
        unseen = model.unseen
    summary: dict[str, Any] = {"rows": rows, "out": out, "unseen": unseen.shares}
    if json and out is not None:
        echo_json(summary)
    elif unseen.columns and not STATE.quiet:  # beside the rows on standard output
        echo(json_text(summary) if json else f"unseen values: {unseen}", err=True)
    if out is not None and not json and not STATE.quiet:
        echo(f"{rows:,} rows scored into {out}")
