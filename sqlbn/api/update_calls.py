"""`sqlbn.update`, `sqlbn.forget` and `sqlbn.merge`: a stored model becomes that of other rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.call import (
    engine_settings,
    only_settings,
    other_options,
    started,
    told_by,
)
from sqlbn.learners.fit_options import checked_rows
from sqlbn.store.history import Action
from sqlbn.updates.changes import Change
from sqlbn.updates.operations import change_stored, merge_stored

if TYPE_CHECKING:
    from sqlbn.engines.progress import Progress
    from sqlbn.options.catalogue import ReadingKeywords, SettingKeywords


def update(
    store: str | Path,
    name: str,
    data: Any = None,
    *,
    again: bool = False,
    refit_weights: bool = False,
    labels: Any = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ReadingKeywords],
) -> Change:
    """Add rows to a stored model: the result is that of a fit of old and new rows.

    `options` say which rows, and with what they are read. A file that is in the model already is
    refused unless `again`. Weights of attributes stay as they are, as counts do not tell them, but
    with `refit_weights`: then these rows do.
    """
    how = {"again": again, "refit_weights": refit_weights, "labels": labels}
    return _change(store, name, "update", data, how, told_by(quiet, progress), options)


def forget(
    store: str | Path,
    name: str,
    data: Any = None,
    *,
    again: bool = False,
    labels: Any = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ReadingKeywords],
) -> Change:
    """Take rows out of a stored model: the result is that of a fit without them.

    An error, and nothing changed, where some count would go below zero.
    """
    how = {"again": again, "labels": labels}
    return _change(store, name, "forget", data, how, told_by(quiet, progress), options)


def _change(
    store: str | Path,
    name: str,
    action: Action,
    data: Any,
    how: Mapping[str, Any],
    progress: Progress,
    options: Mapping[str, Any],
) -> Change:
    rows = checked_rows(other_options(options))
    with started(engine_settings(options), progress, data) as session:
        return change_stored(session, store, name, action, data, progress, **how, **rows)


def merge(
    store: str | Path,
    one: str,
    other: str,
    name: str,
    *,
    other_store: str | Path | None = None,
    replace: bool = False,
    again: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> Change:
    """Put two models of the same encoding together under a new name: the model of all their rows.

    `other_store` is the file that holds the other model, where it is not the same.
    """
    progress = told_by(quiet, progress)
    with started(only_settings(settings), progress) as session:
        return merge_stored(
            session,
            store,
            (one, other),
            name,
            progress,
            other_store=other_store,
            replace=replace,
            again=again,
        )
