"""`sqlbn evaluate`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.cli.text import table as text_table
from sqlbn.evaluation import Evaluation
from sqlbn.evaluation.metrics import OF_POSITIVE
from sqlbn.lists import paths_in
from sqlbn.text import json_text

_MOST_CLASSES = 12


@opt.learning()
def evaluate(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    test: Annotated[
        list[str] | None,
        typer.Option(
            "--test", metavar="LIST", help="Files to test on; DATA trains (a,b or repeat)."
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", help="Stratified cross-validation. [default: 10]")
    ] = None,
    positive: opt.Positive = None,
    as_json: opt.Json = False,
) -> None:
    """Losses of a learner on rows it has not seen; stores nothing."""
    result, parts = api.evaluate_parts(
        data,
        target,
        test=paths_in(test) if test else None,
        folds=folds,
        positive=positive,
        progress=STATE.progress(),
        **options,
    )
    if as_json:
        by_fold = [part.to_dict() for part in parts] if len(parts) > 1 else []
        typer.echo(json_text({**result.to_dict(), "folds": by_fold}))
    else:
        _print(result, parts, positive is not None)


def _print(result: Evaluation, parts: list[Evaluation], asked: bool) -> None:
    names = list(result.losses)
    rows: list[list[Any]] = [["all rows", *result.losses.values(), result.rows]]
    if len(parts) > 1:
        rows += [[f"fold {i + 1}", *p.losses.values(), p.rows] for i, p in enumerate(parts)]
    echo(text_table(["", *names, "rows"], rows))
    if result.positive is not None:
        about = positive_line(", ".join(OF_POSITIVE), result.positive, asked)
        echo(f"({about})")
    if result.skipped:
        echo(f"{result.skipped:,} rows have no class, or one that was not trained on: left out")
    seconds = ", ".join(f"{name} {taken:.1f} s" for name, taken in sorted(result.seconds.items()))
    echo(f"\n{seconds}\n")
    if len(result.classes) <= _MOST_CLASSES:
        header = ["true \\ predicted", *result.classes]
        cells = [
            [c, *map(_count, row)] for c, row in zip(result.classes, result.confusion, strict=True)
        ]
        echo(text_table(header, cells))
    else:
        echo(f"(confusion of {len(result.classes)} classes: --json)")


def positive_line(measures: str, positive: str, asked: bool) -> str:
    """Which class some measures are about."""
    why = "" if asked else ", the rarer one; --positive chooses"
    return f"{measures}: of the class {positive!r}{why}"


def _count(weight: float) -> int | float:
    return int(weight) if float(weight).is_integer() else weight
