"""A model in Python: score, evaluate, look inside, save."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.draft import Draft
from sqlbn.encode.weights import check_weights
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError, OptionError
from sqlbn.evaluation.losses import Evaluation, from_sums
from sqlbn.progress import Progress
from sqlbn.quoting import identifier, literal
from sqlbn.scoring.names import RESERVED
from sqlbn.scoring.query import losses_sql, prediction_sql
from sqlbn.sources import Source, open_source
from sqlbn.sources.relation import staged
from sqlbn.store import StoreFile
from sqlbn.store.spec import ModelSpec

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


class Model:
    """A classifier whose parts are tables.

    Made by `sqlbn.fit` and `sqlbn.load`. It owns an engine: close it, or use it in a `with`.
    """

    def __init__(self, engine: DuckDBEngine, draft: Draft, spec: ModelSpec) -> None:
        self._engine, self._draft, self._spec = engine, draft, spec

    # -- what it is ----------------------------------------------------------------------------

    @property
    def meta(self) -> dict[str, Any]:
        """Learner and options, versions, source, rows, seconds a pass took."""
        return {key: _decoded(value) for key, value in self._spec.meta.items()}

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self._spec.target.name

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
    def terms(self) -> pa.Table | None:
        """`attribute, parents, weight`: the parent sets of a collection; None for other models."""
        if "terms" not in self._draft.names():
            return None
        return self._table("terms", "rowid")

    @property
    def loocv(self) -> pa.Table | None:
        """`k, n_attributes, loss, value`: the leave-one-out surface of a selective learner."""
        if "loocv" not in self._draft.names():
            return None
        return self._table("loocv", "loss, k, n_attributes")

    def cpt(self, attribute: str) -> pa.Table:
        """The conditional probability table of an attribute, with decoded values."""
        position = self._spec.position(attribute)
        return self._engine.arrow(self._spec.cpt_sql(position, self._draft.prefix))

    def _table(self, name: str, order: str) -> pa.Table:
        return self._engine.arrow(f"FROM {self._draft.table(name)} ORDER BY {order}")

    def __repr__(self) -> str:
        learner, target = self._spec.meta["learner"], self._spec.target.name
        return (
            f"<sqlbn model: {learner} of {target!r}, {len(self._spec.class_names)} classes, "
            f"{len(self._spec.selected)} attributes, {int(self._spec.meta['rows']):,} rows>"
        )

    # -- what it does --------------------------------------------------------------------------

    def predict(
        self,
        data: Any,
        out: str | Path | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> pa.Table | Path:
        """The rows of `data` with `prediction` and one probability a class.

        Written to `out` (Parquet or CSV) without passing through Python, else an Arrow table.
        `options`: `table`, `query`, `where` (which rows), `exclude` (columns not to carry
        through), `order_by` (columns; without it the order of the input is kept).
        """
        if out is not None:
            self.write_predictions(data, out, progress=progress, **options)
            return Path(out)
        sql, ordered = self._opened_prediction(data, **options)
        with self._scoring(progress, ordered):
            return self._engine.arrow(sql)

    def write_predictions(
        self, data: Any, out: str | Path, *, progress: Progress | None = None, **options: Any
    ) -> int:
        """Score rows into a file ('-' is CSV to standard output); how many they were."""
        path = None if str(out) == "-" else Path(out)
        if path is not None:
            _check_output(path)
        sql, ordered = self._opened_prediction(data, out=path, **options)
        with self._scoring(progress, ordered):
            return _write(self._engine, sql, path)

    @contextmanager
    def _scoring(self, progress: Progress | None, ordered: bool) -> Iterator[None]:
        with (
            (progress or Progress()).stage("predict", "scoring"),
            self._engine.joins_as_written(),
            self._engine.in_order(ordered),
        ):
            yield

    def _opened_prediction(
        self,
        data: Any,
        *,
        out: Path | None = None,
        table: str | None = None,
        query: str | None = None,
        where: str | None = None,
        exclude: Sequence[str] = (),
        order_by: Sequence[str] = (),
    ) -> tuple[str, bool]:
        source = open_source(self._engine, data, table=table, query=query, where=where)
        source = _rescannable(self._engine, self._spec, source)
        if out is not None and any(_is_same(out, file.path) for file in source.files):
            raise OptionError(f"--out {out} is a file that is read; write to another")
        sql = prediction_statement(
            self._spec, self._draft.prefix, source, exclude=exclude, order_by=order_by
        )
        return sql, source.ordered or bool(order_by)

    def evaluate(
        self,
        data: Any,
        *,
        weight: str | None = None,
        table: str | None = None,
        query: str | None = None,
        where: str | None = None,
    ) -> Evaluation:
        """Losses on rows whose class is known."""
        source = open_source(self._engine, data, table=table, query=query, where=where)
        return evaluate_source(self._draft, self._spec, source, weight)

    def save(self, store: str | Path, name: str, replace: bool = False) -> None:
        """Write the model into a store file, in one transaction."""
        StoreFile(store).save(self._draft, self._spec, name, replace)

    def close(self) -> None:
        """Free what the model holds: memory and scratch files."""
        self._engine.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def evaluate_source(
    draft: Draft, spec: ModelSpec, source: Source, weight: str | None
) -> Evaluation:
    """Losses of the model in a draft on a source."""
    source.column(spec.target.name, "the target")
    check_input(spec, source, outputs=False)
    source = _rescannable(draft.engine, spec, source)
    weight_sql = None
    if weight is not None:
        weights = check_weights(draft.engine, source, source.column(weight, "the weight"))
        source = source.filtered(f"{weights.value_sql()} > 0")
        weight_sql = weights.value_sql("i")
    scorer = spec.scorer(draft.prefix, source.columns)
    sql = losses_sql(scorer, source.filtered_relation, weight_sql)
    started = time.perf_counter()
    with draft.engine.joins_as_written():
        sums = draft.engine.rows(sql)
    return from_sums(spec.class_names, sums, time.perf_counter() - started)


def _rescannable(engine: DuckDBEngine, spec: ModelSpec, source: Source) -> Source:
    """A source that can be read as often as scoring wants: twice where equal rows are one."""
    if (spec.supers is None and spec.collected is None) or source.rescannable:
        return source
    return staged(engine, source, list(source.columns))


def prediction_statement(
    spec: ModelSpec,
    prefix: str | None,
    source: Source,
    *,
    exclude: Sequence[str] = (),
    order_by: Sequence[str] = (),
) -> str:
    """The query that `predict` runs, over the model's tables in a schema (None: the one in USE)."""
    left_out = [source.column(name, "--exclude column") for name in exclude]
    if left_out:
        items = f"* EXCLUDE ({', '.join(map(identifier, left_out))})"
        columns = {c: t for c, t in source.columns.items() if c not in left_out}
        source = Source(f"({source.select(items)})", columns, source.label)
    check_input(spec, source)
    sql = prediction_sql(spec.scorer(prefix, source.columns), source.filtered_relation)
    if not order_by:
        return sql
    names = ", ".join(identifier(source.column(n, "--order-by column")) for n in order_by)
    return f"FROM ({sql}) ORDER BY {names}"


def check_input(spec: ModelSpec, source: Source, outputs: bool = True) -> None:
    """An error that names the column where rows cannot be scored."""
    used = spec.scorer(None).used
    for v in used:
        source.column(spec.books[v].name, "the model's attribute")
    ours = ["prediction", *spec.probability_columns] if outputs else []
    taken = {name.lower() for name in ours}
    for name in source.columns:
        if name.lower() in taken or name.lower().startswith(RESERVED):
            raise ColumnError(
                f"the input already has a column {name!r}, which the prediction adds; "
                f"leave it out with --exclude {name}"
            )


def _is_same(path: Path, other: str) -> bool:
    return path.exists() and Path(other).exists() and path.samefile(other)


def _check_output(path: Path) -> None:
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(f"--out {path}: the name must end in .parquet or .csv")
    if not path.parent.is_dir():
        raise OptionError(f"--out {path}: the folder does not exist")


def _write(engine: DuckDBEngine, sql: str, path: Path | None) -> int:
    """Write beside the target and rename: nobody sees half a file. Rows written."""
    if path is None:
        return _write_to_stdout(engine, sql)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    form = _FORMATS[path.suffix.lower()]
    try:
        rows = int(engine.row(f"COPY ({sql}) TO {literal(str(part))} (FORMAT {form})")[0])
        part.replace(path)
        return rows
    finally:
        part.unlink(missing_ok=True)


def _write_to_stdout(engine: DuckDBEngine, sql: str) -> int:
    """CSV to the stream that Python has: the engine would open /dev/stdout anew and truncate it."""
    import sys

    import pyarrow.csv as csv

    out, rows = sys.stdout.buffer, 0
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    with engine.batches(sql) as reader:
        header = ",".join(_csv_name(name) for name in reader.schema.names)
        out.write(f"{header}\n".encode())
        with csv.CSVWriter(out, reader.schema, write_options=options) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
    return rows


def _csv_name(name: str) -> str:
    quoted = any(sign in name for sign in ',"\r\n')
    return '"' + name.replace('"', '""') + '"' if quoted else name


def _decoded(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
