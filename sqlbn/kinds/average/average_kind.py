"""Averages: the mean of products in each of which the same n attributes are parents of all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.counts.subsets import SubsetCounts, plan_subsets, subsets_of
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded, Source
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.average.array_rows import scored_in_arrays
from sqlbn.kinds.average.average_fit import (
    AverageFit,
    Averaging,
    affordable_subsets,
    average_of,
    finish_average,
)
from sqlbn.kinds.average.average_query import averaged_scores
from sqlbn.kinds.average.superparents import (
    SUPER_TABLE,
    SuperParents,
    implied_table,
    read_supers,
    scoring_seconds,
)
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.estimates import Smoothing
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
    count_statements,
    table_of,
)
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


@dataclass(frozen=True)
class AverageKind(Kind):
    """A mean of products over super-parents; `selects` how many attributes, by leave-one-out."""

    counts_sets: ClassVar[bool] = True
    averaging: Averaging
    selects: Selection | None = None

    @property
    def options(self) -> frozenset[str]:
        selecting = {"loocv_sample"} if self.selects is not None else set[str]()
        return frozenset({"weight", "structure_sample", *selecting})

    @property
    def selection(self) -> Selection | None:
        return self.selects

    def outlook(self, n_attributes: int, n_classes: int, limits: Limits) -> list[str]:
        kept, rows = len(self.averaging.kept(range(n_attributes))), limits.average_outlook_rows
        supers = math.comb(kept, self.averaging.n)
        taken = scoring_seconds(limits, rows, supers, kept, n_classes)
        said = (
            f"super-parents: {supers:,}; {rows:,} rows are scored in about {taken:.2g} s of a core"
        )
        if taken <= limits.average_outlook_seconds or kept <= self.averaging.n:
            return [said]
        return [f"{said}; with fewer {opt('attributes')} or {opt('n', 1)} in less"]

    def has_loo(self, smoothing: Smoothing) -> bool:
        return True

    def numbers_rows(self, with_loss: bool) -> bool:
        return with_loss or self.selects is not None

    def check_room(self, workspace: Workspace, codes: Encoded, names: Sequence[str]) -> None:
        # Which attributes are kept may be known only after counting.
        if self.averaging.attributes is None:
            affordable_subsets(workspace, codes, range(codes.n_attributes), self.averaging)

    def fitting(self, job: Job) -> Fitting:
        return AverageFit(job, self.averaging, self.selects)

    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        # Which attributes are kept depends on counts: those that come first stand for them.
        kept = self.averaging.kept(range(encoded.n_attributes))
        blocks = plan_subsets(encoded, subsets_of(kept, self.averaging.n + 1))
        return count_statements(blocks, encoded)

    def wanted(self, outline: Outline, info: Information) -> Shape:
        structure, now = outline.learner.structure(info), outline.shape
        chosen = now.selected if self.selects is not None else self.averaging.kept(structure.order)
        return Shape(structure, tuple(sorted(chosen)), now.k)

    @property
    def kept_notes(self) -> tuple[str, ...]:
        notes = ("the selection by leave-one-out stays as it is",)
        return notes if self.selects is not None else ()

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        found = super().rederive(outline, info, covered)
        # The order of the attributes is known whatever was counted together.
        order = Structure(tuple(info.order), found.shape.structure.parents)
        return Rederived(replace(found.shape, structure=order), found.notes)

    def sets(self, shape: Shape) -> list[Family]:
        return subsets_of(shape.selected, self.averaging.n + 1)

    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        return SubsetCounts(workspace, encoded, self.sets(shape))

    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        counts, shape, classes = added.counts, added.shape, added.class_counts
        assert isinstance(counts, SubsetCounts)
        averaged = average_of(counts, self.averaging, shape.selected, classes, outline.smoothing)
        finish_average(averaged, added.books, added.info, shape.structure, progress)


@dataclass(frozen=True)
class AverageScoring(Scoring):
    """Rows are unfolded into one a super-parent, scored like naive Bayes, and added up."""

    marker: ClassVar[str] = "superparents"
    mixture: ClassVar[str] = "the mean of many networks"
    nearest: ClassVar[str] = "tan or kdb"
    reads_twice: ClassVar[bool] = True
    supers: SuperParents

    @classmethod
    def read(
        cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
    ) -> AverageScoring:
        return cls(read_supers(workspace, books, smoothing))

    @property
    def name(self) -> str:
        return "average"

    @property
    def n_turns(self) -> int:
        return len(self.supers.sets)

    @property
    def tables(self) -> list[str]:
        return [SUPER_TABLE, *map(implied_table, self.supers.implying)]

    @contextmanager
    def prepared(
        self, session: Session, scorer: Scorer, source: Source, progress: Progress
    ) -> Iterator[Scorer]:
        with scored_in_arrays(session, scorer, self.supers, source, progress) as scored:
            yield replace(scorer, scored=scored)

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        return averaged_scores(scorer, self.supers, coded, reorder is not None)

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        supers, tables = self.supers, []
        for factor in scorer.factors:
            book = scorer.books[factor.variables[0]]
            tables.append(
                {
                    "attributes": list(factor.variables),
                    "sparse": factor.role == "sparse",
                    "share": scorer.smoothing.of(book.n_values).share,
                    "table": table_of(workspace, factor.table),
                }
            )
        return {
            "radices": list(supers.radices),
            "drops": supers.drops,
            "counting": [supers.n_counting(v) for v in range(len(supers.radices))],
            "implied": [
                {"attribute": j, "table": table_of(workspace, implied_table(j))}
                for j in supers.implying
            ],
            "turns": [
                {"attributes": list(subset), "offset": offset}
                for subset, offset in zip(supers.sets, supers.offsets, strict=True)
            ],
            "super": table_of(workspace, SUPER_TABLE),
            "tables": tables,
        }
