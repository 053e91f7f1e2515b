"""Spark as the row engine: statements over rows run on its cluster, counts come back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.engines.dialects import SPARK, Dialect, tokens
from sqlbn.engines.output_files import check_new_folder
from sqlbn.engines.row_engine import (
    ROW_NUMBER,
    Arrays,
    Numbering,
    Persisted,
)
from sqlbn.engines.spark.spark_errors import translate
from sqlbn.engines.spark.spark_folder import ClusterFolder, is_remote_session
from sqlbn.engines.spark.spark_session import open_session
from sqlbn.engines.spark.spark_types import without_unsigned
from sqlbn.engines.sql import MODEL_CATALOG, qualified, render
from sqlbn.errors import SqlbnError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from sqlbn.engines.model_database import ModelDatabase


class SparkRows:
    """Views of one Spark session: sources, persisted rows, and broadcast tables of the model."""

    dialect: Dialect = SPARK
    is_local = False
    joins_once = True
    numbers_rows = False
    keeps_order = False

    def __init__(self, database: ModelDatabase) -> None:
        self._database, settings = database, database.settings
        self.spark = open_session(settings)
        self._views: set[str] = set()
        self._persisted: dict[str, DataFrame] = {}
        self._borrowed: list[str] = []
        place = settings.cluster_dir
        self._folder = ClusterFolder(self.spark, place) if place is not None else None
        self._in_folder: set[str] = set()

    @property
    def block_cells(self) -> int:
        return self._database.limits.spark_block_cells

    @property
    def blocks_at_once(self) -> int:
        return self._database.limits.spark_blocks_at_once

    @property
    def joins_at_once(self) -> int:
        return self._database.limits.spark_joins_at_once

    @property
    def cores(self) -> int:
        if not is_remote_session(self.spark):
            return int(self.spark.sparkContext.defaultParallelism)
        # Of a server nothing better is known.
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)

    # -- statements ----------------------------------------------------------------------------

    def spelled(self, sql: str) -> str:
        """A statement as Spark reads it; the tables of the model that it names are broadcast."""
        return self.dialect.statement(sql, self._visible)

    @contextmanager
    def _running(self, spelled: str) -> Iterator[None]:
        """A statement runs inside; Spark's errors become ours, and keep it."""
        with self._database.log.running(spelled, "spark"), _translated(spelled):
            yield

    def arrow(self, sql: str) -> pa.Table:
        spelled = self.spelled(sql)
        with self._running(spelled):
            return self.spark.sql(spelled).toArrow()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        columns = [column.to_pylist() for column in self.arrow(sql).columns]
        return list(zip(*columns, strict=True))

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def arrays(self, sql: str) -> Arrays:
        return self._as_arrays(self.arrow(sql))

    def all_arrays(self, statements: Sequence[str]) -> Iterator[Arrays]:
        # Statements are read here, one by one: only the work of the cluster goes on at once.
        frames = []
        for spelled in map(self.spelled, statements):
            with _translated(spelled):
                frames.append((spelled, self.spark.sql(spelled), copy_context()))
        with ThreadPoolExecutor(self._database.limits.spark_statements_at_once) as pool:
            yield from map(self._as_arrays, pool.map(self._collected, frames))

    def _collected(self, analysed: tuple[str, DataFrame, Context]) -> pa.Table:
        spelled, frame, context = analysed

        def collected() -> pa.Table:
            with self._running(spelled):
                return frame.toArrow()

        return context.run(collected)  # the stage of the program, also in another thread

    def _as_arrays(self, table: pa.Table) -> Arrays:
        view = self._database.register(table)
        try:
            return self._database.arrays(f"FROM {view}")
        finally:
            self._database.unregister(view)

    @contextmanager
    def batches(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        with self.arrow(sql).to_reader(self._database.limits.batch_rows) as reader:
            yield reader

    @contextmanager
    def collect(self, sql: str) -> Iterator[str]:
        view = self._database.register(self.arrow(sql))
        try:
            yield view
        finally:
            self._database.unregister(view)

    # -- persisted rows ------------------------------------------------------------------------

    def persist(
        self, statement: str, stem: str, size: int = 0, numbering: Numbering | None = None
    ) -> Persisted:
        if numbering is None:
            return Persisted(self._persist(statement, stem))
        with self._numbered(statement, numbering) as query:
            return Persisted(self._persist(query, stem), None, ROW_NUMBER)

    @contextmanager
    def _numbered(self, statement: str, numbering: Numbering) -> Iterator[str]:
        """The query that numbers the rows of a statement; it can be run inside `with`.

        The pieces of the order are counted; a row's number is its place in its piece, and all rows
        of the pieces before.
        """
        names = [f"p{i}" for i in range(len(numbering.pieces))]
        pieces = [{"sql": sql, "alias": p} for sql, p in zip(numbering.pieces, names, strict=True)]
        found = self.arrow(render("data/counted_pieces", pieces=pieces, statement=statement))
        sizes = found.column("n").to_numpy()
        columns = {name: found.column(name) for name in names}
        table = self._database.fresh_name("pieces")
        self._database.create_table(table, {**columns, "before": np.cumsum(sizes) - sizes})
        try:
            yield render(
                "data/numbered_rows",
                kept=self.dialect.without(names, "s"),
                pieces=pieces,
                order=numbering.order,
                number=ROW_NUMBER,
                statement=statement,
                table=table,
            )
        finally:
            self.unbroadcast(table)
            self._database.drop_table(table)

    def _persist(self, statement: str, stem: str) -> str:
        name, spelled = self._database.fresh_name(stem), self.spelled(statement)
        with self._running(spelled):
            frame = self.spark.sql(spelled)
            if self._folder is not None:
                self._in_folder.add(name)
                frame = self._folder.write(frame, name)
            else:
                frame = self._persisted[name] = frame.persist()
                frame.count()
        self.show(name, frame)
        return name

    def show(self, name: str, frame: DataFrame) -> None:
        """Give rows a name that statements can use."""
        frame.createOrReplaceTempView(name)
        self._views.add(name)

    def unpersist(self, kept: Persisted) -> None:
        self._remove(kept.relation)

    def _remove(self, name: str) -> None:
        if name not in self._views:
            return
        self._views.discard(name)
        with _translated():
            self.spark.catalog.dropTempView(name)
            persisted = self._persisted.pop(name, None)
            if persisted is not None:
                persisted.unpersist()
            if self._folder is not None and name in self._in_folder:
                self._in_folder.discard(name)
                self._folder.remove(name)

    def borrowed(self, frame: DataFrame) -> DataFrame:
        """Rows of the caller's session as rows of ours: views alone belong to one session."""
        name = f"sqlbn_borrowed_{uuid.uuid4().hex}"
        with _translated():
            frame.createGlobalTempView(name)
            self._borrowed.append(name)
            return self.spark.table(f"global_temp.{name}")

    # -- tables of the model -------------------------------------------------------------------

    def _visible(self, parts: Sequence[str]) -> str | None:
        """The view that a name in a statement stands for: persisted rows, or a broadcast table."""
        own = self._database.is_own_name
        if len(parts) == 1 and own(parts[0]):
            name = parts[0]
        elif len(parts) == 3 and parts[0] == MODEL_CATALOG and own(parts[1]):
            name = _view_name(parts)
        else:
            return None
        if name not in self._views:
            self._broadcast(qualified(*parts), name)
        return self.dialect.identifier(name)

    def _broadcast(self, table: str, name: str) -> None:
        rows = self._database.arrow(f"FROM {table}")
        frame = self.sent(rows)
        small = rows.nbytes <= self._database.limits.spark_broadcast_bytes
        self.show(name, frame.hint("broadcast") if small else frame)

    def sent(self, rows: pa.Table) -> DataFrame:
        """Rows of the driver as rows of the cluster."""
        with _translated():
            return self.spark.createDataFrame(without_unsigned(rows))

    def unbroadcast(self, table: str) -> None:
        self._remove(_view_name([token.value for token in tokens(table) if token.is_name]))

    # -- scoring -------------------------------------------------------------------------------

    @contextmanager
    def joins_as_written(self) -> Iterator[None]:
        """Spark keeps the order of joins unless it is told to look for one."""
        yield

    @contextmanager
    def in_order(self, already: bool) -> Iterator[None]:
        """Rows have no order here but by a column."""
        yield

    def check_target(self, out: str) -> None:
        check_new_folder(out)

    def write(self, sql: str, out: str) -> int:
        self.check_target(out)
        form = "csv" if out.lower().rstrip("/").endswith("csv") else "parquet"
        place = out if "://" in out else f"file://{Path(out).absolute()}"
        spelled = self.spelled(sql)
        with self._running(spelled):
            frame = self.spark.sql(spelled)
            frame.write.mode("error").option("header", "true").format(form).save(place)
            written = self.spark.read.format(form).option("header", "true").load(place)
            return int(written.count())

    def close(self) -> None:
        for name in list(self._views):
            self._remove(name)
        with _translated():
            while self._borrowed:
                self.spark.catalog.dropGlobalTempView(self._borrowed.pop())
            if self._folder is not None:
                self._folder.close()
            if is_remote_session(self.spark) and self.spark is not self._database.settings.session:
                self.spark.stop()  # a classic one would end for all who share its context


@contextmanager
def _translated(statement: str | None = None) -> Iterator[None]:
    """Spark's errors as ours, with the statement."""
    try:
        yield
    except (SqlbnError, KeyboardInterrupt):
        raise
    except Exception as error:
        found = translate(error)
        found.sql = statement
        raise found from error


def _view_name(parts: Sequence[str]) -> str:
    """The view that stands for a table of the model database, or for persisted rows.

    >>> _view_name(["memory", "sqlbn_model_3", "classes"]), _view_name(["sqlbn_loo_7"])
    ('sqlbn_model_3__classes', 'sqlbn_loo_7')
    """
    return "__".join(parts[1:] or parts)
