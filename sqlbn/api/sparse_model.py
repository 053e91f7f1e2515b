"""A model of long input in Python: rows are cells of a long table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from sqlbn.api.model import Model
from sqlbn.data.long_rows import wanted_rows
from sqlbn.engines import Session
from sqlbn.engines.output_files import is_same
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Source
from sqlbn.engines.sql import RESERVED, literal, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, OptionError, opt
from sqlbn.evaluation.held_out import require_known_classes
from sqlbn.evaluation.metrics import Evaluation, asked_class, positive_class
from sqlbn.kinds.sparse.sparse_counts import SparseCounts
from sqlbn.kinds.sparse.sparse_query import (
    SparseScoring,
    sparse_predictions,
    sparse_scores,
    wanted_scores,
)
from sqlbn.kinds.sparse.sparse_tables import probability_table, value_labels
from sqlbn.kinds.unseen import Unseen
from sqlbn.learners.fit_options import checked_rows
from sqlbn.sparse.sparse_cells import check_cells
from sqlbn.sparse.sparse_evaluation import evaluate_long
from sqlbn.sparse.sparse_source import open_cells, open_long_like
from sqlbn.store.history import Action
from sqlbn.store.spec import ModelSpec
from sqlbn.updates.changes import Change
from sqlbn.updates.sparse_changes import change_long_rows, merge_long
from sqlbn.updates.stored_model import StoredModel

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlbn.encoding.preparing import Encoding
    from sqlbn.options.catalogue import RowKeywords
    from sqlbn.structure.shape import Shape


def model_of(session: Session, workspace: Workspace, spec: ModelSpec) -> Model:
    """The model in a workspace, by what its rows are."""
    return (LongModel if spec.is_long else Model)(session, workspace, spec)


class LongModel(Model):
    """A classifier of rows that come as cells (`long`): features instead of columns.

    `predict`, `evaluate` and updates take long tables, with `labels` where these have the classes.
    """

    @property
    def features(self) -> pa.Table:
        """`place, feature, kind, n_values, n, mi, rank, selected, weight`."""
        return self._table("features", "place")

    @property
    def encoding(self) -> Encoding:
        """A model of long input has no columns."""
        self._refuse("there are no columns to follow")

    @property
    def shape(self) -> Shape:
        """A model of long input has no attributes."""
        self._refuse("there are no attributes to follow")

    @property
    def variables(self) -> pa.Table:
        """What the features say about the class one by one: `features`."""
        return self.features

    def cpt(self, attribute: str) -> pa.Table:
        """The counts and probabilities of the values of a feature, its absence among them."""
        known = self._workspace.read("features", "place", where=f"feature = {literal(attribute)}")
        if not known:
            raise ColumnError(f"the model has no feature {attribute!r}; `features` lists them")
        counts = SparseCounts.read(self._workspace, self._spec.class_counts)
        place = int(known[0][0])
        labels = value_labels(self._workspace, place, int(counts.n_values[place]))
        return probability_table(
            counts, place, labels, attribute, self._spec.class_names, self._spec.smoothing
        )

    @property
    def _scoring_rules(self) -> SparseScoring:
        scoring = self._spec.scoring
        assert isinstance(scoring, SparseScoring)
        return scoring

    @contextmanager
    def _opened_prediction(
        self,
        data: Any,
        progress: Progress | None,
        *,
        out: Path | None = None,
        exclude: str | Sequence[str] | None = None,
        order_by: str | Sequence[str] | None = None,
        strict: bool = False,
        labels: Any = None,
        **rows: Unpack[RowKeywords],
    ) -> Iterator[tuple[str, bool]]:
        """The statement that gives a line for every row id, in their order."""
        for option, given in (("exclude", exclude), ("order_by", order_by)):
            if given is not None:
                raise OptionError(
                    f"{opt(option)} does not go with long input: a prediction has the row id alone"
                )
        session = self._session
        cells = open_cells(session, data, **checked_rows(dict(rows)))
        wanted = open_cells(session, labels) if labels is not None else None
        read = [*cells.files, *(wanted.files if wanted is not None else ())]
        if out is not None and any(is_same(out, file.path) for file in read):
            raise OptionError(f"{opt('out', out)} is a file that is read; write to another")
        scored, row = self._scored(cells, wanted)
        kept = session.row_engine.persist(scored, "scored", session.memory_bytes)
        try:
            self._unseen = self._count_unseen(kept.relation)
            if strict:
                self._unseen.refuse()
            scorer = self._spec.scorer(self._workspace.prefix)
            yield sparse_predictions(scorer, select_sql(kept.relation), row), True
        finally:
            session.row_engine.unpersist(kept)

    def _scored(self, cells: Source, wanted: Source | None) -> tuple[str, str]:
        """The query for scores by row id, and what ids are called."""
        scoring, prefix = self._scoring_rules, self._workspace.prefix
        names = scoring.rules.names.within(cells)
        self._check_names(names.row)
        scoring.rules.check(cells, names)
        check_cells(self._session, cells, names)
        rules = dataclasses.replace(scoring.rules, names=names)
        sql = rules.cells_sql(cells.filtered_relation, keeps_rows=True)
        scores = sparse_scores(scoring, prefix, sql, told=True)
        if wanted is not None:
            scores = wanted_scores(scoring, scores, wanted_rows(wanted, names.row))
        return scores, names.row

    def _check_names(self, row: str) -> None:
        taken = {"prediction", *(name.lower() for name in self._spec.probability_columns)}
        if row.lower() in taken or row.lower().startswith(RESERVED):
            raise ColumnError(f"the row ids are called {row!r}, which the prediction adds; rename")

    def _count_unseen(self, scored: str) -> Unseen:
        items = ", ".join(f"count_if({name})" for name in ("unseen_feature", "unseen_value"))
        rows, feature, value = self._session.row(select_sql(scored, f"count(*), {items}"))
        names = self._scoring_rules.rules.names
        found = {names.feature: int(feature), names.value or "": int(value)}
        return Unseen(int(rows), {name: n for name, n in found.items() if n})

    def evaluate(
        self,
        data: Any = None,
        *,
        weight: str | None = None,
        ranking: bool = True,
        positive: object = None,
        out: str | Path | None = None,
        labels: Any = None,
        **rows: Unpack[RowKeywords],
    ) -> Evaluation:
        """Losses on rows whose class is known: in `labels`, or as cells of the target."""
        for option, given in (("weight", weight), ("out", out)):
            if given is not None:
                raise OptionError(f"{opt(option)} does not go with {opt('long')}")
        opened = open_long_like(self._session, self._spec, data, labels, **checked_rows(dict(rows)))
        spec = self._spec
        chosen = positive_class(asked_class(positive), spec.class_names, spec.class_counts)
        result = evaluate_long(self._workspace, spec, opened, ranking, chosen)
        require_known_classes(result, self.target)
        return result

    def update(
        self,
        data: Any = None,
        *,
        again: bool = False,
        refit_weights: bool = False,
        labels: Any = None,
        progress: Progress | None = None,
        **rows: Unpack[RowKeywords],
    ) -> Change:
        """Add rows: the model becomes that of a fit of old and new rows."""
        how = {**checked_rows(dict(rows)), "refit_weights": refit_weights, "labels": labels}
        return self._changed("update", data, again, progress, how)

    def forget(
        self,
        data: Any = None,
        *,
        again: bool = False,
        labels: Any = None,
        progress: Progress | None = None,
        **rows: Unpack[RowKeywords],
    ) -> Change:
        """Take rows out; an error, and nothing changed, where they were not all in it."""
        how = {**checked_rows(dict(rows)), "labels": labels}
        return self._changed("forget", data, again, progress, how)

    def _changed(
        self,
        action: Action,
        data: Any,
        again: bool,
        progress: Progress | None,
        rows: dict[str, Any],
    ) -> Change:
        given = {**rows, "again": again, "progress": progress}
        return self._replace(change_long_rows(self._stored, action, data, **given))

    def merge(self, other: Model, *, again: bool = False) -> Change:
        """Add the rows of another model of long input, known by its counts alone."""
        with other._copied_to(self._session) as workspace:
            there = StoredModel(workspace, other.spec)
            return self._replace(merge_long(self._stored, there, again, Progress()))

    def __repr__(self) -> str:
        learner, target = self._spec.meta["learner"], self._spec.target.name
        features = self._workspace.session.row(
            select_sql(self._workspace.table("features"), "count(*)")
        )[0]
        return (
            f"<sqlbn model: {learner} of {target!r}, {len(self._spec.class_names)} classes, "
            f"{features:,} features, {int(self._spec.meta['rows']):,} rows>"
        )

    def _refuse(self, what: str) -> NoReturn:
        self._spec.require_columns(what)
        raise AssertionError("a model of long input")
