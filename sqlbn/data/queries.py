"""`--query` and `--where`: rows that the user's own SQL selects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb

from sqlbn.data.files import (
    file_list,
    label_of,
    remote_errors,
    sized,
)
from sqlbn.data.sampling import staged
from sqlbn.data.user_sql import (
    NotOneSelectError,
    NotSqlError,
    ParsedQuery,
    check_condition,
    parse_query,
)
from sqlbn.engines import Session
from sqlbn.engines.duckdb_catalog import (
    bind,
    macros_of,
    matching_files,
    tables_of,
    using,
)
from sqlbn.engines.relations import PLACES, ROW, Source, SourceFile, parquet_row_key
from sqlbn.engines.sql import select_sql
from sqlbn.engines.value_types import type_group
from sqlbn.errors import (
    ColumnError,
    EngineError,
    OptionError,
    SourceError,
    SqlbnError,
    opt,
)
from sqlbn.text import is_remote, shown

# -- queries -----------------------------------------------------------------------------------


def files_query(session: Session, query: str, trusted: bool) -> Source:
    """The rows of a query that names its files itself."""
    found = _parsed(session, query, trusted)
    files = _files_of(session, found.paths)
    source = Source(
        relation=f"({found.text}\n)",
        columns={},
        label=f"the query on {label_of(found.paths)}" if found.paths else "the query",
        files=sized(session, files),
        rescannable=False,
        ordered=found.keeps_rows,
        query=found.of_any_files(session),
    )
    try:
        with remote_errors(found.paths):
            return _opened(session, source, found, files)
    except EngineError as error:
        raise SourceError(f"{opt('query')}: {error}") from error


def _opened(session: Session, source: Source, query: ParsedQuery, files: Sequence[str]) -> Source:
    if query.keeps_rows and query.reads_parquet and not _has_places(session, files):
        return _numbered(session, source, query)
    return replace(source, columns=dict(session.columns(source.relation)))


def _numbered(session: Session, source: Source, query: ParsedQuery) -> Source:
    """Rows of Parquet files are numbered by them: they need not be copied to be read again."""
    relation = f"({query.with_column(session, parquet_row_key(), ROW)})"
    columns = dict(session.columns(relation))
    del columns[ROW]
    return replace(
        source, relation=relation, columns=columns, row_key=ROW, numbered=True, rescannable=True
    )


def _has_places(session: Session, files: Sequence[str]) -> bool:
    columns = session.columns(f"read_parquet({file_list(files)})")
    return any(name.lower() in PLACES for name, _ in columns)


def _files_of(session: Session, paths: Iterable[str]) -> list[str]:
    """The files that the engine finds under paths and patterns, in its order."""
    files: list[str] = []
    for path in paths:
        if is_remote(path):
            files.append(path)
            continue
        found = matching_files(session, path)
        if not found:
            raise SourceError(
                f"{opt('query')}: no file matches {path!r}; check the path or the pattern"
            )
        files += found
    return list(dict.fromkeys(files))


def database_query(session: Session, catalog: str, path: str, query: str, trusted: bool) -> Source:
    """The rows of a query over tables of a database that is attached."""
    tables = [(schema, name) for schema, name, _ in tables_of(session, catalog)]
    found = _parsed(session, query, trusted, tables, macros_of(session, catalog))
    relation = f"({found.text}\n)"
    others = sized(session, _files_of(session, found.paths))
    try:
        with using(session, catalog):
            source = Source(
                relation=relation,
                columns=dict(session.columns(relation)),
                label=f"the query on {shown(path)}",
                files=(database_file(session, path), *others),
                rescannable=False,
                ordered=found.keeps_rows,
            )
            # Staged at once: the names in the query mean something only inside.
            return staged(session, source)
    except EngineError as error:
        raise SourceError(f"{opt('query')}: {error}") from error


def database_file(session: Session, path: str) -> SourceFile:
    """A database as a file of a source."""
    return sized(session, [path])[0]


def _parsed(
    session: Session,
    query: str,
    trusted: bool,
    tables: Sequence[tuple[str, str]] = (),
    macros: Sequence[str] = (),
) -> ParsedQuery:
    try:
        return parse_query(session, query, tables, macros, trusted)
    except OptionError as error:
        if trusted and _is_select(query):  # not all that can be run can be told (PIVOT)
            return ParsedQuery(query.strip().rstrip(";"), {}, ())
        if isinstance(error, NotOneSelectError):
            raise SourceError(f"{opt('query')} takes one SELECT statement") from error
        wrong = "is not SQL" if isinstance(error, NotSqlError) else "cannot be used"
        raise SourceError(f"{opt('query')} {wrong}: {error}") from error


def _is_select(query: str) -> bool:
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error:
        return False
    return len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT


# -- filters -----------------------------------------------------------------------------------


def with_where(session: Session, source: Source, where: str, trusted: bool) -> Source:
    """The rows for which the user's condition holds."""
    narrowed = source.filtered(where)
    try:
        check_condition(session, where, source.columns, trusted)
        asked = select_sql(source.relation, f"({where}\n) AS it")
        kind = session.columns(f"({asked})")[0][1]
        if type_group(kind) in ("boolean", "integer"):
            bind(session, narrowed.select("1"))
            return narrowed
    except SqlbnError as error:
        raise ColumnError(f"{opt('where', where)} cannot be used: {error}") from error
    raise ColumnError(
        f"{opt('where', where)} is not a condition but of type {kind}: compare it with a value"
    )
