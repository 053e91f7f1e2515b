"""Iceberg tables through pyiceberg: the files of a snapshot, and its rows where files do not do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlbn.data.lake_tables import (
    DataFile,
    TableColumn,
    TableFiles,
    TableName,
    local_path,
)
from sqlbn.errors import SourceError, TableError
from sqlbn.text import is_remote, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import DataScan, FileScanTask, Table


def iceberg_files(name: TableName) -> TableFiles:
    """The files of an Iceberg table at a snapshot."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    table = _open(name)
    version = _version(table, name)
    scan = table.scan(snapshot_id=version)
    schema = scan.projection()
    tasks = _planned(scan, name) if version is not None else []
    files = [DataFile(local_path(t.file.file_path), t.file.file_size_in_bytes) for t in tasks]
    return TableFiles(
        name=name,
        version=version,
        columns=tuple(
            TableColumn(field.name, arrow.type, field.field_id)
            for field, arrow in zip(schema.fields, schema_to_pyarrow(schema), strict=True)
        ),
        files=tuple(sorted(files, key=lambda file: file.path)),
        beyond=_beyond(schema, tasks),
    )


def _planned(scan: DataScan, name: TableName) -> list[FileScanTask]:
    try:
        return list(scan.plan_files())
    except (ValueError, NotImplementedError) as error:
        if "equality deletes" not in str(error):
            raise
        raise TableError(
            f"{name.title} has equality deletes, which pyiceberg cannot read; compact the table, "
            "or run INSTALL iceberg in DuckDB once"
        ) from error


def iceberg_rows(table: TableFiles) -> pa.RecordBatchReader:
    """The rows of the same snapshot, read by the library."""
    return _open(table.name).scan(snapshot_id=table.version).to_arrow_batch_reader()


def _open(name: TableName) -> Table:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.table import StaticTable

    if _in_catalog(name.place):
        catalog, *parts = name.place.split(".")
        return load_catalog(catalog).load_table(tuple(parts))
    return StaticTable.from_metadata(metadata_file(name.place))


def _in_catalog(place: str) -> bool:
    """Whether this is a dotted name such as catalog.namespace.table, and no path."""
    dotted = re.fullmatch(r"[^./\\]+(\.[^./\\]+){2,}", place) is not None
    return dotted and not is_remote(place) and not Path(place).exists()


def metadata_file(place: str) -> str:
    """The newest metadata of a table in a folder, or the folder where a hint in it tells."""
    folder = Path(place) / "metadata"
    hinted = is_remote(place) or (folder / "version-hint.text").is_file()
    if hinted or place.endswith(".metadata.json"):
        return place
    numbered = [(_number(file), str(file)) for file in folder.glob("*.metadata.json")]
    if not numbered:
        raise SourceError(f"{place!r} is no Iceberg table: it has no metadata/*.metadata.json")
    newest = [file for number, file in numbered if number == max(numbered)[0]]
    if len(newest) > 1:
        raise SourceError(
            f"{place!r} has {len(newest)} metadata files of one number, and only its catalog knows "
            f"which counts; give one, such as {newest[0]}"
        )
    return newest[0]


def _number(file: Path) -> int:
    """3 of 00003-<uuid>.metadata.json and of v3.metadata.json."""
    found = re.match(r"v?(\d+)", file.name)
    return int(found[1]) if found else -1


def _version(table: Table, name: TableName) -> int | None:
    if name.version is None:
        current = table.current_snapshot()
        return current.snapshot_id if current is not None else None
    if table.snapshot_by_id(name.version) is None:
        raise SourceError(f"the Iceberg table {shown(name.place)!r} has no snapshot {name.version}")
    return name.version


def _beyond(schema: Schema, tasks: list[FileScanTask]) -> str:
    from pyiceberg.manifest import FileFormat

    if any(task.delete_files for task in tasks):
        return "it has delete files"
    if any(task.file.file_format != FileFormat.PARQUET for task in tasks):
        return "not all its files are Parquet"
    defaults = [field.name for field in schema.fields if field.initial_default is not None]
    return f"the column {defaults[0]!r} has a default" if defaults else ""
