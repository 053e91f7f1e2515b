"""The Python API, the CLI's words as functions."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlbn.data import Source, open_source
from sqlbn.data.csv_types import Trained, Types
from sqlbn.data.no_target import display_name, with_class_of
from sqlbn.data.opening import check_there, is_nothing
from sqlbn.engines import Session, Settings
from sqlbn.engines.progress import ConsoleProgress, Progress
from sqlbn.engines.session import start_session
from sqlbn.errors import OptionError, SqlbnWarning
from sqlbn.evaluation.cross_validation import Point, cross_validate, learning_curves
from sqlbn.evaluation.held_out import evaluate_source, require_judged
from sqlbn.evaluation.metrics import (
    Evaluation,
    asked_class,
    check_measure,
    positive_class,
    positive_of_rows,
)
from sqlbn.frames import with_target
from sqlbn.learners.registry import LEARNER_OPTIONS, switch
from sqlbn.lists import (
    as_list,
    names_in,
    pairs_in,
    split_list,
)
from sqlbn.model import Model
from sqlbn.options import ROWS, FitOptions, fit_options
from sqlbn.pipeline import Pattern, learn
from sqlbn.store import open_store
from sqlbn.store.meta import decoded_meta, meta_problem
from sqlbn.store.saving import as_folder, check_not_read, store_model
from sqlbn.store.spec import read_spec
from sqlbn.updates.changes import Change
from sqlbn.updates.operations import change_stored, merge_stored
from sqlbn.updates.stored_model import options_of
from sqlbn.updates.stream import (
    STREAM_LEARNER,
    Stream,
    StreamBatch,
    StreamOptions,
    warn_of_drift,
)

_SETTINGS = (
    "memory_limit",
    "threads",
    "temp_dir",
    "seed",
    "disk_limit",
    "engine",
    "master",
    "spark_conf",
    "cluster_dir",
    "session",
    "limits",
)


def _settings(options: dict[str, Any]) -> Settings:
    """Take the engine's settings out of the keywords."""
    given = {key: options.pop(key) for key in _SETTINGS if key in options}
    if given.get("spark_conf"):
        pairs = given["spark_conf"]
        given["spark_conf"] = tuple(pairs_in([pairs]) if isinstance(pairs, str) else pairs)
    return Settings(**{key: value for key, value in given.items() if value not in (None, [], ())})


def engine_settings(options: Mapping[str, Any]) -> Settings:
    """The engine's settings among keywords."""
    return _settings(dict(options))


def split_options(
    target: str | None, learner: str | None, options: dict[str, Any]
) -> tuple[Settings, FitOptions]:
    """Keywords as the engine's settings and the options of the fit."""
    settings = _settings(options)
    return settings, fit_options(required(target), {"learner": learner, **options})


def required(target: str | None) -> str:
    """The target that was given; an error where there is none."""
    if target is None:
        raise OptionError("give the target, the column to predict")
    return target


_ENCODING = (
    *("discretise", "bins", "columns", "exclude", "categorical", "numeric", "keep"),
    *("weight", "weight_kind"),
)


def _like(
    target: str | None,
    learner: str | None,
    options: dict[str, Any],
    like: Model | None,
    same_structure: bool,
) -> tuple[Settings, FitOptions, Pattern | None]:
    """Settings and options of a fit that may follow another model."""
    if like is None:
        if same_structure:
            raise OptionError("--same-structure goes with --like")
        return *split_options(target, learner, options), None
    spec, target = like.spec, required(target)
    if target != spec.target.name:
        raise OptionError(
            f"--like: that model predicts {display_name(spec.target.name)}, not "
            f"{display_name(target)}"
        )
    for option in _ENCODING:
        if options.get(option) not in (None, [], ()):
            raise OptionError(f"{switch(option)} is decided by the model of --like")
    encoding, told = like.encoding, options_of(spec)
    if not same_structure:
        decided = {
            "weight": encoding.weight,
            "weight_kind": encoding.weight_kind,
            "discretise": told.discretise,
            "bins": told.bins,
        }
        if learner is None and not any(options.get(key) for key in LEARNER_OPTIONS):
            # Models that are to be merged are of one kind: that of the pattern unless told.
            learner, known = told.learner, told.make_learner().options()
            rules = {"m": told.m, "backoff": told.backoff, "unseen": told.unseen}
            options = {**known, **rules, **options}
        settings, chosen = split_options(target, learner, {**options, **decided})
        return settings, chosen, Pattern(encoding)
    settings = _settings(options)
    rows = {key: options.pop(key) for key in ROWS if key in options}
    said = {**options, "learner": learner}.items()
    given = [key for key, value in said if value not in (None, False)]
    if given:
        raise OptionError(f"{switch(given[0])} is decided by the model of --same-structure")
    chosen = dataclasses.replace(told, **rows)
    return settings, chosen, Pattern(encoding, like.shape)


def open_for_fit(
    session: Session,
    data: Any,
    options: FitOptions,
    pattern: Pattern | None = None,
    trained: Types | None = None,
) -> Source:
    """The source that these options speak of; CSV columns as they are `trained`."""
    used: Callable[[str], bool] = options.uses
    if pattern is not None:
        used, trained = pattern.encoding.uses, pattern.encoding.trained
    source = open_source(
        session,
        data,
        table=options.table,
        query=options.query,
        where=options.where,
        encoding=options.encoding,
        trust_sql=options.trust_sql,
        used=used,
        trained=trained,
    )
    return with_class_of(source, options.target)


def fit(
    data: Any = None,
    target: Any = None,
    learner: str | None = None,
    *,
    store: str | Path | None = None,
    store_table: str | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    like: Model | None = None,
    same_structure: bool = False,
    **options: Any,
) -> Model:
    """Learn a classifier of `target` from Parquet or CSV files, a database, Arrow or a data frame.

    `target` names a column; or it is the labels, apart from a data frame or an array: `fit(X, y)`.
    `learner` is nb, tan, kdb, skdb, ande or one of its short names (a1de, a2de-sw, …), fan,
    superparent, one of the collections fanc, spc, spcr, tc and collection, snb, or one of the
    networks hgc, vfbn1 and vfbn2; without it skdb, or kdb where `k` is given. `options` are those
    of `sqlbn fit`: `k`, `kmax`, `select`, `loss`, `n`, `subsumption`, `weighted`, `min_count`,
    `attributes`, `score`, `superparent`, `order`, `parents_from_first`, `parents` (attribute → list
    of parent sets, each a list of names or a mapping with `parents` and `weight`), `estimate`,
    `missing`, `unseen` (neutral, smoothed), `loocv_sample`, `structure_sample`, `bound` (normal,
    hoeffding), `delta`, `delta_star`, `tau`, `block`, `m`, `backoff`, `discretise` (ef, mdl, modl,
    auto), `encodings`, `bins`, `map`, `weight`, `weight_kind` (frequency, importance), `columns`,
    `exclude`, `categorical`, `numeric`, `keep`, `where`, `table`, `query`, `encoding` (of CSV
    files), `trust_sql`, and of the engine `memory_limit`, `threads`, `temp_dir`, `disk_limit`,
    `seed`. Without `data` a `query` names its files itself.
    With a `store` the model is written to it under `name`; with `store_table`, a folder or URL, as
    Parquet tables. `engine` is "duckdb" or "spark"; of Spark: `master`, `spark_conf` (key=value),
    `cluster_dir`, and `session`, where the caller has one.

    `like` is a model whose attributes, kinds of columns and cut points are used instead of finding
    them in the data; with `same_structure` also its learner, its parents and its selection.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s", "h", "s"], "wins": ["yes", "no", "yes", "no"]})
    >>> model = fit(hands, target="wins", learner="nb")
    >>> model.predict(pa.table({"suit": ["s"]})).column("prediction").to_pylist()
    ['no']
    """
    data, target = with_target(data, target)
    settings, chosen, pattern = _like(target, learner, options, like, same_structure)
    if store is not None and store_table is not None:
        raise OptionError("give store or store_table, not both")
    store = as_folder(store_table) if store_table is not None else store
    if (store is None) != (name is None):
        raise OptionError("store and name go together: give both, or neither")
    progress = progress or (Progress() if quiet else ConsoleProgress())
    check_there(settings, data)
    session = start_session(settings, progress)
    try:
        if store is not None and name is not None:
            open_store(store).check_name(session, name, replace, progress.note)
        source = open_for_fit(session, data, chosen, pattern)
        check_not_read(store, source)
        workspace, spec = learn(session, source, chosen, progress, pattern)
        if store is not None and name is not None:
            store_model(store, workspace, spec, name, replace, progress)
        return Model(session, workspace, spec)
    except BaseException:
        session.close()
        raise


def load(
    store: str | Path, name: str, *, progress: Progress | None = None, **settings: Any
) -> Model:
    """A model from a store. Its tables are copied: the file is free again at once."""
    progress = progress or Progress()
    session = start_session(only_settings(settings), progress)
    try:
        workspace = open_store(store).load(session, name, progress.note)
        return Model(session, workspace, read_spec(workspace))
    except BaseException:
        session.close()
        raise


def update(
    store: str | Path,
    name: str,
    data: Any = None,
    *,
    again: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Change:
    """Add rows to a stored model: the result is that of a fit of old and new rows.

    `options`: `where`, `table`, `query`, `encoding`, `trust_sql`, and those of the engine. A file
    that is in the model already is refused unless `again`.
    """
    return _change(store, name, "update", data, again, quiet, progress, options)


def forget(
    store: str | Path,
    name: str,
    data: Any = None,
    *,
    again: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Change:
    """Take rows out of a stored model: the result is that of a fit without them.

    An error, and nothing changed, where some count would go below zero.
    """
    return _change(store, name, "forget", data, again, quiet, progress, options)


def _change(
    store: str | Path,
    name: str,
    action: str,
    data: Any,
    again: bool,
    quiet: bool,
    progress: Progress | None,
    options: dict[str, Any],
) -> Change:
    progress = progress or (Progress() if quiet else ConsoleProgress())
    settings = _settings(options)
    check_there(settings, data)
    with start_session(settings, progress) as session:
        return change_stored(
            session,
            store,
            name,
            action,
            data,
            progress,
            again=again,
            **options,
        )


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
    **settings: Any,
) -> Change:
    """Put two models of the same encoding together under a new name: the model of all their rows.

    `other_store` is the file that holds the other model, where it is not the same.
    """
    with Session(only_settings(settings)) as session:
        return merge_stored(
            session,
            store,
            (one, other),
            name,
            progress or (Progress() if quiet else ConsoleProgress()),
            other_store=other_store,
            replace=replace,
            again=again,
        )


def models(store: str | Path) -> dict[str, dict[str, Any]]:
    """The models in a store: for each name its meta table.

    One that cannot be read also says why, under `damaged`.
    """
    with Session() as session:
        metas = open_store(store).metas(session)
    found = {name: decoded_meta(meta) for name, meta in metas.items()}
    for name, meta in metas.items():
        if problem := meta_problem(meta):
            found[name]["damaged"] = problem
    return found


def drop(store: str | Path, name: str) -> None:
    """Remove a model from a store."""
    with Session() as session:
        open_store(store).drop(session, name)


def evaluate(
    data: Any = None,
    target: Any = None,
    learner: str | None = None,
    *,
    test: Any = None,
    folds: int | None = None,
    positive: object = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Losses of a learner on rows it has not seen: on `test` data, or by `folds`-fold
    cross-validation (10 where neither is given).

    Labels may come apart: `evaluate(X, y, test=(X2, y2))`.
    Codebooks are learned from the training part only. Folds are stratified and depend on the seed
    and the data, not on the learner. `auc` and `aoprc` over folds are the mean of the folds that
    have them, by the weight of their rows; the other losses are those of all rows. These two and
    `mcc` are about the class `positive`, of two classes the rarer one where none is given; of more
    it is that class against the rest, or the mean over all.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s"] * 20, "wins": ["yes", "no"] * 20})
    >>> evaluate(hands, target="wins", learner="nb", folds=4).losses["accuracy"]
    1.0
    """
    return evaluate_parts(
        data,
        target,
        learner,
        test=test,
        folds=folds,
        positive=positive,
        quiet=quiet,
        progress=progress,
        **options,
    )[0]


def evaluate_parts(
    data: Any = None,
    target: Any = None,
    learner: str | None = None,
    *,
    test: Any = None,
    folds: int | None = None,
    positive: object = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[Evaluation, list[Evaluation]]:
    """What `evaluate` returns, and the same for every fold."""
    if test is not None and folds is not None:
        raise OptionError("give test files or folds, not both")
    labelled, (data, target) = not isinstance(target, str), with_target(data, target)
    if labelled and isinstance(test, tuple) and len(test) == 2:
        test, named = with_target(*test)
        if named != target:
            raise OptionError(f"the labels of --test are {named!r}, those of the data {target!r}")
    settings, chosen = split_options(target, learner, options)
    progress = progress or (Progress() if quiet else ConsoleProgress())
    check_there(settings, data, test)
    with start_session(settings, progress) as session:
        if test is not None and chosen.query is not None and is_nothing(data):
            raise OptionError(
                "--test does not go with a --query that names its files, for the test rows would "
                "not come from it: use --folds, or write both parts to files"
            )
        source = open_for_fit(session, data, chosen)
        # Opened before the work: a wrong path should not cost a fit.
        trained = {name: Trained(kind) for name, kind in source.columns.items()}
        tested = open_for_fit(session, test, chosen, trained=trained) if test is not None else None
        asked = asked_class(positive)
        if tested is None:
            number = 10 if folds is None else folds
            return cross_validate(session, source, chosen, number, progress, asked)
        if asked is not None:  # before the fit
            positive_of_rows(session, source, chosen, asked)
        workspace, spec = learn(session, source, chosen, progress)
        fitted = sum(progress.seconds.values())
        with progress.stage("evaluate", "scoring the test rows"):
            found = positive_class(asked, spec.class_names, spec.class_counts)
            result = evaluate_source(workspace, spec, tested, chosen.weight, positive=found)
            require_judged(result, spec.target.name)
        result.seconds["fit"] = fitted
        return result, [result]


def as_sizes(given: str | int | Sequence[str | int]) -> list[int]:
    """Numbers of rows: of a list, or of a text such as '1000,1e5'.

    >>> as_sizes("1000,1e5"), as_sizes([10, 20])
    ([1000, 100000], [10, 20])
    """
    found = []
    for item in [given] if isinstance(given, str | int) else given:
        for size in split_list(item) if isinstance(item, str) else [item]:
            try:
                found.append(int(float(size)))
            except (ValueError, OverflowError) as error:
                raise OptionError(f"--sizes {size!r}: write numbers, such as 1000,1e5") from error
    return found


def curve(
    data: Any,
    target: Any,
    learners: str | Sequence[str],
    sizes: str | int | Sequence[str | int],
    *,
    repeats: int = 10,
    ranking: bool = False,
    positive: object = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> list[Point]:
    """Learning curves of learners written as in `kdb:3`, on training sets of some sizes.

    An option that only some learners take goes to those of the list that do.

    With `ranking` the losses have `auc` and `aoprc` too, which take time of their own. `positive`
    is the class that they and `mcc` are about, as in `evaluate`.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s"] * 40, "wins": ["yes", "no"] * 40})
    >>> [p.size for p in curve(hands, "wins", ["nb"], [10, 20], repeats=2)]
    [10, 20]
    """
    data, target = with_target(data, target)
    learners, sizes = names_in(as_list(learners)), as_sizes(sizes)
    given = {key: options.pop(key) for key in LEARNER_OPTIONS & options.keys()}
    given = {key: value for key, value in given.items() if value not in (None, False)}
    settings, chosen = split_options(target, "nb", options)
    progress = progress or (Progress() if quiet else ConsoleProgress())
    check_there(settings, data)
    with start_session(settings, progress) as session:
        source = open_for_fit(session, data, chosen)
        return learning_curves(
            session,
            source,
            chosen,
            learners,
            sizes,
            repeats,
            progress,
            ranking,
            given,
            asked_class(positive),
        )


def stream(
    data: Any = None,
    target: Any = None,
    learner: str | None = None,
    *,
    batch: int = 10_000,
    window: int | None = None,
    measure: str = "zero_one",
    positive: object = None,
    store: str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> list[StreamBatch]:
    """Follow rows in their order: each batch is first predicted, then learned.

    With a `window` the model is that of the last so many rows. The encoding is that of the first
    batch, new categories are added as they come. `learner` is a1de where none is given: it uses
    all that it counts, and chooses nothing once and for all. With a `store` the last model is kept.
    A `SqlbnWarning` says where the loss has risen out of its band. `positive` is the class that the
    measures auc, aoprc and mcc are about, as in `evaluate`; the rarer one is by the first rows.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s"] * 40, "wins": ["yes", "no"] * 40})
    >>> [b.loss for b in stream(hands, "wins", batch=20)]
    [0.0, 0.0, 0.0]
    """
    if (store is None) != (name is None):
        raise OptionError("store and name go together: give both, or neither")
    check_measure(measure)
    data, target = with_target(data, target)
    settings, chosen = split_options(target, learner or STREAM_LEARNER, options)
    settings.require_order("stream")
    progress = progress or (Progress() if quiet else ConsoleProgress())
    how = StreamOptions(batch, window, measure, asked_class(positive))
    check_there(settings, data)
    with Session(settings) as session:
        if store is not None and name is not None:
            open_store(store).check_name(session, name, replace, progress.note)
        source = open_for_fit(session, data, chosen)
        check_not_read(store, source)
        following = Stream(session, source, chosen, how, progress)
        found = []
        for result in following.run():
            found.append(result)
            if result.drift:
                warn_of_drift(result, measure)
        for note in following.notes:
            warnings.warn(note, SqlbnWarning, stacklevel=2)
        if store is not None and name is not None and following.model is not None:
            store_model(store, *following.model, name, replace, progress)
        return found


def only_settings(options: dict[str, Any]) -> Settings:
    """Keywords as the engine's settings; any other is an error."""
    settings = _settings(options)
    if options:
        raise OptionError(f"there is no option {next(iter(options))!r} here")
    return settings
