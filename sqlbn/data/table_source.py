"""A Delta or Iceberg table in DuckDB: its Parquet files where they are all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlbn.data.files import file_list
from sqlbn.data.iceberg import iceberg_rows, metadata_file
from sqlbn.data.lake_tables import (
    DataFile,
    TableColumn,
    TableFiles,
    TableName,
    library_errors,
    table_files,
    table_label,
)
from sqlbn.data.memory import object_source
from sqlbn.engines import Session
from sqlbn.engines.duckdb_catalog import file_without_ids, has_extension, load_extension
from sqlbn.engines.relations import (
    PLACES,
    ROW,
    Source,
    SourceFile,
    parquet_row_key,
)
from sqlbn.engines.sql import (
    identifier,
    literal,
    literals,
    render,
    select_sql,
)
from sqlbn.errors import SourceError, TableError
from sqlbn.text import is_remote


def table_source(session: Session, name: TableName) -> Source:
    """The table by its library, else by the engine's own extension where that is installed."""
    try:
        table = table_files(name)
        assert table is not None
        return _library_source(session, table)
    except TableError:
        if not _has_extension(session, name):
            raise
        return _extension_source(session, name)


def _library_source(session: Session, table: TableFiles) -> Source:
    beyond = table.beyond or without_ids(session, table)
    if not beyond:
        return _files_source(session, table)
    if table.format == "iceberg":
        with library_errors(table.name):
            source = object_source(session, iceberg_rows(table))
        return replace(source, label=table.label, files=source_files(table))
    raise TableError(
        f"{table.name.title} cannot be read from its files: {beyond}; "
        f"run INSTALL {table.format} in DuckDB once, or copy the rows to a plain table"
    )


def source_files(table: TableFiles) -> tuple[SourceFile, ...]:
    """The files of a table as a history knows them."""
    names = [column.name for column in table.partition_columns]
    return tuple(
        SourceFile(
            file.path,
            file.size,
            ", ".join(f"{n}={v!r}" for n, v in zip(names, file.values, strict=True)),
        )
        for file in table.files
    )


# -- Parquet files ------------------------------------------------------------------------------


def _files_source(session: Session, table: TableFiles) -> Source:
    check_files(table)
    columns = sql_types(session, table.columns)
    source = Source(
        relation=_no_rows(columns),
        columns=columns,
        label=table.label,
        files=source_files(table),
    )
    if not table.files:
        return source
    gone = _deleted_rows(session, table.files)
    if gone is None and not table.partition_columns and PLACES.isdisjoint(map(str.lower, columns)):
        scan = _scan(table, columns, list(columns))
        return replace(source, relation=scan, row_key=parquet_row_key())
    # Names of ours inside, so that a column called file_index is not taken for the engine's.
    inner = [f"c{i}" for i in range(len(columns))]
    items = [
        {
            "name": name,
            "value": i if column.stored is not None else _partition_value(table, column, kind),
        }
        for i, column, (name, kind) in zip(inner, table.columns, columns.items(), strict=True)
    ]
    relation = render(
        "data/lake_table",
        items=items,
        row_key=parquet_row_key(),
        row=ROW,
        scan=_scan(table, columns, inner),
        gone=gone or "",
    )
    return replace(
        source,
        relation=f"({relation})",
        row_key=ROW,
        numbered=True,
        ordered=gone is None,  # joins of DuckDB 2.0 mix up the rows
    )


def check_files(table: TableFiles) -> None:
    """An error where a file that is here by its path is not there."""
    for file in table.files:
        if not is_remote(file.path) and not Path(file.path).is_file():
            raise SourceError(
                f"{file.path!r} of {table.label} is missing: the table was moved, or the files of "
                "this version were cleaned away"
            )


def sql_types(session: Session, columns: Sequence[TableColumn]) -> dict[str, str]:
    """The engine's types of the columns of a table."""
    import pyarrow as pa

    name = session.register(pa.schema([(c.name, c.type) for c in columns]).empty_table())
    try:
        return dict(session.columns(name))
    finally:
        session.unregister(name)


def _no_rows(columns: dict[str, str]) -> str:
    items = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(n)}" for n, kind in columns.items())
    return f"({select_sql('range(1)', items, where='false')})"


def _scan(table: TableFiles, columns: dict[str, str], names: Sequence[str]) -> str:
    """The files, each column found by what it is called there, NULL where a file lacks it."""
    schema = ", ".join(
        f"{literal(column.stored)}: "
        f"{{name: {literal(name)}, type: {literal(kind)}, default_value: NULL}}"
        for column, name, kind in zip(table.columns, names, columns.values(), strict=True)
        if column.stored is not None
    )
    files = file_list([file.path for file in table.files], literally=True)
    return f"read_parquet({files}, schema = MAP {{{schema}}})"


def _partition_value(table: TableFiles, column: TableColumn, kind: str) -> str:
    """A partition column by the number of the file: DuckDB skips files where one filter says so.

    A join would let it skip files also by several filters, but mixes up the rows.
    """
    at = table.partition_columns.index(column)
    values = literals(None if f.values[at] is None else str(f.values[at]) for f in table.files)
    return f"CAST([{values}] AS {kind}[])[(file_index + 1)::BIGINT]"


def _deleted_rows(session: Session, files: Sequence[DataFile]) -> str | None:
    """A table of the rows that are gone; None where there is none."""
    import numpy as np

    gone = [(i, f.deleted) for i, f in enumerate(files) if f.deleted is not None]
    if not gone:
        return None
    name = session.fresh_name("deleted")
    session.create_table(
        name,
        {
            "gone_file": np.concatenate([np.full(len(rows), i, np.uint64) for i, rows in gone]),
            "gone_row": np.concatenate([rows for _, rows in gone]),
        },
    )
    return name


def without_ids(session: Session, table: TableFiles) -> str:
    """Why columns cannot be found by field id: the engine would take them for NULL."""
    if not table.files or not table.by_field_id:
        return ""
    check_files(table)
    files = file_list([file.path for file in table.files], literally=True)
    found = file_without_ids(session, files)
    return f"{found!r} has no field ids" if found is not None else ""


# -- the engine's own extension ----------------------------------------------------------------


def _has_extension(session: Session, name: TableName) -> bool:
    return has_extension(session, name.format)


def _extension_source(session: Session, name: TableName) -> Source:
    load_extension(session, name.format)
    version = logged_version(name)
    if name.format == "delta":
        place, option = name.place, "version"
    else:
        place, option = metadata_file(name.place), "snapshot_from_id"
    asked = f", {option} = {version}" if version is not None else ""
    relation = f"{name.format}_scan({literal(place)}{asked})"
    return Source(
        relation=relation,
        columns=dict(session.columns(relation)),
        label=table_label(name, version),
        rescannable=False,  # without a version the next scan could see other rows
    )


def logged_version(name: TableName) -> int | None:
    """The version asked for, else the last one that a local table tells of."""
    if name.version is not None or is_remote(name.place):
        return name.version
    if name.format == "iceberg":
        file = Path(metadata_file(name.place))
        told = json.loads(file.read_text()) if file.is_file() else {}
        return told.get("current-snapshot-id")
    commits = (Path(name.place) / "_delta_log").glob("*.json")
    return max((int(c.stem) for c in commits if c.stem.isdigit()), default=None)
