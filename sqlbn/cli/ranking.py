"""`sqlbn rank`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.evaluation import attribute_ranking
from sqlbn.evaluation.attribute_ranking import Ranking
from sqlbn.text import json_text

_TAKEN = (*attribute_ranking.RANK_OPTIONS, *opt.BOUND)


@opt.learning(*(name for name in opt.learning_options() if name not in _TAKEN))
def rank(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    top: Annotated[int, typer.Option("--top", help="How many attributes are wanted.")] = 10,
    as_json: opt.Json = False,
) -> None:
    """Find the attributes that tell most of the class; with --bound from few random rows."""
    found = attribute_ranking.rank(data, target, top, progress=STATE.progress(), **options)
    if as_json:
        typer.echo(json_text(found.to_dict()))
        return
    rows = [[a.rank, a.attribute, a.kind, a.mi] for a in found.attributes]
    echo(text_table(["rank", "attribute", "kind", "mi"], rows))
    echo(_told(found))


def _told(found: Ranking) -> str:
    """How sure the choice is, in a line."""
    said = f"\n{len(found.attributes)} of {found.candidates} attributes"
    said += f" by {found.rows:,} of {found.total_rows:,} rows"
    if found.delta is None or found.margin is None:
        return said
    why = {"bound": "sure by the bound", "tie": "a tie by the bound", "exhausted": "all rows"}
    return (
        f"{said} ({found.rows_read:,} read): {why[found.reason]}, margin {found.margin:.6f}, "
        f"error {found.error:.6f}, delta {found.delta:.2g}"
    )
