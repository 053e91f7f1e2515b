"""A model in Python: score, evaluate, look inside, save."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.draft import Draft
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError, OptionError
from sqlbn.evaluate.losses import Evaluation, from_sums
from sqlbn.progress import Progress
from sqlbn.quoting import identifier, literal
from sqlbn.scoring.query import RESERVED, losses_sql, prediction_sql
from sqlbn.sources import Source, open_source
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
            f"{len(self._spec.books)} attributes, {int(self._spec.meta['rows']):,} rows>"
        )

    # -- what it does --------------------------------------------------------------------------

    def predict(
        self,
        data: Any,
        out: str | Path | None = None,
        *,
        table: str | None = None,
        query: str | None = None,
        where: str | None = None,
        exclude: Sequence[str] = (),
        order_by: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> pa.Table | Path:
        """The rows of `data` with `prediction` and one probability a class.

        Written to `out` (Parquet or CSV) without passing through Python, else an Arrow table.
        """
        source = open_source(self._engine, data, table=table, query=query, where=where)
        sql = self.prediction_sql(source, exclude, order_by)
        target = Path(out) if out is not None else None
        if target is not None:
            _check_output(target)
        with (progress or Progress()).stage("predict", "scoring"), self._engine.joins_as_written():
            if target is None:
                return self._engine.arrow(sql)
            _write(self._engine, sql, target)
        return target

    def prediction_sql(
        self, source: Source, exclude: Sequence[str] = (), order_by: Sequence[str] = ()
    ) -> str:
        """The query that `predict` runs."""
        left_out = [source.column(name, "--exclude column") for name in exclude]
        if left_out:
            items = f"* EXCLUDE ({', '.join(map(identifier, left_out))})"
            relation = f"({source.select(items)})"
            columns = {c: t for c, t in source.columns.items() if c not in left_out}
            source = Source(relation, columns, source.label)
        check_input(self._spec, source)
        sql = prediction_sql(self._spec.scorer(self._draft.prefix), source.filtered_relation)
        if order_by:
            names = ", ".join(identifier(source.column(n, "--order-by column")) for n in order_by)
            sql = f"FROM ({sql}) ORDER BY {names}"
        return sql

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
    weight_sql = f"i.{identifier(source.column(weight, 'the weight'))}" if weight else None
    sql = losses_sql(spec.scorer(draft.prefix), source.filtered_relation, weight_sql)
    started = time.perf_counter()
    with draft.engine.joins_as_written():
        sums = draft.engine.rows(sql)
    return from_sums(spec.class_names, sums, time.perf_counter() - started)


def check_input(spec: ModelSpec, source: Source, outputs: bool = True) -> None:
    """An error that names the column where rows cannot be scored."""
    used = spec.scorer("").used
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


def _check_output(path: Path) -> None:
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(f"--out {path}: the name must end in .parquet or .csv")
    if not path.parent.is_dir():
        raise OptionError(f"--out {path}: the folder does not exist")


def _write(engine: DuckDBEngine, sql: str, path: Path) -> None:
    """Write beside the target and rename: nobody sees half a file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    form = _FORMATS[path.suffix.lower()]
    try:
        engine.execute(f"COPY ({sql}) TO {literal(str(part))} (FORMAT {form})")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _decoded(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
