"""Changes of models in a store: load, change, write back, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlbn.data import open_source
from sqlbn.data.no_target import with_class_of
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.errors import (
    ColumnError,
    OptionError,
    StoreError,
    opt,
)
from sqlbn.store import open_store
from sqlbn.store.history import Action, condition_of
from sqlbn.store.saving import store_model
from sqlbn.store.spec import read_spec
from sqlbn.updates.changes import (
    Change,
    Changed,
    forget,
    merge,
    update,
)
from sqlbn.updates.sparse_changes import change_long_rows, merge_long
from sqlbn.updates.stored_model import StoredModel


def change_rows(
    model: StoredModel,
    action: str,
    data: Any,
    *,
    again: bool = False,
    refit_weights: bool = False,
    where: str | None = None,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    trust_sql: bool = False,
    labels: Any = None,
    progress: Progress | None = None,
) -> Changed:
    """Add rows to a model or take them out.

    The condition of the fit (`--where`) holds for these rows too, unless another is given.
    """
    if labels is not None:
        raise OptionError(f"{opt('labels')} goes with a model of long input ({opt('long')})")
    own = where is None
    where = where if where is not None else model.spec.meta["where"] or None
    try:
        source = open_source(
            model.workspace.session,
            data,
            table=table,
            query=query,
            where=where,
            encoding=encoding,
            trust_sql=trust_sql,
            used=model.encoding.uses,
            trained=model.spec.trained(of_all=True),
        )
    except ColumnError as error:
        if own and where is not None and opt("where", where) in error.args[0]:
            raise ColumnError(
                f"the model's own condition, which its fit had: {error}; give {opt('where')} for "
                "these "
                "rows"
            ) from error
        raise
    source = with_class_of(source, model.spec.target.name)
    condition = condition_of(where, table, source.query or query)
    given = model, source, condition, again, progress or Progress()
    return update(*given, refit_weights) if action == "update" else forget(*given)


def change_stored(
    session: Session,
    store: str | Path,
    name: str,
    action: Action,
    data: Any,
    progress: Progress,
    **options: Any,
) -> Change:
    """Change a model of a store in one transaction."""
    file = open_store(store)
    workspace = file.load(session, name, progress.note)
    file.check_writable(session, progress.note)
    model = StoredModel(workspace, read_spec(workspace))
    changed = change_long_rows if model.spec.is_long else change_rows
    new, spec, change = changed(model, action, data, progress=progress, **options)
    version = int(model.spec.meta.get("version", 0))
    store_model(store, new, spec, name, True, progress, instead_of=version)
    return change


def merge_stored(
    session: Session,
    store: str | Path,
    names: tuple[str, str],
    name: str,
    progress: Progress,
    *,
    other_store: str | Path | None = None,
    replace: bool = False,
    again: bool = False,
) -> Change:
    """A new model of the rows of two models, which may lie in two stores."""
    file = open_store(store)
    file.check_name(session, name, replace, progress.note)
    if other_store is None and names[0] == names[1]:
        raise OptionError(f"{names[0]!r} cannot be merged with itself")
    models = []
    for at, wanted in zip(
        (file, open_store(store if other_store is None else other_store)), names, strict=True
    ):
        workspace = at.load(session, wanted, progress.note)
        models.append(StoredModel(workspace, read_spec(workspace)))
    try:
        merged = merge_long if any(m.spec.is_long for m in models) else merge
        new, spec, change = merged(models[0], models[1], again, progress)
    except StoreError as error:
        raise StoreError(f"{names[0]!r} and {names[1]!r} cannot be merged: {error}") from error
    store_model(store, new, spec, name, replace, progress)
    return change
