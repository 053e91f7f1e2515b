"""The lake that Spark reads: statements over rows run on its cluster, counts come back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.engines.dialects import SPARK, Dialect
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
from sqlbn.engines.spark.spark_sql import spelled, view_of, without_unsigned
from sqlbn.engines.sql import render
from sqlbn.errors import SqlbnError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from sqlbn.engines.session import Session


@contextmanager
def numbered(session: Session, statement: str, numbering: Numbering) -> Iterator[str]:
    """The query that gives the rows of a statement their numbers; it can be run inside `with`."""
    row_engine, pieces = session.row_engine, [f"p{i}" for i in range(len(numbering.pieces))]
    told = [{"sql": sql, "alias": p} for sql, p in zip(numbering.pieces, pieces, strict=True)]
    found = row_engine.arrow(render("data/counted_pieces", pieces=told, statement=statement))
    sizes = found.column("n").to_numpy()
    columns = {p: found.column(p) for p in pieces}
    table = session.fresh_name("pieces")
    session.create_table(table, {**columns, "before": np.cumsum(sizes) - sizes})
    try:
        yield render(
            "data/numbered_rows",
            kept=row_engine.dialect.without(pieces, "s"),
            pieces=told,
            order=numbering.order,
            number=ROW_NUMBER,
            statement=statement,
            table=table,
        )
    finally:
        row_engine.unbroadcast(table)
        session.execute(f"DROP TABLE {table}")


# A lent table up to this size goes whole to every executor; a larger one is shuffled.
_BROADCAST_BYTES = 256 * 2**20
# Statements that run at the same time: a cluster has room beside a small one.
_AT_ONCE = 4


class SparkRows:
    """Views of one session: sources, kept rows, and tables of the model that were lent."""

    dialect: Dialect = SPARK
    is_local = False
    block_cells = 1 << 14
    blocks_at_once = 8
    joins_at_once = 8
    joins_once = True
    numbers_rows = False
    keeps_order = False

    def __init__(self, session: Session) -> None:
        self._session = session
        self.spark = open_session(session.settings)
        self._views: set[str] = set()
        self._cached: dict[str, DataFrame] = {}
        self._borrowed: list[str] = []
        place = session.settings.cluster_dir
        self._folder = ClusterFolder(self.spark, place) if place is not None else None
        self._in_folder: set[str] = set()

    # -- statements ----------------------------------------------------------------------------

    def frame(self, sql: str) -> DataFrame:
        """The rows of a statement, still to be computed."""
        if self._session.listener is not None:
            self._session.listener(sql)
        with _translated():
            return self.spark.sql(spelled(sql, self._broadcast))

    def arrow(self, sql: str) -> pa.Table:
        return _collected(self.frame(sql))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        columns = [column.to_pylist() for column in self.arrow(sql).columns]
        return list(zip(*columns, strict=True))

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def arrays(self, sql: str) -> Arrays:
        return self._as_arrays(self.arrow(sql))

    def all_arrays(self, statements: Sequence[str]) -> Iterator[Arrays]:
        # Statements are read here, one by one: only the work of the cluster goes on at once.
        frames = [self.frame(sql) for sql in statements]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from map(self._as_arrays, pool.map(_collected, frames))

    def _as_arrays(self, table: pa.Table) -> Arrays:
        view = self._session.register(table)
        try:
            return self._session.arrays(f"FROM {view}")
        finally:
            self._session.unregister(view)

    @contextmanager
    def batches(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        with self.arrow(sql).to_reader(100_000) as reader:
            yield reader

    @contextmanager
    def collect(self, sql: str) -> Iterator[str]:
        view = self._session.register(self.arrow(sql))
        try:
            yield view
        finally:
            self._session.unregister(view)

    # -- rows that are kept --------------------------------------------------------------------

    def persist(
        self, statement: str, stem: str, size: int = 0, numbering: Numbering | None = None
    ) -> Persisted:
        if numbering is None:
            return Persisted(self._persist(statement, stem))
        with numbered(self._session, statement, numbering) as query:
            return Persisted(self._persist(query, stem), None, ROW_NUMBER)

    def _persist(self, statement: str, stem: str) -> str:
        name, frame = self._session.fresh_name(stem), self.frame(statement)
        with _translated():
            if self._folder is not None:
                self._in_folder.add(name)
                frame = self._folder.write(frame, name)
            else:
                frame = self._cached[name] = frame.persist()
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
            cached = self._cached.pop(name, None)
            if cached is not None:
                cached.unpersist()
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

    def _broadcast(self, table: str) -> str:
        """The view that stands for a table of the model's database, made when first named."""
        name = view_of(table)
        if name not in self._views:
            rows = self._session.arrow(f"FROM {table}")
            frame = self.sent(rows)
            self.show(name, frame.hint("broadcast") if rows.nbytes <= _BROADCAST_BYTES else frame)
        return name

    def sent(self, rows: pa.Table) -> DataFrame:
        """Rows of the driver as rows of the cluster."""
        with _translated():
            return self.spark.createDataFrame(without_unsigned(rows))

    def unbroadcast(self, table: str) -> None:
        self._remove(view_of(table))

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
        frame = self.frame(sql)
        with _translated():
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
            if is_remote_session(self.spark) and self.spark is not self._session.settings.session:
                self.spark.stop()  # a classic one would end for all who share its context


@contextmanager
def _translated() -> Iterator[None]:
    """Spark's errors as ours."""
    try:
        yield
    except (SqlbnError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise translate(error) from error


def _collected(frame: DataFrame) -> pa.Table:
    with _translated():
        return frame.toArrow()
