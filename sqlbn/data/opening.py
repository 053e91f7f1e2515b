"""Decides what the user's data is, and opens it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlbn.data.csv_files import Types, checked_encoding, csv_source
from sqlbn.data.files import (
    expand,
    file_format,
    parquet_source,
    remote_errors,
)
from sqlbn.data.lake_tables import the_table
from sqlbn.data.memory import object_source
from sqlbn.data.queries import (
    database_file,
    database_query,
    files_query,
    with_where,
)
from sqlbn.data.table_source import table_source
from sqlbn.engines import Session, Settings
from sqlbn.engines.duckdb_catalog import attach, tables_of
from sqlbn.engines.relations import Source
from sqlbn.engines.sql import qualified
from sqlbn.errors import (
    EngineError,
    OptionError,
    SourceError,
    SqlbnError,
    opt,
)
from sqlbn.text import is_remote, shown

# Tables by name: 'delta:…', 'iceberg:…', 'table:…'.
_PREFIXED = re.compile(r"[a-z][a-z0-9_]+:")


def check_there(settings: Settings, *several: Any) -> None:
    """An error that names the first path or pattern without any file; only paths are looked at.

    A cluster has a file system of its own.
    """
    if settings.is_cluster:
        return
    for data in several:
        paths = [data] if isinstance(data, str | os.PathLike) else data
        if not isinstance(paths, Sequence):
            continue
        for path in paths:
            if isinstance(path, str | os.PathLike) and not _is_there(os.fspath(path)):
                raise SourceError(
                    f"no file matches {os.fspath(path)!r}; check the path or the pattern"
                )


def _is_there(path: str) -> bool:
    try:
        if is_remote(path) or _PREFIXED.match(path) or Path(path).exists():
            return True
        return next(glob.iglob(path, recursive=True), None) is not None  # noqa: PTH207
    except (OSError, ValueError):
        return True  # whoever opens it says what is wrong


def open_source(
    session: Session,
    data: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    where: str | None = None,
    encoding: str | None = None,
    trust_sql: bool = False,
    used: Callable[[str], bool] = lambda name: True,
    trained: Types | None = None,
    places: bool = False,
) -> Source:
    """Open files, a table of a lake, a database, Arrow data or a data frame as one relation.

    Without data a `query` names its files itself. `encoding` is that of CSV files. `trust_sql`
    takes any SQL in `query` and `where`. `used` says which columns matter: files may disagree about
    the others. `trained` are the types that columns had in training, for CSV, which has none. With
    `places` rows have one each where that costs nothing, to be put into order again.
    """
    asked = Asked(table, query, encoding, trust_sql, trained or {}, places)
    source = _opening(session)(session, data, asked, where, used)
    if not source.columns:
        raise SourceError(f"{source.label} has no columns")
    return source


@dataclass(frozen=True)
class Asked:
    """What is said of the data, besides where it is; see `open_source`."""

    table: str | None
    query: str | None
    encoding: str | None
    trust_sql: bool
    trained: Types
    places: bool

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise OptionError(f"give {opt('table')} or {opt('query')}, not both")
        if self.encoding is not None:
            checked_encoding(self.encoding)

    def check_plain(self, label: str) -> None:
        """An error where the data is no database and something of one was asked."""
        if self.table is not None:
            raise OptionError(f"{opt('table')} goes with a DuckDB database file")
        if self.query is not None:
            raise OptionError(
                f"{opt('query')} goes with a DuckDB database file, or names its files itself: "
                "leave "
                f"{label} out and write FROM 'flights/*.parquet' in the query"
            )

    def check_no_csv(self) -> None:
        """An error where an encoding is told and nothing is CSV."""
        if self.encoding is not None:
            raise OptionError(
                f"{opt('encoding')} is that of CSV files; in a query write read_csv('…', "
                "encoding = '…')"
            )


def _opening(session: Session) -> Callable[..., Source]:
    """How data is opened where the session reads rows."""
    if session.row_engine.is_local:
        return _open_here
    from sqlbn.data.spark_source import open_in_spark

    return open_in_spark


def _open_here(
    session: Session,
    data: Any,
    asked: Asked,
    where: str | None,
    used: Callable[[str], bool],
) -> Source:
    if is_nothing(data):
        source = _query_alone(session, asked)
    elif (paths := paths_of(data)) is None:
        asked.check_plain("DATA")
        asked.check_no_csv()
        source = object_source(session, data, asked.places)
    else:
        with remote_errors(paths):
            source = _path_source(session, paths, asked, used)
    return with_where(session, source, where, asked.trust_sql) if where is not None else source


def _query_alone(session: Session, asked: Asked) -> Source:
    if asked.query is None:
        raise SourceError(f"no data given: name at least one file, or give {opt('query')}")
    asked.check_no_csv()
    return files_query(session, asked.query, asked.trust_sql)


def is_nothing(data: Any) -> bool:
    """Whether no data was given: a query names its files, then."""
    return data is None or (isinstance(data, list | tuple) and not data)


def paths_of(data: Any) -> list[str] | None:
    """The paths that data is given by; None where it is something else."""
    if isinstance(data, str | os.PathLike):
        return [os.fspath(data)]
    if isinstance(data, Sequence) and data and all(isinstance(p, str | os.PathLike) for p in data):
        return [os.fspath(p) for p in data]
    return None


def _path_source(
    session: Session,
    paths: list[str],
    asked: Asked,
    used: Callable[[str], bool],
) -> Source:
    lake_table = the_table(paths)
    if lake_table is not None:
        asked.check_plain(paths[0])
        asked.check_no_csv()
        return table_source(session, lake_table)
    files = expand(paths)
    formats = {file_format(f) for f in files}
    if len(formats) > 1:
        raise SourceError(f"the files are of several formats ({', '.join(sorted(formats))})")
    if formats == {"database"}:
        if len(files) > 1:
            raise SourceError("give one DuckDB database file at a time")
        asked.check_no_csv()
        return _database_source(session, files[0], asked)
    asked.check_plain(paths[0])
    if formats == {"csv"}:
        return csv_source(session, files, used, asked.trained, asked.encoding)
    asked.check_no_csv()
    return parquet_source(session, files, used)


# -- a DuckDB database file ---------------------------------------------------------------------


def _database_source(session: Session, path: str, asked: Asked) -> Source:
    try:
        catalog = attach(session, path)
    except EngineError as error:
        raise SourceError(f"cannot open the database {path!r}: {error}") from error
    if asked.query is not None:
        return database_query(session, catalog, path, asked.query, asked.trust_sql)
    schema, name, is_table = _find_table(session, catalog, path, asked.table)
    relation = qualified(catalog, schema, name)
    return Source(
        relation=relation,
        columns=_columns(session, relation, path, name, is_table),
        label=f"table {name!r} of {shown(path)}",
        files=(database_file(session, path),),
        row_key="rowid" if is_table else None,
        rescannable=is_table,
    )


def _columns(
    session: Session, relation: str, path: str, name: str, is_table: bool
) -> dict[str, str]:
    try:
        return dict(session.columns(relation))
    except SqlbnError as error:
        if is_table:
            raise
        line = str(error).removeprefix("the database engine says: ")
        raise SourceError(
            f"the view {name!r} of {path!r} cannot be read: {line}; what it was made of is gone or "
            f"has changed, so make the view anew, or choose another table with {opt('table')}"
        ) from error


def _find_table(
    session: Session, catalog: str, path: str, table: str | None
) -> tuple[str, str, bool]:
    """Schema, name, and whether it is a table (True) or a view."""
    found = tables_of(session, catalog)
    names = ", ".join(repr(n if s == "main" else f"{s}.{n}") for s, n, _ in found) or "no table"
    if table is None:
        if len(found) != 1:
            raise OptionError(
                f"{path!r} holds {names}; choose with {opt('table')} or {opt('query')}"
            )
        return found[0][0], found[0][1], found[0][2]
    wanted = [r for r in found if table in (r[1], f"{r[0]}.{r[1]}")]
    if len(wanted) != 1:
        raise SourceError(f"{path!r} has no table {table!r}; it holds {names}")
    return wanted[0][0], wanted[0][1], wanted[0][2]
