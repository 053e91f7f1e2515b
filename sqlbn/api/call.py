"""What every verb does first: keywords become settings and options, the engine is started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.data import Source, open_source
from sqlbn.data.csv_files import Types
from sqlbn.data.long_rows import LongRows
from sqlbn.data.no_target import display_name, with_class_of
from sqlbn.data.opening import check_there
from sqlbn.engines import Session, Settings
from sqlbn.engines.model_database import interrupt_engines as interrupt_engines
from sqlbn.engines.progress import ConsoleProgress, Progress
from sqlbn.engines.scratch import sweep as sweep
from sqlbn.engines.session import start_session
from sqlbn.errors import OptionError, command, opt
from sqlbn.learners import Learner
from sqlbn.learners.fit_options import ROWS, FitOptions, fit_options
from sqlbn.learners.registry import learner_options as learner_options
from sqlbn.options.catalogue import FitKeywords, SettingKeywords, names_of
from sqlbn.options.lists import pairs_in
from sqlbn.options.option import unknown
from sqlbn.pipeline import Pattern
from sqlbn.sparse.sparse_source import open_long
from sqlbn.store import open_store
from sqlbn.store.saving import check_not_read, store_model
from sqlbn.store.spec import ModelSpec
from sqlbn.updates.stored_model import options_of

if TYPE_CHECKING:
    from sqlbn.api.model import Model
    from sqlbn.engines.workspace import Workspace

_SETTINGS = names_of(SettingKeywords)
# What a model decides that another is to be like.
_ENCODING = (
    *("discretise", "bins", "columns", "exclude", "categorical", "numeric", "keep"),
    *("weight", "weight_kind"),
)


# -- keywords -------------------------------------------------------------------------------------


def engine_settings(options: Mapping[str, Any]) -> Settings:
    """The engine's settings among keywords."""
    given = {key: options[key] for key in _SETTINGS if key in options}
    if given.get("spark_conf"):
        pairs = given["spark_conf"]
        given["spark_conf"] = tuple(pairs_in([pairs]) if isinstance(pairs, str) else pairs)
    return Settings(**{key: value for key, value in given.items() if value not in (None, [], ())})


def other_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that are not the engine's."""
    return {key: value for key, value in options.items() if key not in _SETTINGS}


def only_settings(options: Mapping[str, Any]) -> Settings:
    """Keywords as the engine's settings; any other is an error."""
    for key in other_options(options):
        raise unknown(key, _SETTINGS)
    return engine_settings(options)


def split_options(
    target: str | None, learner: str | Learner | None, options: Mapping[str, Any]
) -> tuple[Settings, FitOptions]:
    """Keywords as the engine's settings and the options of the fit."""
    settings = engine_settings(options)
    return settings, fit_options(required(target), other_options(options), learner)


def required(target: str | None) -> str:
    """The target that was given; an error where there is none."""
    if target is None:
        raise OptionError(f"give the {opt('target')}, the column to predict")
    return target


def options_like(
    like: Model,
    same_structure: bool,
    target: str,
    learner: str | Learner | None,
    options: Mapping[str, Any],
) -> tuple[Settings, FitOptions, Pattern]:
    """Settings and options of a fit that follows another model."""
    if not hasattr(like, "spec"):
        raise OptionError(f"give a model, such as that of {command('load')}", like=like)
    spec = like.spec
    spec.require_columns("no other can follow the columns")
    if target != spec.target.name:
        raise OptionError(
            f"{opt('like')}: that model predicts {display_name(spec.target.name)}, not "
            f"{display_name(target)}"
        )
    for option in _ENCODING:
        if options.get(option) not in (None, [], ()):
            raise OptionError(f"{opt(option)} is decided by the model of {opt('like')}")
    told = options_of(spec)
    if same_structure:
        chosen = _same_structure(told, learner, options)
        return engine_settings(options), chosen, Pattern(like.encoding, like.shape)
    decided = {
        "weight": like.encoding.weight,
        "weight_kind": like.encoding.weight_kind,
        "discretise": told.discretise,
        "bins": told.bins,
    }
    if learner is None and not any(options.get(key) for key in learner_options()):
        # Models that are to be merged are of one kind: that of the pattern unless told.
        learner, known = told.learner, told.make_learner().options()
        rules: dict[str, Any] = {"m": told.m, "backoff": told.backoff, "unseen": told.unseen}
        rules |= {"smoothing": told.smoothing, "weights": told.weights}
        options = {**known, **rules, **options}
    settings, chosen = split_options(target, learner, {**options, **decided})
    return settings, chosen, Pattern(like.encoding)


def _same_structure(
    told: FitOptions, learner: str | Learner | None, options: Mapping[str, Any]
) -> FitOptions:
    """The options of the model that decides all but the rows."""
    said = {**other_options(options), "learner": learner}.items()
    given = [key for key, value in said if key not in ROWS and value not in (None, False)]
    if given:
        raise OptionError(
            f"{opt(given[0])} is decided by the model of {opt('same_structure', True)}"
        )
    known = set(names_of(FitKeywords))
    for key, _ in said:
        if key not in known and key != "learner":
            raise unknown(key, sorted(known))
    rows = {key: options[key] for key in ROWS if key in options}
    return dataclasses.replace(told, **rows)


# -- the engine and the data ----------------------------------------------------------------------


def told_by(quiet: bool, progress: Progress | None) -> Progress:
    """What tells of the passes: the caller's own, a line each, or nothing."""
    return progress or (Progress() if quiet else ConsoleProgress())


@contextmanager
def started(settings: Settings, progress: Progress, *data: Any) -> Iterator[Session]:
    """An engine for the length of a call; files that are not there are named before it starts."""
    check_there(settings, *data)
    with start_session(settings, progress) as session:
        yield session


@contextmanager
def kept(settings: Settings, progress: Progress, *data: Any) -> Iterator[Session]:
    """An engine that a model takes over; closed where none is made."""
    check_there(settings, *data)
    session = start_session(settings, progress)
    try:
        yield session
    except BaseException:
        session.close()
        raise


def open_for_fit(
    session: Session,
    data: Any,
    options: FitOptions,
    pattern: Pattern | None = None,
    trained: Types | None = None,
) -> Source:
    """The source that these options speak of; CSV columns as they are `trained`."""
    if options.long:
        raise OptionError(f"{opt('long')} goes with fit, evaluate, predict and updates alone")
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


def open_long_for_fit(session: Session, data: Any, options: FitOptions) -> LongRows:
    """The cells and labels that these options speak of."""
    return open_long(
        session,
        data,
        options.long,
        options.target,
        options.labels,
        table=options.table,
        query=options.query,
        where=options.where,
        encoding=options.encoding,
        trust_sql=options.trust_sql,
    )


# -- the store ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a model is to be kept."""

    store: str | Path
    name: str
    replace: bool

    @staticmethod
    def of(store: str | Path | None, name: str | None, replace: bool) -> Place | None:
        """The place that was given; None where there is none."""
        if (store is None) != (name is None):
            raise OptionError(
                f"{opt('store')} and {opt('name')} go together: give both, or neither"
            )
        return None if store is None or name is None else Place(store, name, replace)

    def check(self, session: Session, progress: Progress) -> None:
        """An error, before the work, where no model can be written."""
        open_store(self.store).check_name(session, self.name, self.replace, progress.note)

    def check_source(self, source: Source) -> None:
        """An error where the store is a file that is read."""
        check_not_read(self.store, source)

    def keep(self, workspace: Workspace, spec: ModelSpec, progress: Progress) -> None:
        """Write the model."""
        store_model(self.store, workspace, spec, self.name, self.replace, progress)
