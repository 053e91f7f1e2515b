"""Products of sums over parent sets: collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlbn.counts.cover import Family
from sqlbn.counts.margins import keep_margins, margin_sums
from sqlbn.counts.subsets import (
    SubsetCounts,
    affordable,
    count_into,
    plan_subsets,
    subset_cost,
    subsets_of,
)
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.encoded import Encoded
from sqlbn.encoding.preparing import Prepared
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.collection.collected import write_terms, write_turns
from sqlbn.kinds.collection.collection_tables import CollectionTables, CountedTerms
from sqlbn.kinds.collection.superparent_search import most_probable
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import Fitted, Job
from sqlbn.kinds.product.factor_tables import write_factors
from sqlbn.kinds.structure_tables import write_structure
from sqlbn.learners.base import Collecting
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import (
    AUTO,
    Term,
    behind,
    best_super_parent,
    families_of,
    fanc_terms,
    given_terms,
    ordered,
    position_of,
    spc_terms,
    tc_terms,
)
from sqlbn.structure.shape import Shape, Structure, information_for


def remedy() -> str:
    """What to do about too many cells."""
    return (
        f"limit parents with {opt('parents_from_first')}, use fewer {opt('bins')} or "
        f"{opt('exclude')} attributes"
    )


@dataclass(frozen=True)
class Collectable:
    """What is to be collected of which attributes."""

    collecting: Collecting
    names: tuple[str, ...]

    def terms(self, order: Sequence[int], super_parent: int | None) -> list[Term]:
        """The terms, in an order of the attributes."""
        first = self.collecting.first
        if self.collecting.architecture == "given":
            return given_terms(self.collecting.given, self.names)
        if self.collecting.architecture == "fanc":
            return fanc_terms(order, first)
        if self.collecting.architecture == "tc":
            return tc_terms(order, first)
        return spc_terms(behind(super_parent, order), first) if super_parent is not None else []

    @property
    def named(self) -> int | None:
        """The super parent that the user names."""
        name = self.collecting.superparent
        if name is None or name == AUTO:
            return None
        return position_of(name, self.names, "superparent")

    def tried(self, order: Sequence[int]) -> list[int | None]:
        """The super parents that may come out: all, the one that is named, or none at all."""
        return list(order) if self.collecting.by_rows else [self.named]

    def families(self, order: Sequence[int]) -> list[Family]:
        """The sets of attributes to count, once the order is known."""
        return self.needed([t for s in self.tried(order) for t in self.terms(order, s)])

    def needed(self, terms: Sequence[Term]) -> list[Family]:
        """The sets whose counts some terms need; every attribute alone, too."""
        return families_of([*(Term(i, ()) for i in range(len(self.names))), *terms])

    def shape(self, info: Information, super_parent: int | None = None) -> Shape:
        """Order and terms that the counts ask for; `super_parent` is the one that rows chose."""
        order = ordered(info, self.collecting.order)
        if super_parent is None:
            super_parent = self.named
        if self.collecting.superparent == AUTO and order:
            super_parent = best_super_parent(info)
        terms = tuple(self.terms(order, super_parent))
        if super_parent is not None:
            order = behind(super_parent, order)
        elif self.collecting.architecture == "given":
            order = info.order
        structure = Structure(tuple(order), ((),) * len(order))
        used = tuple(sorted({v for term in terms for v in term.family}))
        return Shape(structure, used, None, terms, super_parent)

    @property
    def early(self) -> list[Family]:
        """The sets that are counted first: all of them where no count decides which they are."""
        c, schema = self.collecting, range(len(self.names))
        if c.architecture == "given":
            return self.families(schema)
        if c.superparent != AUTO and (c.first is None or c.order == "schema"):
            # Without a limit the sets are the same in every order.
            return self.families(schema)
        return subsets_of(schema, 2 if c.by_gain else 1)


@dataclass(frozen=True)
class CollectedModel:
    """What came out of a fit."""

    info: Information
    shape: Shape


def fit_collection(
    workspace: Workspace,
    encoded: Encoded,
    collectable: Collectable,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    progress: Progress,
    shape: Shape | None,
) -> CollectedModel:
    """Count, choose (where no other model's shape is to be followed), and make the tables."""
    collecting = collectable.collecting
    counts = _counted(workspace, encoded, collectable.early, None, progress)
    keep_margins(counts)
    info = information_for(margin_sums(counts, class_counts, bare_pairs=collecting.by_gain))
    if shape is None:
        order = ordered(info, collecting.order)
        chosen = None
        if collecting.by_rows and order:
            counts = _counted(workspace, encoded, collectable.families(order), counts, progress)
            tried = {s: tuple(collectable.terms(order, s)) for s in range(len(order))}
            chosen = most_probable(counts, tried, class_counts, smoothing, progress)
        shape = collectable.shape(info, chosen)
    terms = shape.terms
    counts = _counted(workspace, encoded, collectable.needed(terms), counts, progress)
    with progress.stage("factors", "making the tables of probabilities"):
        make_collection(workspace, CountedTerms(counts, terms, smoothing), collectable.names)
    return CollectedModel(info, shape)


def _counted(
    workspace: Workspace,
    encoded: Encoded,
    subsets: Sequence[Family],
    counts: SubsetCounts | None,
    progress: Progress,
) -> SubsetCounts:
    """Counts of these sets and no others: those that are there are taken over."""
    new = [s for s in subsets if counts is None or not counts.has(s)]
    affordable(workspace, encoded, new, remedy())
    if counts is None:
        counts = SubsetCounts(workspace, encoded, subsets)
    elif new or len(subsets) < len(counts.families):
        counts = counts.changed_to(subsets)
    if new:
        blocks = plan_subsets(encoded, new)
        progress.note(f"to count: {subset_cost(encoded, new)}, in {len(blocks):,} blocks")
        with progress.stage("structure", "counting sets of attributes", encoded.rows, len(blocks)):
            count_into(counts, blocks, progress.advance)
    return counts


def make_collection(workspace: Workspace, counted: CountedTerms, names: Sequence[str]) -> None:
    """The tables that scoring joins, and those that say what the model is."""
    counted.counts.describe()
    tables = CollectionTables(counted, workspace)
    tables.make()
    write_factors(workspace, tables.plan.factors)
    write_terms(workspace, counted.terms, names)
    write_turns(workspace, tables.plan.collected, names)


def fit_terms(job: Job) -> Fitted:
    """A product of sums: counts of the sets that the terms need, tables; what was chosen."""
    prepared, options = job.prepared, job.options
    collecting = options.make_learner().collecting
    assert collecting is not None
    model = fit_collection(
        job.workspace,
        job.encoded,
        collectable(prepared, collecting),
        prepared.class_counts,
        options.smoothing,
        job.progress,
        job.shape,
    )
    found = model.shape
    write_structure(job.workspace, prepared.books, model.info, found.structure, set(found.selected))
    return Fitted(super_parent_of(found, prepared.books))


def super_parent_of(shape: Shape, books: Sequence[Codebook]) -> dict[str, Any]:
    """The super parent of a collection, for the meta table."""
    return {} if shape.super_parent is None else {"superparent": books[shape.super_parent].name}


def collectable(prepared: Prepared, collecting: Collecting) -> Collectable:
    return Collectable(collecting, tuple(book.name for book in prepared.books))
