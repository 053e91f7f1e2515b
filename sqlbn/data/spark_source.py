"""Sources that Spark reads: files by path or URL, tables of its catalog, data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.data.csv_files import Types, checked_encoding, type_like
from sqlbn.data.files import (
    expand,
    file_format,
    label_of,
    parquet_source,
    sized,
)
from sqlbn.data.lake_tables import the_table
from sqlbn.data.memory import object_source
from sqlbn.data.opening import Asked, is_nothing, paths_of
from sqlbn.data.spark_tables import (
    NUMBER,
    address,
    located,
    numbered_rows,
    open_table,
)
from sqlbn.data.user_sql import UntrustedSqlError, check_condition, remedy
from sqlbn.engines import Session
from sqlbn.engines.dialects import SPARK
from sqlbn.engines.relations import Source
from sqlbn.engines.row_engine import ROW_NUMBER, Numbering
from sqlbn.engines.spark.spark_errors import first_line, translate
from sqlbn.engines.spark.spark_rows import SparkRows
from sqlbn.engines.spark.spark_types import frame_types
from sqlbn.engines.sql import identifier, select_sql
from sqlbn.engines.value_types import type_group
from sqlbn.errors import (
    ColumnError,
    OptionError,
    SourceError,
    opt,
)
from sqlbn.text import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

# A table of Spark's catalog: table:catalog.schema.name
TABLE = "table:"


def open_in_spark(
    session: Session,
    data: Any,
    asked: Asked,
    where: str | None,
    used: Callable[[str], bool],
) -> Source:
    """Data as `open_source` describes it, to be read by Spark."""
    row_engine, paths = _spark_rows(session), None if is_nothing(data) else paths_of(data)
    if is_nothing(data):
        asked.check_no_csv()
        source = open_query(session, row_engine, asked.query, asked.trust_sql)
    elif paths is not None:
        check_database_options(asked.table, asked.query)
        source = open_files(session, row_engine, paths, used, asked.trained, asked.encoding)
    else:
        check_database_options(asked.table, asked.query)
        asked.check_no_csv()
        source = open_object(session, row_engine, data)
    return source if where is None else with_where(session, source, where, asked.trust_sql)


def _spark_rows(session: Session) -> SparkRows:
    assert isinstance(session.row_engine, SparkRows)
    return session.row_engine


def open_files(
    session: Session,
    row_engine: SparkRows,
    paths: Sequence[str],
    used: Callable[[str], bool],
    trained: Types,
    encoding: str | None = None,
) -> Source:
    """Files or a table, by name; `encoding` is that of CSV files."""
    if any(path.startswith(TABLE) for path in paths):
        if len(paths) > 1:
            raise SourceError("give one table of Spark's catalog at a time")
        name = paths[0].removeprefix(TABLE)
        return _shown(session, row_engine, _read(lambda: row_engine.spark.table(name), name), name)
    lake_table = the_table(paths)
    if lake_table is not None:
        return open_table(session, row_engine, lake_table)
    files = [file for path in paths for file in _files_of(path)]
    formats = {file_format(file) if not is_remote(file) else _remote_format(file) for file in files}
    if len(formats) > 1:
        raise SourceError(f"the files are of several formats ({', '.join(sorted(formats))})")
    form = formats.pop()
    if form == "database":
        raise SourceError(
            f"{files[0]!r} is a DuckDB database, which Spark cannot read; "
            f"use {opt('engine', 'duckdb')}, or COPY the table to Parquet"
        )
    if encoding is not None and form != "csv":
        raise OptionError(f"{opt('encoding')} is that of CSV files")
    reader = _reader(row_engine, form, files, encoding)
    frame = _read(lambda: reader.load([address(f) for f in files]), files[0])
    if form == "csv":
        _check_quantities(frame, trained, label_of(files))
        schema = _text_as_text(frame, trained)
        frame = _read(lambda: reader.schema(schema).load([address(f) for f in files]), files[0])
    types = None
    if form == "parquet" and not any(map(is_remote, files)):
        # The same checks and the same types as without Spark.
        types = parquet_source(session, files, used).columns
    return _shown(session, row_engine, frame, label_of(files), files, types)


def open_frame(session: Session, row_engine: SparkRows, data: Any) -> Source:
    """A Spark data frame, or an Arrow table, which is sent to the cluster."""
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return _sent(session, row_engine, data)
    return _shown(session, row_engine, row_engine.borrowed(data), "the DataFrame")


def open_object(session: Session, row_engine: SparkRows, data: Any) -> Source:
    """A Spark data frame, or rows in memory, which are sent to the cluster."""
    if _is_frame(data):
        return open_frame(session, row_engine, data)
    held = object_source(session, data)
    rows = session.arrow(held.select("*"))
    return replace(open_frame(session, row_engine, rows), label=held.label)


def _is_frame(data: Any) -> bool:
    """Whether these are rows of a Spark session."""
    return type(data).__module__.startswith("pyspark.") and type(data).__name__ == "DataFrame"


def open_query(session: Session, row_engine: SparkRows, query: str | None, trusted: bool) -> Source:
    """The rows of a query in Spark's own SQL."""
    if query is None:
        raise SourceError(f"no data given: name at least one file, or give {opt('query')}")
    if not trusted:
        raise OptionError(
            f"{opt('query')} is Spark's own SQL with {opt('engine', 'spark')}, which cannot be "
            "checked here; "
            f"if you trust it: {opt('trust_sql', True)}"
        )
    # Between brackets only a query can stand, no command.
    alone = select_sql(f"(\n{query.rstrip().rstrip(';')}\n)")
    frame = _read(lambda: row_engine.spark.sql(alone), opt("query"))
    return _shown(session, row_engine, frame, "the query")


def with_where(session: Session, source: Source, where: str, trusted: bool) -> Source:
    """The rows for which the user's condition holds, in Spark's own SQL."""
    row_engine = _spark_rows(session)
    if not trusted:
        _check_condition(session, where, source)

    def narrowed(relation: str) -> str:
        name = session.fresh_name("source")
        row_engine.show(name, row_engine.spark.table(relation).where(where))
        return name

    try:
        return replace(
            source,
            relation=narrowed(source.relation),
            numbered_as=narrowed(source.numbered_as) if source.numbered_as else None,
        )
    except Exception as error:
        raise ColumnError(f"{opt('where', where)} cannot be used: {first_line(error)}") from error


def _check_condition(session: Session, where: str, source: Source) -> None:
    """An error where a condition may be more than one over columns.

    It must be one for DuckDB's parser, too, and have nothing that Spark reads in another way:
    escapes in text, text in double quotes, names in backticks, comments.
    """
    try:
        different = [sign for sign in ("\\", '"', "`", "--", "/*", "$", "{") if sign in where]
        if different:
            raise UntrustedSqlError(
                f"it has {different[0]} in it, which may mean several things ({remedy()})"
            )
        check_condition(session, where, source.columns)
    except OptionError as error:
        raise ColumnError(f"{opt('where', where)} cannot be used: {error}") from error


def staged_in_spark(session: Session, source: Source, columns: Sequence[str]) -> Source:
    """The rows, kept, with a number each: in the order they have, or else in that of reading."""
    items = ", ".join(identifier(name) for name in columns) or "1 AS nothing"
    row_engine = _spark_rows(session)
    key, read, number = source.place or source.row_key, None, identifier(NUMBER)
    if key is None:
        # What Spark numbers by itself is the same again only for rows that are kept.
        mixed = f"{items}, monotonically_increasing_id() AS {number}"
        read = row_engine.persist(source.select(mixed), "read")
        statement = select_sql(read.relation)
    else:
        statement = source.with_numbers.select(f"{items}, {key} AS {number}")
    kept = row_engine.persist(
        statement, "staged", numbering=Numbering.by(number, session.limits.spark_piece_rows)
    )
    if read is not None:
        row_engine.unpersist(read)
    name = session.fresh_name("source")
    row_engine.show(name, row_engine.spark.table(kept.relation).drop(NUMBER, ROW_NUMBER))
    return Source(
        relation=name,
        columns={n: source.columns[n] for n in columns},
        label=source.label,
        files=source.files,
        row_key=ROW_NUMBER,
        numbered_as=kept.relation,
    )


def _files_of(path: str) -> list[str]:
    """What Spark is to read: files here are listed here, others by Spark itself."""
    return [path] if is_remote(path) else expand([path])


def _remote_format(path: str) -> str:
    lower = path.lower().rstrip("/*")
    return "csv" if lower.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")) else "parquet"


def _reader(row_engine: SparkRows, form: str, files: Sequence[str], encoding: str | None) -> Any:
    reader = row_engine.spark.read.format(form)
    base = _hive_root(files)
    if base is not None:
        reader = reader.option("basePath", base)
    if form == "csv":
        tabs = files[0].lower().endswith((".tsv", ".tsv.gz", ".txt"))
        reader = reader.options(header=True, inferSchema=True, sep="\t" if tabs else ",")
        if encoding is not None:
            reader = reader.options(**_encoding(encoding))
    return reader


def _text_as_text(frame: DataFrame, trained: Types) -> StructType:
    """The schema that Spark found, but text where it was text in training."""
    from pyspark.sql.types import StringType, StructField, StructType

    known = {name.lower(): type_ for name, type_ in trained.items()}
    types = frame_types(frame)
    fields = []
    for field in frame.schema:
        wanted = known.get(field.name.lower())
        as_text = wanted is not None and type_like(types[field.name], wanted) == "VARCHAR"
        fields.append(StructField(field.name, StringType() if as_text else field.dataType))
    return StructType(fields)


def _check_quantities(frame: DataFrame, trained: Types, label: str) -> None:
    """An error where a column of quantities has what is none; Spark would take it for missing."""
    from pyspark.sql import functions as F  # noqa: N812

    for name, found in frame_types(frame).items():
        wanted = trained.get(name)
        if wanted is None or not wanted.quantity or type_group(found) != "text":
            continue
        kind = "double" if type_like(found, wanted) == "DOUBLE" else "timestamp"
        column = F.col(SPARK.identifier(name))
        odd = frame.where(column.isNotNull() & column.try_cast(kind).isNull()).select(column)
        for row in odd.take(1):
            raise SourceError(
                f"{label}: column {name!r} has {row[0]!r}, which is no "
                f"{'number' if kind == 'double' else 'time'}; correct the value, or leave it "
                "empty where it is missing"
            )


def _encoding(encoding: str) -> dict[str, str]:
    """The options that make Spark read CSV files in an encoding."""
    spelled = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "utf-16": "UTF-16LE"}
    found = {"encoding": spelled[checked_encoding(encoding)]}
    # Lines of two-byte characters can only be told apart where it is said what ends them.
    return found | ({"lineSep": "\n"} if found["encoding"] == "UTF-16LE" else {})


def _hive_root(files: Sequence[str]) -> str | None:
    """The folder above the first `name=value` of hive partitions."""
    parts = Path(files[0]).parts[:-1] if not is_remote(files[0]) else files[0].split("/")[:-1]
    for place, part in enumerate(parts):
        if "=" in part:
            if is_remote(files[0]):
                return "/".join(parts[:place])
            return f"file://{Path(*parts[:place]).absolute()}"
    return None


def _read(make: Callable[[], DataFrame], what: str) -> DataFrame:
    try:
        frame = make()
        _ = frame.schema  # a Connect server looks only when it is asked
        return frame
    except Exception as error:
        found = translate(error)
        if isinstance(found, SourceError):
            raise found from error
        raise SourceError(f"Spark cannot read {what}: {first_line(error)}") from error


def _shown(
    session: Session,
    row_engine: SparkRows,
    frame: DataFrame,
    label: str,
    files: Sequence[str] = (),
    types: dict[str, str] | None = None,
) -> Source:
    name = session.fresh_name("source")
    row_engine.show(name, frame)
    columns = {n: (types or {}).get(n, t) for n, t in frame_types(frame).items()}
    numbered = _numbered(session, row_engine, frame, files) if files else None
    return Source(
        relation=name,
        columns=columns,
        label=label,
        files=sized(session, files),
        row_key=identifier(NUMBER) if numbered is not None else None,
        numbered_as=numbered,
    )


def _numbered(
    session: Session, row_engine: SparkRows, frame: DataFrame, files: Sequence[str]
) -> str | None:
    """The rows with a number each: that of their file, in order of the paths, then their own."""
    from pyspark.sql import functions as F  # noqa: N812

    if not any(f.lower().endswith((".parquet", ".pq", ".parq")) for f in files) and not any(
        map(is_remote, files)
    ):
        return None
    items = [F.col(SPARK.identifier(column)) for column in frame.columns]
    name = session.fresh_name("numbered")
    row_engine.show(name, numbered_rows(located(row_engine, frame, files, items), items))
    return name


def _sent(session: Session, row_engine: SparkRows, data: Any) -> Source:
    import pyarrow as pa

    numbers = pa.array(range(data.num_rows), pa.int64())
    frame = row_engine.sent(data.append_column(NUMBER, numbers))
    name, numbered = session.fresh_name("source"), session.fresh_name("numbered")
    row_engine.show(numbered, frame)
    row_engine.show(name, frame.drop(NUMBER))
    view = session.register(data.slice(0, 0))
    try:
        columns = dict(session.columns(view))
    finally:
        session.unregister(view)
    return Source(name, columns, "the Table", row_key=identifier(NUMBER), numbered_as=numbered)


def check_database_options(table: str | None, query: str | None) -> None:
    """An error where an option speaks of a DuckDB database."""
    if table is not None or query is not None:
        raise OptionError(
            f"{opt('table')} and {opt('query')} go with a DuckDB database file; "
            "a table of Spark's catalog is the DATA table:NAME"
        )
