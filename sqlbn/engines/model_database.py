"""The model database: one DuckDB connection, its settings, how it runs and what its errors say.

Knows nothing of statistics. Where rows are read from is the row engine's business.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import numpy as np

from sqlbn.engines.duckdb_errors import (
    damaged,
    first_line,
    is_damage,
    translate,
)
from sqlbn.engines.limits import Limits
from sqlbn.engines.memory_share import MemoryShare
from sqlbn.engines.row_engine import Arrays
from sqlbn.engines.scratch import Scratch
from sqlbn.engines.settings import Settings, memory_bytes
from sqlbn.engines.sql import literal, render
from sqlbn.engines.statement_log import statement_log
from sqlbn.errors import SourceError, SqlbnError
from sqlbn.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

# The databases of this process, for whoever must stop what they do.
_OPEN: weakref.WeakSet[ModelDatabase] = weakref.WeakSet()


def interrupt_engines() -> None:
    """Break off the statements that run, from another thread."""
    for database in list(_OPEN):
        with suppress(duckdb.Error):
            database.connection.interrupt()


class ModelDatabase:
    """Runs statements in an in-memory DuckDB that spills to a private folder.

    Here lie the tables of models while they are made or used, and what passes over rows give back.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.log = statement_log(self.settings.sql_log)
        self.scratch = Scratch(self.settings.temp_dir)
        self.connection = duckdb.connect(":memory:")
        _OPEN.add(self)
        # Parquet files that are read: of a damaged one the engine does not always say which it is.
        self.parquet_files: list[str] = []
        self._memory: MemoryShare | None = None
        self._names: set[str] = set()
        self._numbers = count(1)
        self._configure()

    def _configure(self) -> None:
        self._configure_connection()
        # Nothing is ever fetched from the network unasked; an extension that the user has installed
        # (httpfs, for instance) is still loaded when a path needs it.
        self.execute("SET autoinstall_known_extensions = false")
        self.execute(f"SET perfect_ht_threshold = {self.limits.perfect_hash_bits}")
        self.execute(f"SET temp_directory = {literal(str(self.scratch.folder))}")
        if self.settings.memory_limit is not None:
            size = memory_bytes(self.settings.memory_limit)
            self.execute(f"SET memory_limit = '{size} bytes'")
            self._memory = MemoryShare(size, self.limits)
        if self.settings.disk_bytes is not None:
            self.execute(f"SET max_temp_directory_size = '{self.settings.disk_bytes} bytes'")
        if (threads := self.settings.used_threads) is not None:
            self.execute(f"SET threads = {threads}")

    def _configure_connection(self) -> None:
        self.execute("SET enable_progress_bar = false")
        # Names in a user's query are tables and files, never variables of this program.
        self.execute("SET python_enable_replacements = false")

    @contextmanager
    def another(self) -> Iterator[Self]:
        """The same database by a connection of its own, for another thread.

        What was registered here is not visible there.
        """
        found = copy(self)
        found.connection = self.connection.cursor()
        _OPEN.add(found)
        try:
            found._configure_connection()
            yield found
        finally:
            found.connection.close()

    # -- running ---------------------------------------------------------------------------

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement whose rows nobody wants; `parameters` are for its $1, $2, …"""
        given = list(parameters) or None
        with self._running(sql):
            self._tried(lambda: self.connection.execute(sql, given).fetchall())

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
    def batches(self, sql: str, rows: int | None = None) -> Iterator[pa.RecordBatchReader]:
        """A result as a stream of Arrow batches, for what may not fit in memory."""
        with self._running(sql):
            reader = self.connection.sql(sql).to_arrow_reader(rows or self.limits.batch_rows)
            try:
                yield reader
            finally:
                reader.close()

    @contextmanager
    def beside(self, sql: str, rows: int) -> Iterator[pa.RecordBatchReader]:
        """The same while other statements run: on a connection of its own, in the rows' order.

        What was registered here is not visible there.
        """
        connection = self.connection.cursor()
        try:
            with self._running(sql):
                yield connection.sql(sql).to_arrow_reader(rows)
        finally:
            connection.close()

    def run(self, template: str, **values: object) -> None:
        """Run a template of `sql/`."""
        self.execute(render(template, **values))

    def _run(self, sql: str, fetch: Callable[[Any], Any], relation: bool = False) -> Any:
        with self._running(sql):
            ask = self.connection.sql if relation else self.connection.execute
            return self._tried(lambda: fetch(ask(sql)))

    def _tried(self, ask: Callable[[], Any]) -> Any:
        """What a statement gives; where it cannot do with its share, with the whole limit."""
        try:
            return ask()
        except duckdb.OutOfMemoryException:
            if self._memory is None or not self._memory.give_all(self.connection):
                raise
            return ask()

    @contextmanager
    def _running(self, sql: str) -> Iterator[None]:
        """A statement runs, or its rows are read, inside: the engine's errors become ours."""
        with self.log.running(sql):
            try:
                if self._memory is not None:
                    self._memory.settle(self.connection)
                yield
            except SqlbnError:
                raise
            except duckdb.InterruptException:
                raise KeyboardInterrupt from None
            except duckdb.Error as error:
                raise self.translated(error, sql) from error
            except (UnicodeEncodeError, RuntimeError) as error:
                _check_characters(sql, error)
                # DuckDB answers Ctrl-C with a plain RuntimeError.
                if "interrupt" in str(error).lower():
                    raise KeyboardInterrupt from None
                raise

    def translated(self, error: duckdb.Error, sql: str) -> SqlbnError:
        """One clear line for an error, with its statement; of a damaged file also which it is."""
        found = self._damaged_file(error) or translate(error)
        found.sql = sql
        return found

    def _damaged_file(self, error: duckdb.Error) -> SqlbnError | None:
        if not is_damage(error) or _names_any(error, self.parquet_files):
            return None
        for path in self.parquet_files:
            reason = self._damage_of(path)
            if reason is not None:
                return damaged(path, reason)
        return None

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
        """Make an Arrow table, a data frame or numpy columns visible to SQL; the name it got."""
        name = self.fresh_name("registered")
        try:
            self.connection.register(name, data)
        except duckdb.Error as error:  # no columns, a type of Arrow that the engine has not
            raise SourceError(f"the data cannot be read: {first_line(error)}") from error
        return name

    def register_columns(self, columns: Mapping[str, Any]) -> str:
        """The same of Arrow or numpy columns; NaN in numpy's own is NULL.

        Arrays go in as they are: where pandas is installed, pyarrow loads it to look at them, which
        takes longer than to learn a small model.
        """
        if all(isinstance(c, np.ndarray) and c.dtype != object for c in columns.values()):
            return self.register(dict(columns))
        import pyarrow as pa

        return self.register(pa.table(columns))

    def unregister(self, name: str) -> None:
        """Forget what `register` made visible."""
        self.connection.unregister(name)

    @contextmanager
    def registered(self, data: object) -> Iterator[str]:
        """The name of an Arrow table for as long as it is needed."""
        name = self.register(data)
        try:
            yield name
        finally:
            self.unregister(name)

    def create_table(self, name: str, columns: dict[str, Any]) -> None:
        """Make a table from Arrow or numpy columns; `name` is already quoted."""
        view = self.register_columns(columns)
        try:
            self.execute(f"CREATE TABLE {name} AS FROM {view}")
        finally:
            self.unregister(view)

    def append(self, name: str, columns: dict[str, Any]) -> None:
        """More rows of a table that was made so."""
        view = self.register_columns(columns)
        try:
            self.execute(f"INSERT INTO {name} FROM {view}")
        finally:
            self.unregister(view)

    def create_from(self, name: str, query: str) -> None:
        """Make a table of the rows of a query; `name` is already quoted."""
        self.execute(f"CREATE TABLE {name} AS {query}")

    def insert_from(self, name: str, query: str) -> None:
        """Add the rows of a query to a table; `name` is already quoted."""
        self.execute(f"INSERT INTO {name} {query}")

    def drop_table(self, name: str) -> None:
        """Remove a table; `name` is already quoted."""
        self.execute(f"DROP TABLE {name}")

    def write_parquet(self, statement: str, path: Path) -> None:
        """The rows of a query as a file that is read many times and lives for minutes."""
        # So without compression.
        options = "FORMAT parquet, COMPRESSION uncompressed"
        self.execute(f"COPY ({statement}) TO {literal(str(path))} ({options})")

    def columns(self, relation: str) -> list[tuple[str, str]]:
        """Names and types of the columns of a FROM-able piece of SQL."""
        return [(r[0], r[1]) for r in self.rows(f"DESCRIBE SELECT * FROM {relation}")]

    def fresh_name(self, stem: str) -> str:
        """A name nobody else uses in this database."""
        name = f"sqlbn_{stem}_{next(self._numbers)}"
        self._names.add(name)
        return name

    def is_own_name(self, name: str) -> bool:
        """Whether a name came from `fresh_name`: that of a table or a schema, never a user's."""
        return name in self._names

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
        self.connection.close()
        self.scratch.remove()
        self.log.close()


def scanned(path: Path) -> str:
    """A scratch file as a relation."""
    return f"read_parquet({literal(str(path))}, hive_partitioning = false)"


def _check_characters(sql: str, error: Exception) -> None:
    """An error where a name has half a character, which is what Python makes of a byte in a file's
    name that is no UTF-8; the engine says std::bad_cast."""
    try:
        sql.encode()
    except UnicodeEncodeError as half:
        around = printable(sql[max(0, half.start - 40) : half.start + 41])
        raise SourceError(
            f"a name is not UTF-8, which the engine needs: …{around}…; rename it"
        ) from error


def _names_any(error: duckdb.Error, paths: Sequence[str]) -> bool:
    return any(path in str(error) for path in paths)
