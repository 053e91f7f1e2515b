"""`sqlbn evaluate`, `sqlbn curve` and `sqlbn stream`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.cli.output import table as text_table
from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import RowKeywords, SettingKeywords, names_of
from sqlbn.options.lists import names_in, paths_in

if TYPE_CHECKING:
    from sqlbn.api.results import Evaluation, StreamBatch

_MOST_CLASSES = 12
# Lines of the table for people; all batches are in --out and --json.
_MOST_LINES = 20
_STORE = "models.duckdb"
_DERIVED = ("accuracy", "rmse_all", "macro_f1")
# What is said of the rows that a stored model is tested on.
_OF_ROWS = (*names_of(RowKeywords), "weight")
_LEARNERS = ("nb", "kdb:1", "kdb:2", "kdb:3", "skdb")
_SIZES = ("1000", "10000", "100000")


def evaluate(
    data: list[str],
    target: str | None,
    options: dict[str, Any],
    test: Sequence[str] | None,
    folds: int | None,
    repeats: int,
    out: str | None,
    name: str | None,
    store: str | None,
    positive: str | None,
    json: bool,
) -> None:
    """Losses of a learner, or of a stored model, on rows it has not seen; stores nothing.

    With --name, DATA are the rows to test on.
    """
    from sqlbn.api.evaluate_calls import evaluate_parts

    if store is not None and name is None:
        raise OptionError(f"{opt('store')} requires {opt('name')}")
    if name is not None:
        own = {"target": target, "test": test, "folds": folds}
        _check_stored({**own, "repeats": None if repeats == 1 else repeats, **options})
        rows_of = {key: options[key] for key in _OF_ROWS if key in options}
        settings = {key: options[key] for key in names_of(SettingKeywords) if key in options}
        with sqlbn.load(
            _STORE if store is None else store, name, progress=STATE.progress(), **settings
        ) as model:
            result = model.evaluate(data, positive=positive, out=out, **rows_of)
        parts = [result]
    else:
        result, parts = evaluate_parts(
            data,
            target,
            test=paths_in(test) if test else None,
            folds=folds,
            repeats=repeats,
            out=out,
            positive=positive,
            quiet=STATE.quiet,
            **options,
        )
    if json:
        by_fold = [part.to_dict() for part in parts] if len(parts) > 1 else []
        deviations = {"deviations": _deviations(parts)} if len(parts) > 1 else {}
        echo_json({**result.to_dict(), **deviations, "folds": by_fold})
    else:
        _print_evaluation(result, parts, len(parts) // repeats, positive is not None)


def _check_stored(given: dict[str, Any]) -> None:
    """An error for what a stored model has decided, or that makes another."""
    for option, value in given.items():
        if value not in (None, False) and option not in (*_OF_ROWS, *names_of(SettingKeywords)):
            raise OptionError(f"{opt('name')} tests a stored model: leave {opt(option)} out")


def _print_evaluation(result: Evaluation, parts: list[Evaluation], folds: int, asked: bool) -> None:
    from sqlbn.api import results

    # What others are made of is told once, so that a line fits a terminal.
    names = [name for name in result.losses if name not in _DERIVED]
    parts_of = {"all rows": result}
    if len(parts) > 1:
        repeated = len(parts) > folds
        for place, part in enumerate(parts):
            before = f"repeat {place // folds + 1}, " if repeated else ""
            parts_of[f"{before}fold {place % folds + 1}"] = part
    rows: list[list[Any]] = [
        [told, *(part.losses[name] for name in names), part.rows] for told, part in parts_of.items()
    ]
    if len(parts) > 1:
        found = _deviations(parts)
        rows.append(["deviation", *(found[name] for name in names), None])
    echo(text_table(["", *names, "rows"], rows))
    echo(", ".join(f"{name} {result.losses[name]:.6f}" for name in _DERIVED))
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


def _deviations(parts: Sequence[Evaluation]) -> dict[str, float | None]:
    """The standard deviation of every loss over folds that have it."""
    from sqlbn.api import results

    told = {name: [p.losses[name] for p in parts] for name in parts[0].losses}
    known = {name: [v for v in values if v == v] for name, values in told.items()}
    return {name: results.deviation(v) if v else None for name, v in known.items()}


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
