"""Leave-one-out in arrays: the losses of product_loo.py without a query an attribute.

For few rows, and for many classes: planning queries takes longer than running them there. Row by
row and class by class, with the row itself left out; some rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines import Session
from sqlbn.engines.limits import in_blocks
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.errors import OutOfMemoryError, opt
from sqlbn.kinds.estimates import PLAIN, Chain, MEstimate, Smoothing, mixed
from sqlbn.kinds.losses import LEAST_PROBABILITY, TIE, Loss, finished, matthews
from sqlbn.kinds.product.seen_chain import SeenChain

Array = npt.NDArray[Any]


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
        weights = np.ones(len(y)) if w is None else w
        self._weights[k, prefix] += weights.sum()
        top = logs.max(axis=1)
        ratios = np.exp(logs - top[:, None])
        total, own = ratios.sum(axis=1), np.exp(-top)
        for loss in self._losses:
            if loss == "rmse":
                values = np.square(1.0 - own / total)
            elif loss == "log_loss":
                values = np.minimum(np.log(total) + top, -math.log(LEAST_PROBABILITY))
            elif loss == "brier":
                shares = ratios / total[:, None]
                p = own / total
                values = np.square(shares).sum(axis=1) - np.square(p) + np.square(1.0 - p)
            else:
                predicted = (ratios >= 1.0 - TIE).argmax(axis=1)
                values = predicted != y
                if loss == "mcc":
                    np.add.at(self._confusion[k, prefix], (y, predicted), weights)
            self._sums[loss][k, prefix] += float(values @ weights)

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


def needs_arrays(session: Session, encoded: Encoded) -> bool:
    """Whether classes are too many for queries, which have an expression for each and attribute.

    The more rows, the less planning matters: both take some 6 ns an estimate, but queries 2 ms and
    more to plan a class and attribute (300 classes, 3 attributes: 8 s), and have all threads.
    """
    asked = encoded.cards[-1] * min(encoded.n_attributes, session.row_engine.joins_at_once)
    least, most = session.limits.loo_lookups
    return asked > min(max(least, encoded.rows // 40), most)


def check_memory(session: Session, encoded: Encoded, families: Mapping[int, Sequence[int]]) -> None:
    """An error where the cells of all rows would not fit into memory."""
    needed = encoded.rows * sum(map(len, families.values())) * session.limits.loo_array_cell_bytes
    if needed > session.limits.loo_array_share * session.memory_bytes:
        raise OutOfMemoryError(
            f"leave-one-out of {encoded.rows:,} rows with {encoded.cards[-1]:,} classes takes "
            f"{needed / 2**30:.1f} GB: use nb or kdb ({opt('learner')}), a smaller "
            f"{opt('kmax')}, fewer rows "
            f"({opt('where')}), or put rare classes together ({opt('query')})"
        )


class ArrayLoo:
    """Losses of KDB models over the first attributes of an order, for rising k'.

    Of all rows, or of `sample`. With `only_whole` those of the models with all attributes.
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
    ) -> None:
        self._families, self._order, self._cards = families, order, encoded.cards
        self.limits = session.limits
        self._smoothing = smoothing
        self._n_classes, self._losses, self._only_whole = len(class_counts), losses, only_whole
        check_memory(session, encoded, families)
        tables = [encoded] if sample is None or sample is encoded else [encoded, sample]
        found = [read_codes(session, table) for table in tables]
        self._codes = [np.concatenate(parts) for parts in zip(*(f[0] for f in found), strict=True)]
        self._y = self._codes[-1].astype(np.int64)
        self._w = np.concatenate([f[1] for f in found]) if encoded.weighted else None
        # The rows of a sample come after those that are counted.
        n = len(self._y)
        self._left_out = range(n - len(found[-1][0][-1]), n)
        self._counted = range(len(found[0][0][-1]))
        self._importance = encoded.importance
        self._class_counts = np.asarray(class_counts, float)
        self._cells: dict[tuple[int, int], Cells] = {}
        self._chains = chains if chains is not None else self._found_chains()

    def _found_chains(self) -> dict[int, Chain]:
        """The chains of all attributes, from the rows that are counted."""
        if not self._smoothing.is_hierarchical:
            return dict.fromkeys(self._families, PLAIN)
        n, found = self._counted.stop, {}
        for position, family in self._families.items():
            cells = self._cells_at(position, len(family) - 1)
            first = np.unique(cells.numbers[:n], return_index=True)[1]
            codes = [self._codes[v][first].astype(np.int64) for v in family]
            order = np.lexsort(codes[::-1])
            counts = cells.counts.of(cells.numbers[first][order])
            seen = SeenChain(
                [c[order] for c in codes],
                counts,
                [self._cards[v] for v in family],
                [()] * len(family),
                self._smoothing,
            )
            found[position] = Chain(seen.strengths(self.limits.strength_cells))
        return found

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
                logs += self._level(position, depth, part, levels).against_own
            found.append(logs)
        rows = np.arange(self._left_out.start, self._left_out.stop)
        weights = None if self._w is None else self._w[rows]
        return np.concatenate(found), self._y[rows], weights

    def _losses_at(
        self, k: int, at: int, part: RowBlock, levels: dict[int, Level], sums: ArrayLosses
    ) -> None:
        logs = prior_logs(self._class_counts, self._smoothing, part)
        if not self._only_whole or not self._order:
            sums.add(at, 0, logs, part.y, part.w)
        for place, position in enumerate(self._order, 1):
            depth = min(k, len(self._families[position]) - 1)
            logs += self._level(position, depth, part, levels).against_own
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
        first, at, inverse = np.unique(
            cells.numbers[part.rows], return_index=True, return_inverse=True
        )
        inside = cells.counts.of(first)
        around = cells.around.of(cells.parents[part.rows][at])
        is_mixed = self._smoothing.is_hierarchical and depth
        strength = self._chains[position].strengths[depth - 1] if is_mixed else 0.0
        return next_level(
            self._smoothing, estimate, strength, inside, around, inverse, part, before
        )

    def _cells_at(self, position: int, depth: int) -> Cells:
        """The cells of an attribute with its first parents, and what is counted in them."""
        if (position, depth) not in self._cells:
            if depth == 0:
                parents = np.zeros(len(self._y), dtype=np.int64)
            else:
                parent = self._families[position][depth]
                above = self._cells_at(position, depth - 1).parents.astype(np.int64)
                parents = _numbered(above * self._cards[parent] + self._codes[parent])
            numbers = _numbered(parents * self._cards[position] + self._codes[position])
            counts = self._counts(numbers), self._counts(parents)
            self._cells[position, depth] = Cells(_short(numbers), _short(parents), *counts)
        return self._cells[position, depth]

    def _counts(self, cells: Array) -> ClassCounts:
        n, c = self._counted.stop, self._n_classes
        keys, places = np.unique(cells[:n] * c + self._y[:n], return_inverse=True)
        weights = None if self._w is None else self._w[:n]
        counts = np.bincount(places, weights, minlength=len(keys)).astype(float)
        n_cells = int(cells.max(initial=-1)) + 1
        starts = np.searchsorted(keys // c, np.arange(n_cells + 1))
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
class Cells:
    """For every row its cell, and that of its parents' values; the classes in all cells."""

    numbers: Array
    parents: Array
    counts: ClassCounts
    around: ClassCounts


@dataclass(frozen=True)
class RowBlock:
    """Some rows: their classes, weights, and what leaving one out takes from its class."""

    rows: Array
    y: Array
    w: Array | None
    out: Array | float

    @staticmethod
    def of(rows: Sequence[int], y: Array, w: Array | None, importance: bool) -> RowBlock:
        """Some of all rows."""
        at = np.asarray(rows)
        weights = None if w is None else w[at]
        return RowBlock(at, y[at], weights, 1.0 if weights is None or not importance else weights)

    def shape(self, n_classes: int) -> tuple[int, int]:
        """A number for every row and class."""
        return len(self.rows), n_classes

    def others(self, counts: Array, inverse: Array, own: Array) -> Array:
        """Whether there is more than the row itself in its cell."""
        # By class: a difference of sums would not be exact.
        present = np.count_nonzero(counts, axis=1)[inverse]
        found: Array = (present > (own > 0)) | (own - self.out > 0)
        return found

    def against_own(self, logs: Array, own: Array) -> Array:
        """The logarithms of ratios to the row's class, whose own is given."""
        logs -= own[:, None]
        logs[np.arange(len(own)), self.y] = 0.0
        return logs


@dataclass(frozen=True)
class Level:
    """One attribute with some of its parents: ln P(x | parents, class), own class apart, ratios.

    `is_seen`: whether the value is one where the row is left out.
    """

    depth: int
    logs: Array
    own: Array
    against_own: Array
    is_seen: Array


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
    inverse: Array,
    part: RowBlock,
    before: Level | None,
) -> Level:
    """What an attribute with one parent more says of rows that are left out.

    `inside` and `around` are the counts by class of the cells and of their parents' values;
    `inverse` is the cell of each row. `strength` is that of mixing with the level `before`.
    """
    depth = 0 if before is None else before.depth + 1
    n, t = inside[inverse, part.y], around[inverse, part.y]
    others = part.others(inside, inverse, n)
    if before is not None and smoothing.is_hierarchical:
        left = np.maximum(n - part.out, 0.0), np.maximum(t - part.out, 0.0)
        logs = np.log(mixed(inside[inverse], around[inverse], strength, np.exp(before.logs)))
        own = np.log(mixed(*left, strength, np.exp(before.own)))
        is_seen, back = before.is_seen, ~before.is_seen
    else:
        logs = np.log(estimate.of(inside, around))[inverse]
        own = np.log(estimate.left_out(n, t, part.out))
    if before is None:
        # A value that only the row itself has says nothing.
        is_seen = others | (not smoothing.is_neutral)
        logs[~is_seen], own[~is_seen] = 0.0, 0.0
    else:
        if not smoothing.is_hierarchical:
            is_seen, by_parents = before.is_seen, smoothing.left_out_by_parents
            used = part.others(around, inverse, t) if by_parents else others
            back = ~(used & is_seen)
        logs[back], own[back] = before.logs[back], before.own[back]
    return Level(depth, logs, own, part.against_own(logs.copy(), own), is_seen)


def read_codes(session: Session, encoded: Encoded) -> tuple[list[Array], Array]:
    """The codes of all rows, a column a variable, and their weights."""
    names = [encoded.column(v) for v in range(len(encoded.cards))]
    weights = ["w"] if encoded.weighted else []
    found = session.row_engine.arrays(select_sql(encoded.relation, ", ".join([*names, *weights])))
    w = np.asarray(found["w"], float) if weights else np.ones(0)
    return [np.asarray(found[name]) for name in names], w


def _short(numbers: Array) -> Array:
    """Half the memory: there are fewer rows than 2^31."""
    return numbers.astype(np.int32)


def _numbered(keys: Array) -> Array:
    """The keys as numbers without gaps."""
    return np.unique(keys, return_inverse=True)[1]
