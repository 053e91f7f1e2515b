"""Pass 3 of a fit: leave-one-out losses of all nested models, the choice, and its table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import Encoded, discard, sampled
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnWarning, opt
from sqlbn.kinds.average.average_loo import AverageLoo
from sqlbn.kinds.average.superparents import Averaged
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.product.array_loo import ArrayLoo, needs_arrays
from sqlbn.kinds.product.product_loo import LeaveOneOut
from sqlbn.learners.base import Selection
from sqlbn.structure.shape import Choice, choose

Surfaces = dict[Loss, npt.NDArray[np.float64]]

# The slice that is timed before the pass: long enough to be told from the fixed cost of a query.
_SLICE_ROWS = 50_000
# Measured once, 1 M rows x 54, 7 classes: k' = 0 2.0 s, k' = 3 2.7 s, k' = 5 4.0 s.
_DEARER_PER_PARENT = 0.2
# In arrays an estimate (row, class, attribute, k') takes about this, and so many about a minute.
_ESTIMATE_SECONDS = 6e-9
_MANY_ESTIMATES = 10_000_000_000


def select(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    selection: Selection,
    sample: int | None,
    progress: Progress,
    is_trial: bool = False,
) -> Choice:
    """Evaluate every (k', number of attributes), write `loocv`, and choose.

    A trial, which compares encodings, gives up at the first k' past 1 that is not the best so far.
    """
    session, encoded = counts.workspace.session, counts.encoded
    rows = sampled(session, encoded, sample)
    try:
        losses = companions(selection.loss)
        passes = _passes(counts, order, class_counts, smoothing, losses, rows)
        title = "pass 3: leave-one-out"
        if isinstance(passes, ArrayLoo):
            _warn_of_time(rows, selection.ks)
        elif progress.is_shown and rows.rows > 4 * _SLICE_ROWS:
            title += f", about {_estimate(passes, rows, selection.ks):.0f} s"
        ks = list(selection.ks)
        with progress.stage("loocv", title, rows.rows, len(ks)):
            surfaces = passes.surface(
                ks, progress.advance, partial(_is_past_best, selection) if is_trial else None
            )
    finally:
        if rows is not encoded:
            discard(session, rows)
    return _chosen(counts.workspace, surfaces, selection)


def _passes(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    losses: Sequence[Loss],
    rows: Encoded | None = None,
    only_whole: bool = False,
) -> LeaveOneOut | ArrayLoo:
    """Leave-one-out by queries, or in arrays where the classes are too many for them."""
    encoded = counts.encoded
    session, judged = counts.workspace.session, rows or encoded
    if needs_arrays(session, judged):
        families = counts.families
        return ArrayLoo(
            session, encoded, families, order, class_counts, smoothing, losses, rows, only_whole
        )
    return LeaveOneOut(counts, order, class_counts, smoothing, losses, judged.relation, only_whole)


def _warn_of_time(rows: Encoded, ks: Sequence[int]) -> None:
    """Say it before, where very many classes will take long."""
    estimates = rows.rows * rows.cards[-1] * rows.n_attributes * len(ks)
    if estimates > _MANY_ESTIMATES:
        enough = max(1000, rows.rows * _MANY_ESTIMATES // estimates)
        warnings.warn(
            f"leave-one-out of {rows.rows:,} rows with {rows.cards[-1]:,} classes will take about "
            f"{estimates * _ESTIMATE_SECONDS / 60:.0f} minutes; {opt('loocv_sample', enough)} "
            "takes one",
            SqlbnWarning,
            stacklevel=2,
        )


def _is_past_best(selection: Selection, surfaces: Surfaces) -> bool:
    """Whether the last k' so far is a large one and was of no use."""
    ks = list(selection.ks[: len(surfaces[selection.loss])])
    return ks[-1] > 1 and _best(surfaces, selection).k < ks[-1]


def select_average(
    averaged: Averaged,
    order: Sequence[int],
    selection: Selection,
    sample: int | None,
    progress: Progress,
) -> Choice:
    """The same for an averaging model: how many of the first attributes to keep."""
    workspace, encoded = averaged.counts.workspace, averaged.counts.encoded
    rows = sampled(workspace.session, encoded, sample)
    passes = AverageLoo(averaged, order, companions(selection.loss), rows)
    try:
        title = "pass 2: leave-one-out"
        if progress.is_shown and rows.rows > 4 * _SLICE_ROWS:
            taken = _seconds(lambda: passes.time_slice(_SLICE_ROWS // 4))
            title += f", about {taken * 4 * rows.rows / _SLICE_ROWS:.0f} s"
        with progress.stage("loocv", title, rows.rows, passes.n_chunks):
            losses = passes.losses(progress.advance)
    finally:
        passes.drop()
        if rows is not encoded:
            discard(workspace.session, rows)
    surfaces = {loss: np.array([values]) for loss, values in losses.items()}
    return _chosen(workspace, surfaces, selection)


def _chosen(workspace: Workspace, surfaces: Surfaces, selection: Selection) -> Choice:
    """Keep the surfaces as a table, and choose from that of the loss."""
    surface = surfaces[selection.loss]
    write_loocv(workspace, surfaces, selection.ks[: len(surface)])
    return _best(surfaces, selection)


def loss_in_arrays(passes: ArrayLoo, selection: Selection | None, depth: int) -> float:
    """The RMSE of a trial: of the model that would be selected, else of the whole one."""
    if selection is None:
        return float(passes.surface([depth])["rmse"][0, -1])
    enough = partial(_is_past_best, selection)
    surfaces = passes.surface(selection.ks, is_enough=enough)
    best = _best(surfaces, selection)
    return float(surfaces["rmse"][selection.ks.index(best.k), best.n_attributes])


def _best(surfaces: Surfaces, selection: Selection) -> Choice:
    surface = surfaces[selection.loss]
    ks = list(selection.ks[: len(surface)])
    return choose(surface, ks, selection.select, selection.loss == "mcc")


def _estimate(passes: LeaveOneOut, rows: Encoded, ks: Sequence[int]) -> float:
    """Seconds that the pass will take, from a timed slice of the rows with the smallest k'.

    A slice is read by one thread; the fixed cost of a query (planning, hash tables) is told from
    that of its rows by a second, smaller slice. The tables of the largest k' are made before, and
    hashing them costs about half of that again.
    """
    least, most = min(ks), max(ks)
    made = _seconds(lambda: passes.prepare(most))
    short = _seconds(lambda: passes.time_slice(least, _SLICE_ROWS // 8))
    long = _seconds(lambda: passes.time_slice(least, _SLICE_ROWS))
    a_row = max(long - short, 0.0) / (_SLICE_ROWS - _SLICE_ROWS // 8)
    scan, fixed = a_row * rows.rows / passes.threads, max(short - a_row * _SLICE_ROWS / 8, 0.0)
    scans = sum(fixed + scan * (1 + _DEARER_PER_PARENT * (k - least)) for k in ks)
    return scans + made / 2


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def write_loocv(workspace: Workspace, surfaces: Surfaces, ks: Sequence[int]) -> None:
    """The draft's `loocv`: the whole surface, one row a cell and loss."""
    rows = [
        (k, n, loss, float(values[at, n]))
        for loss, values in surfaces.items()
        for at, k in enumerate(ks)
        for n in range(values.shape[1])
    ]
    workspace.fill("loocv", rows)


def chosen_loss(workspace: Workspace, loss: Loss, k: int, n_attributes: int) -> float:
    """The loss of the model that was chosen; others may have a smaller one where not all could be.

    With `select` k all attributes are kept, though fewer may do better.
    """
    query = (
        f"SELECT value FROM {workspace.table('loocv')} "
        f"WHERE loss = '{loss}' AND k = {k} AND n_attributes = {n_attributes}"
    )
    return float(workspace.session.row(query)[0])


def fixed_loss(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    loss: Loss,
) -> float:
    """The loss by leave-one-out of a model in which nothing is chosen."""
    depth = max((counts.depth(position) for position in counts.families), default=0)
    losses = companions(loss)
    passes = _passes(counts, order, class_counts, smoothing, losses, only_whole=True)
    return float(passes.surface([depth])[loss][0, -1])


def fixed_average_loss(averaged: Averaged, order: Sequence[int], loss: Loss) -> float:
    """The same of an averaging model."""
    rows = averaged.counts.encoded
    passes = AverageLoo(averaged, order, companions(loss), rows, only_whole=True)
    try:
        return float(passes.losses()[loss][-1])
    finally:
        passes.drop()
