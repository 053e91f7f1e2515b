"""Counts of a structure's families, and the lookup tables made of them, in a draft model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import block_statement, dense_counts
from sqlbn.counts.cover import BLOCK_CELLS, Block, cells_of
from sqlbn.counts.packing import key_type, packed_sql, strides, unpacked_sql
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.quoting import literal
from sqlbn.scoring.estimates import Backoff, log_factor
from sqlbn.scoring.factors import Factor, complete_level, complete_values, plan_factors
from sqlbn.templates import render

Array = npt.NDArray[Any]
Families = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Smoothing:
    """How counts become probabilities."""

    m: float = 1.0
    backoff: Backoff = "cell"


class ParameterPass:
    """Counts each attribute with its parents and the class, and makes the model's factors.

    `families[i]` is attribute i with its parents in order; the class is added as the last axis.
    """

    def __init__(
        self, draft: Draft, encoded: Encoded, families: Families, smoothing: Smoothing
    ) -> None:
        self._draft, self._encoded, self._smoothing = draft, encoded, smoothing
        self._families = families
        self._cards = encoded.cards
        self._n_classes = encoded.cards[-1]
        self._slots = [card + 1 for card in encoded.cards[:-1]]
        self._most = complete_values(encoded.rows)

    def run(self, advance: Callable[[], None] = lambda: None) -> list[Factor]:
        """Fill the draft's `counts`, `families`, `factors` and factor tables."""
        self._create_counts()
        factors = plan_factors(
            self._families, self._slots, self._n_classes, self._smoothing.backoff, self._most
        )
        for factor in factors:
            if factor.role != "base":
                self._make_chain(factor)
                continue
            # Counted only now: the arrays of one table are in memory at a time.
            logs = {}
            for member in factor.members:
                logs[member] = self._count(self._families[member])
                advance()
            self._make_base(factor, logs)
        write_factors(self._draft, factors)
        return factors

    # -- counting ----------------------------------------------------------------------------

    def _axes(self, family: tuple[int, ...]) -> list[int]:
        return [*family, self._encoded.class_variable]

    def _create_counts(self) -> None:
        cells = max((cells_of(self._axes(f), self._cards) for f in self._families), default=1)
        wide = "HUGEINT" if key_type(cells) == "HUGEINT" else "BIGINT"
        self._draft.create("counts", f"position USMALLINT, key {wide}, n {self._draft.n_type}")
        rows = []
        for family in self._families:
            axes = self._axes(family)
            radices = [self._cards[v] for v in axes]
            for axis, (v, radix, stride) in enumerate(
                zip(axes, radices, strides(radices), strict=True)
            ):
                variable = None if v == self._encoded.class_variable else v
                rows.append((family[0], axis, variable, radix, str(stride)))
        self._draft.fill(
            "families",
            "position USMALLINT, axis USMALLINT, variable USMALLINT, radix UINTEGER, "
            "stride HUGEINT",
            rows,
        )

    def _count(self, family: tuple[int, ...]) -> Array:
        """Store the counts of a family; its log probabilities at the level of a complete table."""
        axes = self._axes(family)
        cells = cells_of(axes, self._cards)
        if cells <= max(BLOCK_CELLS, 2 * self._encoded.rows) and cells <= 1 << 21:
            counts = self._count_dense(family, Block(tuple(axes), (), cells, dense=True))
        else:
            counts = self._count_sparse(family)
        return log_factor(counts, self._smoothing.m, self._smoothing.backoff)

    def _complete_level(self, family: tuple[int, ...]) -> int:
        return complete_level(family, self._slots, self._n_classes, self._most)

    def _count_dense(self, family: tuple[int, ...], block: Block) -> Array:
        counts = dense_counts(self._draft.engine, block, self._encoded)
        flat = counts.reshape(-1)
        keys = np.flatnonzero(flat)
        self._insert_counts(family[0], keys, flat[keys])
        deeper = tuple(range(self._complete_level(family) + 1, len(family)))
        return counts.sum(axis=deeper) if deeper else counts

    def _insert_counts(self, position: int, keys: Array, n: Array) -> None:
        import pyarrow as pa

        engine = self._draft.engine
        view = engine.register(pa.table({"key": keys, "n": n}))
        try:
            engine.execute(
                f"INSERT INTO {self._draft.table('counts')} SELECT {position}, key, n FROM {view}"
            )
        finally:
            engine.unregister(view)

    def _count_sparse(self, family: tuple[int, ...]) -> Array:
        engine, position = self._draft.engine, family[0]
        query = family_statement(family, self._encoded)
        counts = self._draft.table("counts")
        engine.execute(f"INSERT INTO {counts} SELECT {position}, k, n FROM ({query}) ORDER BY k")
        return self._shallow_counts(family, self._complete_level(family))

    def _shallow_counts(self, family: tuple[int, ...], level: int) -> Array:
        """Counts at the level that a complete table holds."""
        kept = [*family[: level + 1], self._encoded.class_variable]
        codes = self._unpacked(family)
        radices = [self._cards[v] for v in kept]
        found = self._draft.engine.arrays(
            render(
                "base_counts",
                key=packed_sql([codes[v] for v in kept], radices),
                counts=self._draft.table("counts"),
                position=family[0],
            )
        )
        counts = np.zeros(int(np.prod(radices)))
        counts[found["k"]] = found["n"].astype(float)
        return counts.reshape(radices)

    def _unpacked(self, family: tuple[int, ...]) -> dict[int, str]:
        """For each variable of a family, its code out of the stored key."""
        axes = self._axes(family)
        radices = [self._cards[v] for v in axes]
        return {
            v: unpacked_sql("key", stride, radix)
            for v, stride, radix in zip(axes, strides(radices), radices, strict=True)
        }

    # -- tables ------------------------------------------------------------------------------

    def _make_base(self, factor: Factor, logs: dict[int, Array]) -> None:
        total = np.zeros([*(self._slots[v] for v in factor.variables), self._n_classes])
        for member, values in logs.items():
            family = self._families[member][: values.ndim - 1]
            total += _spread(values, family, factor.variables)
        flat = total.reshape(-1, self._n_classes)
        columns: dict[str, Array] = {"key": np.arange(len(flat), dtype=np.uint32)}
        for j in range(self._n_classes):
            columns[f"l_{j}"] = np.ascontiguousarray(flat[:, j])
        self._draft.engine.create_table(self._draft.table(factor.table), columns)

    def _make_chain(self, factor: Factor) -> None:
        attribute = factor.members[0]
        family = self._families[attribute]
        codes = self._unpacked(family)
        used = (attribute, *family[1 : factor.level + 1])
        alias = {v: f"c{place}" for place, v in enumerate(used)}
        parents = used[1:]
        m, n_values = self._smoothing.m, self._cards[attribute]
        self._draft.engine.run(
            "chain_factor",
            table=self._draft.table(factor.table),
            role=factor.role,
            key=packed_sql([alias[v] for v in used], [self._slots[v] for v in used]),
            parents_key=packed_sql([alias[v] for v in parents], [self._slots[v] for v in parents]),
            axes=[
                *({"code": codes[v], "alias": alias[v]} for v in used),
                {"code": codes[self._encoded.class_variable], "alias": "y"},
            ],
            classes=range(self._n_classes),
            counts=self._draft.table("counts"),
            position=attribute,
            m=literal(float(m)),
            share=literal(m / n_values),
        )


def family_statement(family: tuple[int, ...], encoded: Encoded) -> str:
    """The query that counts an attribute with its parents and the class."""
    axes = (*family, encoded.class_variable)
    cells = cells_of(axes, encoded.cards)
    return block_statement(Block(axes, (), cells, dense=True), encoded)


def _spread(logs: Array, family: Sequence[int], variables: Sequence[int]) -> Array:
    """A factor's array laid out along the axes of a fused table."""
    order = sorted(range(len(family)), key=lambda a: variables.index(family[a]))
    turned = np.transpose(logs, [*order, logs.ndim - 1])
    present = set(family)
    index: list[Any] = [slice(None) if v in present else None for v in variables]
    return turned[(*index, slice(None))]


def write_factors(draft: Draft, factors: Sequence[Factor]) -> None:
    """The draft's `factors` table: what each factor table is and how its key is packed."""
    draft.fill(
        "factors",
        "factor UINTEGER, role VARCHAR, level SMALLINT, variables USMALLINT[], members USMALLINT[]",
        [(f.number, f.role, f.level, list(f.variables), list(f.members)) for f in factors],
    )
