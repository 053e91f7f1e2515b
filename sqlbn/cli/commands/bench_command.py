"""`sqlbn bench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.cli.output import STATE, echo, echo_data, echo_json

if TYPE_CHECKING:
    from sqlbn.api.bench_calls import Bench


def bench(
    plan: str | None,
    sets: Sequence[str] | None,
    learners: Sequence[str] | None,
    repeats: int | None,
    folds: int | None,
    seed: int | None,
    measures: Sequence[str] | None,
    predictions: bool,
    quick: bool,
    decimals: int,
    out: Path,
    format: str,
    plot: str | None,
    options: dict[str, Any],
    json: bool,
) -> None:
    """Many learners on the same folds of many data sets: tables, ranks, tests, pictures.

    Results go into a DuckDB file; what is there is not run again.
    """
    from sqlbn.api import bench_calls

    bench_calls.check_format(format)
    bench_calls.check_pictures(plot)
    done = bench_calls.bench(
        plan,
        sets=sets,
        learners=learners,
        out=out,
        repeats=repeats,
        folds=folds,
        seed=seed,
        measures=measures,
        predictions=predictions or None,
        quick=quick,
        decimals=decimals,
        quiet=STATE.quiet,
        **options,
    )
    if plot is not None:
        for path in done.plot(plot):
            echo(f"drawn: {path}", err=True)
    if json:
        echo_json(_documents(done))
    else:
        echo_data(done.text(format))


def _documents(done: Bench) -> list[dict[str, Any]]:
    """The tables for programs."""
    return [
        {"title": t.title, "header": list(t.header), "rows": [list(r) for r in t.all_rows]}
        for t in done.tables
    ]
