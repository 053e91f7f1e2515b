"""The DuckDB engine: one connection, its settings, its errors. Knows nothing of statistics."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sqlbn.engines.duckdb_errors import (
    damaged,
    first_line,
    is_damage,
    translate,
)
from sqlbn.engines.duckdb_rows import DuckDBRows
from sqlbn.engines.limits import Limits
from sqlbn.engines.row_engine import Arrays, RowEngine
from sqlbn.engines.scratch import Scratch
from sqlbn.engines.settings import Settings, memory_bytes
from sqlbn.engines.sql import literal, render
from sqlbn.errors import SourceError, SqlbnError
from sqlbn.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

# A packed key of up to this many bits is counted in an array instead of a hash table: enough for
# the blocks of the covering plan (2^17 cells: 11 ms a million rows, three times that without). Past
# that the array is mostly empty (adult, k = 5: 24 bits make pass 2 ten times slower).
_PERFECT_HASH_BITS = 18
# What Python makes of a byte in a file's name that is no UTF-8.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")

# The engines of this process, for whoever must stop what they do.
_OPEN: weakref.WeakSet[Session] = weakref.WeakSet()


def interrupt_engines() -> None:
    """Break off the statements that run, from another thread."""
    for session in list(_OPEN):
        with suppress(duckdb.Error):
            session.connection.interrupt()


class Session:
    """Runs statements in an in-memory database that spills to a private folder.

    Rows are read through its `lake`: itself, or the cluster that the settings name.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.scratch = Scratch(self.settings.temp_dir)
        self.connection = duckdb.connect(":memory:")
        _OPEN.add(self)
        self.listener: Callable[[str], None] | None = None
        # Parquet files that are read: of a damaged one the engine does not always say which it is.
        self.parquet_files: list[str] = []
        self._names = 0
        self._configure()
        self.row_engine: RowEngine = self._make_lake()

    def _make_lake(self) -> RowEngine:
        if self.settings.engine == "duckdb":
            return DuckDBRows(self)
        from sqlbn.engines.spark.spark_rows import SparkRows

        try:
            return SparkRows(self)
        except BaseException:
            self.connection.close()
            raise

    def _configure(self) -> None:
        self.execute("SET enable_progress_bar = false")
        # Nothing is ever fetched from the network unasked; an extension that the user has installed
        # (httpfs, for instance) is still loaded when a path needs it.
        self.execute("SET autoinstall_known_extensions = false")
        # Names in a user's query are tables and files, never variables of this program.
        self.execute("SET python_enable_replacements = false")
        self.execute(f"SET perfect_ht_threshold = {_PERFECT_HASH_BITS}")
        self.execute(f"SET temp_directory = {literal(str(self.scratch.folder))}")
        if self.settings.memory_limit is not None:
            size = memory_bytes(self.settings.memory_limit)
            self.execute(f"SET memory_limit = '{size} bytes'")
        if self.settings.disk_bytes is not None:
            self.execute(f"SET max_temp_directory_size = '{self.settings.disk_bytes} bytes'")
        if (threads := self.settings.used_threads) is not None:
            self.execute(f"SET threads = {threads}")

    # -- running ---------------------------------------------------------------------------

    def execute(self, sql: str) -> None:
        """Run a statement whose rows nobody wants."""
        self._run(sql, lambda result: result.fetchall())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        found: list[tuple[Any, ...]] = self._run(sql, lambda result: result.fetchall())
        return found

    def row(self, sql: str) -> tuple[Any, ...]:
        """The one row of an aggregate."""
        return self.rows(sql)[0]

    def arrays(self, sql: str) -> Arrays:
        """A result as one numpy array a column; NULLs are masked by the engine."""
        found: Arrays = self._run(sql, lambda result: result.fetchnumpy())
        return found

    def arrow(self, sql: str) -> pa.Table:
        """A result as an Arrow table."""
        # Through a relation: from a cursor the rows would be copied once more.
        return self._run(sql, lambda result: result.to_arrow_table(), relation=True)

    @contextmanager
    def batches(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        """A result as a stream of Arrow batches, for what may not fit in memory."""
        reader = self._run(sql, lambda result: result.to_arrow_reader(100_000), relation=True)
        try:
            yield reader
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise self.translated(error) from error
        finally:
            reader.close()

    @contextmanager
    def beside(self, sql: str, rows: int) -> Iterator[pa.RecordBatchReader]:
        """The same while other statements run: on a connection of its own, in the rows' order.

        What was registered here is not visible there.
        """
        connection = self.connection.cursor()
        try:
            yield connection.sql(sql).to_arrow_reader(rows)
        except duckdb.Error as error:
            raise self.translated(error) from error
        finally:
            connection.close()

    def run(self, template: str, **values: object) -> None:
        """Run a template of `sql/`."""
        self.execute(render(template, **values))

    def _run(self, sql: str, fetch: Callable[[Any], Any], relation: bool = False) -> Any:
        if self.listener is not None:
            self.listener(sql)
        try:
            ask = self.connection.sql if relation else self.connection.execute
            return fetch(ask(sql))
        except (UnicodeEncodeError, RuntimeError) as error:
            if half := _HALF_CHARACTER.search(sql):  # the engine says std::bad_cast
                shown = printable(sql[max(0, half.start() - 40) : half.end() + 40])
                raise SourceError(
                    f"a name is not UTF-8, which the engine needs: …{shown}…; rename it"
                ) from error
            # DuckDB answers Ctrl-C with a plain RuntimeError.
            if "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise self.translated(error) from error

    def translated(self, error: duckdb.Error) -> SqlbnError:
        """One clear line for an error; of a damaged file also which it is."""
        if is_damage(error) and self.parquet_files and not _names_any(error, self.parquet_files):
            for path in self.parquet_files:
                reason = self._damage_of(path)
                if reason is not None:
                    return damaged(path, reason)
        return translate(error)

    def _damage_of(self, path: str) -> duckdb.Error | None:
        """What the engine says of one Parquet file when it reads all of it."""
        connection = self.connection.cursor()
        try:
            connection.execute(
                f"SELECT max(COLUMNS(*)::VARCHAR) FROM read_parquet({literal(path)})"
            )
        except duckdb.Error as error:
            return error
        finally:
            connection.close()
        return None

    @contextmanager
    def joins_as_written(self) -> Iterator[None]:
        """Keep the order of joins: in scoring it is known, and searching it took 18 s for 54."""
        self.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            yield
        finally:
            self.execute("RESET disabled_optimizers")

    @contextmanager
    def in_order(self, already: bool) -> Iterator[None]:
        """Keep the rows of a source in order that several threads would mix up.

        Seen with DuckDB 2.0 on Arrow tables of several chunks, though insertion order is on.
        """
        if already:
            yield
            return
        threads = self.threads
        self.execute("SET threads = 1")
        try:
            yield
        finally:
            self.execute(f"SET threads = {threads}")

    # -- the outside world -----------------------------------------------------------------

    def register(self, data: object) -> str:
        """Make an Arrow table or a data frame visible to SQL; the name it got."""
        name = self.fresh_name("registered")
        try:
            self.connection.register(name, data)
        except duckdb.Error as error:  # no columns, a type of Arrow that the engine has not
            raise SourceError(f"the data cannot be read: {first_line(error)}") from error
        return name

    def unregister(self, name: str) -> None:
        """Forget what `register` made visible."""
        self.connection.unregister(name)

    def create_table(self, name: str, columns: dict[str, Any]) -> None:
        """Make a table from Arrow or numpy columns; `name` is already quoted."""
        import pyarrow as pa

        view = self.register(pa.table(columns))
        try:
            self.execute(f"CREATE TABLE {name} AS FROM {view}")
        finally:
            self.unregister(view)

    def drop_table(self, name: str) -> None:
        """Remove a table; `name` is already quoted."""
        self.execute(f"DROP TABLE {name}")

    def columns(self, relation: str) -> list[tuple[str, str]]:
        """Names and types of the columns of a FROM-able piece of SQL."""
        return [(r[0], r[1]) for r in self.rows(f"DESCRIBE SELECT * FROM {relation}")]

    def fresh_name(self, stem: str) -> str:
        """A name nobody else uses in this engine."""
        self._names += 1
        return f"sqlbn_{stem}_{self._names}"

    def scratch_file(self, stem: str, suffix: str) -> Path:
        """A path in the private folder."""
        return self.scratch.folder / f"{self.fresh_name(stem)}{suffix}"

    @property
    def limits(self) -> Limits:
        """The tuning constants of this session."""
        return self.settings.limits

    @property
    def threads(self) -> int:
        """How many threads the engine may use."""
        return int(self.row("SELECT current_setting('threads')")[0])

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in force, in bytes."""
        if self.settings.memory_limit is not None:
            return memory_bytes(self.settings.memory_limit)
        text = str(self.row("SELECT current_setting('memory_limit')")[0])
        return memory_bytes(text)

    def close(self) -> None:
        """Close the connection and remove every file it spilled."""
        self.row_engine.close()
        self.connection.close()
        self.scratch.remove()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _names_any(error: duckdb.Error, paths: Sequence[str]) -> bool:
    return any(path in str(error) for path in paths)
