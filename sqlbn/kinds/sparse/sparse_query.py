"""The query that scores rows which come as cells: one join with the features, one group a row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.dialects import DUCKDB
from sqlbn.engines.limits import Limits
from sqlbn.engines.sql import NAMES, identifier, literal, relation_sql, render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError
from sqlbn.kinds.compiler import Scorer, probabilities_sql
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Readable, Scoring
from sqlbn.kinds.sparse.cell_rules import CellRules
from sqlbn.kinds.sparse.sparse_families import UNSEEN


@dataclass(frozen=True)
class SparseScoring(Scoring):
    """The score of a row without any feature, and what every cell adds to it.

    `depth`: of how many cells it is known what they add together.
    """

    marker: ClassVar[str] = "features"
    rules: CellRules
    starts: tuple[float, ...]
    depth: int = 1

    @classmethod
    def read(cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing) -> Scoring:
        said = workspace.read("meta", "value", where=f"key = {literal('long')}")
        rules = CellRules.read(json.loads(said[0][0]))
        depth = 1
        if "predict_together" in workspace.names():
            together = workspace.table("predict_together")
            depth = int(workspace.session.row(select_sql(together, "max(level)"))[0] or 1)
        return cls(rules, tuple(float(x) for x in workspace.read("predict_absent")[0]), depth)

    @property
    def name(self) -> str:
        return "sparse"

    def readable(
        self, names: Sequence[str], selected: Sequence[int], parents: Sequence[tuple[int, ...]]
    ) -> dict[str, Readable]:
        return {}

    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        raise AssertionError("rows of columns are not scored by features")

    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        raise OptionError("a model of long input has no JSON document; predict with it in SQL")


def sparse_scores(scoring: SparseScoring, prefix: str | None, cells: str, told: bool) -> str:
    """Row ids r with their log scores; where it is `told`, also whether there is something unseen.

    `cells` is a query for the cells; the tables are in the quoted schema `prefix`.
    """
    return render(
        "sparse/scores",
        names=NAMES,
        starts=list(map(DUCKDB.double, scoring.starts)),
        cells=cells,
        features=relation_sql(prefix, "predict_features"),
        parts=relation_sql(prefix, "predict_values"),
        match=scoring.rules.match_sql("x"),
        tells_unseen=told,
        depth=scoring.depth,
        together=relation_sql(prefix, "predict_together"),
        unseen=UNSEEN,
    )


def labelled_scores(scoring: SparseScoring, prefix: str | None, cells: str, rows: str) -> str:
    """Rows (id, y) with their classes and scores, as losses are computed from."""
    return render(
        "sparse/labelled",
        names=NAMES,
        starts=list(map(DUCKDB.double, scoring.starts)),
        rows=rows,
        scores=sparse_scores(scoring, prefix, cells, told=False),
    )


def wanted_scores(scoring: SparseScoring, scores: str, wanted: str) -> str:
    """The scores of these rows, whether they have cells or not."""
    starts = list(map(DUCKDB.double, scoring.starts))
    return render("sparse/wanted_scores", names=NAMES, starts=starts, scores=scores, wanted=wanted)


def sparse_predictions(scorer: Scorer, scored: str, row: str) -> str:
    """The row id under its name, the prediction and the probabilities of rows with scores."""
    scores = ", ".join(f"{NAMES.score}{j}" for j in range(len(scorer.class_names)))
    named = render("sparse/named_rows", row=identifier(row), scores=scores, scored=scored)
    return select_sql(f"({probabilities_sql(scorer, named)})", order=identifier(row))
