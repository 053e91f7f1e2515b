"""Pass 3 of a product's fit: leave-one-out losses of all nested models, and the choice."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.errors import SqlbnWarning, opt
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.forms import (
    FORM_NAMES,
    Form,
    FormCost,
    array_loo,
    long_loo,
    quickest,
    wide_loo,
)
from sqlbn.kinds.kind import Selection
from sqlbn.kinds.losses import Loss, companions
from sqlbn.kinds.product.array_loo import ArrayLoo, array_bytes, array_room
from sqlbn.kinds.product.chunked_loo import ChunkedLoo, fits_chunks
from sqlbn.kinds.product.factor_tables import AttributeValues
from sqlbn.kinds.product.long_loo import LongLoo, has_long_form
from sqlbn.kinds.product.product_loo import LeaveOneOut
from sqlbn.kinds.product.raced_loo import Raced, Rules, cannot_race, race
from sqlbn.kinds.product.seen_chain import find_chains
from sqlbn.kinds.selection import (
    NestedLosses,
    Surfaces,
    best_of,
    best_with_loss,
    seconds_of,
)
from sqlbn.search.race import RaceRule
from sqlbn.structure.shape import Choice


def nested_losses(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    selection: Selection,
    sample: int | None,
    progress: Progress,
    is_trial: bool = False,
    rule: RaceRule | None = None,
) -> NestedLosses:
    """The losses of every (k', number of attributes), one pass a k'.

    With a `rule` they race first, where that is worth it. A trial, which compares encodings, does
    not race: it gives up at the first k' past 1 that is not the best so far.
    """
    session, encoded = counts.workspace.session, counts.encoded
    rows = sampled(session, encoded, sample)
    try:
        losses, ks = companions(selection.loss), list(selection.ks)
        raced_ks = 0
        if rule is not None and not is_trial:
            raced_ks = len(ks) if cannot_race(selection, rows, counts, rule) is None else 0
        passes = passes_of(counts, order, class_counts, smoothing, losses, rows, raced_ks)
        kind = ", mixed levels" if smoothing.is_hierarchical else ""
        raced: Raced | None = None
        wanted: Mapping[int, Sequence[int]] = dict.fromkeys(ks, range(len(order) + 1))
        if isinstance(passes, ArrayLoo | ChunkedLoo):
            _warn_of_time(rows, ks)
            if rule is not None and rule.tau and not is_trial:
                progress.note(f"no race in arrays: {opt('tau')} changes nothing")
        elif rule is not None and not is_trial:
            rules = Rules(counts, order, class_counts, smoothing, losses, passes.chains)
            raced = _raced(rules, rows, selection, rule, progress, kind)
            wanted = raced.left if raced is not None else wanted
        asked = [k for k in ks if wanted[k]]
        title = f"pass 3: leave-one-out{kind}"
        is_long = rows.rows > 4 * rows.limits.loo_slice_rows and (raced is None or len(asked) > 1)
        if isinstance(passes, LeaveOneOut) and progress.is_shown and is_long:
            title += f", about {_estimate(passes, rows, wanted):.0f} s"
        is_enough = partial(_is_past_best, selection) if is_trial else None
        with progress.stage("loocv", title, rows.rows, len(asked)):
            if raced is None:
                surfaces = passes.surface(ks, progress.advance, is_enough)
                return NestedLosses(surfaces, ks, rows.rows)
            assert isinstance(passes, LeaveOneOut)
            surfaces = passes.surface(ks, progress.advance, wanted=wanted)
        surfaces = raced.completed(surfaces, rows.rows)
        return NestedLosses(surfaces, ks, rows.rows, raced.rows, raced.noted)
    finally:
        if rows is not encoded:
            discard(session, rows)


def _raced(
    rules: Rules,
    rows: Encoded,
    selection: Selection,
    rule: RaceRule,
    progress: Progress,
    kind: str,
) -> Raced | None:
    """What a race leaves; None where there is none."""
    why_not = cannot_race(selection, rows, rules.counts, rule)
    if why_not is not None:
        if why_not:
            progress.note(why_not)
        return None
    with progress.stage("race", f"pass 3: race of nested models{kind}", rows.rows):
        found = race(rules, rows, selection, rule)
    progress.note(found.told(rows.rows))
    return found


def passes_of(
    counts: FamilyCounts,
    order: Sequence[int],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    losses: Sequence[Loss],
    rows: Encoded | None = None,
    raced_ks: int = 0,
    only_whole: bool = False,
) -> LeaveOneOut | ArrayLoo | ChunkedLoo:
    """Leave-one-out in the quickest form; so many k' may race instead of going into arrays."""
    encoded = counts.encoded
    session, used = counts.workspace.session, rows or encoded
    form = loo_form(counts, order, used, raced_ks)
    ignored = AttributeValues.of(encoded, smoothing).ignored
    chains = find_chains(counts, smoothing, ignored)
    rules = order, class_counts, smoothing, losses
    if form == "arrays":
        if not _is_whole(counts, used):
            return ChunkedLoo(Rules(counts, *rules, chains), used, only_whole)
        families = counts.families
        return ArrayLoo(session, encoded, families, *rules, rows, only_whole, chains)
    by_queries = LongLoo if form == "long" else LeaveOneOut
    return by_queries(counts, *rules, used.relation, only_whole, chains)


def loo_form(counts: FamilyCounts, order: Sequence[int], rows: Encoded, raced_ks: int = 0) -> Form:
    """The quickest form of leave-one-out that fits, or the one that is asked for."""
    asked, costs = rows.limits.loo_form, loo_costs(counts, order, rows)
    if asked is not None:
        return cast(Form, asked)
    cores = counts.workspace.session.row_engine.cores
    form = quickest(costs, rows.rows, cores)
    if form != "arrays" or not raced_ks:
        return form
    whole = raced_ks * costs[form].seconds(rows.rows)
    del costs["arrays"]
    by_queries = quickest(costs, rows.rows, cores)
    # What a race leaves takes one pass by queries at least, which on Spark is more than all arrays.
    least = rows.limits.race_least_seconds + costs[by_queries].seconds(rows.rows, cores)
    return by_queries if whole > least else form


def loo_costs(counts: FamilyCounts, order: Sequence[int], rows: Encoded) -> dict[Form, FormCost]:
    """What one k' costs in each form that there is."""
    found = form_costs(counts.workspace.session, rows.rows, len(order), counts.n_classes)
    depth = max((counts.depth(position) for position in order), default=0)
    if not has_long_form(counts, order, depth):
        del found["long"]
    are_few = _is_whole(counts, rows) or fits_chunks(counts, rows)
    if not rows.limits.loo_few_estimates or not are_few:
        found.pop("arrays", None)
    return found


def form_costs(session: Session, rows: int, attributes: int, classes: int) -> dict[Form, FormCost]:
    """What one k' of so many rows, attributes and classes costs in each form, where it fits.

    Arrays are for data so small that planning the joins costs more than all of the work.
    """
    engine, limits = session.row_engine, session.limits
    costs = limits.loo_costs if engine.is_local else limits.spark_loo_costs
    found: dict[Form, FormCost] = {
        "wide": wide_loo(attributes, classes, engine.joins_at_once, costs),
        "long": long_loo(attributes, classes, costs),
    }
    arrays = array_loo(attributes, classes, costs)
    if arrays.seconds(rows) <= found["wide"].plan:
        found["arrays"] = arrays
    return found


def planned_form(session: Session, rows: int, attributes: int, classes: int) -> str:
    """The form that leave-one-out will take, and for how long, before anything is counted."""
    costs, cores = form_costs(session, rows, attributes, classes), session.row_engine.cores
    form = cast(Form, session.limits.loo_form or quickest(costs, rows, cores))
    seconds = costs[form].seconds(rows, cores)
    return (
        f"leave-one-out: {FORM_NAMES[form]}, about {seconds:.1f} s for each number of parents, "
        f"of {rows:,} rows"
    )


def _is_whole(counts: FamilyCounts, rows: Encoded) -> bool:
    """Whether rows are few enough to find the cells of all of them at once."""
    limits, encoded = rows.limits, counts.encoded
    room = array_room(counts.workspace.session)
    estimates = rows.rows * counts.n_classes * len(counts.families)
    fits = array_bytes(encoded, counts.families) <= room
    return fits and estimates <= limits.loo_few_estimates


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


def selected_array_model(
    passes: ArrayLoo, selection: Selection, is_rough: bool
) -> tuple[Choice, float]:
    """What would be selected of a trial in arrays, and its RMSE; a rough one gives up early."""
    enough = partial(_is_past_best, selection) if is_rough else None
    return best_with_loss(passes.surface(selection.ks, is_enough=enough), selection)


def _estimate(passes: LeaveOneOut, rows: Encoded, wanted: Mapping[int, Sequence[int]]) -> float:
    """Seconds that the pass will take, from a timed slice of the rows with the smallest k'.

    A slice is read by one thread; the fixed cost of a query (planning, hash tables) is told from
    that of its rows by a second, smaller slice. The tables of the largest k' are made before, and
    hashing them costs about half of that again.
    """
    ks = [k for k, prefixes in wanted.items() if prefixes]
    least, most = min(ks), max(ks)
    size, dearer = rows.limits.loo_slice_rows, rows.limits.loo_dearer_per_parent
    made = seconds_of(lambda: passes.prepare(most, max(wanted[most])))
    short = seconds_of(lambda: passes.time_slice(least, wanted[least], size // 8))
    long = seconds_of(lambda: passes.time_slice(least, wanted[least], size))
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
