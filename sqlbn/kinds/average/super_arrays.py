"""The lookup tables of an averaging model as arrays: of every super-parent, and its children."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines import Session
from sqlbn.engines.packing import strides
from sqlbn.engines.row_engine import Arrays
from sqlbn.engines.sql import relation_sql, select_sql
from sqlbn.kinds.average.implied_rows import ImpliedBlock, blocks_of
from sqlbn.kinds.average.superparents import SUPER_TABLE, SuperParents, implied_table
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.product.factor_tables import Factor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Super:
    """One super-parent: the numbers of its seen values, by their key, and where its scores start.

    `places` has the place of a value among the seen ones for every key, -1 where it was not seen;
    where that would be too many it is None, and `keys` are looked through.
    """

    subset: tuple[int, ...]
    radices: tuple[int, ...]
    first: int
    keys: Array
    places: Array | None
    start: Array

    def places_of(self, codes: Array) -> Array:
        """The place of the value of each row; -1 where it was not seen."""
        key = np.zeros(codes.shape[1], np.intp)
        for v, step in zip(self.subset, strides(self.radices), strict=True):
            key += codes[v].astype(np.intp) * step
        if self.places is not None:
            found: Array = self.places[key]
            return found
        at = np.searchsorted(self.keys, key)
        at[at == len(self.keys)] = 0
        return np.where(self.keys[at] == key, at, -1)


@dataclass(frozen=True)
class FullChild:
    """An attribute given every super-parent's value, for every code: (numbers, codes, classes)."""

    values: Array

    def table(self, first: int, n: int, rows: int) -> Array | None:
        """Of one super-parent: (its values, codes, classes); None where rows are looked up."""
        return self.values[first : first + n]

    def bounds(self) -> tuple[float, float]:
        """The least and the largest logarithm."""
        return float(self.values.min()), float(self.values.max())

    def as_factors(self, middle: float, n_counting: int) -> FullChild:
        """Factors in place of logarithms, divided by that of the middle; ignored codes have 1."""
        factors = np.empty_like(self.values)
        np.exp(self.values[:, :n_counting] - middle, out=factors[:, :n_counting])
        factors[:, n_counting:] = 1.0
        return FullChild(factors)


@dataclass(frozen=True)
class SeenChild:
    """The same where only what was seen is stored, by the number and code packed together.

    `others` is what a value that was not seen with a super-parent's has: (numbers, classes); the
    codes from `n_counting` on count for `nothing`.
    """

    keys: Array
    values: Array
    others: Array
    radix: int
    n_counting: int
    nothing: float = 0.0

    def table(self, first: int, n: int, rows: int) -> Array | None:
        """Of one super-parent: (its values, codes, classes); None where rows are looked up."""
        if n * self.radix > rows:
            return None
        found = np.full((n, self.radix, self.values.shape[1]), self.nothing)
        found[:, : self.n_counting] = self.others[first : first + n, None]
        low, high = np.searchsorted(self.keys, [first * self.radix, (first + n) * self.radix])
        flat = found.reshape(n * self.radix, -1)
        flat[self.keys[low:high] - first * self.radix] = self.values[low:high]
        return found

    def looked_up(self, numbers: Array, codes: Array) -> Array:
        """Of each row with the number of a super-parent's value: (rows, classes)."""
        wanted = numbers * self.radix + codes
        at = np.searchsorted(self.keys, wanted)
        at[at == len(self.keys)] = 0
        found = self.others[numbers]
        seen = self.keys[at] == wanted if len(self.keys) else np.zeros(len(at), bool)
        found[seen] = self.values[at[seen]]
        found[codes >= self.n_counting] = self.nothing
        return found

    def bounds(self) -> tuple[float, float]:
        """The least and the largest logarithm."""
        both = np.concatenate([self.values, self.others])
        return float(both.min()), float(both.max())

    def as_factors(self, middle: float, n_counting: int) -> SeenChild:
        """Factors in place of logarithms, divided by that of the middle; ignored codes have 1."""
        values, others = np.exp(self.values - middle), np.exp(self.others - middle)
        return replace(self, values=values, others=others, nothing=1.0)


Child = FullChild | SeenChild


@dataclass(frozen=True)
class SuperArrays:
    """Everything that rows are scored with; `implied` are blocks of what values imply.

    Logarithms, or, where `multiplied`, factors of which no product leaves the range of numbers.
    `counting` is how many codes of each attribute are not ignored.
    """

    supers: tuple[Super, ...]
    children: Mapping[int, Child]
    implied: tuple[ImpliedBlock, ...]
    radices: tuple[int, ...]
    counting: tuple[int, ...]
    multiplied: bool = False

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.supers[-1].start.shape[1])

    def as_factors(self, safe: float) -> SuperArrays:
        """The same to be multiplied, if no product can go further than e^safe up or down.

        What an attribute says is divided by the middle of all it can say, which changes the scores
        of all classes alike: 54 factors of a million rows may go down to e^-648, but are at most
        e^300 from their middle.
        """
        bounds = {v: child.bounds() for v, child in self.children.items()}
        starts = [s.start for s in self.supers if s.start.size]
        low, high = min(float(s.min()) for s in starts), max(float(s.max()) for s in starts)
        if high - low + sum(b - a for a, b in bounds.values()) > 2 * safe:
            return self
        middle = {v: (a + b) / 2 for v, (a, b) in bounds.items()}
        return replace(
            self,
            supers=tuple(replace(s, start=np.exp(s.start - (low + high) / 2)) for s in self.supers),
            children={
                v: c.as_factors(middle[v], self.counting[v]) for v, c in self.children.items()
            },
            multiplied=True,
        )


def array_bytes(session: Session, scorer: Scorer, supers: SuperParents) -> int:
    """What the arrays of a model take."""
    values = 0
    for factor in scorer.factors:
        if factor.role == "child":
            values += supers.n_seen * sum(supers.radices[v] for v in factor.variables)
        else:
            table = relation_sql(scorer.prefix, factor.table)
            values += supers.n_seen + int(session.row(select_sql(table, "count(*)"))[0])
    return 8 * values * (len(scorer.class_names) + 1)


def read_arrays(session: Session, scorer: Scorer, supers: SuperParents) -> SuperArrays:
    """The tables of a model."""
    n_classes = len(scorer.class_names)
    found = _table(session, scorer, SUPER_TABLE)
    seen = found["level"] >= 0
    keys, numbers = found["key"][seen].astype(np.int64), found["number"][seen].astype(np.int64)
    starts = _by_class(found, "l", n_classes)[seen]
    made, order = [], np.argsort(numbers, kind="stable")
    keys, starts = keys[order], starts[order]
    bounds = [*supers.offsets, supers.n_keys]
    places = np.searchsorted(keys, bounds)  # numbers go along the keys
    for at, subset in enumerate(supers.sets):
        own = slice(places[at], places[at + 1])
        own_keys = keys[own] - bounds[at]
        by_key = None
        if supers.keys_of(subset) <= session.limits.average_array_keys:
            by_key = np.full(supers.keys_of(subset), -1, np.intp)
            by_key[own_keys] = np.arange(len(own_keys))
        radices = tuple(supers.radices[v] for v in subset)
        made.append(Super(subset, radices, int(places[at]), own_keys, by_key, starts[own]))
    children: dict[int, Child] = {}
    for factor in scorer.factors:
        table = _table(session, scorer, factor.table)
        if factor.role == "child":
            children |= _full(supers, factor, _by_class(table, "l", n_classes))
        else:
            divisors = _by_class(found, "b", n_classes)[seen][order]
            children[factor.variables[0]] = _seen(scorer, supers, factor, table, divisors)
    implied = {j: _implied(_table(session, scorer, implied_table(j))) for j in supers.implying}
    counting = [supers.n_counting(v) if supers.ignores else r for v, r in enumerate(supers.radices)]
    blocks = blocks_of(implied, supers.radices, session.limits)
    return SuperArrays(tuple(made), children, blocks, supers.radices, tuple(counting))


def _table(session: Session, scorer: Scorer, name: str) -> Arrays:
    """A table of the model, along its keys."""
    return session.arrays(select_sql(relation_sql(scorer.prefix, name), order="key"))


def _by_class(table: Arrays, name: str, n_classes: int) -> Array:
    return np.stack([table[f"{name}_{j}"] for j in range(n_classes)], axis=1)


def _implied(table: Arrays) -> dict[int, Array]:
    """Of each attribute that may be implied the code that is, by the code that implies it."""
    return {int(name[2:]): codes for name, codes in table.items() if name != "key"}


def _full(supers: SuperParents, factor: Factor, values: Array) -> dict[int, Child]:
    """The attributes of a complete table one by one.

    Along the last code of all others it says what one attribute does, and what these do at that
    code: that is nothing where the last code is an ignored one, else it is taken off.
    """
    radices = [supers.radices[v] for v in factor.variables]
    fused = values.reshape(-1, *radices, values.shape[1])
    if len(radices) == 1:
        return {factor.variables[0]: FullChild(fused)}
    everywhere: tuple[Any, ...] = (slice(None),)
    last = fused[everywhere + (-1,) * len(radices)]
    found: dict[int, Child] = {}
    for axis, v in enumerate(factor.variables):
        alone = fused[everywhere + (-1,) * axis + everywhere + (-1,) * (len(radices) - axis - 1)]
        if axis and not supers.ignores:
            alone = alone - last[:, None, :]
        found[v] = FullChild(np.ascontiguousarray(alone))
    return found


def _seen(
    scorer: Scorer, supers: SuperParents, factor: Factor, table: Arrays, divisors: Array
) -> SeenChild:
    v = factor.variables[0]
    share = scorer.smoothing.of(scorer.books[v].n_values).share
    values = _by_class(table, "l", divisors.shape[1])
    radix = supers.radices[v]
    return SeenChild(
        table["key"].astype(np.int64),
        values,
        divisors + math.log(share),
        radix,
        supers.n_counting(v) if supers.ignores else radix,
    )
