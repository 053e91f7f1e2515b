"""Weights of attributes and of the levels of their chains, fitted on rows left out.

ln P(y | x) = b_y + ln P(y) + sum of w_il ln P(x_i | first l parents, y) - ln Z: the weights w and
the shifts b of the classes have the highest conditional likelihood of rows that are left out of
every factor, so that nothing is learned from a row itself. They are few: a sample is enough. They
are pulled towards the plain product, and not below 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.relations import Encoded
from sqlbn.kinds.estimates import Chain, Smoothing
from sqlbn.kinds.kind import Weighting
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import (
    ArrayLosses,
    Level,
    RowBlock,
    next_level,
    prior_logs,
    read_codes,
)
from sqlbn.kinds.product.seen_chain import SeenChain

Array = npt.NDArray[Any]

# Newton's steps, of which tens are enough, and the change of a weight below which it stops.
_STEPS = 50
_CLOSE = 1e-7
# Weights are kept to so many decimals: what the order of a sum changes must not show.
_DECIMALS = 4


@dataclass(frozen=True)
class LevelWeights:
    """Exponents of the levels of each attribute, what is added to each class, and how they did.

    `losses` are those of rows that the weights were not fitted on, by what was weighted; `score` is
    what is compared, smaller is better.
    """

    weighting: Weighting
    weights: Mapping[int, tuple[float, ...]]
    shifts: tuple[float, ...]
    losses: Mapping[str, float]
    score: float | None = None


@dataclass(frozen=True)
class LeftOutRows:
    """Rows with what every level says of them when they are left out.

    `logs` (level, row, class) and `start` (row, class) are logarithms of ratios to the row's own
    class; `places` is the attribute of every level, `deepest` whether it is the last of its chain.
    """

    logs: Array
    start: Array
    y: Array
    w: Array
    places: Array
    deepest: Array

    def part(self, rows: slice, levels: Array) -> LeftOutRows:
        """Some rows, and some levels."""
        at = np.flatnonzero(levels)
        return LeftOutRows(
            self.logs[at, rows],
            self.start[rows],
            self.y[rows],
            self.w[rows],
            self.places[at],
            self.deepest[at],
        )

    def scores(self, weights: Array, shifts: Array) -> Array:
        """Logarithms of ratios to the row's own class."""
        moved: Array = self.start + shifts - shifts[self.y][:, None]
        moved += np.tensordot(weights, self.logs, axes=1)
        return moved


def left_out_rows(
    counts: FamilyCounts,
    families: Mapping[int, Sequence[int]],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    chains: Mapping[int, Chain],
    rows: Encoded,
) -> LeftOutRows:
    """What the levels of all attributes say of some of the counted rows."""
    codes, w = read_codes(counts.workspace.session, rows)
    # Halves must not depend on the order in which an engine gives rows.
    order = np.lexsort([w, *codes] if rows.weighted else codes)
    order = order[np.random.default_rng(0).permutation(len(order))]
    codes, w = [column[order] for column in codes], w[order] if rows.weighted else w
    y = codes[-1].astype(np.int64)
    part = RowBlock.of(range(len(y)), y, w if rows.weighted else None, rows.importance)
    levels = {
        position: _levels_of(counts, family, smoothing, chains[position], codes, part)
        for position, family in families.items()
    }
    return _stacked(levels, prior_logs(np.asarray(class_counts, float), smoothing, part), part)


def _stacked(levels: Mapping[int, Sequence[Level]], start: Array, part: RowBlock) -> LeftOutRows:
    logs = [level.against_own for found in levels.values() for level in found]
    return LeftOutRows(
        np.stack(logs) if logs else np.zeros((0, *start.shape)),
        start,
        part.y,
        np.ones(len(part.y)) if part.w is None else part.w,
        np.array([i for i, found in levels.items() for _ in found], dtype=np.int64),
        np.array([level is found[-1] for found in levels.values() for level in found], dtype=bool),
    )


def _levels_of(
    counts: FamilyCounts,
    family: Sequence[int],
    smoothing: Smoothing,
    chain: Chain,
    codes: Sequence[Array],
    part: RowBlock,
) -> list[Level]:
    """The levels of one attribute with these parents: what each says of the rows."""
    seen = SeenChain.of(counts, family[0], smoothing)
    found: list[Level] = []
    cell = np.zeros(len(part.y), np.int64)
    for depth, (variable, level) in enumerate(zip(family, seen.levels, strict=False)):
        card = counts.encoded.cards[variable]
        keys = level.lower * card + level.codes[depth]
        cell = np.searchsorted(keys, cell * card + codes[variable].astype(np.int64))
        first, inverse = np.unique(cell, return_inverse=True)
        before = found[-1] if found else None
        strength = chain.strengths[depth - 1] if smoothing.is_hierarchical and depth else 0.0
        found.append(
            next_level(
                smoothing,
                seen.estimate,
                strength,
                level.n[first],
                level.t[first],
                inverse,
                part,
                before,
            )
        )
    return found


# -- the fit -------------------------------------------------------------------------------------


def fit_shape(rows: LeftOutRows, pull: float) -> tuple[Array, Array]:
    """Weights and shifts of the highest likelihood: Newton's method, weights not below 0."""
    n_levels, n_classes = len(rows.logs), rows.start.shape[1]
    centre = np.append(rows.deepest.astype(float), np.zeros(n_classes - 1))
    least = np.append(np.zeros(n_levels), np.full(n_classes - 1, -np.inf))
    theta = centre.copy()
    value, gradient, curvature = _at(theta, rows, centre, pull)
    for _ in range(_STEPS):
        free = ~((theta <= least) & (gradient > 0))
        step = np.zeros_like(theta)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        moved = _shorter(theta, step, value, rows, centre, pull, least)
        if moved is None or np.abs(moved - theta).max() < _CLOSE:
            break
        theta = moved
        value, gradient, curvature = _at(theta, rows, centre, pull)
    found = np.round(theta, _DECIMALS) + 0.0
    return found[:n_levels], np.append(0.0, found[n_levels:])


def _shorter(
    theta: Array,
    step: Array,
    value: float,
    rows: LeftOutRows,
    centre: Array,
    pull: float,
    least: Array,
) -> Array | None:
    """The whole step, or the first of its halves that is better; None where none is."""
    share = 1.0
    while share > 1e-6:
        tried = np.maximum(theta + share * step, least)
        if _value(tried, rows, centre, pull)[0] < value:
            return tried
        share /= 2
    return None


def _value(theta: Array, rows: LeftOutRows, centre: Array, pull: float) -> tuple[float, Array]:
    """The negative log-likelihood with its pull, and the probabilities of the classes."""
    n_levels = len(rows.logs)
    scores = rows.scores(theta[:n_levels], np.append(0.0, theta[n_levels:]))
    top = scores.max(axis=1, keepdims=True)
    ratios = np.exp(scores - top)
    total = ratios.sum(axis=1, keepdims=True)
    value = float(rows.w @ (np.log(total) + top)[:, 0]) + pull / 2 * float(
        np.square(theta - centre).sum()
    )
    return value, ratios / total


def _at(theta: Array, rows: LeftOutRows, centre: Array, pull: float) -> tuple[float, Array, Array]:
    """The value there, its gradient and its curvature."""
    value, p = _value(theta, rows, centre, pull)
    n_levels, n_classes = len(rows.logs), p.shape[1]
    own = np.eye(n_classes)[rows.y]
    # Mean of every level over the classes, by their probabilities; of shifts the same.
    means = np.concatenate(
        [np.einsum("fnc,nc->fn", rows.logs, p, optimize=True), (p - own)[:, 1:].T]
    )
    gradient = means @ rows.w + pull * (theta - centre)
    weighted = p * rows.w[:, None]
    flat = rows.logs.reshape(n_levels, p.size)
    levels = (flat * weighted.reshape(-1)) @ flat.T
    # A shift of class j is 1 for j, less 1 for rows of class j: their products are sums.
    crossed = np.einsum("fnc,nc->fc", rows.logs, weighted, optimize=True)[:, 1:]
    crossed -= (means[:n_levels] * rows.w) @ own[:, 1:]
    shifts = _shift_products(p, own, rows.w)[1:, 1:]
    second = np.block([[levels, crossed], [crossed.T, shifts]])
    second -= (means * rows.w) @ means.T
    return value, gradient, second + pull * np.eye(len(theta))


def _shift_products(p: Array, own: Array, w: Array) -> Array:
    """Sums over rows and classes c of p_c (1[c = i] - y_i) (1[c = j] - y_j)."""
    mixed_terms = (p * w[:, None]).T @ own
    found: Array = np.diag(w @ p) - mixed_terms - mixed_terms.T + np.diag(w @ own)
    return found


# -- the choice ----------------------------------------------------------------------------------


def choose_weights(
    rows: LeftOutRows,
    asked: Sequence[Weighting],
    loss: Loss,
    pull: float,
    is_compared: bool = False,
) -> LevelWeights:
    """The best of what was asked for, by rows that the weights were not fitted on.

    Each half of the rows is weighed by what the other half says; then all rows are fitted.
    """
    used = _levels_used(rows)
    tried: dict[Weighting, dict[Loss, float]] = {}
    if len(asked) > 1 or is_compared:
        tried = {how: _crossed_losses(rows, used[how], how, loss, pull) for how in asked}
    best = min(tried, key=lambda how: _score(tried[how], loss), default=asked[0])
    weights, shifts = _fitted(rows.part(slice(None), used[best]), best, pull)
    by_level = np.zeros(len(rows.places))
    by_level[used[best]] = weights
    found = {
        int(place): tuple(map(float, by_level[rows.places == place]))
        for place in np.unique(rows.places)
    }
    return LevelWeights(
        best,
        found,
        tuple(map(float, shifts)),
        {how: losses[loss] for how, losses in tried.items()},
        _score(tried[best], loss) if tried else None,
    )


def _levels_used(rows: LeftOutRows) -> dict[Weighting, Array]:
    every = np.ones(len(rows.places), bool)
    return {"none": rows.deepest, "attributes": rows.deepest, "levels": every}


def _score(losses: Mapping[Loss, float], loss: Loss) -> float:
    """What is compared. RMSE, the usual loss, counts as much as log loss does.

    Weights are fitted by likelihood: they mend probabilities that are too sure of themselves,
    which RMSE hardly sees.
    """
    if loss == "rmse":
        return losses["rmse"] * losses["log_loss"]
    return -losses[loss] if loss == "mcc" else losses[loss]


def _fitted(rows: LeftOutRows, weighting: Weighting, pull: float) -> tuple[Array, Array]:
    if weighting == "none":
        return rows.deepest.astype(float), np.zeros(rows.start.shape[1])
    return fit_shape(rows, pull)


def _crossed_losses(
    rows: LeftOutRows, levels: Array, weighting: Weighting, loss: Loss, pull: float
) -> dict[Loss, float]:
    """The losses of each half with weights that were fitted on the other."""
    n = len(rows.y)
    halves = (slice(0, n // 2), slice(n // 2, n))
    losses: list[Loss] = list(dict.fromkeys((loss, "log_loss")))
    sums = ArrayLosses(losses, 1, 1, rows.start.shape[1])
    for tested, fitted in (halves, halves[::-1]):
        part = rows.part(tested, levels)
        weights, shifts = _fitted(rows.part(fitted, levels), weighting, pull)
        sums.add(0, 0, part.scores(weights, shifts), part.y, part.w)
    return {name: float(values[0, 0]) for name, values in sums.losses(1).items()}


def fit_weights(
    counts: FamilyCounts,
    families: Mapping[int, Sequence[int]],
    class_counts: Sequence[float],
    smoothing: Smoothing,
    chains: Mapping[int, Chain],
    asked: Sequence[Weighting],
    loss: Loss,
    encoded: Encoded | None = None,
    is_compared: bool = False,
) -> LevelWeights:
    """Weights of a product of these families, which are counted, from a sample of its rows."""
    session, encoded = counts.workspace.session, encoded or counts.encoded
    limits, n_classes = session.limits, len(class_counts)
    n_levels = sum(map(len, families.values())) + n_classes
    room = min(limits.weight_values, int(limits.weight_share * session.memory_bytes / 8))
    most = max(1, min(limits.weight_rows, room // (n_levels * n_classes)))
    rows = sampled(session, encoded, most)
    try:
        left_out = left_out_rows(counts, families, class_counts, smoothing, chains, rows)
    finally:
        if rows is not encoded:
            discard(session, rows)
    return choose_weights(left_out, asked, loss, limits.weight_pull, is_compared)
