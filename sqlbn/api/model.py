"""A model in Python: score, evaluate, look inside, save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.frames import Output
from sqlbn.data import open_source
from sqlbn.data.sampling import staged
from sqlbn.encoding.preparing import Encoding
from sqlbn.engines import Session
from sqlbn.engines.output_files import is_same, print_csv, print_json_lines
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError, StoreError, opt
from sqlbn.evaluation.held_out import SingleRows, evaluate_source, require_known_classes
from sqlbn.evaluation.metrics import Evaluation, asked_class, positive_class
from sqlbn.evaluation.prediction_query import in_places, ordering, scorable, scoring_statement
from sqlbn.kinds.compiler import probabilities_sql
from sqlbn.kinds.product.product_query import is_large, scored_in_steps
from sqlbn.kinds.unseen import Unseen, count_unseen
from sqlbn.learners.fit_options import checked_rows
from sqlbn.store import open_store
from sqlbn.store.history import Action
from sqlbn.store.meta import decoded_meta
from sqlbn.store.spec import ModelSpec
from sqlbn.store.sql_objects import too_large_for_sql
from sqlbn.structure.shape import Shape
from sqlbn.updates.changes import Change, Changed, merge
from sqlbn.updates.operations import change_rows
from sqlbn.updates.stored_model import StoredModel, encoding_of, shape_of

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlbn.options.catalogue import PredictKeywords, RowKeywords, ScriptKeywords


class Model:
    """A classifier whose parts are tables.

    Made by `sqlbn.fit` and `sqlbn.load`. It owns an engine: close it, or use it in a `with`.
    """

    def __init__(self, session: Session, workspace: Workspace, spec: ModelSpec) -> None:
        self._session, self._workspace, self._spec = session, workspace, spec
        self._unseen = Unseen(0, {})

    # -- what it is ----------------------------------------------------------------------------

    @property
    def meta(self) -> dict[str, Any]:
        """Learner and options, versions, source, rows, seconds a pass took."""
        return decoded_meta(self._spec.meta)

    @property
    def target(self) -> str:
        """The column that is predicted; empty for a network without one."""
        return self._spec.meta["target"]

    @property
    def classes(self) -> pa.Table:
        """`code, class, n`."""
        return self._table("classes", "code")

    @property
    def attributes(self) -> pa.Table:
        """`position, attribute, kind, n_values, mi, rank, selected`."""
        return self._table("attributes", "position")

    @property
    def parents(self) -> pa.Table:
        """`attribute, parent, rank, cmi`: who depends on whom besides the class."""
        return self._table("parents", "attribute, rank")

    @property
    def cmi(self) -> pa.Table:
        """`attribute, other, cmi` for the learners that count pairs."""
        return self._table("cmi", "attribute, other")

    @property
    def history(self) -> pa.Table:
        """`step, action, changed_at, source, rows, rows_skipped, total_rows, note`."""
        return self._table("history", "step")

    @property
    def spec(self) -> ModelSpec:
        """The small parts of the model: codebooks, classes, parents."""
        return self._spec

    @property
    def encoding(self) -> Encoding:
        """How values become codes, for other rows to follow."""
        return encoding_of(self._workspace, self._spec)

    @property
    def variables(self) -> pa.Table:
        """`attribute, kind, n_rows_present, n_missing, parts, level, cost, null_cost, …`."""
        if "variables" not in self._workspace.names():
            raise StoreError(
                "the model has no table 'variables': it was made by an earlier sqlbn; fit it again"
            )
        return self._table("variables", "level DESC, rowid")

    @property
    def shape(self) -> Shape:
        """Order, parents and used attributes."""
        return shape_of(self._workspace, self._spec)

    @property
    def terms(self) -> pa.Table | None:
        """`attribute, parents, weight`: the parent sets of a collection; None for other models."""
        return self._optional("terms", "rowid")

    @property
    def strengths(self) -> pa.Table | None:
        """`attribute, level, strength` of hierarchical smoothing; None with back-off."""
        return self._optional("strengths", "attribute, level")

    @property
    def weights(self) -> pa.Table | None:
        """`attribute, level, weight`: fitted exponents of probabilities; None without."""
        return self._optional("weights", "attribute, level")

    @property
    def class_shifts(self) -> pa.Table | None:
        """`class, shift`: what is added to the logarithms of priors; None without weights."""
        return self._optional("class_shifts", "rowid")

    @property
    def loocv(self) -> pa.Table | None:
        """`k, n_attributes, loss, value, smoothing, rows`: the leave-one-out losses of a selection.

        Values of fewer `rows` than the chosen model's are of models that lost a race.
        """
        return self._optional("loocv", "loss, k, n_attributes")

    @property
    def members(self) -> pa.Table | None:
        """`member, k, n_attributes` of an ensemble; None of other models."""
        return self._optional("members", "member")

    @property
    def decisions(self) -> pa.Table | None:
        """`step, variable, action, parent, candidates, rows, rows_read, checks, margin, bound, …`.

        How the parents were decided on, by a search or with a bound; None where all rows tell.
        """
        return self._optional("decisions", "step")

    @property
    def member_levels(self) -> pa.Table | None:
        """`member, attribute, level, strength, weight` of an ensemble; None of other models."""
        return self._optional("member_levels", "member, attribute, level")

    @property
    def encodings(self) -> pa.Table | None:
        """`encoding, rows, codes, loss, value, cross_fitted, expected, chosen` of those tried.

        None where the encoding was given.
        """
        return self._optional("encodings", "rowid")

    def has_macro(self, name: str) -> bool:
        """Whether a store that holds it under this name has a macro `predict` for it."""
        return too_large_for_sql(self._spec, name, self._session.limits) is None

    def cpt(self, attribute: str) -> pa.Table:
        """The conditional probability table of an attribute, with decoded values."""
        table = self._spec.readable_of(attribute)
        return self._session.arrow(self._spec.cpt_sql(table, self._workspace.prefix))

    def _optional(self, name: str, order: str) -> pa.Table | None:
        """A table that some models have."""
        return self._table(name, order) if name in self._workspace.names() else None

    def _table(self, name: str, order: str) -> pa.Table:
        return self._workspace.arrow(name, order)

    def __repr__(self) -> str:
        learner, target = self._spec.meta["learner"], self._spec.target.name
        if not self._spec.has_class:
            arcs = sum(map(len, self._spec.parents))
            return (
                f"<sqlbn network by {learner}: {len(self._spec.selected)} variables, {arcs} arcs, "
                f"{int(self._spec.meta['rows']):,} rows>"
            )
        return (
            f"<sqlbn model: {learner} of {target!r}, {len(self._spec.class_names)} classes, "
            f"{len(self._spec.selected)} attributes, {int(self._spec.meta['rows']):,} rows>"
        )

    # -- what it does --------------------------------------------------------------------------

    def predict(
        self,
        data: Any = None,
        out: str | Path | None = None,
        *,
        output: str = "arrow",
        progress: Progress | None = None,
        **options: Unpack[PredictKeywords],
    ) -> Any:
        """The rows of `data` with `prediction` and one probability a class.

        Written to `out` (Parquet or CSV) without passing through Python, and the path returned;
        else the `output`: an "arrow" table, or a frame of "pandas" or "polars". Rows of a pandas
        frame keep their index.
        `options`: `table`, `query`, `where` (which rows), `encoding` (of CSV files), `trust_sql`,
        `exclude` (columns not to carry through), `order_by` (columns; without it the order of the
        input is kept, but on Spark rows have none), `strict` (values never seen are an error; else
        `unseen` tells of them).
        """
        if out is not None and output != "arrow":
            raise OptionError(f"give {opt('out')} or {opt('output', output)}, not both")
        if out is not None:
            self.write_predictions(data, out, progress=progress, **options)
            return Path(out)
        shape = Output(output, data)
        with (
            self._opened_prediction(shape.data, progress, **options) as (sql, settled),
            self._scoring(progress, settled),
        ):
            return shape.of(self._session.row_engine.arrow(sql))

    def write_predictions(
        self,
        data: Any,
        out: str | Path,
        *,
        progress: Progress | None = None,
        as_json: bool = False,
        **options: Unpack[PredictKeywords],
    ) -> int:
        """Score rows into a file; how many they were.

        '-' is standard output: CSV, or `as_json` an object a line.
        """
        to_file = str(out) != "-"
        if to_file:
            self._session.row_engine.check_target(str(out))
        to = Path(out) if to_file else None
        with (
            self._opened_prediction(data, progress, out=to, **options) as (sql, settled),
            self._scoring(progress, settled),
        ):
            if to_file:
                return self._session.row_engine.write(sql, str(out))
            with self._session.row_engine.batches(sql) as reader:
                return (print_json_lines if as_json else print_csv)(reader)

    @contextmanager
    def _scoring(self, progress: Progress | None, settled: bool) -> Iterator[None]:
        with (
            (progress or Progress()).stage("predict", "scoring"),
            self._session.row_engine.joins_as_written(),
            self._session.row_engine.in_order(settled),
        ):
            yield

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
        """The statement that scores, and whether rows come in order by themselves."""
        if labels is not None:
            raise OptionError(f"{opt('labels')} goes with a model of long input ({opt('long')})")
        self._spec.require_class()
        source = open_source(
            self._session, data, **_rows(rows), trained=self._spec.trained(), places=True
        )
        if not source.rescannable:  # looked through for unseen values, then scored
            source = staged(self._session, source)
        if out is not None and any(is_same(out, file.path) for file in source.files):
            raise OptionError(f"{opt('out', out)} is a file that is read; write to another")
        session, row_engine = self._session, self._session.row_engine
        source, hidden = scorable(self._spec, source, exclude)
        order = ordering(source, order_by)
        scorer = self._spec.scorer(self._workspace.prefix, source.columns, row_engine.dialect)
        self._unseen = count_unseen(session, self._spec.books, scorer, source)
        if strict:
            self._unseen.refuse()
        shown = progress or Progress()
        with scorer.scoring.prepared(session, scorer, source, shown) as ready:
            if row_engine.keeps_order and is_large(ready, session.limits):
                with scored_in_steps(session, ready, source, progress=progress) as scored:
                    yield in_places(probabilities_sql(ready, scored), order, hidden), True
            else:
                statement = scoring_statement(ready, source, order, row_engine.keeps_order, hidden)
                yield statement, source.ordered or source.has_places

    @property
    def unseen(self) -> Unseen:
        """Of the last prediction: rows with values that training had not, by column."""
        return self._unseen

    def evaluate(
        self,
        data: Any = None,
        *,
        weight: str | None = None,
        ranking: bool = True,
        positive: object = None,
        out: str | Path | None = None,
        **rows: Unpack[RowKeywords],
    ) -> Evaluation:
        """Losses on rows whose class is known; without `ranking` no `auc` and no `aoprc`.

        These two and `mcc` are about the class `positive`; without it, of two classes about the one
        that had fewer rows in training, of more about all. Every row goes to the file `out`, as in
        `sqlbn.evaluate`. `rows`: `table`, `query`, `where`, `encoding`, `trust_sql`.
        """
        self._spec.require_class()
        source = open_source(self._session, data, **_rows(rows), trained=self._spec.trained())
        spec = self._spec
        chosen = positive_class(asked_class(positive), spec.class_names, spec.class_counts)
        single = SingleRows.to(self._session, out)
        keep = partial(single.add, 0, 0) if single is not None else None
        result = evaluate_source(self._workspace, spec, source, weight, ranking, chosen, keep)
        require_known_classes(result, self.target)
        if single is not None:
            single.write()
        return result

    def update(
        self,
        data: Any = None,
        *,
        again: bool = False,
        refit_weights: bool = False,
        progress: Progress | None = None,
        **rows: Unpack[RowKeywords],
    ) -> Change:
        """Add rows: the model becomes that of a fit of old and new rows.

        A file that was counted is refused unless `again`. A stored model changes only when it is
        saved again; `sqlbn.update` does both. With `refit_weights` weights are fitted again, on
        these rows.
        """
        how = {**_rows(rows), "refit_weights": refit_weights}
        return self._changed("update", data, again, progress, how)

    def forget(
        self,
        data: Any = None,
        *,
        again: bool = False,
        progress: Progress | None = None,
        **rows: Unpack[RowKeywords],
    ) -> Change:
        """Take rows out; an error, and nothing changed, where they were not all in it."""
        return self._changed("forget", data, again, progress, _rows(rows))

    def _changed(
        self,
        action: Action,
        data: Any,
        again: bool,
        progress: Progress | None,
        rows: dict[str, Any],
    ) -> Change:
        changed = change_rows(self._stored, action, data, again=again, progress=progress, **rows)
        return self._replace(changed)

    def merge(self, other: Model, *, again: bool = False) -> Change:
        """Add the rows of another model with the same encoding, known by its counts alone."""
        with other._copied_to(self._session) as workspace:
            there = StoredModel(workspace, other._spec)
            return self._replace(merge(self._stored, there, again, Progress()))

    @contextmanager
    def _copied_to(self, session: Session) -> Iterator[Workspace]:
        """The tables in another engine."""
        workspace = Workspace(session)
        try:
            for name in self._workspace.names():
                rows = self._workspace.arrow(name)
                columns = dict(zip(rows.column_names, rows.columns, strict=True))
                session.create_table(workspace.table(name), columns)
            yield workspace
        finally:
            workspace.drop()

    @property
    def _stored(self) -> StoredModel:
        return StoredModel(self._workspace, self._spec)

    def _replace(self, changed: Changed) -> Change:
        self._workspace.drop()
        self._workspace, self._spec, change = changed
        return change

    def export(
        self,
        out: str | Path | None = None,
        *,
        format: str = "sql",
        name: str | None = None,
        **options: Unpack[ScriptKeywords],
    ) -> str | Path:
        """The model as SQL, JSON, BIF or PMML: its text, or the file it was written to.

        `options` of a script are those of `sqlbn.export`; its tables begin with `name`.
        """
        from sqlbn.exporting.formats import export_pieces, write_pieces

        name = name or self._spec.meta.get("name") or "model"
        pieces = export_pieces(self._workspace, self._spec, format, name, dict(options))
        if out is None:
            return "".join(pieces)
        write_pieces(pieces, Path(out))
        return Path(out)

    def save(self, store: str | Path, name: str, replace: bool = False) -> None:
        """Write the model into a store file, in one transaction."""
        open_store(store).save(self._workspace, self._spec, name, replace)

    def close(self) -> None:
        """Free what the model holds: memory and scratch files."""
        self._session.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Which rows are meant; any other keyword is an error."""
    return checked_rows(dict(given))
