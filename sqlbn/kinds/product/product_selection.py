"""Pass 3 of a product's fit: leave-one-out losses of all nested models, and the choice."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.errors import SqlbnWarning, opt
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Selection
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.product.array_loo import ArrayLoo, needs_arrays
from sqlbn.kinds.product.factor_tables import AttributeValues
from sqlbn.kinds.product.product_loo import LeaveOneOut
from sqlbn.kinds.product.seen_chain import find_chains
from sqlbn.kinds.selection import (
    Surfaces,
    best_of,
    best_with_loss,
    seconds_of,
    write_loocv,
)
from sqlbn.structure.shape import Choice


def select(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothings: Sequence[Smoothing],
    selection: Selection,
    sample: int | None,
    progress: Progress,
    is_trial: bool = False,
) -> dict[Smoothing, tuple[Choice, float]]:
    """Evaluate every (k', number of attributes), write `loocv`, and choose, with each smoothing."""
    found = {
        smoothing: nested_losses(
            counts, order, class_counts, smoothing, selection, sample, progress, is_trial
        )
        for smoothing in smoothings
    }
    write_loocv(counts.workspace, {s.rule: surfaces for s, surfaces in found.items()}, selection.ks)
    return {s: best_with_loss(surfaces, selection) for s, surfaces in found.items()}


def nested_losses(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    selection: Selection,
    sample: int | None,
    progress: Progress,
    is_trial: bool = False,
) -> Surfaces:
    """The losses of every (k', number of attributes), one pass a k'.

    A trial, which compares encodings, gives up at the first k' past 1 that is not the best so far.
    """
    session, encoded = counts.workspace.session, counts.encoded
    rows = sampled(session, encoded, sample)
    try:
        losses = companions(selection.loss)
        passes = passes_of(counts, order, class_counts, smoothing, losses, rows)
        title = "pass 3: leave-one-out" + (", mixed levels" if smoothing.is_hierarchical else "")
        if isinstance(passes, ArrayLoo):
            _warn_of_time(rows, selection.ks)
        elif progress.is_shown and rows.rows > 4 * rows.limits.loo_slice_rows:
            title += f", about {_estimate(passes, rows, selection.ks):.0f} s"
        ks = list(selection.ks)
        with progress.stage("loocv", title, rows.rows, len(ks)):
            return passes.surface(
                ks, progress.advance, partial(_is_past_best, selection) if is_trial else None
            )
    finally:
        if rows is not encoded:
            discard(session, rows)


def passes_of(
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
    session, used = counts.workspace.session, rows or encoded
    ignored = AttributeValues.of(encoded, smoothing).ignored
    chains = find_chains(counts, smoothing, ignored)
    rules = order, class_counts, smoothing, losses
    if needs_arrays(session, used):
        families = counts.families
        return ArrayLoo(session, encoded, families, *rules, rows, only_whole, chains)
    return LeaveOneOut(counts, *rules, used.relation, only_whole, chains)


def _warn_of_time(rows: Encoded, ks: Sequence[int]) -> None:
    """Say it before, where very many classes will take long."""
    estimates = rows.rows * rows.cards[-1] * rows.n_attributes * len(ks)
    limits, many = rows.limits, rows.limits.loo_estimates_warned
    if estimates > many:
        enough = max(1000, rows.rows * many // estimates)
        warnings.warn(
            f"leave-one-out of {rows.rows:,} rows with {rows.cards[-1]:,} classes will take about "
            f"{estimates * limits.loo_estimate_seconds / 60:.0f} minutes; "
            f"{opt('loocv_sample', enough)} takes one",
            SqlbnWarning,
            stacklevel=2,
        )


def _is_past_best(selection: Selection, surfaces: Surfaces) -> bool:
    """Whether the last k' so far is a large one and was of no use."""
    ks = list(selection.ks[: len(surfaces[selection.loss])])
    return ks[-1] > 1 and best_of(surfaces, selection).k < ks[-1]


def selected_array_model(passes: ArrayLoo, selection: Selection) -> tuple[Choice, float]:
    """What would be selected of a trial in arrays, and its RMSE."""
    enough = partial(_is_past_best, selection)
    return best_with_loss(passes.surface(selection.ks, is_enough=enough), selection)


def _estimate(passes: LeaveOneOut, rows: Encoded, ks: Sequence[int]) -> float:
    """Seconds that the pass will take, from a timed slice of the rows with the smallest k'.

    A slice is read by one thread; the fixed cost of a query (planning, hash tables) is told from
    that of its rows by a second, smaller slice. The tables of the largest k' are made before, and
    hashing them costs about half of that again.
    """
    least, most = min(ks), max(ks)
    size, dearer = rows.limits.loo_slice_rows, rows.limits.loo_dearer_per_parent
    made = seconds_of(lambda: passes.prepare(most))
    short = seconds_of(lambda: passes.time_slice(least, size // 8))
    long = seconds_of(lambda: passes.time_slice(least, size))
    a_row = max(long - short, 0.0) / (size - size // 8)
    scan, fixed = a_row * rows.rows / passes.threads, max(short - a_row * size / 8, 0.0)
    scans = sum(fixed + scan * (1 + dearer * (k - least)) for k in ks)
    return scans + made / 2


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
    passes = passes_of(counts, order, class_counts, smoothing, losses, only_whole=True)
    return float(passes.surface([depth])[loss][0, -1])
