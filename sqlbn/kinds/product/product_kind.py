"""Products: P(y) times P(x | parents, y) of every attribute, perhaps with weights as exponents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sqlbn.counts.counter import block_statement
from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts, family_statement
from sqlbn.counts.margins import plan_margins
from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.first_pass import Decider
from sqlbn.kinds.kind import (
    Added,
    Covered,
    Fitting,
    Job,
    Kind,
    Outline,
    Rederived,
    Scoring,
    Selection,
    StructureLearner,
    Titled,
    table_of,
    weights_stay,
)
from sqlbn.kinds.product.factor_tables import chains_of
from sqlbn.kinds.product.long_form import in_quickest_form
from sqlbn.kinds.product.product_fit import (
    ProductFit,
    SearchedFit,
    finish_product,
    weighted_shape,
)
from sqlbn.kinds.product.product_query import product_scores
from sqlbn.kinds.product.refinements import Refinement, Selective, Weighted, Whole
from sqlbn.search.search_options import Searching
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape


@dataclass(frozen=True)
class ProductKind(Kind):
    """A product whose parents the learner's `structure` tells.

    `refinement` is what is chosen of it after counting; `decide` finds the same structure by
    decisions that a bound is sure of (None: the learner has nothing to decide).
    """

    counts_sets: ClassVar[bool] = False
    refinement: Refinement = field(default_factory=Whole)
    decide: Decider | None = None

    @property
    def options(self) -> frozenset[str]:
        found = {"structure_sample", "backoff", "weight"}
        found |= {"bound"} if self.decide is not None else set()
        found |= {"smoothing", "weights"} if not isinstance(self.refinement, Weighted) else set()
        return frozenset(
            found | ({"loocv_sample", "race"} if self.selection is not None else set())
        )

    @property
    def selection(self) -> Selection | None:
        return self.refinement.selection if isinstance(self.refinement, Selective) else None

    def has_loo(self, smoothing: Smoothing) -> bool:
        return self.refinement.has_loo and smoothing.has_loo

    def tries_in_arrays(self, codes: Encoded) -> bool:
        return self.refinement.tries_in_arrays(codes)

    def numbers_rows(self, with_loss: bool) -> bool:
        return False

    def fitting(self, job: Job) -> Fitting:
        return ProductFit(job, self.refinement, self.decide)

    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        pairs, steps = learner.needs.pairs, []
        blocks = plan_margins(encoded, pairs)
        for number, block in enumerate(blocks, 1):
            title = f"pass 1, block {number} of {len(blocks)}: counts for structure"
            steps.append((title, block_statement(block, encoded)))
        depends = len(blocks) > 0 and pairs
        note = " (parents, which pass 1 decides, come into the key)" if depends else ""
        for position, name in enumerate(names):
            statement = family_statement((position,), encoded)
            steps.append((f"pass 2: counts of {name}{note}", statement))
        return steps

    def read_shape(
        self, workspace: Workspace, meta: Mapping[str, str], books: Sequence[Codebook], shape: Shape
    ) -> Shape:
        if isinstance(self.refinement, Weighted):
            rows = workspace.read("attributes", "weight", order=["position"])
            return replace(shape, weights=tuple((float(row[0]),) for row in rows))
        if "weights" not in workspace.names():
            return shape
        found: dict[str, list[float]] = {}
        listed = workspace.read("weights", "attribute", "weight", order=("attribute", "level"))
        for name, weight in listed:
            found.setdefault(name, []).append(float(weight))
        weights = tuple(tuple(found.get(book.name, (1.0,))) for book in books)
        shifts = {str(c): float(s) for c, s in workspace.read("class_shifts", "class", "shift")}
        return replace(shape, weights=weights, shifts=shifts)

    def wanted(self, outline: Outline, info: Information) -> Shape:
        shape = self.refinement.again(outline.shape, outline.learner.structure(info))
        return shape.weighted_as(outline.shape)

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        found = super().rederive(outline, info, covered)
        if not outline.shape.shifts:
            return found
        return replace(found, notes=(*found.notes, weights_stay()))

    @property
    def kept_notes(self) -> tuple[str, ...]:
        return self.refinement.kept_notes

    def sets(self, shape: Shape) -> list[Family]:
        return list(shape.families.values())

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return FamilyCounts(workspace, encoded, shape.families)

    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        shape, smoothing = added.shape, outline.smoothing
        if added.at_hand is not None:
            with progress.stage("weights", "weights by leave-one-out", added.at_hand.rows):
                shape, _ = weighted_shape(
                    added.counts,
                    shape,
                    added.class_counts,
                    smoothing,
                    outline.weightings,
                    self.loss,
                    added.at_hand,
                )
        finish_product(added.counts, added.books, added.info, shape, smoothing, progress)


@dataclass(frozen=True)
class SearchedProduct(ProductKind):
    """A product whose parents a search over networks finds; it may be one without a class."""

    needs_target: ClassVar[bool] = False
    searching: Searching = field(default_factory=lambda: Searching("hgc"))

    @property
    def options(self) -> frozenset[str]:
        return frozenset({"backoff", "smoothing", "weights"})

    def numbers_rows(self, with_loss: bool) -> bool:
        return self.searching.draws_rows

    def fitting(self, job: Job) -> Fitting:
        return SearchedFit(job, self.refinement, self.searching)

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        return self.unchanged(outline, "it was searched for in rows, not in counts")


class ProductScoring(Scoring):
    """The sum of one row of every factor's table."""

    marker: ClassVar[str] = "factors"

    @classmethod
    def read(
        cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
    ) -> ProductScoring:
        return cls()

    @property
    def name(self) -> str:
        return "product"

    @property
    def adds_factors(self) -> bool:
        return True

    @property
    def has_long_form(self) -> bool:
        return self.adds_factors

    @contextmanager
    def prepared(
        self, session: Session, scorer: Scorer, source: Source, progress: Progress
    ) -> Iterator[Scorer]:
        with in_quickest_form(session, scorer, source, progress) as formed:
            yield formed

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        return product_scores(scorer, coded, reorder)

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        return {"chains": chains_document(workspace, scorer)}


def chains_document(workspace: Workspace, scorer: Scorer) -> list[list[dict[str, Any]]]:
    """The factors of a product in chains, for a JSON document."""
    found = []
    for chain in chains_of(scorer.factors):
        tables = []
        for factor in chain:
            table: dict[str, Any] = {
                "attributes": list(factor.variables),
                "radices": [scorer.books[v].slots for v in factor.variables],
                "table": table_of(workspace, factor.table),
            }
            child = factor.members[0]
            if factor.role == "discount":
                table["adds"] = True
            if factor.role in ("parents", "discount") and scorer.ignored(child):
                table["silent"] = {"attribute": child, "codes": list(scorer.ignored(child))}
            tables.append(table)
        found.append(tables)
    return found
