"""A DuckDB file beside a session's own database: what is in it, and changes in transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlbn.engines.session import Session
from sqlbn.engines.sql import identifier, literal, literals, qualified
from sqlbn.errors import SqlbnError

# The oldest file format that DuckDB 2.0 writes: any duckdb program from 1.1 opens the tables
# (older ones know one size of block).
STORAGE_VERSION = "v1.0.0"


class AttachedFile:
    """A file that a session has attached under a name of its own."""

    def __init__(self, session: Session, path: Path, write: bool, new: bool) -> None:
        self.session, self.catalog = session, session.fresh_name("store")
        # The type is said: by the file's first bytes the engine would look for an extension; and
        # the whole path: what stands before a colon would be a type, too.
        options = ["TYPE duckdb"]
        options += ["READ_ONLY"] if not write else []
        if new:
            size = session.limits.store_block_bytes
            options += [f"STORAGE_VERSION '{STORAGE_VERSION}'", f"BLOCK_SIZE {size}"]
        place = literal(str(path.absolute()))
        session.execute(f"ATTACH {place} AS {self.catalog} ({', '.join(options)})")

    def detach(self) -> None:
        """Give the file back."""
        self.session.execute(f"DETACH {self.catalog}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes or none."""
        self.session.execute("BEGIN")
        try:
            yield
            self.session.execute("COMMIT")
        except BaseException:
            with suppress(SqlbnError):  # a COMMIT that failed has ended the transaction
                self.session.execute("ROLLBACK")
            raise

    @contextmanager
    def used(self, schema: str) -> Iterator[None]:
        """Names without a schema are those of this one."""
        self.session.execute(f"USE {self.name(schema)}")
        try:
            yield
        finally:
            self.session.execute("USE memory")

    def name(self, *parts: str) -> str:
        """The quoted, full name of a schema or a table."""
        return qualified(self.catalog, *parts)

    # -- what is in it -----------------------------------------------------------------------

    def schemas(self) -> list[str]:
        """The schemas that somebody made."""
        found = self.session.rows(
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = "
            f"{literal(self.catalog)} AND NOT internal AND schema_name <> 'main'"
        )
        return [row[0] for row in found]

    def schemas_with(self, *tables: str) -> list[str]:
        """The schemas that have all of these tables, by name."""
        listed = ", ".join(map(literal, tables))
        found = self.session.rows(
            f"SELECT schema_name FROM duckdb_tables() WHERE {self._here} AND table_name IN "
            f"({listed}) GROUP BY schema_name HAVING count(*) = {len(tables)} ORDER BY schema_name"
        )
        return [row[0] for row in found]

    def tables(self, *schemas: str) -> dict[str, str]:
        """The tables of some schemas, by name, and where each is."""
        listed = ", ".join(map(literal, schemas))
        found = self.session.rows(
            f"SELECT table_name, schema_name FROM duckdb_tables() WHERE {self._here} AND "
            f"schema_name IN ({listed}) ORDER BY table_name"
        )
        return dict(found)

    def read(self, schema: str, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Some columns of a table."""
        listed = ", ".join(map(identifier, columns))
        return self.session.rows(f"SELECT {listed} FROM {self.name(schema, table)}")

    @property
    def _here(self) -> str:
        return f"database_name = {literal(self.catalog)}"

    # -- changes -----------------------------------------------------------------------------

    def create_schema(self, schema: str) -> None:
        """A new, empty schema."""
        self.session.execute(f"CREATE SCHEMA {self.name(schema)}")

    def drop_schema(self, schema: str) -> None:
        """Remove a schema with all that is in it, where it is there."""
        self.session.execute(f"DROP SCHEMA IF EXISTS {self.name(schema)} CASCADE")

    def copy(self, schema: str, table: str, relation: str) -> None:
        """A new table with the columns and rows of a quoted one, or of a query in brackets."""
        self.session.execute(f"CREATE TABLE {self.name(schema, table)} AS FROM {relation}")

    def insert_from(self, schema: str, table: str, query: str) -> None:
        """Add the rows of a query to a table."""
        self.session.execute(f"INSERT INTO {self.name(schema, table)} {query}")

    def create(self, schema: str, table: str, columns: str) -> None:
        """An empty table."""
        self.session.execute(f"CREATE TABLE {self.name(schema, table)} ({columns})")

    def create_view(self, schema: str, view: str, query: str) -> None:
        """A new view."""
        self.session.execute(f"CREATE VIEW {self.name(schema, view)} AS {query}")

    def insert(self, schema: str, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """More rows of a table."""
        if rows:
            values = ", ".join(f"({literals(row)})" for row in rows)
            self.session.execute(f"INSERT INTO {self.name(schema, table)} VALUES {values}")

    def insert_query(self, schema: str, table: str, query: str) -> None:
        """The rows of a query, added to a table."""
        self.session.execute(f"INSERT INTO {self.name(schema, table)} {query}")

    def delete(self, schema: str, table: str, where: str) -> None:
        """Take rows out of a table."""
        self.session.execute(f"DELETE FROM {self.name(schema, table)} WHERE {where}")
