"""What DuckDB knows of files, databases, extensions and SQL, asked by one function each.

Arguments are values, which are quoted here; `patterns` is a list of files as SQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlbn.engines.model_database import ModelDatabase
from sqlbn.engines.sql import MODEL_CATALOG, identifier, literal

# -- files -------------------------------------------------------------------------------------


def matching_files(database: ModelDatabase, pattern: str) -> list[str]:
    """The files that a pattern stands for, in the engine's order."""
    return [row[0] for row in database.rows(f"SELECT file FROM glob({literal(pattern)})")]


def file_states(database: ModelDatabase, path: str) -> list[tuple[str, int, str | None]]:
    """Name, size and time of change of the files behind an address."""
    rows = database.rows(
        "SELECT filename, size, epoch_us(last_modified)::VARCHAR "
        f"FROM read_blob({literal(path)}) ORDER BY filename"
    )
    return [(name, size, state) for name, size, state in rows]


def have_one_schema(database: ModelDatabase, patterns: str, files: int) -> bool:
    """Whether so many Parquet files agree in every column; writers name the root differently."""
    agreed = database.rows(
        f"SELECT count(*) = {files} FROM parquet_schema({patterns}) "
        "GROUP BY name, type, duckdb_type, num_children"
    )
    return all(row[0] for row in agreed)


def parquet_schema(database: ModelDatabase, patterns: str) -> list[tuple[str, str, str, int]]:
    """File, name, type and number of children of every node of the files' schemas, in order."""
    rows = database.rows(
        "SELECT file_name, name, coalesce(duckdb_type, type, 'nested'), coalesce(num_children, 0) "
        f"FROM parquet_schema({patterns})"
    )
    return [(file, name, kind, children) for file, name, kind, children in rows]


def file_without_ids(database: ModelDatabase, patterns: str) -> str | None:
    """A Parquet file whose columns have no field ids; None where all have."""
    found = database.rows(
        f"SELECT file_name FROM parquet_schema({patterns}) "
        "GROUP BY file_name HAVING count(field_id) = 0 LIMIT 1"
    )
    return str(found[0][0]) if found else None


# -- databases and extensions ------------------------------------------------------------------


def attach(database: ModelDatabase, path: str) -> str:
    """Open a database file to read; the name of its catalog."""
    catalog = database.fresh_name("database")
    database.execute(f"ATTACH {literal(path)} AS {catalog} (READ_ONLY)")
    return catalog


def tables_of(database: ModelDatabase, catalog: str) -> list[tuple[str, str, bool]]:
    """Schema and name of the tables (True) and views of a catalog, by name."""
    own = f"WHERE database_name = {literal(catalog)}"
    rows = database.rows(
        f"SELECT schema_name, table_name, true FROM duckdb_tables() {own} UNION ALL "
        f"SELECT schema_name, view_name, false FROM duckdb_views() {own} AND NOT internal "
        "ORDER BY 1, 2"
    )
    return [(schema, name, is_table) for schema, name, is_table in rows]


def macros_of(database: ModelDatabase, catalog: str) -> list[str]:
    """The functions that a catalog brings along."""
    own = f"WHERE database_name = {literal(catalog)}"
    return [r[0] for r in database.rows(f"SELECT function_name FROM duckdb_functions() {own}")]


@contextmanager
def using(database: ModelDatabase, catalog: str) -> Iterator[None]:
    """Names without a catalog mean this one, inside."""
    database.execute(f"USE {identifier(catalog)}")
    try:
        yield
    finally:
        database.execute(f"USE {identifier(MODEL_CATALOG)}")


def has_extension(database: ModelDatabase, name: str) -> bool:
    """Whether an extension is on this machine: LOAD alone might go and fetch it."""
    installed = f"extension_name = {literal(name)} AND installed"
    return bool(database.rows(f"SELECT 1 FROM duckdb_extensions() WHERE {installed}"))


def load_extension(database: ModelDatabase, name: str) -> None:
    """Load an extension that is there; its name is one of ours."""
    database.execute(f"LOAD {name}")


# -- SQL ---------------------------------------------------------------------------------------


def parse_sql(database: ModelDatabase, sql: str) -> dict[str, Any]:
    """What the engine's parser makes of a text, or its error."""
    options = "skip_null := true, skip_empty := true, skip_default := true"
    told = database.row(f"SELECT json_serialize_sql({literal(sql)}, {options})")[0]
    found: dict[str, Any] = json.loads(told)
    return found


def write_sql(database: ModelDatabase, statements: Sequence[dict[str, Any]]) -> str:
    """What was parsed as text again."""
    told = json.dumps({"error": False, "statements": list(statements)})
    return str(database.row(f"SELECT json_deserialize_sql({literal(told)}::JSON)")[0])


def bind(database: ModelDatabase, query: str) -> None:
    """An error where a query cannot be run; it is not."""
    database.rows(f"EXPLAIN {query}")
