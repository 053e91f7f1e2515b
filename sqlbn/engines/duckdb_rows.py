"""DuckDB as the row engine: rows and model tables in one database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.model_database import ModelDatabase, scanned
from sqlbn.engines.output_files import output_format, replacing
from sqlbn.engines.row_engine import Arrays, Numbering, Persisted
from sqlbn.engines.sql import literal

if TYPE_CHECKING:
    import pyarrow as pa


class DuckDBRows:
    """Statements over rows run in the model database itself."""

    dialect: Dialect = DUCKDB
    is_local = True
    blocks_at_once = 1
    joins_once = False
    numbers_rows = True
    keeps_order = True

    def __init__(self, database: ModelDatabase) -> None:
        self._database = database

    @property
    def block_cells(self) -> int:
        return self._database.limits.block_cells

    @property
    def joins_at_once(self) -> int:
        return self._database.limits.joins_at_once

    @property
    def cores(self) -> int:
        return self._database.threads

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._database.rows(sql)

    def row(self, sql: str) -> tuple[Any, ...]:
        return self._database.row(sql)

    def arrays(self, sql: str) -> Arrays:
        return self._database.arrays(sql)

    def all_arrays(self, statements: Sequence[str]) -> Iterator[Arrays]:
        return map(self._database.arrays, statements)

    def arrow(self, sql: str) -> pa.Table:
        return self._database.arrow(sql)

    @contextmanager
    def batches(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        with self._database.batches(sql) as reader:
            yield reader

    @contextmanager
    def collect(self, sql: str) -> Iterator[str]:
        yield f"({sql})"

    def persist(
        self, statement: str, stem: str, size: int = 0, numbering: Numbering | None = None
    ) -> Persisted:
        database = self._database
        if size <= database.limits.persist_share * database.memory_bytes:
            name = database.fresh_name(stem)
            database.execute(f"CREATE TABLE {name} AS {statement}")
            return Persisted(name, None, "rowid")
        scratch = database.scratch_file(stem, ".parquet")
        database.write_parquet(statement, scratch)
        return Persisted(scanned(scratch), scratch, "file_row_number")

    def unpersist(self, kept: Persisted) -> None:
        if kept.scratch is not None:
            kept.scratch.unlink(missing_ok=True)
        else:
            self._database.execute(f"DROP TABLE {kept.relation}")

    def unbroadcast(self, table: str) -> None:
        """Nothing was broadcast: rows and tables are in one database."""

    @contextmanager
    def joins_as_written(self) -> Iterator[None]:
        with self._database.joins_as_written():
            yield

    @contextmanager
    def in_order(self, already: bool) -> Iterator[None]:
        with self._database.in_order(already):
            yield

    def check_target(self, out: str) -> None:
        output_format(Path(out))

    def write(self, sql: str, out: str) -> int:
        form = output_format(Path(out))
        with replacing(Path(out)) as part:
            target = literal(str(part))
            return int(self._database.row(f"COPY ({sql}) TO {target} (FORMAT {form})")[0])

    def close(self) -> None:
        """Nothing of its own."""
