"""A Delta or Iceberg table in Spark: by the cluster's own source, else by its Parquet files.

Also how rows of any files are numbered there: by their file, and by their place in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlbn.data.iceberg import metadata_file
from sqlbn.data.lake_tables import (
    Format,
    TableColumn,
    TableFiles,
    TableName,
    table_files,
    table_label,
)
from sqlbn.data.table_source import (
    check_files,
    logged_version,
    source_files,
    sql_types,
    without_ids,
)
from sqlbn.engines import Session
from sqlbn.engines.dialects import SPARK
from sqlbn.engines.relations import Source
from sqlbn.engines.spark.spark_errors import first_line
from sqlbn.engines.spark.spark_rows import SparkRows
from sqlbn.engines.spark.spark_types import frame_types
from sqlbn.engines.sql import RESERVED, identifier
from sqlbn.errors import TableError, opt
from sqlbn.text import is_remote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

NUMBER = f"{RESERVED}row_key"
# The number of a row's file, and that of the row in it.
PLACE = f"{RESERVED}place"
OWN = f"{RESERVED}own"
_PATH = f"{RESERVED}path"
# Rows of one file; the number of the file stands above them.
_ROWS_A_FILE = 2**40
_VERSIONS: dict[Format, str] = {"delta": "versionAsOf", "iceberg": "snapshot-id"}
_JARS: dict[Format, str] = {
    "delta": "io.delta:delta-spark_2.13:…",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:…",
}
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"
_ID = "parquet.field.id"


def open_table(session: Session, row_engine: SparkRows, name: TableName) -> Source:
    """The table by the cluster's source for such tables; where it has none, by the files."""
    try:
        table, failure = table_files(name), None
    except TableError as error:
        table, failure = None, error
    version = table.version if table is not None else logged_version(name)
    frame = _by_cluster(row_engine, name, version)
    if frame is not None:
        return _cluster_source(session, row_engine, frame, name, table, version)
    remedy = (
        f"to let Spark read it: {opt('spark_conf', f'spark.jars.packages={_JARS[name.format]}')}"
    )
    if table is None:
        raise TableError(f"{failure}; {remedy}") from failure
    # Of files elsewhere Spark itself says so.
    elsewhere = any(is_remote(file.path) for file in table.files)
    beyond = table.beyond or ("" if elsewhere else without_ids(session, table))
    if beyond:
        raise TableError(f"{name.title} cannot be read from its files: {beyond}; {remedy}")
    return _files_source(session, row_engine, table)


# -- the cluster's own source ------------------------------------------------------------------


def _by_cluster(row_engine: SparkRows, name: TableName, version: int | None) -> DataFrame | None:
    """The table at a version; None where the cluster does not know the format."""
    reader = row_engine.spark.read.format(name.format)
    if version is not None:
        reader = reader.option(_VERSIONS[name.format], version)
    try:
        frame = reader.load(_place(name))
        _ = frame.schema  # a Connect server looks only when it is asked
    except Exception as error:
        if "data_source_not_found" in str(error).lower():
            return None
        raise TableError(f"Spark cannot open {name.title}: {first_line(error)}") from error
    return frame


def _place(name: TableName) -> str:
    """Where Spark finds it: a path here would be looked for on the cluster's own file system."""
    place = name.place
    if name.format == "iceberg" and Path(place).is_dir():
        place = metadata_file(place)
    if is_remote(place) or not Path(place).exists():
        return place
    return f"file://{Path(place).absolute()}"


def _cluster_source(
    session: Session,
    row_engine: SparkRows,
    frame: DataFrame,
    name: TableName,
    table: TableFiles | None,
    version: int | None,
) -> Source:
    view = session.fresh_name("source")
    row_engine.show(view, frame)
    return Source(
        relation=view,
        columns=frame_types(frame) | (sql_types(session, table.columns) if table else {}),
        label=table_label(name, version),
        files=source_files(table) if table is not None else (),
    )


# -- Parquet files -----------------------------------------------------------------------------


def _files_source(session: Session, row_engine: SparkRows, table: TableFiles) -> Source:
    from pyspark.sql import functions as F  # noqa: N812

    check_files(table)
    columns = sql_types(session, table.columns)
    view, numbered = session.fresh_name("source"), session.fresh_name("numbered")
    if table.files:
        items = [F.col(f"c{i}").alias(column) for i, column in enumerate(columns)]
        rows = _left(row_engine, table, _located(row_engine, table))
        row_engine.show(numbered, numbered_rows(rows, items))
    else:
        empty = row_engine.spark.createDataFrame([], _named(table))
        row_engine.show(numbered, empty.withColumn(NUMBER, F.lit(0).cast("bigint")))
    row_engine.show(view, row_engine.spark.table(numbered).drop(NUMBER))
    return Source(
        relation=view,
        columns=columns,
        label=table.label,
        files=source_files(table),
        row_key=identifier(NUMBER),
        numbered_as=numbered,
    )


def _located(row_engine: SparkRows, table: TableFiles) -> DataFrame:
    """The rows of the files with names of ours, c0 …, their file's number and their own."""
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812

    stored: dict[str, TableColumn] = {}
    parts: dict[str, Any] = {}
    for i, column in enumerate(table.columns):
        if column.stored is None:
            values = [file.values[len(parts)] for file in table.files]
            parts[f"c{i}"] = pa.array(values, column.type)
        else:
            stored[f"c{i}"] = column
    if table.by_field_id:
        row_engine.spark.conf.set(_BY_ID, "true")
    frame = (
        row_engine.spark.read.schema(_stored_schema(table, stored))
        # Folders called name=value are the table's business.
        .option("recursiveFileLookup", "true")
        .parquet(*(address(file.path) for file in table.files))
    )
    items = [F.col(SPARK.identifier(_stored_name(c, i))).alias(i) for i, c in stored.items()]
    return located(row_engine, frame, [file.path for file in table.files], items, parts)


def _stored_name(column: TableColumn, inner: str) -> str:
    return column.stored if isinstance(column.stored, str) else inner


def _stored_schema(table: TableFiles, stored: dict[str, TableColumn]) -> StructType:
    """How the columns are found in the files; one that a file lacks is NULL there."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(
                _stored_name(column, inner),
                _spark_type(table, column),
                metadata={_ID: column.stored} if isinstance(column.stored, int) else None,
            )
            for inner, column in stored.items()
        ]
    )


def _named(table: TableFiles) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(c.name, _spark_type(table, c)) for c in table.columns])


def _spark_type(table: TableFiles, column: TableColumn) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type

    try:
        return from_arrow_type(column.type, prefer_timestamp_ntz=True)
    except Exception as error:
        raise TableError(
            f"{table.name.title}: Spark has no type for the column {column.name!r} ({column.type})"
        ) from error


def _left(row_engine: SparkRows, table: TableFiles, rows: DataFrame) -> DataFrame:
    """The rows without those that were deleted."""
    import numpy as np
    import pyarrow as pa

    gone = [(i, f.deleted) for i, f in enumerate(table.files) if f.deleted is not None]
    if not gone:
        return rows
    listed = {
        PLACE: np.concatenate([np.full(len(numbers), i, np.int64) for i, numbers in gone]),
        OWN: np.concatenate([numbers for _, numbers in gone]),
    }
    return rows.join(row_engine.sent(pa.table(listed)), [PLACE, OWN], "left_anti")


# -- the numbers of rows -----------------------------------------------------------------------


def address(file: str) -> str:
    """A file for Spark: a bare path would be looked for on the cluster's default file system."""
    return file if is_remote(file) else _escaped(f"file://{Path(file).absolute()}")


def _escaped(path: str) -> str:
    """A path in which Hadoop takes no character for a pattern."""
    return "".join(f"\\{c}" if c in "*?[]{}" else c for c in path)


def located(
    row_engine: SparkRows,
    frame: DataFrame,
    files: Sequence[str],
    items: Sequence[Column],
    values: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Some columns of files, with the number of the file among `files` and that of the row in it.

    `values` are columns that have one value a file.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812

    read = _spellings(frame.inputFiles())
    places = pa.array(_places(read, files), pa.int64())
    listed = pa.table({_PATH: read, PLACE: places})
    for name, of_files in (values or {}).items():
        listed = listed.append_column(name, of_files.take(places))
    told = frame.metadataColumn("_metadata")  # also where a column of the user's is called so
    where = [told["file_path"].alias(_PATH), told["row_index"].alias(OWN)]
    return frame.select(*items, *where).join(F.broadcast(row_engine.sent(listed)), _PATH)


def _spellings(read: Sequence[str]) -> list[str]:
    """Files here are listed as file:///a, and file:/a is what their rows say."""
    here = [f"file:/{uri.removeprefix('file:').lstrip('/')}" for uri in read if uri[:5] == "file:"]
    return list(dict.fromkeys([*read, *here]))


def _places(read: Sequence[str], files: Sequence[str]) -> list[int]:
    """The numbers of the files that Spark reads, which it spells in its own way."""
    known = {_plain(file): number for number, file in enumerate(files)}
    plain = [_plain(unquote(uri)) for uri in read]
    if all(uri in known for uri in plain):
        return [known[uri] for uri in plain]
    # A folder or pattern elsewhere, which Spark has listed.
    order = {uri: number for number, uri in enumerate(sorted(set(plain)))}
    return [order[uri] for uri in plain]


def _plain(file: str) -> str:
    if file.startswith("file:"):
        return "/" + file.removeprefix("file:").lstrip("/")
    return file if is_remote(file) else os.path.abspath(file)  # noqa: PTH100


def numbered_rows(rows: DataFrame, items: Sequence[Any]) -> DataFrame:
    """Some columns of rows that were `located`, each with a number."""
    from pyspark.sql import functions as F  # noqa: N812

    number = F.col(PLACE) * _ROWS_A_FILE + F.col(OWN)
    return rows.select(*items, number.alias(NUMBER))
