"""Sums of n ln n of all pairs of attributes, from products of matrices: few rows, many pairs.

With codes written as lines of zeros and ones, one a value, the rows of a class give the counts of
all pairs in that class as one product of a matrix with itself. Counts are whole numbers (or weights
in units that add up exactly), so they are those of queries, and so is every sum to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import log_units, n_log_n, whole_logs
from sqlbn.counts.cover import Family
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.relations import Encoded
from sqlbn.engines.threads import ahead, one_blas_thread

Array = npt.NDArray[Any]


def suits_products(session: Session, encoded: Encoded, n_pairs: int) -> bool:
    """Whether products count so many pairs sooner than queries, within a share of the memory."""
    limits, rows, cards = encoded.limits, encoded.rows, encoded.cards
    if not session.row_engine.is_local or not n_pairs or min(cards) < 1:
        return False
    needed = product_bytes(rows, cards, encoded.weighted, session.threads, limits)
    if needed > limits.product_share * session.memory_bytes:
        return False
    return product_seconds(rows, cards, limits) <= query_seconds(rows, n_pairs, limits)


def product_seconds(rows: int, cards: Sequence[int], limits: Limits) -> float:
    """About how long the products for all pairs take; `cards` end with that of the class."""
    values = float(sum(cards[:-1]))
    return values**2 * (rows * limits.product_row_seconds + cards[-1] * limits.product_cell_seconds)


def query_seconds(rows: int, n_pairs: int, limits: Limits) -> float:
    """About how long it takes to count so many pairs by queries."""
    return n_pairs * (limits.pair_query_seconds + rows * limits.pair_query_row_seconds)


def product_bytes(
    rows: int, cards: Sequence[int], weighted: bool, threads: int, limits: Limits
) -> int:
    """What codes take, and in each thread matrices of two blocks of attributes and their counts."""
    width = max(limits.product_values, *cards)
    codes = rows * len(cards) * 2 * np.min_scalar_type(max(cards)).itemsize
    number = 8 if weighted else 4
    matrices = 3 * number * min(limits.product_cells, width * rows) + 32 * width**2
    return codes + 32 * rows + threads * matrices


def pair_sums(
    codes: Sequence[Array],
    weights: Array | None,
    cards: Sequence[int],
    bare: bool,
    limits: Limits,
    threads: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> PairSums:
    """Sums of n ln n of every attribute and pair with the class, every attribute, and the class.

    `codes` are columns, the class last. With `bare`, pairs without the class, too.
    """
    rows = _Rows.of(codes, weights, cards)
    d, blocks = len(cards) - 1, _blocks(cards[:-1], limits.product_values)
    joint, without = (np.full((d, d), np.nan) for _ in range(2))
    tiles = list(combinations_with_replacement(blocks, 2))
    jobs = (partial(_tile, rows, one, other, bare, limits) for one, other in tiles)
    with one_blas_thread():
        for (one, other), made in zip(tiles, ahead(threads, jobs), strict=True):
            for sums, into in zip(made, (joint, without), strict=True):
                if sums is not None:
                    into[one.start : one.stop, other.start : other.stop] = sums
            advance()
    singles = _single_sums(codes, weights, cards)
    return PairSums(singles, _symmetric(joint), _symmetric(without) if bare else None)


def _symmetric(sums: Array) -> Array:
    """What is above the diagonal below it, too; no attribute makes a pair with itself."""
    found: Array = np.where(np.triu(np.ones(sums.shape, bool), 1), sums, sums.T)
    np.fill_diagonal(found, np.nan)
    return found


@dataclass(frozen=True)
class PairSums(Mapping[Family, float]):
    """The sums by family; those of pairs as matrices: hundreds of attributes have many pairs.

    `joint` is with the class and NaN where a pair was not counted, `bare` without the class.
    """

    single: Mapping[Family, float]
    joint: Array
    bare: Array | None

    def within(self, together: Array) -> PairSums:
        """Only some of the pairs, with the class."""
        return replace(self, joint=np.where(together, self.joint, np.nan), bare=None)

    def __getitem__(self, family: Family) -> float:
        if family in self.single:
            return self.single[family]
        sums = self.joint if len(family) == 3 else self.bare
        if sums is None or not 2 <= len(family) <= 3 or np.isnan(sums[family[:2]]):
            raise KeyError(family)
        return float(sums[family[:2]])

    def __iter__(self) -> Iterator[Family]:
        yield from self.single
        d = len(self.joint)
        for sums, last in ((self.joint, (d,)), (self.bare, ())):
            if sums is not None:
                pairs = zip(*np.nonzero(np.triu(~np.isnan(sums))), strict=True)
                yield from ((int(i), int(j), *last) for i, j in pairs)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def n_tiles(cards: Sequence[int], limits: Limits) -> int:
    """How often `pair_sums` advances."""
    n = len(_blocks(cards[:-1], limits.product_values))
    return n * (n + 1) // 2


def _blocks(cards: Sequence[int], most: int) -> list[range]:
    """Neighbouring attributes, of at most so many values together (or one of more)."""
    blocks, start, values = list[range](), 0, 0
    for v, card in enumerate(cards):
        if v > start and values + card > most:
            blocks.append(range(start, v))
            start, values = v, 0
        values += card
    return [*blocks, range(start, len(cards))] if len(cards) else blocks


def _single_sums(
    codes: Sequence[Array], weights: Array | None, cards: Sequence[int]
) -> dict[Family, float]:
    d, y = len(cards) - 1, codes[-1].astype(np.int64)
    found: dict[Family, float] = {(d,): n_log_n(np.bincount(y, weights))}
    for v in range(d):
        joint = np.bincount(
            codes[v].astype(np.int64) * cards[-1] + y, weights, cards[v] * cards[-1]
        )
        found[(v, d)] = n_log_n(joint)
        found[(v,)] = n_log_n(joint.reshape(cards[v], cards[-1]).sum(axis=1))
    return found


@dataclass(frozen=True)
class _Rows:
    """Codes of rows sorted by class, a line an attribute; `starts` is where each class begins."""

    codes: Array
    weights: Array | None
    starts: Array
    cards: Sequence[int]
    total: float

    @staticmethod
    def of(codes: Sequence[Array], weights: Array | None, cards: Sequence[int]) -> _Rows:
        """The rows of some columns, the class last."""
        y, kind = codes[-1], np.min_scalar_type(max(cards))
        order = np.argsort(y, kind="stable")
        starts = np.searchsorted(y[order], np.arange(cards[-1] + 1))
        table = np.empty((len(cards) - 1, len(y)), kind)
        for v, column in enumerate(codes[:-1]):
            table[v] = column[order]
        sorted_weights = weights[order] if weights is not None else None
        total = float(weights.sum()) if weights is not None else float(len(y))
        return _Rows(table, sorted_weights, starts, cards, total)

    @property
    def kind(self) -> type[np.floating[Any]]:
        """Whole numbers below 2^24 are exact in 32 bits; a sum of weights needs 53."""
        return np.float32 if self.weights is None and self.codes.shape[1] < 2**24 else np.float64

    @cached_property
    def units(self) -> float:
        """In what n ln n are added up."""
        return log_units(self.total)

    def chunks(self, label: int, most: int) -> Iterator[slice]:
        """The rows of a class, at most so many at a time."""
        first, last = int(self.starts[label]), int(self.starts[label + 1])
        for start in range(first, last, most):
            yield slice(start, min(start + most, last))

    def indicators(self, part: slice, block: range) -> Array:
        """Zeros and ones of some rows, a line for every value of some attributes."""
        offsets, width = _offsets(self.cards, block), sum(self.cards[v] for v in block)
        found = np.empty((width, part.stop - part.start), self.kind)
        for v, start in zip(block, offsets.tolist(), strict=True):
            values = np.arange(self.cards[v], dtype=self.codes.dtype)
            found[start : start + self.cards[v]] = self.codes[v, part] == values[:, None]
        return found

    def counts(self, label: int, one: range, other: range, limits: Limits) -> Array | None:
        """How often values of two blocks of attributes occur together in a class; None: never."""
        found: Array | None = None
        width = max(sum(self.cards[v] for v in block) for block in (one, other))
        for part in self.chunks(label, max(1, limits.product_cells // width)):
            left = self.indicators(part, one)
            right = left if one == other else self.indicators(part, other)
            if self.weights is not None:
                left = left * self.weights[part]
            product = left @ right.T
            found = product if found is None else found + product
        return found


def _offsets(cards: Sequence[int], block: range) -> Array:
    """The column of the first value of each attribute."""
    return np.cumsum([0, *(cards[v] for v in block)][:-1], dtype=np.int64)


def _tile(
    rows: _Rows, one: range, other: range, bare: bool, limits: Limits
) -> tuple[Array, Array | None]:
    """Sums of n ln n of every pair of two blocks, with the class and perhaps without."""
    at = _offsets(rows.cards, one), _offsets(rows.cards, other)
    sums, without = np.zeros((len(one), len(other)), np.int64), None
    for label in range(rows.cards[-1]):
        counts = rows.counts(label, one, other, limits)
        if counts is None:
            continue
        sums += _summed(_logs(counts, rows), *at)
        if bare:
            without = counts if without is None else without + counts
    if without is None:
        return sums / rows.units, None
    return sums / rows.units, _summed(_logs(without, rows), *at) / rows.units


def _logs(counts: Array, rows: _Rows) -> Array:
    """n ln n of counts: of rows without weights out of a table of all numbers that may occur."""
    if rows.weights is not None or counts.size < rows.codes.shape[1]:
        return whole_logs(counts, rows.units)
    table = whole_logs(np.arange(int(counts.max(initial=0)) + 1), rows.units)
    found: Array = table.take(counts.astype(np.intp), mode="clip")
    return found


def _summed(cells: Array, one: Array, other: Array) -> Array:
    """Sums over the values of each pair of attributes, which begin at these places."""
    found: Array = np.add.reduceat(np.add.reduceat(cells, one, axis=0), other, axis=1)
    return found
