"""The tables of a model while it is being made or used: a schema in an engine's own database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.engines import Session
from sqlbn.engines.sql import MODEL_CATALOG, identifier, literal, qualified
from sqlbn.schema import columns_sql

if TYPE_CHECKING:
    import pyarrow as pa


class Workspace:
    """A private schema that later is copied into a store, or was copied out of one."""

    def __init__(self, session: Session, weighted: bool = False) -> None:
        self.session = session
        # What messages call the model; of a stored one also where it lies.
        self.label = "the model"
        self.schema = session.fresh_name("model")
        self.n_type = "DOUBLE" if weighted else "BIGINT"
        session.execute(f"CREATE SCHEMA {identifier(self.schema)}")

    @property
    def prefix(self) -> str:
        """The quoted name of the schema."""
        return qualified(MODEL_CATALOG, self.schema)

    def table(self, name: str) -> str:
        """The quoted, full name of a table."""
        return f"{self.prefix}.{identifier(name)}"

    def create(
        self, name: str, like: str = "", types: Mapping[str, str] | None = None, classes: int = 0
    ) -> None:
        """An empty table, with the columns that `schema` declares for it or the one it is `like`.

        `types` are those of columns that may be of several; `classes` how many columns `l_*` it
        has.
        """
        columns = columns_sql(like or name, self.n_type, types or {}, classes)
        self.session.execute(f"CREATE TABLE {self.table(name)} ({columns})")

    def fill(
        self, name: str, rows: Sequence[Sequence[Any]], types: Mapping[str, str] | None = None
    ) -> None:
        """A new table with these rows."""
        self.create(name, types=types)
        self.insert(name, rows)

    def insert(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """More rows into a table."""
        if not rows:
            return
        # As parameters: where pandas is installed, pyarrow loads it to look at a list.
        columns = [[_plain(value) for value in values] for values in zip(*rows, strict=True)]
        items = ", ".join(f"unnest(${number})" for number in range(1, len(columns) + 1))
        self.session.execute(f"INSERT INTO {self.table(name)} SELECT {items}", columns)

    def all_columns(self) -> dict[str, list[str]]:
        """All tables, by name, with the names of their columns."""
        found: dict[str, list[str]] = {}
        for table, column in self.session.rows(
            "SELECT table_name, column_name FROM duckdb_columns() "
            f"WHERE database_name = {literal(MODEL_CATALOG)} "
            f"AND schema_name = {literal(self.schema)} ORDER BY table_name, column_index"
        ):
            found.setdefault(table, []).append(column)
        return found

    def columns(self, name: str) -> dict[str, str]:
        """The columns of a table and their types."""
        return dict(self.session.columns(self.table(name)))

    def read(
        self, name: str, *columns: str, order: Sequence[str] = (), where: str | None = None
    ) -> list[tuple[Any, ...]]:
        """Some columns of a table, in the order of others; `where` is a condition in SQL."""
        return self.session.rows(self.select(name, *columns, order=order, where=where))

    def arrow(self, name: str, order: str | None = None) -> pa.Table:
        """A whole table; `order` is what ORDER BY says of it."""
        ordered = f" ORDER BY {order}" if order is not None else ""
        return self.session.arrow(f"FROM {self.table(name)}{ordered}")

    def select(
        self, name: str, *columns: str, order: Sequence[str] = (), where: str | None = None
    ) -> str:
        """The statement that reads them; all columns where none is named."""
        items = ", ".join(map(identifier, columns)) or "*"
        condition = f" WHERE {where}" if where is not None else ""
        ordered = f" ORDER BY {', '.join(map(identifier, order))}" if order else ""
        return f"SELECT {items} FROM {self.table(name)}{condition}{ordered}"

    def copy(self, name: str, relation: str) -> None:
        """A new table with the columns and rows of a quoted one, or of a query in brackets."""
        self.session.execute(f"CREATE TABLE {self.table(name)} AS FROM {relation}")

    def insert_from(self, name: str, query: str) -> None:
        """Add the rows of a query to a table."""
        self.session.insert_from(self.table(name), query)

    def rename(self, name: str, new: str) -> None:
        """Give a table another name."""
        self.session.execute(f"ALTER TABLE {self.table(name)} RENAME TO {identifier(new)}")

    def remove(self, *names: str) -> None:
        """Drop some tables."""
        for name in names:
            self.session.row_engine.unbroadcast(self.table(name))
            self.session.execute(f"DROP TABLE {self.table(name)}")

    def names(self) -> list[str]:
        """The tables in it, by name."""
        found = self.session.rows(
            "SELECT table_name FROM duckdb_tables() "
            f"WHERE database_name = {literal(MODEL_CATALOG)} "
            f"AND schema_name = {literal(self.schema)} ORDER BY table_name"
        )
        return [row[0] for row in found]

    def drop(self) -> None:
        """Remove the schema with all its tables."""
        for name in self.names():
            self.session.row_engine.unbroadcast(self.table(name))
        self.session.execute(f"DROP SCHEMA {identifier(self.schema)} CASCADE")


def _plain(value: Any) -> Any:
    """A value as the engine takes parameters: no scalar of numpy, no tuple."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
