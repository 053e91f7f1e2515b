"""Weights of attributes and of the levels of their chains, fitted on rows left out.

ln P(y | x) = b_y + ln P(y) + sum of w_il ln P(x_i | first l parents, y) - ln Z: the weights w and
the shifts b of the classes have the highest conditional likelihood of rows that are left out of
every factor, so that nothing is learned from a row itself. They are few: a sample is enough. They
are pulled towards the plain product, and not below 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import read_codes
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.relations import Encoded
from sqlbn.engines.threads import ahead, one_blas_thread
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Weighting
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import (
    ArrayLosses,
    RowBlock,
    prior_logs,
)
from sqlbn.kinds.product.counted_levels import RowCells, cells_of_rows, levels_of_rows
from sqlbn.kinds.product.seen_chain import CountedCells, SeenChain
from sqlbn.kinds.row_sums import dot
from sqlbn.structure.information import DECIMALS

Array = npt.NDArray[Any]

# Steps, of which tens are enough; how many of the last tell of the curvature; what a step has to be
# worth a row, or there is no further one, and of what the slopes promise; the shortest step.
_STEPS = 200
_REMEMBERED = 10
_GAIN = 1e-5
_WORTH = 1e-4
_SHORTEST = 1e-6
# Weights are kept to so many decimals: what the order of a sum changes must not show.
_DECIMALS = 4


@dataclass(frozen=True)
class WeightsChoice:
    """What gets weights, in chains of at most `depth` parents.

    `losses` are those of rows that the weights were not fitted on, by what was weighted; `score`
    is what is compared, smaller is better. Both are empty where there was nothing to choose.
    """

    weighting: Weighting
    depth: int
    losses: Mapping[Weighting, float]
    score: float | None = None

    @property
    def rank(self) -> float:
        """What candidates are compared by."""
        return self.score if self.score is not None else 0.0


@dataclass(frozen=True)
class LevelWeights:
    """Exponents of the levels of each attribute, what is added to each class, and why these."""

    choice: WeightsChoice
    weights: Mapping[int, tuple[float, ...]]
    shifts: tuple[float, ...]


@dataclass(frozen=True)
class LeftOutRows:
    """Rows with what every level says of them when they are left out.

    `logs` (level, row, class) and `start` (row, class) are logarithms of ratios to the row's own
    class; `places` is the attribute of every level, `depths` its number of parents, `centre` the
    weight it is pulled towards: 1 for the last of a chain.
    """

    logs: Array
    start: Array
    y: Array
    w: Array
    places: Array
    depths: Array
    centre: Array
    threads: int = 1

    @property
    def deepest(self) -> Array:
        """Whether a level is the last of its chain."""
        found: Array = self.centre > 0
        return found

    def part(self, rows: slice, levels: Array) -> LeftOutRows:
        """Some rows, and some levels."""
        at = np.flatnonzero(levels)
        return LeftOutRows(
            self.logs[:, rows] if len(at) == len(self.logs) else self.logs[at, rows],
            self.start[rows],
            self.y[rows],
            self.w[rows],
            self.places[at],
            self.depths[at],
            self.centre[at],
            self.threads,
        )

    def within(self, most: int) -> LeftOutRows:
        """The first rows, with so many numbers at most."""
        rows = max(2, most // max(1, len(self.logs) * self.start.shape[1]))
        return self.part(slice(0, rows), np.ones(len(self.logs), bool))

    def up_to(self, depth: int) -> LeftOutRows:
        """Without the levels of more parents: the last that is left of a chain stands for them."""
        if depth >= self.depths.max(initial=0):
            return self
        found = self.part(slice(None), self.depths <= depth)
        last = np.append(found.places[1:] != found.places[:-1], len(found.places) > 0)
        return replace(found, centre=last[: len(found.places)].astype(float))

    def scores(self, weights: Array, shifts: Array) -> Array:
        """Logarithms of ratios to the row's own class."""
        moved: Array = self.start + shifts - shifts[self.y][:, None]
        for level in np.flatnonzero(weights):
            moved += weights[level] * self.logs[level]
        return moved


@dataclass(frozen=True)
class Drawn:
    """The codes of the rows that weights are fitted on, in an order that no engine decides."""

    codes: Sequence[Array]
    part: RowBlock

    @staticmethod
    def of(session: Session, rows: Encoded) -> Drawn:
        """All of some rows."""
        codes, w = read_codes(session, rows, range(rows.n_attributes))
        # Halves must not depend on the order in which an engine gives rows.
        order = np.lexsort([w, *codes] if rows.weighted else codes)
        order = order[np.random.default_rng(0).permutation(len(order))]
        codes, w = [column[order] for column in codes], w[order] if rows.weighted else w
        y = codes[-1].astype(np.int64)
        weights = w if rows.weighted else None
        return Drawn(codes, RowBlock.of(range(len(y)), y, weights, rows.importance))

    def within(self, most: int, families: Mapping[int, Sequence[int]], n_classes: int) -> Drawn:
        """The first of them, of which the levels of these families say so many numbers at most."""
        n = max(2, most // max(1, sum(map(len, families.values())) * n_classes))
        return Drawn([codes[:n] for codes in self.codes], self.part.first(n))


def left_out_rows(
    counts: FamilyCounts,
    families: Mapping[int, Sequence[int]],
    class_counts: Sequence[float],
    smoothings: Sequence[Smoothing],
    drawn: Drawn,
    weighting: Weighting = "levels",
) -> list[LeftOutRows]:
    """What the levels of all attributes say of some of the counted rows, by each smoothing.

    Where attributes get weights only the last levels of their chains.
    """
    threads, part = max(1, counts.workspace.session.threads), drawn.part
    levels = {i: _levels_of(len(family), weighting) for i, family in families.items()}
    places = np.array([i for i, own in levels.items() for _ in own], dtype=np.int64)
    depths = np.array([depth for own in levels.values() for depth in own], np.int64)
    shape = len(places), *part.shape(len(class_counts))
    # In half the memory: the weights have fewer digits.
    logs = [np.empty(shape, np.float32) for _ in smoothings]
    most = counts.limits.strength_cells

    def fill(position: int, cells: CountedCells) -> None:
        own, family = places == position, families[position]
        chain = cells.chain(smoothings[0], n_levels=len(family))
        found = cells_of_rows(chain, family, drawn.codes)
        for smoothing, into in zip(smoothings, logs, strict=True):
            told = into[_stretch(own)], levels[position]
            _fill_levels(*told, chain.smoothed(smoothing), found, part, most)

    jobs = (partial(fill, position, SeenChain.cells_of(counts, position)) for position in families)
    for _ in ahead(threads, jobs):
        pass
    w = np.ones(len(part.y)) if part.w is None else part.w
    last = np.append(places[1:] != places[:-1], len(places) > 0)[: len(places)].astype(float)
    starts = [prior_logs(np.asarray(class_counts, float), s, part) for s in smoothings]
    return [
        LeftOutRows(found, start, part.y, w, places, depths, last, threads)
        for found, start in zip(logs, starts, strict=True)
    ]


def _levels_of(n: int, weighting: Weighting) -> range:
    """The levels of a chain that get weights."""
    return range(n) if weighting == "levels" else range(n - 1, n)


def _stretch(is_in: Array) -> slice:
    at = np.flatnonzero(is_in)
    return slice(int(at[0]), int(at[-1]) + 1)


def _fill_levels(
    logs: Array,
    levels: range,
    chain: SeenChain,
    found: Sequence[RowCells],
    part: RowBlock,
    strength_cells: int,
) -> None:
    """What each level of one attribute says of the rows."""
    strengths = chain.strengths(strength_cells) if chain.smoothing.is_hierarchical else ()
    for level in levels_of_rows(chain, strengths, found, part):
        if level.depth in levels:
            logs[level.depth - levels.start] = level.against_own(part)


# -- the fit -------------------------------------------------------------------------------------


def fit_shape(rows: LeftOutRows, pull: float) -> tuple[Array, Array]:
    """Weights and shifts of the highest likelihood, weights not below 0.

    A quasi-Newton method (L-BFGS): the second derivatives of hundreds of weights take longer than
    all its steps. What is held at 0 does not move.
    """
    likelihood = _Likelihood(rows, pull)
    try:
        with one_blas_thread():
            theta = _highest(likelihood, _GAIN * float(rows.w.sum()))
    finally:
        likelihood.close()
    found, n_levels = np.round(theta, _DECIMALS) + 0.0, len(rows.logs)
    return found[:n_levels], np.append(0.0, found[n_levels:])


def _highest(likelihood: _Likelihood, enough: float) -> Array:
    """Where the likelihood is highest; until a step gains less than is enough."""
    theta, least = likelihood.centre.copy(), likelihood.least
    value, slopes = likelihood.at(theta)
    scale, known = 1 / likelihood.curvature(theta), deque[tuple[Array, Array]](maxlen=_REMEMBERED)
    for _ in range(_STEPS):
        free = ~((theta <= least) & (slopes > 0))
        step = np.where(free, -_turned(slopes, free, scale, known), 0.0)
        moved = _shorter(likelihood, theta, step, value, slopes)
        if moved is None and known:  # what was remembered misleads: down the slope
            known.clear()
            moved = _shorter(likelihood, theta, -scale * slopes * free, value, slopes)
        if moved is None:
            break
        change, (less, now) = moved[0] - theta, moved[1]
        if change @ (now - slopes) > 0:
            known.append((change, now - slopes))
        gained, theta, value, slopes = value - less, moved[0], less, now
        if gained < enough:
            break
    return theta


def _turned(
    slopes: Array, free: Array, scale: Array, known: Sequence[tuple[Array, Array]]
) -> Array:
    """The slopes of what is free times the inverse curvature that the last steps tell of."""
    found, done = slopes * free, list[tuple[Array, Array, float, float]]()
    first = 1.0
    for change, bend in reversed(known):
        change, bend = change * free, bend * free
        both = float(change @ bend)
        if both > 0:
            share = float(change @ found) / both
            found = found - share * bend
            if not done:
                first = both / float(bend @ (scale * bend))
            done.append((change, bend, both, share))
    found = found * (first * scale)
    for change, bend, both, share in reversed(done):
        found = found + change * (share - float(bend @ found) / both)
    return found


def _shorter(
    likelihood: _Likelihood, theta: Array, step: Array, value: float, slopes: Array
) -> tuple[Array, tuple[float, Array]] | None:
    """The whole step, or the first of its halves that is better, with what is found there.

    None where none is better.
    """
    share = 1.0
    while share > _SHORTEST:
        tried = np.maximum(theta + share * step, likelihood.least)
        found = likelihood.at(tried)
        if found[0] < value + _WORTH * min(0.0, float(slopes @ (tried - theta))):
            return tried, found
        share /= 2
    return None


class _Likelihood:
    """The negative log-likelihood of the rows with its pull, for weights and all shifts but one.

    Some rows at a time: what the levels say of them stays in the cache for both looks at it.
    """

    def __init__(self, rows: LeftOutRows, pull: float) -> None:
        n_levels, n_classes = len(rows.logs), rows.start.shape[1]
        self._rows, self._pull = rows, pull
        self.centre = np.append(rows.centre, np.zeros(n_classes - 1))
        self.least = np.append(np.zeros(n_levels), np.full(n_classes - 1, -np.inf))
        together = max(1, Limits.weight_block // (n_classes * max(n_levels, 1)))
        blocks = in_blocks(range(len(rows.y)), together)
        self._blocks = [slice(block[0], block[-1] + 1) for block in blocks if len(block)]
        # What one thread adds up by itself: the same for any number of threads.
        together = -(-len(self._blocks) // Limits.weight_units)
        self._units = [
            self._blocks[at : at + together] for at in range(0, len(self._blocks), together or 1)
        ]
        is_small = len(self._units) < Limits.weight_units or rows.threads < 2
        self._pool = None if is_small else ThreadPoolExecutor(rows.threads)

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()

    def at(self, theta: Array) -> tuple[float, Array]:
        """The value, and its slopes."""
        away = theta - self.centre
        value, slopes = self._pull / 2 * float(away @ away), self._pull * away

        def added(unit: Sequence[slice]) -> tuple[float, Array]:
            some, sums = 0.0, np.zeros(len(theta))
            for logs, p, y, w, loss in self._looks(theta, unit):
                some += dot(w, loss)
                found = p * w
                found[y, np.arange(len(y))] -= w
                by_row = np.ascontiguousarray(found.T, np.float32)
                sums[: len(logs)] += logs.reshape(len(logs), by_row.size) @ by_row.reshape(-1)
                sums[len(logs) :] += found.sum(axis=1)[1:]
            return some, sums

        spread = map if self._pool is None else self._pool.map
        for some, sums in spread(added, self._units):
            value, slopes = value + some, slopes + sums
        return value, slopes

    def curvature(self, theta: Array) -> Array:
        """The second derivative of each by itself."""
        second = np.full(len(theta), self._pull)
        for logs, p, _, w, _ in self._looks(theta, self._blocks):
            by_row = np.ascontiguousarray(p.T, np.float32)
            weighted = logs * by_row
            means = np.einsum("fnc->fn", weighted)
            squares = np.einsum("fnc,fnc->fn", weighted, logs)
            second[: len(logs)] += np.einsum("fn,n->f", squares - means**2, w)
            second[len(logs) :] += ((p - p**2) * w).sum(axis=1)[1:]
        return second

    def _looks(
        self, theta: Array, blocks: Sequence[slice]
    ) -> Iterator[tuple[Array, Array, Array, Array, Array]]:
        """Of each block what its levels say, probabilities, classes, weights, losses.

        Levels are added up as the short numbers that they are: twice as fast. Probabilities have a
        row a class, for numpy is slow along a short last axis.
        """
        rows, n_levels = self._rows, len(self._rows.logs)
        shifts, by_level = np.append(0.0, theta[n_levels:]), theta[:n_levels].astype(np.float32)
        for block in blocks:
            logs, y = rows.logs[:, block], rows.y[block]
            start = rows.start[block]
            said = start + (by_level @ logs.reshape(len(logs), start.size)).reshape(start.shape)
            scores = np.ascontiguousarray(said.T) + shifts[:, None] - shifts[y]
            top = scores.max(axis=0)
            ratios = np.exp(scores - top)
            total = ratios.sum(axis=0)
            yield logs, ratios / total, y, rows.w[block], np.log(total) + top


# -- the choice ----------------------------------------------------------------------------------


def choose_weights(
    rows: LeftOutRows, asked: Sequence[Weighting], loss: Loss, pull: float, depths: Sequence[int]
) -> WeightsChoice:
    """The best of what was asked for, by rows that the weights were not fitted on.

    Each half of the rows is weighed by what the other half says. Of several numbers of parents the
    deepest comes first, until fewer are worse.
    """
    tried = list[WeightsChoice]()
    for depth in sorted(depths, reverse=True):
        part = rows.up_to(depth)
        found = {
            how: crossed_losses(part, _levels_used(part, how), how, loss, pull) for how in asked
        }
        ranks = {how: rank_of(losses, loss) for how, losses in found.items()}
        best = min(asked, key=ranks.__getitem__)
        losses = {how: values[loss] for how, values in found.items()}
        tried.append(WeightsChoice(best, depth, losses, ranks[best]))
        if ranks[best] > min(choice.rank for choice in tried):
            break
    return min(tried, key=lambda choice: (choice.rank, choice.depth))


def compared_by(loss: Loss) -> str:
    """The same in words."""
    return "rmse times log loss" if loss == "rmse" else loss


def chosen_weights(rows: LeftOutRows, choice: WeightsChoice, limits: Limits) -> LevelWeights:
    """The weights that were chosen, fitted on as many of the rows as tell enough.

    The rows have the levels that get weights.
    """
    part = rows.within(limits.weight_fitted_values)
    weights, shifts = _fitted(part, choice.weighting, limits.weight_pull)
    ends = rows.deepest
    levels = {
        int(place): [0.0] * (1 + int(depth))
        for place, depth in zip(rows.places[ends], rows.depths[ends], strict=True)
    }
    for place, depth, weight in zip(part.places, part.depths, weights, strict=True):
        levels[int(place)][int(depth)] = float(weight)
    by_place = {place: tuple(own) for place, own in sorted(levels.items())}
    return LevelWeights(choice, by_place, tuple(map(float, shifts)))


def _levels_used(rows: LeftOutRows, weighting: Weighting) -> Array:
    return np.ones(len(rows.places), bool) if weighting == "levels" else rows.deepest


def rank_of(losses: Mapping[Loss, float], loss: Loss) -> float:
    """What is compared, smaller is better. RMSE, the usual loss, counts as much as log loss does.

    Weights are fitted by likelihood: they mend probabilities that are too sure of themselves,
    which RMSE hardly sees.
    """
    value = losses["rmse"] * losses["log_loss"] if loss == "rmse" else losses[loss]
    return round(-value if loss == "mcc" else value, DECIMALS)


def _fitted(rows: LeftOutRows, weighting: Weighting, pull: float) -> tuple[Array, Array]:
    if weighting == "none":
        return rows.deepest.astype(float), np.zeros(rows.start.shape[1])
    return fit_shape(rows, pull)


def crossed_losses(
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
    asked: Sequence[Weighting],
    loss: Loss,
    encoded: Encoded | None = None,
    is_compared: bool = False,
) -> LevelWeights:
    """Weights of a product of these families, which are counted, from a sample of its rows."""
    session, encoded = counts.workspace.session, encoded or counts.encoded
    limits = session.limits
    rows = sampled(session, encoded, weighed_rows(counts, sum(map(len, families.values()))))
    try:
        drawn = Drawn.of(session, rows)
    finally:
        if rows is not encoded:
            discard(session, rows)
    depth = max((len(family) - 1 for family in families.values()), default=0)
    choice = WeightsChoice(asked[0], depth, {})
    if len(asked) > 1 or is_compared:
        few = drawn.within(limits.weight_compared_values, families, counts.n_classes)
        (rows_left,) = left_out_rows(counts, families, class_counts, [smoothing], few)
        choice = choose_weights(rows_left, asked, loss, limits.weight_pull, [depth])
    if choice.weighting == "none":
        return LevelWeights(choice, {}, ())
    how = choice.weighting
    (rows_left,) = left_out_rows(counts, families, class_counts, [smoothing], drawn, how)
    return chosen_weights(rows_left, choice, limits)


def weighed_rows(counts: FamilyCounts, n_levels: int) -> int:
    """How many rows so many weights can be fitted on."""
    session, n_classes = counts.workspace.session, counts.n_classes
    values = (n_levels + n_classes) * n_classes
    return max(1, min(session.limits.weight_rows, weight_room(session) // values))


def weight_room(session: Session) -> int:
    """How many numbers of left-out rows may be held at once."""
    limits = session.limits
    return min(limits.weight_values, int(limits.weight_share * session.memory_bytes / 4))
