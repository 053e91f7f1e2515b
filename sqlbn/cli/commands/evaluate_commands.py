"""`sqlbn evaluate`, `sqlbn curve` and `sqlbn stream`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.cli.output import table as text_table
from sqlbn.options.lists import names_in, paths_in

if TYPE_CHECKING:
    from sqlbn.api.results import Evaluation, StreamBatch

_MOST_CLASSES = 12
# Lines of the table for people; all batches are in --out and --json.
_MOST_LINES = 20
_LEARNERS = ("nb", "kdb:1", "kdb:2", "kdb:3", "skdb")
_SIZES = ("1000", "10000", "100000")


def evaluate(
    data: list[str],
    target: str,
    options: dict[str, Any],
    test: Sequence[str] | None,
    folds: int | None,
    positive: str | None,
    json: bool,
) -> None:
    """Losses of a learner on rows it has not seen; stores nothing."""
    from sqlbn.api.evaluate_calls import evaluate_parts

    result, parts = evaluate_parts(
        data,
        target,
        test=paths_in(test) if test else None,
        folds=folds,
        positive=positive,
        quiet=STATE.quiet,
        **options,
    )
    if json:
        by_fold = [part.to_dict() for part in parts] if len(parts) > 1 else []
        echo_json({**result.to_dict(), "folds": by_fold})
    else:
        _print_evaluation(result, parts, positive is not None)


def _print_evaluation(result: Evaluation, parts: list[Evaluation], asked: bool) -> None:
    from sqlbn.api import results

    names = list(result.losses)
    rows: list[list[Any]] = [["all rows", *result.losses.values(), result.rows]]
    if len(parts) > 1:
        rows += [[f"fold {i + 1}", *p.losses.values(), p.rows] for i, p in enumerate(parts)]
    echo(text_table(["", *names, "rows"], rows))
    if result.positive is not None:
        about = positive_line(", ".join(results.OF_POSITIVE), result.positive, asked)
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


def curve(
    data: list[str],
    target: str,
    options: dict[str, Any],
    learners: Sequence[str] | None,
    sizes: Sequence[str] | None,
    repeats: int,
    measure: str,
    positive: str | None,
    out: Path | None,
    plot: Path | None,
    json: bool,
) -> None:
    """Learning curves: losses on held-out rows as the training set grows."""
    from sqlbn.api import results
    from sqlbn.api.evaluate_calls import as_sizes

    results.check_measure(measure)
    results.check_plot(plot)
    results.check_table_file(out)
    rows, named = as_sizes(sizes or _SIZES), names_in(learners or _LEARNERS)
    points = sqlbn.curve(
        data,
        target,
        named,
        rows,
        repeats=repeats,
        ranking=measure in results.RANKINGS,
        positive=positive,
        quiet=STATE.quiet,
        **options,
    )
    if out is not None:
        results.write_table(results.points_table(points), out)
    if plot is not None:
        title = f"{target}, {repeats} training sets of each size"
        results.plot_curves(plot, points, measure, title)
        echo(f"drawn: {plot}", err=True)
    if json:
        echo_json([point.to_dict() for point in points])
        return
    by_place = {(p.learner, p.size): p for p in points}
    body = [
        [f"{size:,}", *(by_place[learner, size].mean(measure) for learner in named)]
        for size in rows
    ]
    echo(text_table([f"rows \\ {measure}", *named], body))
    if points[0].positive is not None and measure in results.OF_POSITIVE:
        echo(f"({positive_line(measure, points[0].positive, positive is not None)})")


def stream(
    data: list[str],
    target: str,
    options: dict[str, Any],
    batch: int,
    window: int | None,
    measure: str,
    positive: str | None,
    out: Path | None,
    plot: Path | None,
    store: str | None,
    name: str | None,
    replace: bool,
    json: bool,
) -> None:
    """Follow rows in their order: predict a batch, then learn it; warn where the loss drifts."""
    from sqlbn.api import results

    results.check_plot(plot)
    results.check_table_file(out)
    batches = sqlbn.stream(
        data,
        target,
        batch=batch,
        window=window,
        measure=measure,
        positive=positive,
        store=store,
        name=name,
        replace=replace,
        quiet=STATE.quiet,
        **options,
    )
    if out is not None:
        results.write_table(results.batches_table(batches), out)
    if plot is not None:
        results.plot_stream(plot, batches, measure, f"{target}, batches of {batch:,} rows")
        echo(f"drawn: {plot}", err=True)
    if json:
        echo_json([dataclasses.asdict(b) for b in batches])
    else:
        _print_batches(batches, measure, positive is not None)


def _print_batches(batches: Sequence[StreamBatch], measure: str, asked: bool) -> None:
    from sqlbn.api import results

    every = max(1, -(-len(batches) // _MOST_LINES))
    shown = [b for i, b in enumerate(batches) if b.drift or i % every == 0 or i == len(batches) - 1]
    rows = [
        [b.batch, b.rows_before, b.loss, b.recent, b.running, "drift" if b.drift else ""]
        for b in shown
    ]
    header = ["batch", "rows before", measure, "recent", "all so far", ""]
    echo(text_table(header, rows) if rows else "one batch: nothing to test on")
    if batches and batches[-1].positive is not None and measure in results.OF_POSITIVE:
        echo(f"({positive_line(measure, batches[-1].positive, asked)})")
    if every > 1:
        echo(f"(one batch in {every}; all are in --out and --json)")
    if not any(b.high is not None for b in batches):
        echo(f"(too few batches to judge drift: it takes {results.LEAST_BATCHES})")
