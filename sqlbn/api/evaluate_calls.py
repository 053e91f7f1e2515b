"""`sqlbn.evaluate`, `sqlbn.curve` and `sqlbn.stream`: losses on rows that were not learned."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.call import (
    Place,
    open_for_fit,
    open_long_for_fit,
    split_options,
    started,
    told_by,
)
from sqlbn.api.frames import with_target
from sqlbn.data.csv_files import Trained
from sqlbn.data.opening import is_nothing
from sqlbn.errors import OptionError, SqlbnWarning, opt
from sqlbn.evaluation.auto_encoding import learn
from sqlbn.evaluation.cross_validation import Point, cross_validate, learning_curves
from sqlbn.evaluation.held_out import SingleRows, evaluate_source, require_known_classes
from sqlbn.evaluation.metrics import (
    Evaluation,
    asked_class,
    check_measure,
    positive_class,
    positive_of_rows,
)
from sqlbn.learners.registry import learner_options
from sqlbn.options.catalogue import STREAM_LEARNER
from sqlbn.options.lists import as_list, names_in, split_list
from sqlbn.options.user_values import check_whole
from sqlbn.sparse.sparse_evaluation import cross_validate_long, fit_and_evaluate_long
from sqlbn.sparse.sparse_source import open_cells, with_labels
from sqlbn.updates.stream import Stream, StreamBatch, StreamOptions, warn_of_drift

if TYPE_CHECKING:
    from sqlbn.data import Source
    from sqlbn.engines import Session
    from sqlbn.engines.progress import Progress
    from sqlbn.learners import Learner
    from sqlbn.learners.fit_options import FitOptions
    from sqlbn.options.catalogue import FitKeywords


def evaluate(
    data: Any = None,
    target: Any = None,
    learner: str | Learner | None = None,
    *,
    test: Any = None,
    folds: int | None = None,
    repeats: int = 1,
    out: str | Path | None = None,
    positive: object = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[FitKeywords],
) -> Evaluation:
    """Losses of a learner on rows it has not seen: on `test` data, or by `folds`-fold
    cross-validation (10 where neither is given), `repeats` times.

    Labels may come apart: `evaluate(X, y, test=(X2, y2))`.
    Codebooks are learned from the training part only. Folds are stratified and depend on the seed
    and the data, not on the learner. `auc` and `aoprc` over folds are the mean of the folds that
    have them, by the weight of their rows; the other losses are those of all rows. These two and
    `mcc` are about the class `positive`, of two classes the rarer one where none is given; of more
    it is that class against the rest, or the mean over all. Every row goes to the file `out`
    (.parquet, .csv): repeat, fold, the row's place in the data, class, prediction, P(class).

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
        repeats=repeats,
        out=out,
        positive=positive,
        quiet=quiet,
        progress=progress,
        **options,
    )[0]


def evaluate_parts(
    data: Any = None,
    target: Any = None,
    learner: str | Learner | None = None,
    *,
    test: Any = None,
    folds: int | None = None,
    repeats: int = 1,
    out: str | Path | None = None,
    positive: object = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[FitKeywords],
) -> tuple[Evaluation, list[Evaluation]]:
    """What `evaluate` returns, and the same for every fold."""
    _check_parts(test, folds, repeats)
    labelled, (data, target) = not isinstance(target, str), with_target(data, target)
    if labelled and isinstance(test, tuple) and len(test) == 2:
        test, named = with_target(*test)
        if named != target:
            raise OptionError(
                f"the labels of {opt('test')} are {named!r}, those of the data {target!r}"
            )
    settings, chosen = split_options(target, learner, options)
    progress = told_by(quiet, progress)
    with started(settings, progress, data, test) as session:
        if test is not None and chosen.query is not None and is_nothing(data):
            raise OptionError(
                f"{opt('test')} does not go with a {opt('query')} that names its files, for the "
                f"test rows would not come from it: use {opt('folds')}, or write both parts to "
                "files"
            )
        asked, rows = asked_class(positive), SingleRows.to(session, out)
        if chosen.long:
            for option, given in (("repeats", repeats != 1), ("out", rows is not None)):
                if given:
                    raise OptionError(f"{opt('long')} does not go with {opt(option)}: leave it out")
            return _evaluate_long(session, data, test, folds, chosen, progress, asked)
        source = open_for_fit(session, data, chosen)
        if test is None:
            number = 10 if folds is None else folds
            result, parts = cross_validate(
                session,
                source,
                chosen,
                number,
                progress,
                asked,
                repeats,
                rows.add if rows is not None else None,
            )
            if rows is not None:
                rows.write()
            return result, parts
        # Opened before the work: a wrong path should not cost a fit.
        trained = {name: Trained(kind) for name, kind in source.columns.items()}
        tested = open_for_fit(session, test, chosen, trained=trained)
        result = _tested(session, source, tested, chosen, progress, asked, rows)
        return result, [result]


def _check_parts(test: Any, folds: int | None, repeats: int) -> None:
    """An error for parts of the rows that contradict each other."""
    if test is not None and folds is not None:
        raise OptionError(f"give {opt('test')} files or {opt('folds')}, not both")
    if test is not None and repeats != 1:
        raise OptionError(f"{opt('repeats')} requires {opt('folds')}, not {opt('test')}")
    check_whole("repeats", repeats)
    if repeats < 1:
        raise OptionError("give at least 1", repeats=repeats)


def _evaluate_long(
    session: Session,
    data: Any,
    test: Any,
    folds: int | None,
    options: FitOptions,
    progress: Progress,
    asked: str | None,
) -> tuple[Evaluation, list[Evaluation]]:
    """The same of long input; with labels `test` are those of the held-out rows."""
    rows = open_long_for_fit(session, data, options)
    if test is None:
        number = 10 if folds is None else folds
        return cross_validate_long(session, rows, options, number, progress, asked)
    if options.labels is not None:
        tested = with_labels(session, rows.names, rows.cells, options.target, test)
    else:
        cells = open_cells(session, test)
        names = rows.names.within(cells)
        tested = with_labels(session, names, cells, options.target, None)
    result = fit_and_evaluate_long(session, rows, tested, options, progress, "test", asked)
    require_known_classes(result, options.target)
    return result, [result]


def _tested(
    session: Session,
    source: Source,
    tested: Source,
    chosen: FitOptions,
    progress: Progress,
    asked: str | None,
    rows: SingleRows | None,
) -> Evaluation:
    """The losses on other rows."""
    if asked is not None:  # before the fit
        positive_of_rows(session, source, chosen, asked)
    workspace, spec = learn(session, source, chosen, progress)
    fitted = sum(progress.seconds.values())
    with progress.stage("evaluate", "scoring the test rows"):
        found = positive_class(asked, spec.class_names, spec.class_counts)
        keep = partial(rows.add, 0, 0) if rows is not None else None
        result = evaluate_source(workspace, spec, tested, chosen.weight, positive=found, keep=keep)
        require_known_classes(result, spec.target.name)
        if rows is not None:
            rows.write()
    result.seconds["fit"] = fitted
    return result


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
                raise OptionError("write numbers, such as 1000,1e5", sizes=size) from error
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
    **options: Unpack[FitKeywords],
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
    names, numbers = names_in(as_list(learners)), as_sizes(sizes)
    own = {key: value for key, value in options.items() if key in learner_options()}
    given = {key: value for key, value in own.items() if value not in (None, False)}
    others = {key: value for key, value in options.items() if key not in own}
    settings, chosen = split_options(target, "nb", others)
    progress = told_by(quiet, progress)
    with started(settings, progress, data) as session:
        source = open_for_fit(session, data, chosen)
        asked = asked_class(positive)
        return learning_curves(
            session, source, chosen, names, numbers, repeats, progress, ranking, given, asked
        )


def stream(
    data: Any = None,
    target: Any = None,
    learner: str | Learner | None = None,
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
    **options: Unpack[FitKeywords],
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
    place = Place.of(store, name, replace)
    check_measure(measure)
    data, target = with_target(data, target)
    settings, chosen = split_options(target, learner or STREAM_LEARNER, options)
    settings.require_order("stream")
    progress = told_by(quiet, progress)
    how = StreamOptions(batch, window, measure, asked_class(positive))
    with started(settings, progress, data) as session:
        if place is not None:
            place.check(session, progress)
        source = open_for_fit(session, data, chosen)
        if place is not None:
            place.check_source(source)
        following = Stream(session, source, chosen, how, progress)
        found = _followed(following, measure)
        if place is not None and following.model is not None:
            place.keep(*following.model, progress)
        return found


def _followed(following: Stream, measure: str) -> list[StreamBatch]:
    """All batches; a warning where the loss drifts."""
    found = []
    for result in following.run():
        found.append(result)
        if result.drift:
            warn_of_drift(result, measure)
    for note in following.notes:
        warnings.warn(note, SqlbnWarning, stacklevel=3)
    return found
