"""Every estimate of a probability from counts, with its leave-one-out form: in arrays and in SQL.

`MEstimate` is the formula; `Smoothing` the rules around it: back-off or hierarchical smoothing,
missing and unseen values; a `Chain` says how the levels of one attribute are put together.
Tables of probabilities are made by `log_factor` and `term_estimate`, those of leave-one-out by
`loo_ratios` and `importance_columns`; large ones by templates that get the same `MEstimate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sqlbn.engines.sql import literal
from sqlbn.options.catalogue import checked

Backoff = Literal["cell", "parents", "parents-both", "none"]
Rule = Literal["backoff", "hierarchical"]
Estimate = Literal["m", "laplace"]
Missing = Literal["value", "ignore"]
Unseen = Literal["neutral", "smoothed"]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class MEstimate:
    """P = (n + m/v) / (t + m): n of t rows have one of v values; `share` is m/v.

    Laplace is that of m = v. The parts above and below the line stand alone, too, where logarithms
    of them are added up. Left out is a row of weight w, of n and of t alike. In SQL the same
    expressions are made of expressions for n, t and w.
    """

    m: float
    share: float

    # -- arrays ------------------------------------------------------------------------------

    def above(self, n: Any) -> Any:
        """What is above the line."""
        return n + self.share

    def below(self, t: Any) -> Any:
        """What is below it."""
        return t + self.m

    def of(self, n: Any, t: Any) -> Any:
        """The estimate."""
        return self.above(n) / self.below(t)

    def unseen(self, t: Any) -> Any:
        """That of a value with a count of 0."""
        return self.share / self.below(t)

    def left_out(self, n: Any, t: Any, w: Any = 1.0) -> Any:
        """The estimate without a row that is among n."""
        return self.of(np.maximum(n - w, 0.0), np.maximum(t - w, 0.0))

    def log_left_out(self, n: Any, t: Any, w: Any = 1.0) -> Array:
        """Its logarithm, as the difference of two."""
        found: Array = np.log(self.above(np.maximum(n - w, 0)))
        found -= np.log(self.below(np.maximum(t - w, 0)))
        return found

    def most_log_ratio(self, total: float, n_values: int) -> float:
        """A bound on |ln| of the ratio of two estimates, whatever the counts of `total` rows."""
        return math.log((total + self.m) * n_values / self.m + 1)

    # -- SQL ---------------------------------------------------------------------------------

    @property
    def share_sql(self) -> str:
        """What is above the line where n is 0."""
        return literal(self.share)

    def above_sql(self, n: str) -> str:
        """What is above the line; to be put into brackets."""
        return f"{n} + {self.share_sql}"

    def below_sql(self, t: str) -> str:
        """What is below it; to be put into brackets."""
        return f"{t} + {literal(self.m)}"

    def sql(self, n: str, t: str) -> str:
        """The estimate."""
        return f"({self.above_sql(n)}) / ({self.below_sql(t)})"

    def unseen_sql(self, t: str) -> str:
        """That of a value with a count of 0."""
        return f"{self.share_sql} / ({self.below_sql(t)})"

    def left_out_sql(self, n: str, t: str) -> str:
        """The estimate without a row of weight 1 that is among n."""
        return self.sql(f"greatest({n} - 1, 0)", f"greatest({t} - 1, 0)")

    def left_out_parts_sql(self, n: str, t: str, w: str) -> EstimateParts:
        """Both parts, in brackets, without a row of weight w, which n is known to hold.

        The subtractions are exact, what is added to them is not.
        """
        return EstimateParts(
            f"({self.above_sql(f'({n} - {w})')})", f"({self.below_sql(f'({t} - {w})')})"
        )


@dataclass(frozen=True)
class TableEstimate(MEstimate):
    """Those of several variables, whose m/v are in a column of a table."""

    column: str = ""

    @property
    def share_sql(self) -> str:
        return self.column


@dataclass(frozen=True)
class EstimateParts:
    """An estimate's parts above and below the line, as SQL."""

    above: str
    below: str


@dataclass(frozen=True)
class Smoothing:
    """The rules that turn counts into probabilities.

    `backoff` parents is the papers' program: rows are left out by the rule of cells, new ones are
    scored by that of parents; parents-both has the latter in both.
    `estimate` laplace is the m-estimate whose m is the number of values. With `missing` ignore a
    missing value is none: it is not counted, and what contains it at prediction is left out. With
    `unseen` neutral a value that no training row has is left out too: it says nothing of the
    class. Smoothed, it is a value with a count of 0, which multiplies the odds of a rare class.
    With the `rule` hierarchical every level of an attribute's chain is mixed with the level above,
    by a strength of its own (`Chain`): a combination that was never seen gets the level above.
    """

    m: float = 1.0
    backoff: Backoff = "cell"
    estimate: Estimate = "m"
    missing: Missing = "value"
    unseen: Unseen = "neutral"
    rule: Rule = "backoff"

    @staticmethod
    def of_meta(meta: Mapping[str, str]) -> Smoothing:
        """The rules that a model's meta table tells; older models have m-estimates, smoothed."""
        return Smoothing(
            float(meta["m"]),
            _stored_backoff(meta.get("backoff", "cell")),
            checked_estimate(meta.get("estimate", "m")),
            checked_missing(meta.get("missing", "value")),
            checked_unseen(meta.get("unseen", "smoothed")),
            "hierarchical" if meta.get("smoothing") == "hierarchical" else "backoff",
        )

    @property
    def is_hierarchical(self) -> bool:
        """Whether a level with more parents is pulled towards the one with fewer."""
        return self.rule == "hierarchical"

    def ruled(self, rule: Rule) -> Smoothing:
        """The same by another rule; where levels are mixed, there is no back-off to choose."""
        return replace(self, rule=rule, backoff="cell" if rule == "hierarchical" else self.backoff)

    @property
    def ignores(self) -> bool:
        """Whether missing values are left out."""
        return self.missing == "ignore"

    @property
    def left_out_by_parents(self) -> bool:
        """Whether leave-one-out backs off only where the parents' values do not occur together."""
        return self.backoff == "parents-both"

    @property
    def scored_by_parents(self) -> bool:
        """The same of new rows."""
        return self.backoff != "cell"

    @property
    def is_neutral(self) -> bool:
        """Whether a value that no training row has says nothing of the class."""
        return self.unseen == "neutral"

    @property
    def has_loo(self) -> bool:
        """Whether a product of such estimates has a leave-one-out form."""
        return self.estimate == "m" and not self.ignores and self.backoff != "none"

    def of(self, n_values: int) -> MEstimate:
        """The estimate of a variable with so many values; nothing is added where there is none."""
        m = self.m_of(n_values)
        return MEstimate(m, m / n_values if n_values else 0.0)

    def evidence(self, cells: Array, parents: Array) -> Array:
        """The counts of which there must be some for a level of back-off to be used."""
        return parents if self.scored_by_parents else cells

    def evidence_left_out(self, cells: Array, parents: Array) -> Array:
        """The same in leave-one-out, where there must be more than the row."""
        return parents if self.left_out_by_parents else cells

    @property
    def evidence_left_out_sql(self) -> str:
        """The same of lists of counts by class n and t, as one number."""
        if not self.left_out_by_parents:
            return "list_sum(n)"
        # Where a value is unseen when the row is out, no parents say anything of it.
        return "least(list_sum(t), everywhere)" if self.is_neutral else "list_sum(t)"

    def m_of(self, n_values: int) -> float:
        """The m of a variable with so many values."""
        return float(n_values) if self.estimate == "laplace" else self.m

    def missing_code(self, n_codes: int, missing: int | None) -> int | None:
        """The code of missing values; None where they are unseen values like others.

        `n_codes` and `missing` are those of training. Where that had no missing value and only
        missing values are to be left out, they get a code behind that of unseen values.
        """
        if missing is None and self.ignores and not self.is_neutral:
            return n_codes + 1
        return missing

    def ignored_codes(self, n_codes: int, missing: int | None) -> tuple[int, ...]:
        """The codes that say nothing of the class, in ascending order.

        >>> Smoothing().ignored_codes(3, 2), Smoothing(missing="ignore").ignored_codes(3, 2)
        ((3,), (2, 3))
        >>> smoothed = Smoothing(missing="ignore", unseen="smoothed")
        >>> smoothed.ignored_codes(3, 2), smoothed.ignored_codes(3, None)
        ((2,), (4,))

        Where the missing code is the first, training had no value at all, and whatever comes at
        prediction is left out.

        >>> smoothed.ignored_codes(1, 0)
        (0, 1)
        """
        code = self.missing_code(n_codes, missing) if self.ignores else None
        unseen = {n_codes} if self.is_neutral or code == 0 else set[int]()
        return tuple(sorted(unseen if code is None else unseen | {code}))

    def slots(self, n_codes: int, missing: int | None) -> int:
        """Codes that new rows may have."""
        return max(n_codes, self.missing_code(n_codes, missing) or 0) + 1

    def n_values(self, n_codes: int, missing: int | None) -> int:
        """How many of an attribute's codes are values."""
        return n_codes - (self.ignores and missing is not None)


@dataclass(frozen=True)
class Chain:
    """How the levels of one attribute's chain, P(x | first l parents, y), are put together.

    `strengths` are those of the levels 1, 2, … of hierarchical smoothing: so many rows of the level
    above are mixed into each. `weights` are exponents of the levels 0, 1, …; without them the
    deepest level counts, in full.
    """

    strengths: tuple[float, ...] = ()
    weights: tuple[float, ...] | None = None

    def cut(self, level: int) -> Chain:
        """The chain up to a level, which also stands for those below it."""
        if self.weights is None:
            return Chain(self.strengths[:level])
        return Chain(self.strengths[:level], (*self.weights[:level], self.weight_from(level)))

    def weight_from(self, level: int) -> float:
        """What the levels from this one on count together."""
        return math.fsum(self.weights[level:]) if self.weights is not None else 1.0


PLAIN = Chain()


def mixed(n: Any, t: Any, strength: float, above: Any) -> Any:
    """A level of hierarchical smoothing: n of t rows, and `strength` rows of the level above."""
    return (n + strength * above) / (t + strength)


def mixed_sql(n: str, t: str, strength: float | str, above: str) -> str:
    """The same in SQL; the strength may be a column."""
    s = strength if isinstance(strength, str) else literal(strength)
    return f"({n} + {s} * {above}) / ({t} + {s})"


def checked_backoff(name: str) -> Backoff:
    """The rule of back-off of that name, or an error that lists them; `none` is not a choice."""
    return cast(Backoff, checked("backoff", name))


def checked_estimate(name: str) -> Estimate:
    """The estimate of that name, or an error that lists them."""
    return cast(Estimate, checked("estimate", name))


def checked_missing(name: str) -> Missing:
    """The policy of that name, or an error that lists them."""
    return cast(Missing, checked("missing", name))


def checked_unseen(name: str) -> Unseen:
    """The rule of that name, or an error that lists them."""
    return cast(Unseen, checked("unseen", name))


def _stored_backoff(name: str) -> Backoff:
    """That of a model, which may have none."""
    return "none" if name == "none" else checked_backoff(name)


def log_prior(class_counts: Sequence[float], smoothing: Smoothing) -> list[float]:
    """ln P(y)."""
    counts = np.asarray(class_counts, dtype=float)
    prior = smoothing.of(len(counts)).of(counts, counts.sum())
    return [float(p) for p in np.log(prior)]


def log_factor(
    counts: Array,
    smoothing: Smoothing,
    ignored: Sequence[Sequence[int]] = (),
    chain: Chain = PLAIN,
) -> Array:
    """ln P(x | parents, y) for every combination of codes, unseen ones included.

    Axes of `counts`: value, parents in their order, class. In the result every axis but the last
    has one slot more, for unseen values. Back-off walks the parents in their order:
    `cell` stops where the value was not seen with the parents' values, `parents` where these were
    not seen together; `none` is without. `ignored` has for each axis but the last the codes that
    are no values, which may need yet another slot: they are not counted, and where x is one of
    them (without back-off: where any is) the logarithm is 0. With weights in the `chain` the
    logarithms of all levels are added up.
    """
    if smoothing.backoff == "none":
        bare = term_estimate(counts, smoothing, ignored)
        found: Array = np.log(np.where(bare > 0, bare, 1.0)) * chain.weight_from(0)
        return found
    ignored = ignored or [()] * (counts.ndim - 1)
    padded = _padded(counts, ignored)
    if not smoothing.of(_n_values(counts, ignored)).share:
        return np.zeros_like(padded)
    levels = _level_estimates(counts, padded, smoothing, ignored, chain)
    if chain.weights is None:
        return np.log(levels[-1])
    logs = np.zeros_like(padded)
    for weight, level in zip(chain.weights, levels, strict=True):
        if weight:
            between = (1,) * (padded.ndim - level.ndim)
            logs += weight * np.log(level.reshape(*level.shape[:-1], *between, level.shape[-1]))
    return logs


def _level_estimates(
    counts: Array,
    padded: Array,
    smoothing: Smoothing,
    ignored: Sequence[Sequence[int]],
    chain: Chain,
) -> list[Array]:
    """P(x | first parents, y) with no parents, one, two, …; 1 where x is no value."""
    estimate = smoothing.of(_n_values(counts, ignored))
    levels: list[Array] = []
    for level in range(counts.ndim - 1):
        cells = padded.sum(axis=tuple(range(1 + level, padded.ndim - 1)))
        _overwrite(cells, ignored[: level + 1], 0.0)
        parents = cells.sum(axis=0, keepdims=True)
        if not level:
            found = estimate.of(cells, parents)
        elif smoothing.is_hierarchical:
            found = mixed(cells, parents, chain.strengths[level - 1], levels[-1][..., None, :])
        else:
            usable = smoothing.evidence(cells, parents).sum(axis=-1, keepdims=True) > 0
            found = np.where(usable, estimate.of(cells, parents), levels[-1][..., None, :])
        _overwrite(found, ignored[:1], 1.0)
        levels.append(found)
    return levels


def term_estimate(
    counts: Array, smoothing: Smoothing, ignored: Sequence[Sequence[int]] = ()
) -> Array:
    """P(x | parents, y) without back-off, axes as in `log_factor`; 0 where a value is ignored."""
    ignored = ignored or [()] * (counts.ndim - 1)
    estimate = smoothing.of(_n_values(counts, ignored))
    cells = _padded(counts, ignored)
    if not estimate.share:
        return np.zeros_like(cells)
    _overwrite(cells, ignored, 0.0)
    parents = cells.sum(axis=0, keepdims=True)
    found: Array = estimate.of(cells, parents)
    _overwrite(found, ignored, 0.0)
    return found


def _n_values(counts: Array, ignored: Sequence[Sequence[int]]) -> int:
    n_codes: int = counts.shape[0]
    return n_codes - sum(code < n_codes for code in ignored[0])


def _padded(counts: Array, ignored: Sequence[Sequence[int]]) -> Array:
    """A copy with slots for what was not counted on every axis but that of the class."""
    slots = [max(n, *codes, 0) + 1 for n, codes in zip(counts.shape[:-1], ignored, strict=True)]
    found = np.zeros((*slots, counts.shape[-1]))
    found[tuple(slice(n) for n in counts.shape)] = counts
    return found


def _overwrite(values: Array, ignored: Sequence[Sequence[int]], by: float) -> None:
    """Set what has an ignored code."""
    for axis, codes in enumerate(ignored):
        values[(slice(None),) * axis + (list(codes),)] = by


# -- leave-one-out: how much other classes gain on a row's own when the row is out ---------------


def slots_of(n_classes: int, rotated: bool) -> list[int]:
    """The numbers of the ratio columns.

    Rotated, slot j of a row of class y is class (y + j) mod c, and the row's own class needs no
    column: its ratio is 1. Otherwise slot j is class j.
    """
    return list(range(1, n_classes)) if rotated else list(range(n_classes))


def slot_classes(n_classes: int, rotated: bool) -> Array:
    """The class of each slot (columns) for each class y of a row (rows)."""
    y, j = np.arange(n_classes)[:, None], np.array(slots_of(n_classes, rotated), dtype=np.int64)
    found: Array = (y + j) % n_classes if rotated else np.broadcast_to(j, (n_classes, len(j)))
    return found


def loo_ratios(
    counts: Array,
    smoothing: Smoothing,
    rotated: bool,
    w: Array | float = 1.0,
    strengths: Sequence[float] = (),
) -> Array:
    """P'(x | pa, class of slot) / P'(x | pa, y) for every cell (x, parents, y), slots last.

    `counts` has axes value, parents in order, class. P' are the estimates without a row of weight
    `w` (of each cell, or one number) in class y, with back-off to fewer parents where nothing of
    the value would be left, or nothing with the parents' values; or with levels mixed by
    `strengths`. Where unseen values are neutral, one that no other row has says nothing of the
    class.
    """
    n_classes = counts.shape[-1]
    estimate, classes = smoothing.of(counts.shape[0]), slot_classes(n_classes, rotated)
    best: Array | None = None
    all_in, own = np.zeros(()), np.zeros(())
    for level in range(counts.ndim - 1):
        cells, parents = _level_counts(counts, level)
        if level and smoothing.is_hierarchical:
            s = strengths[level - 1]
            all_in = mixed(cells, parents, s, all_in)
            own = mixed(np.maximum(cells - w, 0.0), np.maximum(parents - w, 0.0), s, own)
        else:
            all_in, own = estimate.of(cells, parents), estimate.left_out(cells, parents, w)
        ratios = all_in[..., classes] / own[..., None]
        if best is not None and not smoothing.is_hierarchical:
            seen = smoothing.evidence_left_out(cells, parents).sum(axis=-1, keepdims=True)
            ratios = np.where((seen - w > 0)[..., None], ratios, best)
        best = ratios
    assert best is not None
    if smoothing.is_neutral:
        best = np.where((_totals(counts) - w > 0)[..., None], best, 1.0)
    best[..., classes == np.arange(n_classes)[:, None]] = 1.0
    best[counts == 0] = 1.0  # keys that no row has
    return best


def _level_counts(counts: Array, level: int) -> tuple[Array, Array]:
    """Counts of the cells of a level, and of the parents' values, along the axes of all."""
    deeper = tuple(range(1 + level, counts.ndim - 1))
    cells: Array = counts.sum(axis=deeper, keepdims=True).astype(float)
    return cells, cells.sum(axis=0, keepdims=True)


def _totals(counts: Array) -> Array:
    """How often each value occurs at all, along the axes of the counts."""
    found: Array = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    return found


def importance_columns(counts: Array, smoothing: Smoothing, rotated: bool) -> dict[str, Array]:
    """The columns that `ratio_sql` reads, of every cell (x, parents, y)."""
    n_classes, cells = counts.shape[-1], counts.astype(float)
    parents = np.broadcast_to(cells.sum(axis=0, keepdims=True), cells.shape)
    alone = smoothing.evidence_left_out(cells, parents).sum(axis=-1, keepdims=True)
    if smoothing.left_out_by_parents and smoothing.is_neutral:
        alone = np.minimum(alone, _totals(counts))
    # Of several classes none can be a single row.
    last = loo_ratios(counts, smoothing, rotated, alone)
    last[cells < alone] = 1.0
    estimates = smoothing.of(cells.shape[0]).of(cells, parents)
    others = estimates[..., slot_classes(n_classes, rotated)]
    found = {"n": cells, "t": parents, "alone": np.broadcast_to(alone, cells.shape)}
    for i, j in enumerate(slots_of(n_classes, rotated)):
        found |= {f"q_{j}": others[..., i], f"r_{j}": last[..., i]}
    return {name: np.ascontiguousarray(values).reshape(-1) for name, values in found.items()}


def ratio_sql(
    estimate: MEstimate, table: str, row: str, j: int, importance: bool, rotated: bool
) -> str:
    """The ratio of a slot, of a joined table and a row with its class y and weight w."""
    if not importance:
        return f"{table}.r_{j}"
    # The subtractions are exact, what is added to them is not.
    left = estimate.left_out_parts_sql(f"{table}.n", f"{table}.t", f"{row}.w")
    changed = f"{table}.q_{j} * {left.below} / {left.above}"
    own = "" if rotated else f"WHEN {row}.y = {j} THEN 1e0 "
    # DuckDB 2.0.0 stops with an internal error where a column is that of a joined table in one
    # chunk of rows and computed in the next: so a zero is added.
    last = f"{table}.r_{j} + ({row}.w - {table}.alone)"
    return f"CASE {own}WHEN {row}.w < {table}.alone THEN {changed} ELSE {last} END"


def mixed_importance_columns(
    counts: Array, smoothing: Smoothing, rotated: bool, strengths: Sequence[float]
) -> dict[str, Array]:
    """The columns that `mixed_ratio_sql` reads, of every cell (x, parents, y)."""
    found: dict[str, Array] = {"everywhere": _totals(counts).astype(float)}
    all_in = np.zeros(())
    for level in range(counts.ndim - 1):
        cells, parents = _level_counts(counts, level)
        found |= {f"n_{level}": cells, f"t_{level}": parents}
        if level:
            all_in = mixed(cells, parents, strengths[level - 1], all_in)
        else:
            all_in = smoothing.of(counts.shape[0]).of(cells, parents)
    others = all_in[..., slot_classes(counts.shape[-1], rotated)]
    found |= {f"q_{j}": others[..., i] for i, j in enumerate(slots_of(counts.shape[-1], rotated))}
    return {
        name: np.ascontiguousarray(np.broadcast_to(values, counts.shape)).reshape(-1)
        for name, values in found.items()
    }


def mixed_ratio_sql(
    smoothing: Smoothing,
    estimate: MEstimate,
    strengths: Sequence[float | str],
    table: str,
    row: str,
    j: int,
    rotated: bool,
) -> str:
    """The ratio of a slot where levels are mixed and a row's weight w is taken out of them all."""
    left = [
        [f"greatest({table}.{c}_{level} - {row}.w, 0)" for c in "nt"]
        for level in range(len(strengths) + 1)
    ]
    own = f"({estimate.sql(*left[0])})"
    for s, (n, t) in zip(strengths, left[1:], strict=True):
        own = f"({mixed_sql(n, t, s, own)})"
    cases = [] if rotated else [f"WHEN {row}.y = {j} THEN 1e0"]
    if smoothing.is_neutral:
        cases.append(f"WHEN {row}.w >= {table}.everywhere THEN 1e0")
    changed = f"{table}.q_{j} / {own}"
    return f"CASE {' '.join(cases)} ELSE {changed} END" if cases else changed


def prior_columns(
    class_counts: Array, estimate: MEstimate, rotated: bool, importance: bool
) -> dict[str, Array]:
    """P'(class of slot) / P'(y) for each class y; for importances what `prior_sql` makes it of."""
    n_classes = len(class_counts)
    classes = slot_classes(n_classes, rotated)
    shares = estimate.above(class_counts)[classes]
    slots = slots_of(n_classes, rotated)
    if importance:
        found = {"n": np.asarray(class_counts, float)}
        return found | {f"q_{j}": shares[:, i] for i, j in enumerate(slots)}
    ratios = shares / estimate.above(np.maximum(class_counts - 1, 0.0))[:, None]
    ratios[classes == np.arange(n_classes)[:, None]] = 1.0
    return {f"r_{j}": ratios[:, i] for i, j in enumerate(slots)}


def prior_sql(
    estimate: MEstimate, table: str, row: str, j: int, importance: bool, rotated: bool
) -> str:
    """The ratio of a slot before any attribute, as `ratio_sql`."""
    if not importance:
        return f"{table}.r_{j}"
    changed = f"{table}.q_{j} / ({estimate.above_sql(f'({table}.n - {row}.w)')})"
    return changed if rotated else f"CASE WHEN {row}.y = {j} THEN 1e0 ELSE {changed} END"
