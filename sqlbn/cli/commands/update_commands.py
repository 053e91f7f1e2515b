"""`sqlbn update`, `sqlbn forget` and `sqlbn merge`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json

if TYPE_CHECKING:
    from sqlbn.api.results import Change


def update(
    name: str,
    data: list[str],
    options: dict[str, Any],
    store: str,
    again: bool,
    refit_weights: bool,
    json: bool,
) -> None:
    """Add rows to a model: the result is that of a fit of old and new rows."""
    change = sqlbn.update(
        store,
        name,
        data,
        again=again,
        refit_weights=refit_weights,
        quiet=STATE.quiet,
        **options,
    )
    _report(change, f"{change.rows:,} rows added to {name!r}", name, json)


def forget(
    name: str, data: list[str], options: dict[str, Any], store: str, again: bool, json: bool
) -> None:
    """Take rows out of a model: the result is that of a fit without them."""
    change = sqlbn.forget(store, name, data, again=again, quiet=STATE.quiet, **options)
    _report(change, f"{change.rows:,} rows taken out of {name!r}", name, json)


def merge(
    one: str,
    other: str,
    name: str,
    options: dict[str, Any],
    store: str,
    other_store: str | None,
    replace: bool,
    again: bool,
    json: bool,
) -> None:
    """Put the rows of two models together, from their counts alone."""
    change = sqlbn.merge(
        store,
        one,
        other,
        name,
        other_store=other_store,
        replace=replace,
        again=again,
        quiet=STATE.quiet,
        **options,
    )
    _report(change, f"{one!r} and {other!r} merged into {name!r}", name, json)


def _report(change: Change, done: str, name: str, json: bool) -> None:
    if json:
        echo_json({"name": name, **dataclasses.asdict(change)})
        return
    if STATE.quiet:
        return
    skipped = f" ({change.skipped:,} without a class skipped)" if change.skipped else ""
    echo(f"{done}{skipped}; it has {change.total:,} rows now")
    for line in change.news:
        echo(f"· {line}")
    for note in change.notes:
        echo(f"· {note} (a new fit of all rows would choose again)")
