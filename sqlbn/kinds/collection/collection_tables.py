"""Lookup tables of a collection: where each turn starts, sums of terms, terms that stay sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.cover import Block
from sqlbn.counts.subsets import SubsetCounts
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import literal
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.average.super_tables import by_class
from sqlbn.kinds.collection.collected import START_TABLE, CollectionPlan, plan_collection
from sqlbn.kinds.estimates import Smoothing, term_estimate
from sqlbn.kinds.product.factor_tables import AttributeValues, Factor, spread
from sqlbn.structure.parent_sets import Term

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CountedTerms:
    """The terms of a collection with the counts that they are estimated from."""

    counts: SubsetCounts
    terms: tuple[Term, ...]
    smoothing: Smoothing

    @cached_property
    def values(self) -> AttributeValues:
        """What the codes of each attribute are."""
        return AttributeValues.of(self.counts.encoded, self.smoothing)

    def estimates(self, term: Term) -> Array:
        """The probabilities of a term, without its weight: axes child, parents, class."""
        family, values = (term.child, *term.parents), self.values
        axes = [term.family.index(v) for v in family]
        counts = np.transpose(self.counts.array_of(term.family), [*axes, len(family)])
        return term_estimate(counts, self.smoothing, [values.ignored[v] for v in family])

    def plan(self) -> CollectionPlan:
        """How these terms are scored."""
        values, counts = self.values, self.counts
        return plan_collection(
            self.terms,
            values.slots,
            values.ignored,
            counts.n_classes,
            counts.encoded.rows,
            counts.is_array,
            counts.workspace.session.limits,
        )


class CollectionTables:
    """Makes the tables that scoring joins, in a workspace that need not be that of the counts."""

    def __init__(self, counted: CountedTerms, workspace: Workspace) -> None:
        self._counted, self._workspace = counted, workspace
        self._counts, self._smoothing = counted.counts, counted.smoothing
        self.plan = counted.plan()
        self._collected, self._n_classes = self.plan.collected, counted.counts.n_classes
        self._values, self._n_values = counted.values, counted.values.n_values
        self._sparse = frozenset(self._collected.sparse)
        self._by_parents: dict[tuple[int, ...], list[Term]] = {}
        for term in self.plan.terms:
            self._by_parents.setdefault(term.parents, []).append(term)
        # What all weights of an attribute have in common does not matter: 1 is the largest.
        self._heaviest: dict[int, float] = {}
        for term in self.plan.terms:
            self._heaviest[term.child] = max(term.weight, self._heaviest.get(term.child, 0.0))

    def make(self) -> None:
        """Every table."""
        self._make_start()
        for number, table in enumerate(self.plan.blocks):
            self._make_groups(number, table)
        if self._collected.sparse:
            cells, parents = self.plan.factors[-2:]
            self._make_sparse(cells, self._collected.cell_type, self._collected.cell_offsets)
            self._make_sparse(parents, self._collected.parent_type, self._collected.parent_offsets)

    # -- estimates ---------------------------------------------------------------------------

    def _weight(self, term: Term) -> float:
        return term.weight / self._heaviest[term.child]

    def _estimates(self, term: Term) -> Array:
        """The weighted probabilities of a term: axes child, parents, class."""
        return self._counted.estimates(term) * self._weight(term)

    # -- tables ------------------------------------------------------------------------------

    def _make_start(self) -> None:
        """One row a key: the number under which groups are found, the child, terms without parents.

        Where the child is ignored the sum starts from 1, so that its logarithm is nothing.
        """
        c = self._collected
        values = np.zeros((c.n_keys, self._n_classes))
        numbers = np.full(c.n_keys, c.n_numbers, np.uint32)
        numbers[: c.all_numbers] = np.arange(c.all_numbers)
        child, repeat = np.zeros(c.n_keys, np.uint32), np.zeros(c.n_keys, np.uint16)
        unseen = np.zeros(c.n_keys)
        alone = {t.child: t for t in self._by_parents.get((), [])}
        turns = c.numbered_turns + [
            (0, i, key) for i, key in zip(c.large, c.large_offsets, strict=False)
        ]
        for again, i, first in turns:
            keys = slice(first, first + c.slots[i])
            child[keys], repeat[keys] = i, again
            if again == 0:
                own = values[keys]
                own += self._estimates(alone[i]) if i in alone else 0.0
                own[list(self._values.ignored[i])] = 1.0
        for at, term in enumerate(c.sparse, c.large_offsets[-1]):
            child[at] = term.child
            unseen[at] = self._weight(term) / self._n_values[term.child]
        columns: dict[str, Array] = {
            "key": np.arange(c.n_keys, dtype=np.uint32),
            "number": numbers,
            "child": child,
            "repeat": repeat,
            "unseen": unseen,
        }
        table = self._workspace.table(START_TABLE)
        self._workspace.session.create_table(table, columns | by_class("l", values))

    def _make_groups(self, number: int, table: Sequence[Block | None]) -> None:
        """The blocks of a table one after the other, all as long as the longest."""
        c = self._collected
        size = max(block.cells for block in table if block is not None)
        values = np.zeros((c.all_numbers, size, self._n_classes))
        for repeat, block in enumerate(table):
            if block is not None:
                part = self._block(repeat, block)
                values[c.bases[repeat] :][: len(part), : block.cells] = part
        flat = values.reshape(-1, self._n_classes)
        columns: dict[str, Array] = {"key": np.arange(len(flat), dtype=np.uint32)}
        name = self._workspace.table(Factor(number, "group", (), (), 0).table)
        self._workspace.session.create_table(name, columns | by_class("l", flat))

    def _block(self, repeat: int, block: Block) -> Array:
        """Sums of terms for the numbers of a repeat and the codes of a block's attributes."""
        c = self._collected
        base = c.bases[repeat]
        firsts = {i: first - base for again, i, first in c.numbered_turns if again == repeat}
        shape = [c.slots[v] for v in block.variables]
        total = np.zeros((c.bases[repeat + 1] - base, *shape, self._n_classes))
        for term in (t for parents in block.families for t in self._by_parents[parents]):
            if term.child in firsts and term not in self._sparse:
                first = firsts[term.child]
                total[first : first + c.slots[term.child]] += spread(
                    self._estimates(term),
                    (term.child, *term.parents),
                    # A group may hold the child too, which is nobody's parent here.
                    (term.child, *(v if v != term.child else -1 for v in block.variables)),
                )
        return total.reshape(-1, block.cells, self._n_classes)

    def _make_sparse(self, factor: Factor, key_type: str, offsets: Sequence[int]) -> None:
        """What was seen of the sparse terms: their cells, or the values of their parents."""
        c, classes = self._collected, range(self._n_classes)
        self._workspace.create(factor.table, types={"key": key_type}, classes=self._n_classes)
        for term, offset in zip(c.sparse, offsets, strict=False):
            number = self._counts.number_of(term.family)
            codes = self._counts.codes(number)
            family = (term.child, *term.parents)
            alias = {v: f"c{place}" for place, v in enumerate(family)}
            keys = [
                packed_sql([alias[v] for v in part], [c.slots[v] for v in part])
                for part in (family, term.parents)
            ]
            self._workspace.session.run(
                "score/collection_sparse",
                table=self._workspace.table(factor.table),
                role=factor.role,
                key=keys[0],
                parents_key=keys[1],
                offset=f"{offset}::{key_type}",
                axes=[
                    *({"code": codes[v], "alias": alias[v]} for v in family),
                    {"code": codes[self._counts.encoded.class_variable], "alias": "y"},
                ],
                present=self._values.present(alias),
                classes=classes,
                counts=self._counts.table,
                position=number,
                weight=literal(self._weight(term)),
                estimate=self._smoothing.of(self._n_values[term.child]),
            )
