"""`sqlbn update`, `sqlbn forget` and `sqlbn merge`."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.text import json_text
from sqlbn.updates.changes import Change

Again = Annotated[
    bool, typer.Option("--again", help="Also files that were counted (or taken out) already.")
]


@opt.reading
def update(
    name: opt.ModelName,
    data: opt.Data,
    options: dict[str, Any],
    store: opt.Store = "models.duckdb",
    again: Again = False,
    as_json: opt.Json = False,
) -> None:
    """Add rows to a model: the result is that of a fit of old and new rows."""
    change = api.update(store, name, data, again=again, progress=STATE.progress(), **options)
    _report(change, f"{change.rows:,} rows added to {name!r}", name, as_json)


@opt.reading
def forget(
    name: opt.ModelName,
    data: opt.Data,
    options: dict[str, Any],
    store: opt.Store = "models.duckdb",
    again: Again = False,
    as_json: opt.Json = False,
) -> None:
    """Take rows out of a model: the result is that of a fit without them."""
    change = api.forget(store, name, data, again=again, progress=STATE.progress(), **options)
    _report(change, f"{change.rows:,} rows taken out of {name!r}", name, as_json)


def merge(
    one: Annotated[str, typer.Argument(metavar="A", help="A model of the store.")],
    other: Annotated[str, typer.Argument(metavar="B", help="Another, with the same encoding.")],
    name: Annotated[str, typer.Option("--name", "-n", help="The name of the new model.")],
    store: opt.Store = "models.duckdb",
    other_store: Annotated[
        str | None, typer.Option("--from", help="The store that holds B, if it is another.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a model of that name.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also where both models hold the same file.")
    ] = False,
    memory_limit: opt.MemoryLimit = None,
    threads: opt.Threads = None,
    temp_dir: opt.TempDir = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Put the rows of two models together, from their counts alone."""
    change = api.merge(
        store,
        one,
        other,
        name,
        other_store=other_store,
        replace=replace,
        again=again,
        progress=STATE.progress(),
        **opt.given(memory_limit=memory_limit, threads=threads, temp_dir=temp_dir),
    )
    _report(change, f"{one!r} and {other!r} merged into {name!r}", name, as_json)


def _report(change: Change, done: str, name: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text({"name": name, **dataclasses.asdict(change)}))
        return
    if STATE.quiet:
        return
    skipped = f" ({change.skipped:,} without a class skipped)" if change.skipped else ""
    echo(f"{done}{skipped}; it has {change.total:,} rows now")
    for line in change.news:
        echo(f"· {line}")
    for note in change.notes:
        echo(f"· {note} (a fit of all rows would find it again)")
