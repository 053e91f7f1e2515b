"""Decides what the user's data is, and opens it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sqlbn.engines import DuckDBEngine
from sqlbn.engines.local_lake import LocalLake
from sqlbn.errors import ColumnError, EngineError, OptionError, SourceError
from sqlbn.quoting import identifier, literal, qualified
from sqlbn.sources.csv_types import Types
from sqlbn.sources.files import csv_source, expand, file_format, parquet_source, remote_errors
from sqlbn.sources.objects import object_source
from sqlbn.sources.relation import Source, SourceFile, staged
from sqlbn.sources.table_source import table_source
from sqlbn.sources.tables import the_table
from sqlbn.urls import is_remote, shown


def open_source(
    engine: DuckDBEngine,
    data: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    where: str | None = None,
    used: Callable[[str], bool] = lambda name: True,
    trained: Types | None = None,
    places: bool = False,
) -> Source:
    """Open files, a table of a lake, a database, Arrow data or a data frame as one relation.

    `used` says which columns matter: files may disagree about the others. `trained` are the types
    that columns had in training, for CSV, which has none. With `places` rows have one each where
    that costs nothing, to be put into order again.
    """
    trained = trained or {}
    lake = engine.lake
    if not isinstance(lake, LocalLake):
        return _open_in_spark(engine, data, table, query, where, used, trained)
    paths = _paths(data)
    if paths is None:
        if table is not None or query is not None:
            raise OptionError("--table and --query go with a DuckDB database file")
        source = object_source(engine, data, places)
    else:
        with remote_errors(paths):
            source = _path_source(engine, paths, table, query, used, trained)
    if not source.columns:
        raise SourceError(f"{source.label} has no columns")
    return with_where(engine, source, where) if where is not None else source


def _open_in_spark(
    engine: DuckDBEngine,
    data: Any,
    table: str | None,
    query: str | None,
    where: str | None,
    used: Callable[[str], bool],
    trained: Types,
) -> Source:
    from sqlbn.engines.spark.lake import SparkLake
    from sqlbn.sources import spark

    lake = engine.lake
    assert isinstance(lake, SparkLake)
    spark.check_database_options(table, query)
    paths = _paths(data)
    if paths is not None:
        source = spark.open_files(engine, lake, paths, used, trained)
    elif spark.is_frame(data):
        source = spark.open_frame(engine, lake, data)
    else:
        held = object_source(engine, data)
        with_rows = engine.arrow(held.select("*"))
        source = replace(spark.open_frame(engine, lake, with_rows), label=held.label)
    if not source.columns:
        raise SourceError(f"{source.label} has no columns")
    return spark.with_where(engine, lake, source, where) if where is not None else source


def _paths(data: Any) -> list[str] | None:
    if isinstance(data, str | os.PathLike):
        return [os.fspath(data)]
    if isinstance(data, Sequence) and data and all(isinstance(p, str | os.PathLike) for p in data):
        return [os.fspath(p) for p in data]
    if isinstance(data, Sequence) and not data:
        raise SourceError("no data given: name at least one file")
    return None


def _path_source(
    engine: DuckDBEngine,
    paths: list[str],
    table: str | None,
    query: str | None,
    used: Callable[[str], bool],
    trained: Types,
) -> Source:
    lake_table = the_table(paths)
    if lake_table is not None:
        if table is not None or query is not None:
            raise OptionError("--table and --query go with a DuckDB database file")
        return table_source(engine, lake_table)
    files = expand(paths)
    formats = {file_format(f) for f in files}
    if len(formats) > 1:
        raise SourceError(f"the files are of several formats ({', '.join(sorted(formats))})")
    if formats == {"database"}:
        if len(files) > 1:
            raise SourceError("give one DuckDB database file at a time")
        return _database_source(engine, files[0], table, query)
    if table is not None or query is not None:
        raise OptionError("--table and --query go with a DuckDB database file")
    if formats == {"parquet"}:
        return parquet_source(engine, files, used)
    return csv_source(engine, files, used, trained)


# -- a DuckDB database file ---------------------------------------------------------------------


def _database_source(
    engine: DuckDBEngine, path: str, table: str | None, query: str | None
) -> Source:
    if table is not None and query is not None:
        raise OptionError("give --table or --query, not both")
    catalog = engine.fresh_name("database")
    try:
        engine.execute(f"ATTACH {literal(path)} AS {catalog} (READ_ONLY)")
    except EngineError as error:
        raise SourceError(f"cannot open the database {path!r}: {error}") from error
    files = (SourceFile(path, 0 if is_remote(path) else Path(path).stat().st_size),)
    if query is not None:
        return _query_source(engine, catalog, path, query, files)
    schema, name, is_table = _find_table(engine, catalog, path, table)
    relation = qualified(catalog, schema, name)
    return Source(
        relation=relation,
        columns=dict(engine.columns(relation)),
        label=f"table {name!r} of {shown(path)}",
        files=files,
        row_key="rowid" if is_table else None,
        rescannable=is_table,
    )


def _find_table(
    engine: DuckDBEngine, catalog: str, path: str, table: str | None
) -> tuple[str, str, bool]:
    """Schema, name, and whether it is a table (True) or a view."""
    found = engine.rows(
        "SELECT schema_name, table_name, true FROM duckdb_tables() "
        f"WHERE database_name = {literal(catalog)} UNION ALL "
        "SELECT schema_name, view_name, false FROM duckdb_views() "
        f"WHERE database_name = {literal(catalog)} AND NOT internal ORDER BY 1, 2"
    )
    names = ", ".join(repr(n if s == "main" else f"{s}.{n}") for s, n, _ in found) or "no table"
    if table is None:
        if len(found) != 1:
            raise OptionError(f"{path!r} holds {names}; choose with --table or --query")
        return found[0][0], found[0][1], found[0][2]
    wanted = [r for r in found if table in (r[1], f"{r[0]}.{r[1]}")]
    if len(wanted) != 1:
        raise SourceError(f"{path!r} has no table {table!r}; it holds {names}")
    return wanted[0][0], wanted[0][1], wanted[0][2]


def _query_source(
    engine: DuckDBEngine, catalog: str, path: str, query: str, files: tuple[SourceFile, ...]
) -> Source:
    relation = f"({_one_select(query)}\n)"
    engine.execute(f"USE {identifier(catalog)}")
    try:
        source = Source(
            relation=relation,
            columns=dict(engine.columns(relation)),
            label=f"the query on {shown(path)}",
            files=files,
            rescannable=False,
        )
        # Staged at once: the names in the query mean something only while its database is in USE.
        return staged(engine, source)
    except EngineError as error:
        raise SourceError(f"--query: {error}") from error
    finally:
        engine.execute("USE memory")


def _one_select(query: str) -> str:
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise SourceError(f"--query is not SQL: {str(error).splitlines()[0]}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("--query takes one SELECT statement")
    return query.strip().rstrip(";")


# -- filters ------------------------------------------------------------------------------------


def with_where(engine: DuckDBEngine, source: Source, where: str) -> Source:
    """The rows for which the user's condition holds."""
    narrowed = source.filtered(where)
    try:
        # Parsed by itself: 'a) OR (b' is a condition only between brackets.
        if len(duckdb.extract_statements(f"SELECT 1 WHERE {where}\n")) != 1:
            raise OptionError(f"--where {where!r} is not one condition")
        engine.rows(f"EXPLAIN {narrowed.select('1')}")
    except (duckdb.Error, EngineError) as error:
        line = str(error).splitlines()[0]
        raise ColumnError(f"--where {where!r} cannot be used: {line}") from error
    return narrowed
