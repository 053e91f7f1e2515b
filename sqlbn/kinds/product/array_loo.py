"""Leave-one-out in arrays: the losses of product_loo.py without a query an attribute.

For few rows, and for many classes: planning queries takes longer than running them there. Row by
row and class by class, with the row itself left out; some rows at a time. New rows, which are not
among the counted, are scored in the same way with nothing left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import read_codes
from sqlbn.engines import Session
from sqlbn.engines.limits import in_blocks
from sqlbn.engines.relations import Encoded
from sqlbn.errors import OutOfMemoryError, opt
from sqlbn.kinds.estimates import Chain, MEstimate, Smoothing, mixed
from sqlbn.kinds.losses import LEAST_PROBABILITY, TIE, Loss, finished, matthews
from sqlbn.kinds.product.seen_chain import numbered, present_keys, strengths_in_turn
from sqlbn.kinds.row_sums import dot

Array = npt.NDArray[Any]


class RowShares:
    """What rows say of their classes: `logs` are those of ratios to the row's own, which is 0."""

    def __init__(self, logs: Array, y: Array) -> None:
        by_class = np.ascontiguousarray(logs.T)  # numpy is slow along a short last axis
        self.y, self._top = y, by_class.max(axis=0)
        self._logs = logs
        self._ratios = np.exp(by_class - self._top)
        self._total, self._own = self._ratios.sum(axis=0), np.exp(-self._top)

    def own_logs(self) -> Array:
        """The logarithms, to be kept: they may be added to later."""
        return self._logs.copy()

    @property
    def predicted(self) -> Array:
        """The class that has the most; ties go to the lowest code."""
        found: Array = (self._ratios >= 1.0 - TIE).argmax(axis=0)
        return found

    def losses(self, loss: Loss) -> Array:
        """What every row adds to a loss that is a mean (`rmse`: to the mean square)."""
        p = self._own / self._total
        if loss == "rmse":
            found: Array = np.square(1.0 - p)
        elif loss == "log_loss":
            found = np.minimum(np.log(self._total) + self._top, -math.log(LEAST_PROBABILITY))
        elif loss == "brier":
            others = np.square(self._ratios / self._total).sum(axis=0) - np.square(p)
            found = others + np.square(1.0 - p)
        else:
            found = (self.predicted != self.y).astype(float)
        return found


class ArrayLosses:
    """Sums over rows for every loss, k' and prefix of the attributes."""

    def __init__(self, losses: Sequence[Loss], n_ks: int, n_prefixes: int, n_classes: int) -> None:
        self._losses, self._shape = losses, (n_ks, n_prefixes)
        self._sums: dict[Loss, Array] = {loss: np.zeros(self._shape) for loss in losses}
        self._weights = np.zeros(self._shape)
        matrix = (n_classes, n_classes) if "mcc" in losses else (0, 0)
        self._confusion = np.zeros((*self._shape, *matrix))

    def add(self, k: int, prefix: int, logs: Array, y: Array, w: Array | None) -> None:
        """Some rows: the logarithms of their classes' ratios to their own, which is 0."""
        self.add_shares(k, prefix, RowShares(logs, y), w)

    def add_shares(self, k: int, prefix: int, shares: RowShares, w: Array | None) -> None:
        """Some rows, and what they say of their classes."""
        y = shares.y
        weights = np.ones(len(y)) if w is None else w
        self._weights[k, prefix] += weights.sum()
        for loss in self._losses:
            if loss == "mcc":
                np.add.at(self._confusion[k, prefix], (y, shares.predicted), weights)
            else:
                self._sums[loss][k, prefix] += dot(shares.losses(loss), weights)

    def losses(self, n_ks: int) -> dict[Loss, Array]:
        """Every loss of the first k', by prefix; 0 where nothing was added."""
        found: dict[Loss, Array] = {}
        for loss in self._losses:
            values = np.zeros((n_ks, self._shape[1]))
            for at in zip(*np.nonzero(self._weights[:n_ks]), strict=True):
                if loss == "mcc":
                    values[at] = matthews(self._confusion[at].tolist())
                else:
                    values[at] = finished(
                        loss, float(self._sums[loss][at]), float(self._weights[at])
                    )
            found[loss] = values
        return found


def suits_arrays(encoded: Encoded) -> bool:
    """Whether rows are few enough."""
    estimates = encoded.rows * encoded.cards[-1] * max(encoded.n_attributes, 1)
    return estimates <= encoded.limits.loo_array_estimates


def array_bytes(encoded: Encoded, families: Mapping[int, Sequence[int]]) -> int:
    """What the cells of all rows take."""
    return encoded.rows * sum(map(len, families.values())) * encoded.limits.loo_array_cell_bytes


def array_room(session: Session) -> float:
    """What they may take."""
    return session.limits.loo_array_share * session.memory_bytes


def check_memory(session: Session, encoded: Encoded, families: Mapping[int, Sequence[int]]) -> None:
    """An error where the cells of all rows would not fit into memory."""
    needed, room = array_bytes(encoded, families), array_room(session)
    if needed > room:
        raise OutOfMemoryError(
            f"leave-one-out of {encoded.rows:,} rows with {encoded.cards[-1]:,} classes takes "
            f"{needed / 1e6:,.0f} MB, and may take {room / 1e6:,.0f} MB: raise "
            f"{opt('memory_limit')}, use nb or kdb ({opt('learner')}), a smaller {opt('kmax')}, "
            f"fewer rows ({opt('where')}), or put rare classes together ({opt('query')})"
        )


class ArrayLoo:
    """Losses of KDB models over the first attributes of an order, for rising k'.

    Of all rows, or of `sample`. With `only_whole` those of the models with all attributes. `others`
    are new rows that a model of the counted ones is to be tried on.
    """

    def __init__(
        self,
        session: Session,
        encoded: Encoded,
        families: Mapping[int, Sequence[int]],
        order: Sequence[int],
        class_counts: Sequence[float],
        smoothing: Smoothing,
        losses: Sequence[Loss] = ("rmse",),
        sample: Encoded | None = None,
        only_whole: bool = False,
        chains: Mapping[int, Chain] | None = None,
        others: Encoded | None = None,
    ) -> None:
        self._families, self._order, self._cards = families, order, encoded.cards
        # The code of a value that no counted row has is behind the others.
        self._radices = [card + (others is not None) for card in encoded.cards]
        self.limits = session.limits
        self._smoothing = smoothing
        self._n_classes, self._losses, self._only_whole = len(class_counts), losses, only_whole
        check_memory(session, encoded, families)
        tables = [encoded] if sample is None or sample is encoded else [encoded, sample]
        used = sorted({v for family in families.values() for v in family})
        found = [read_codes(session, table, used) for table in tables]
        n_left_out = len(found[-1][0][-1])
        if others is not None:
            found.append(_of_known_classes(*read_codes(session, others, used), len(class_counts)))
        joined = [np.concatenate(part) for part in zip(*(f[0] for f in found), strict=True)]
        self._codes = dict(zip(used, joined[:-1], strict=True))
        self._y = joined[-1].astype(np.int64)
        self._w = np.concatenate([f[1] for f in found]) if encoded.weighted else None
        # The rows of a sample come after those that are counted, new ones at the end.
        n = len(self._y)
        self._new = range(n - len(found[-1][0][-1]) if others is not None else n, n)
        self._left_out = range(self._new.start - n_left_out, self._new.start)
        self._counted = range(len(found[0][0][-1]))
        self._importance = encoded.importance
        self._class_counts = np.asarray(class_counts, float)
        self._cells: dict[tuple[int, int], Cells] = {}
        self._strengths: dict[int, list[float]] = {}
        if chains is not None:
            self._strengths = {i: list(chain.strengths) for i, chain in chains.items()}
        self._further: dict[int, Iterator[float]] = {}

    def _strength(self, position: int, depth: int) -> float:
        """That of a level with parents, where levels are mixed; from the rows that are counted."""
        found = self._strengths.setdefault(position, [])
        while len(found) < depth:
            if position not in self._further:
                estimate = self._smoothing.of(self._cards[position])
                family = range(len(self._families[position]))
                levels = (self._level_counts(position, at) for at in family)
                most = self.limits.strength_cells
                self._further[position] = strengths_in_turn(levels, estimate, most)
            found.append(next(self._further[position]))
        return found[depth - 1]

    def _level_counts(self, position: int, depth: int) -> tuple[Array, Array, Array]:
        """Of every cell of a level its counts, those of its parents' values, its cell above."""
        cells = self._cells_at(position, depth)
        present, row = present_keys(cells.numbers)[:2]
        lower = self._cells_at(position, max(depth - 1, 0)).numbers[row]
        return cells.counts.of(present), cells.around.of(cells.parents[row]), lower

    def surface(
        self,
        ks: Sequence[int],
        advance: Callable[[], None] = lambda: None,
        is_enough: Callable[[dict[Loss, Array]], bool] | None = None,
    ) -> dict[Loss, Array]:
        """For each loss an array (k' in the order of `ks`, number of attributes); see LeaveOneOut.

        Where all rows are looked at together, `is_enough` saves the greater k'.
        """
        sums = ArrayLosses(self._losses, len(ks), len(self._order) + 1, self._n_classes)
        width = self._n_classes * max(len(self._order), 1)
        blocks = in_blocks(self._left_out, max(1, self.limits.loo_array_estimates // width))
        done = 0
        for block in blocks:
            part = RowBlock.of(block, self._y, self._w, self._importance)
            levels: dict[int, Level] = {}
            for at, k in enumerate(ks):
                self._losses_at(k, at, part, levels, sums)
                done += 1
                if done % len(blocks) == 0:  # as many steps as there are k'
                    advance()
                if len(blocks) == 1 and is_enough is not None and is_enough(sums.losses(at + 1)):
                    return sums.losses(at + 1)
        for n in range(1, len(ks)):
            if is_enough is not None and is_enough(sums.losses(n)):
                return sums.losses(n)
        return sums.losses(len(ks))

    def prior_of(self, part: RowBlock) -> Array:
        """What the classes' shares say of some rows."""
        return prior_logs(self._class_counts, self._smoothing, part)

    def left_out_logs(self, k: int, place: str) -> tuple[Array, Array, Array | None]:
        """ln of the classes' ratios to a row's own after all attributes; rows as they were read."""
        width = self._n_classes * max(len(self._order), 1)
        found = []
        for block in in_blocks(self._left_out, max(1, self.limits.loo_array_estimates // width)):
            part = RowBlock.of(block, self._y, self._w, self._importance)
            logs, levels = self.prior_of(part), dict[int, Level]()
            for position in self._order:
                depth = min(k, len(self._families[position]) - 1)
                logs += self._level(position, depth, part, levels).against_own(part)
            found.append(logs)
        rows = np.arange(self._left_out.start, self._left_out.stop)
        weights = None if self._w is None else self._w[rows]
        return np.concatenate(found), self._y[rows], weights

    def new_loss(self, k: int, n_attributes: int, loss: Loss) -> float:
        """The loss of new rows under a model of the counted ones; NaN where there is none."""
        sums = ArrayLosses([loss], 1, 1, self._n_classes)
        width = self._n_classes * max(n_attributes, 1)
        for block in in_blocks(self._new, max(1, self.limits.loo_array_estimates // width)):
            part = RowBlock.of_new(block, self._y, self._w)
            logs, levels = self.prior_of(part), dict[int, Level]()
            for position in self._order[:n_attributes]:
                depth = min(k, len(self._families[position]) - 1)
                logs += self._level(position, depth, part, levels).against_own(part)
            sums.add(0, 0, logs, part.y, part.w)
        return float(sums.losses(1)[loss][0, 0]) if self._new else math.nan

    def _losses_at(
        self, k: int, at: int, part: RowBlock, levels: dict[int, Level], sums: ArrayLosses
    ) -> None:
        logs = prior_logs(self._class_counts, self._smoothing, part)
        if not self._only_whole or not self._order:
            sums.add(at, 0, logs, part.y, part.w)
        for place, position in enumerate(self._order, 1):
            depth = min(k, len(self._families[position]) - 1)
            logs += self._level(position, depth, part, levels).against_own(part)
            if not self._only_whole or place == len(self._order):
                sums.add(at, place, logs, part.y, part.w)

    def _level(self, position: int, depth: int, part: RowBlock, levels: dict[int, Level]) -> Level:
        """The estimates of an attribute with its first parents; those with fewer come first."""
        known = levels.get(position)
        if known is None:
            known = self._deeper(position, part, None)
        while known.depth < depth:
            known = self._deeper(position, part, known)
        levels[position] = known
        return known

    def _deeper(self, position: int, part: RowBlock, before: Level | None) -> Level:
        depth = 0 if before is None else before.depth + 1
        cells = self._cells_at(position, depth)
        estimate = self._smoothing.of(self._cards[position])
        # What a class says is the same for all rows of a cell, but for the row's own class.
        first, places, cell = present_keys(cells.numbers[part.rows])
        inside = cells.counts.of(first)
        around = cells.around.of(cells.parents[part.rows][places])
        is_mixed = self._smoothing.is_hierarchical and depth
        strength = self._strength(position, depth) if is_mixed else 0.0
        return next_level(
            self._smoothing, estimate, strength, inside, around, places, cell, part, before
        )

    def _cells_at(self, position: int, depth: int) -> Cells:
        """The cells of an attribute with its first parents, and what is counted in them."""
        if (position, depth) not in self._cells:
            if depth == 0:
                parents = np.zeros(len(self._y), dtype=np.int64)
            else:
                parent = self._families[position][depth]
                above = self._cells_at(position, depth - 1).parents.astype(np.int64)
                parents = numbered(above * self._radices[parent] + self._codes[parent])
            numbers = numbered(parents * self._radices[position] + self._codes[position])
            counts = self._counts(numbers), self._counts(parents)
            self._cells[position, depth] = Cells(_short(numbers), _short(parents), *counts)
        return self._cells[position, depth]

    def _counts(self, cells: Array) -> ClassCounts | WholeCounts:
        n, c = self._counted.stop, self._n_classes
        weights = None if self._w is None else self._w[:n]
        n_cells = int(cells.max(initial=-1)) + 1
        if n_cells * c <= 2 * n:  # as small as what there is of each class, and looked up sooner
            whole = np.bincount(cells[:n] * c + self._y[:n], weights, n_cells * c).astype(float)
            return WholeCounts(whole.reshape(n_cells, c))
        keys, _, places = present_keys(cells[:n] * c + self._y[:n])
        counts = np.bincount(places, weights, minlength=len(keys)).astype(float)
        starts = np.append(0, np.cumsum(np.bincount(keys // c, minlength=n_cells)))
        return ClassCounts(starts, _short(keys % c), counts, c)


@dataclass(frozen=True)
class ClassCounts:
    """How often each class is in each cell; cell i has the places from `starts[i]` on."""

    starts: Array
    classes: Array
    counts: Array
    n_classes: int

    def of(self, cells: Array) -> Array:
        """Some cells, a column a class."""
        starts, found = self.starts[cells], np.zeros((len(cells), self.n_classes))
        lengths = self.starts[cells + 1] - starts
        rows = np.repeat(np.arange(len(cells)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = np.repeat(starts, lengths) + within
        found[rows, self.classes[places]] = self.counts[places]
        return found


@dataclass(frozen=True)
class WholeCounts:
    """The same as a table of all cells and classes."""

    counts: Array

    def of(self, cells: Array) -> Array:
        """Some cells, a column a class."""
        found: Array = self.counts[cells]
        return found


@dataclass(frozen=True)
class Cells:
    """For every row its cell, and that of its parents' values; the classes in all cells."""

    numbers: Array
    parents: Array
    counts: ClassCounts | WholeCounts
    around: ClassCounts | WholeCounts


@dataclass(frozen=True)
class RowBlock:
    """Some rows: their classes, weights, and what leaving one out takes from its class.

    `is_new`: they are not among the counted rows, and nothing is taken.
    """

    rows: Array
    y: Array
    w: Array | None
    out: Array | float
    is_new: bool = False

    @staticmethod
    def of(rows: Sequence[int], y: Array, w: Array | None, importance: bool) -> RowBlock:
        """Some of all rows."""
        at = np.asarray(rows)
        weights = None if w is None else w[at]
        return RowBlock(at, y[at], weights, 1.0 if weights is None or not importance else weights)

    @staticmethod
    def of_new(rows: Sequence[int], y: Array, w: Array | None) -> RowBlock:
        """Some rows that are not counted."""
        at = np.asarray(rows)
        return RowBlock(at, y[at], None if w is None else w[at], 0.0, is_new=True)

    def at(self, places: Array | slice) -> RowBlock:
        """Some of them."""
        w = None if self.w is None else self.w[places]
        out = self.out[places] if isinstance(self.out, np.ndarray) else self.out
        return replace(self, rows=self.rows[places], y=self.y[places], w=w, out=out)

    def first(self, n: int) -> RowBlock:
        """The first of them."""
        return self.at(slice(0, n))

    def shape(self, n_classes: int) -> tuple[int, int]:
        """A number for every row and class."""
        return len(self.rows), n_classes

    def others(self, counts: Array, places: Array) -> Array:
        """Whether there is more in a cell than the row itself; a place of each cell is given.

        What is true of one of its rows is true of all: either there is another class, or another
        row of the same.
        """
        own = counts[np.arange(len(places)), self.y[places]]
        out = self.out[places] if isinstance(self.out, np.ndarray) else self.out
        # By class: a difference of sums would not be exact.
        found: Array = (np.count_nonzero(counts, axis=1) > (own > 0)) | (own - out > 0)
        return found

    def goes_by_parents(self, smoothing: Smoothing) -> bool:
        """Whether back-off asks for the parents' values only, not for the cell."""
        return smoothing.scored_by_parents if self.is_new else smoothing.left_out_by_parents

    def against_own(self, logs: Array, own: Array) -> Array:
        """The logarithms of ratios to the row's class, whose own is given."""
        logs -= own[:, None]
        logs[np.arange(len(own)), self.y] = 0.0
        return logs


@dataclass(frozen=True)
class Level:
    """One attribute with some of its parents: P(x | parents, class) of rows that are left out.

    What the other classes say is the same for all rows of a cell: `logs` by cell and class, with
    `estimates` where levels are mixed. `cell` is that of each row, `own` what its own class says
    without it, as a logarithm. `is_seen`: whether the value of a cell is one where a row of it is
    left out.
    """

    depth: int
    logs: Array
    estimates: Array | None
    is_seen: Array
    cell: Array
    own: Array

    def against_own(self, part: RowBlock) -> Array:
        """The logarithms of ratios to the row's class."""
        return part.against_own(self.logs[self.cell], self.own)


def prior_logs(class_counts: Array, smoothing: Smoothing, part: RowBlock) -> Array:
    """ln P'(class) / P'(y) of rows that are left out."""
    estimate = smoothing.of(len(class_counts))
    logs = np.broadcast_to(np.log(estimate.above(class_counts)), part.shape(len(class_counts)))
    own = estimate.above(np.maximum(class_counts[part.y] - part.out, 0.0))
    return part.against_own(logs.copy(), np.log(own))


def next_level(
    smoothing: Smoothing,
    estimate: MEstimate,
    strength: float,
    inside: Array,
    around: Array,
    places: Array,
    cell: Array,
    part: RowBlock,
    before: Level | None,
) -> Level:
    """What an attribute with one parent more says of rows that are left out.

    `inside` and `around` are the counts by class of the cells and of their parents' values;
    `places` has a row of each cell, `cell` the cell of each row. `strength` is that of mixing with
    the level `before`.
    """
    n, t, estimates = inside[cell, part.y], around[cell, part.y], None
    if before is None:
        logs, own = np.log(estimate.of(inside, around)), np.log(estimate.left_out(n, t, part.out))
        # A value that only the row itself has says nothing.
        is_seen = part.others(inside, places) | (not smoothing.is_neutral)
        logs[~is_seen], own[~is_seen[cell]] = 0.0, 0.0
        return Level(
            0, logs, np.exp(logs) if smoothing.is_hierarchical else None, is_seen, cell, own
        )
    above = before.cell[places]
    is_seen = used = before.is_seen[above]
    if smoothing.is_hierarchical:
        assert before.estimates is not None
        left = np.maximum(n - part.out, 0.0), np.maximum(t - part.out, 0.0)
        estimates = mixed(inside, around, strength, before.estimates[above])
        logs, own = np.log(estimates), np.log(mixed(*left, strength, np.exp(before.own)))
    else:
        logs, own = np.log(estimate.of(inside, around)), np.log(estimate.left_out(n, t, part.out))
        by_parents = part.goes_by_parents(smoothing)
        used = part.others(around if by_parents else inside, places) & is_seen
    back = np.flatnonzero(~used)
    logs[back] = before.logs[above[back]]
    own = np.where(used[cell], own, before.own)
    return Level(before.depth + 1, logs, estimates, is_seen, cell, own)


def _of_known_classes(codes: list[Array], w: Array, n_classes: int) -> tuple[list[Array], Array]:
    """Without rows of a class that no counted row has: there is no loss of them."""
    known = codes[-1] < n_classes
    return [column[known] for column in codes], w[known] if len(w) else w


def _short(numbers: Array) -> Array:
    """Half the memory: there are fewer rows than 2^31."""
    return numbers.astype(np.int32)
