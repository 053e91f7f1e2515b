"""Collections: a product of sums over parent sets of every attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.counts.margins import keep_margins, margin_sums
from sqlbn.counts.subsets import (
    SubsetCounts,
    affordable,
    count_into,
    plan_subsets,
    subset_cost,
)
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.collection.collected import (
    START_TABLE,
    Collected,
    read_collected,
    read_terms,
    write_terms,
    write_turns,
)
from sqlbn.kinds.collection.collection_query import CollectionQuery
from sqlbn.kinds.collection.collection_tables import CollectionTables, CountedTerms
from sqlbn.kinds.collection.superparent_search import most_probable
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import (
    Added,
    Fitting,
    Job,
    Kind,
    Outline,
    StructureLearner,
    Titled,
    count_statements,
    table_of,
)
from sqlbn.kinds.product.factor_tables import write_factors
from sqlbn.kinds.product.product_kind import ProductScoring
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import families_of
from sqlbn.structure.shape import Shape, information_for
from sqlbn.structure.term_rules import TermRule, needed_sets


class CollectionFit(Fitting):
    """Sets are counted until the rule can tell its parent sets, and then what these need."""

    info: Information
    shape: Shape
    _counts: SubsetCounts

    def __init__(self, job: Job, rule: TermRule) -> None:
        super().__init__(job)
        self._rule = rule

    def count(self) -> None:
        job, rule = self.job, self._rule
        early = rule.early(job.names)
        affordable(job.workspace, job.encoded, early, remedy())
        self._counts = SubsetCounts(job.workspace, job.encoded, early)
        self._fill(early)
        keep_margins(self._counts)
        sums = margin_sums(self._counts, job.prepared.class_counts, bare_pairs=rule.by_gain)
        self.info = replace(information_for(sums), names=job.names)

    def structure(self) -> None:
        self.shape = self.job.shape if self.job.shape is not None else self._found()
        self.chosen |= super_parent_of(self.shape, self.job.names)

    def _found(self) -> Shape:
        """The shape that the counts ask for, and where several may be the rows."""
        job, chosen = self.job, None
        tried = self._rule.tried(self.info, job.names)
        if tried:
            self._recount(
                needed_sets([t for terms in tried.values() for t in terms], len(job.names))
            )
            classes = job.prepared.class_counts
            chosen = most_probable(self._counts, tried, classes, job.smoothing, job.progress)
        return self._rule.shape(self.info, job.names, chosen)

    def parameters(self) -> None:
        job, shape = self.job, self.shape
        self._recount(needed_sets(shape.terms, len(job.names)))
        finish_collection(
            self._counts, shape, job.prepared.books, self.info, job.smoothing, job.progress
        )

    def _recount(self, subsets: Sequence[Family]) -> None:
        """Counts of these sets and no others: those that are there are taken over."""
        new = [s for s in subsets if not self._counts.has(s)]
        affordable(self.job.workspace, self.job.encoded, new, remedy())
        if new or len(subsets) < len(self._counts.families):
            self._counts = self._counts.changed_to(subsets)
        self._fill(new)

    def _fill(self, new: Sequence[Family]) -> None:
        """One pass over the rows, for sets that have not been counted."""
        if not new:
            return
        encoded, progress = self.job.encoded, self.job.progress
        blocks = plan_subsets(encoded, new)
        progress.note(f"to count: {subset_cost(encoded, new)}, in {len(blocks):,} blocks")
        with progress.stage("structure", "counting sets of attributes", encoded.rows, len(blocks)):
            count_into(self._counts, blocks, progress.advance)


def finish_collection(
    counts: SubsetCounts,
    shape: Shape,
    books: Sequence[Codebook],
    info: Information,
    smoothing: Smoothing,
    progress: Progress,
) -> None:
    """The tables that scoring joins, and those that say what the model is."""
    workspace, names = counts.workspace, [book.name for book in books]
    with progress.stage("factors", "making the tables of probabilities"):
        counts.describe()
        tables = CollectionTables(CountedTerms(counts, shape.terms, smoothing), workspace)
        tables.make()
        write_factors(workspace, tables.plan.factors)
        write_terms(workspace, shape.terms, names)
        write_turns(workspace, tables.plan.collected, names)
    write_structure(workspace, books, info, shape.structure, set(shape.selected))


def super_parent_of(shape: Shape, names: Sequence[str]) -> dict[str, Any]:
    """The super-parent of a collection, for the meta table."""
    return {} if shape.super_parent is None else {"superparent": names[shape.super_parent]}


def remedy() -> str:
    """What to do about too many cells."""
    return (
        f"limit parents with {opt('parents_from_first')}, use fewer {opt('bins')} or "
        f"{opt('exclude')} attributes"
    )


@dataclass(frozen=True)
class CollectionKind(Kind):
    """A product of sums over the parent sets that a rule tells."""

    counts_sets: ClassVar[bool] = True
    rule: TermRule

    @property
    def options(self) -> frozenset[str]:
        return frozenset({"weight", "backoff"})

    def has_loo(self, smoothing: Smoothing) -> bool:
        return False

    def numbers_rows(self, with_loss: bool) -> bool:
        return False

    def check_room(self, workspace: Workspace, codes: Encoded, names: Sequence[str]) -> None:
        affordable(workspace, codes, self.rule.early(names), remedy())

    def fitting(self, job: Job) -> Fitting:
        return CollectionFit(job, self.rule)

    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        early = self.rule.early(names)
        terms = self.rule.example(names) if names else ()
        later = [family for family in families_of(terms) if family not in set(early)]
        note = " (which sets these are, the counts before decide; here by the order of columns)"
        first = count_statements(plan_subsets(encoded, early), encoded)
        return [*first, *count_statements(plan_subsets(encoded, later), encoded, note)]

    def read_shape(
        self, workspace: Workspace, meta: Mapping[str, str], books: Sequence[Codebook], shape: Shape
    ) -> Shape:
        names, name = [book.name for book in books], meta.get("superparent")
        terms = read_terms(workspace, books)
        first = names.index(name) if terms and name is not None else None
        return replace(shape, terms=terms, super_parent=first)

    def wanted(self, outline: Outline, info: Information) -> Shape:
        by_rows = outline.shape.super_parent if self.rule.by_rows else None
        return self.rule.shape(info, outline.names, by_rows)

    @property
    def kept_notes(self) -> tuple[str, ...]:
        notes = ("the super parent stays as it is: the rows that chose it are not at hand",)
        return notes if self.rule.by_rows else ()

    def sets(self, shape: Shape) -> list[Family]:
        return needed_sets(shape.terms, len(shape.structure.order))

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return SubsetCounts(workspace, encoded, self.sets(shape))

    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        counts, shape, smoothing = added.counts, added.shape, outline.smoothing
        assert isinstance(counts, SubsetCounts)
        finish_collection(counts, shape, added.books, added.info, smoothing, progress)

    def chosen(self, outline: Outline, info: Information, shape: Shape) -> dict[str, Any]:
        return super_parent_of(shape, outline.names)


@dataclass(frozen=True)
class CollectionScoring(ProductScoring):
    """Rows are unfolded into one a child, whose terms are added up; without any, a product."""

    marker: ClassVar[str] = "turns"
    mixture: ClassVar[str] = "a sum over many networks"
    nearest: ClassVar[str] = "fan or kdb"
    reads_twice: ClassVar[bool] = True
    collected: Collected

    @classmethod
    def read(
        cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
    ) -> CollectionScoring:
        return cls(read_collected(workspace, books, smoothing))

    @property
    def name(self) -> str:
        return "collection" if self.n_turns else super().name

    @property
    def adds_factors(self) -> bool:
        return not self.n_turns

    @property
    def n_turns(self) -> int:
        return self.collected.n_turns

    @property
    def tables(self) -> list[str]:
        return [START_TABLE] if self.n_turns else []

    def used(self, scorer: Scorer) -> list[int]:
        return self.collected.used(scorer.factors)

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        if not self.n_turns:
            return super().scores(scorer, coded, reorder)
        return CollectionQuery(
            scorer.prefix,
            scorer.log_prior,
            scorer.factors,
            self.collected,
            outer=reorder is not None,
            dialect=scorer.dialect,
        ).rows(coded, scorer.kept)

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        if not self.n_turns:
            return super().document(workspace, scorer)
        return _document(workspace, scorer, self.collected)


def _document(workspace: Workspace, scorer: Scorer, collected: Collected) -> dict[str, Any]:
    """Turns, blocks and tables of a collection."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for factor in sorted(scorer.factors, key=lambda f: f.level):
        if factor.role == "group":
            groups.setdefault(factor.table, []).append(factor.variables)
    found: dict[str, Any] = {
        "slots": list(collected.slots),
        "guarded": collected.guarded,
        "start": table_of(workspace, START_TABLE),
        "turns": [{"attribute": i, "offset": first} for _, i, first in collected.numbered_turns]
        + [
            {"attribute": i, "offset": first}
            for i, first in zip(collected.large, collected.large_offsets, strict=False)
        ]
        + _sparse_turns(collected),
        "tables": [
            {
                "blocks": [list(block) for block in blocks],
                "size": max(collected.keys_of(block) for block in blocks),
                "table": table_of(workspace, table),
            }
            for table, blocks in groups.items()
        ],
    }
    for role, name in (("cell", "cells"), ("parents", "parents")):
        for factor in scorer.factors:
            if factor.role == role:
                found[name] = table_of(workspace, factor.table)
    return found


def _sparse_turns(collected: Collected) -> list[dict[str, Any]]:
    first = collected.large_offsets[-1]
    return [
        {
            "attribute": None,
            "offset": first + at,
            "sparse": {
                "child": term.child,
                "parents": list(term.parents),
                "cells": collected.cell_offsets[at],
                "parent_keys": collected.parent_offsets[at],
                "silent": {
                    str(v): list(collected.ignored[v])
                    for v in (term.child, *term.parents)
                    if collected.ignored[v]
                },
            },
        }
        for at, term in enumerate(collected.sparse)
    ]
