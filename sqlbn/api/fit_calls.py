"""`sqlbn.fit` and `sqlbn.load`: a model from rows, or from a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.call import (
    Place,
    kept,
    only_settings,
    open_for_fit,
    open_long_for_fit,
    options_like,
    split_options,
    told_by,
)
from sqlbn.api.frames import with_target
from sqlbn.api.model import Model
from sqlbn.api.sparse_model import model_of
from sqlbn.errors import OptionError, opt
from sqlbn.evaluation.auto_encoding import learn, planned
from sqlbn.sparse.sparse_fit import fit_long
from sqlbn.store import open_store
from sqlbn.store.saving import as_folder
from sqlbn.store.spec import read_spec

if TYPE_CHECKING:
    from sqlbn.engines import Session
    from sqlbn.engines.progress import Progress
    from sqlbn.learners import Learner
    from sqlbn.learners.fit_options import FitOptions
    from sqlbn.options.catalogue import FitKeywords, SettingKeywords


def fit(
    data: Any = None,
    target: Any = None,
    learner: str | Learner | None = None,
    *,
    store: str | Path | None = None,
    store_table: str | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    like: Model | None = None,
    same_structure: bool = False,
    **options: Unpack[FitKeywords],
) -> Model:
    """Learn a classifier of `target` from Parquet or CSV files, a database, Arrow or a data frame.

    `target` names a column; or it is the labels, apart from a data frame or an array: `fit(X, y)`.
    `learner` is a name (nb, tan, kdb, skdb, a1de, …) or an object, `sqlbn.Skdb(kmax=3)`; without it
    the `effort` chooses, and `k` implies kdb. `options` are those of `sqlbn fit`, in `sqlbn help
    options`. Without `data` a `query` names its files itself.
    With a `store` the model is written to it under `name`; with `store_table`, a folder or URL, as
    Parquet tables.

    `like` is a model whose attributes, kinds of columns and cut points are used instead of finding
    them in the data; with `same_structure` also its learner, its parents and its selection.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s", "h", "s"], "wins": ["yes", "no", "yes", "no"]})
    >>> model = fit(hands, target="wins", learner="nb")
    >>> model.predict(pa.table({"suit": ["s"]})).column("prediction").to_pylist()
    ['no']
    """
    data, target = with_target(data, target)
    if same_structure and like is None:
        raise OptionError(f"{opt('same_structure', True)} requires {opt('like')}")
    pattern = None
    if like is not None:
        settings, chosen, pattern = options_like(like, same_structure, target, learner, options)
    else:
        settings, chosen = split_options(target, learner, options)
    if store is not None and store_table is not None:
        raise OptionError(f"give {opt('store')} or {opt('store_table')}, not both")
    place = Place.of(as_folder(store_table) if store_table is not None else store, name, replace)
    progress = told_by(quiet, progress)
    with kept(settings, progress, data) as session:
        if place is not None:
            place.check(session, progress)
        if chosen.long:
            return _fit_long(session, data, chosen, place, progress)
        source = open_for_fit(session, data, chosen, pattern)
        if place is not None:
            place.check_source(source)
        workspace, spec = learn(session, source, chosen, progress, pattern)
        if place is not None:
            place.keep(workspace, spec, progress)
        return model_of(session, workspace, spec)


def _fit_long(
    session: Session, data: Any, options: FitOptions, place: Place | None, progress: Progress
) -> Model:
    """A model of rows that come as cells."""
    rows = open_long_for_fit(session, data, options)
    if place is not None:
        for source in rows.sources:
            place.check_source(source)
    workspace, spec = fit_long(session, rows, options, progress)
    if place is not None:
        place.keep(workspace, spec, progress)
    return model_of(session, workspace, spec)


def plan(
    target: str,
    learner: str | Learner | None = None,
    *,
    data: Any = None,
    **options: Unpack[FitKeywords],
) -> list[str]:
    """What `fit` with these options would try and choose, a line each.

    Of `data` the names are checked and the classes are counted; without it no row is read.

    >>> plan("wins", effort="quick")[1]
    'encoding: ef:5'
    """
    settings, chosen = split_options(target, learner, options)
    if data is None and chosen.query is None:
        return chosen.plan()
    with kept(settings, told_by(True, None), data) as session:
        if chosen.long:
            open_long_for_fit(session, data, chosen)
            return chosen.plan()
        return planned(session, open_for_fit(session, data, chosen), chosen)


def load(
    store: str | Path,
    name: str,
    *,
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> Model:
    """A model from a store. Its tables are copied: the file is free again at once."""
    progress = told_by(True, progress)
    with kept(only_settings(settings), progress) as session:
        workspace = open_store(store).load(session, name, progress.note)
        return model_of(session, workspace, read_spec(workspace))
