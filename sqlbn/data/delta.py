"""Delta tables through delta-rs: the files of a version, their partition values, deleted rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlbn.data.lake_tables import (
    DataFile,
    TableColumn,
    TableFiles,
    TableName,
    local_path,
)
from sqlbn.text import is_remote

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from deltalake import DeltaTable

# Features of the format that change which rows are read, all of them known here, and those that
# change only the log, which is the library's business.
_KNOWN = {
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}
_MODE = "delta.columnMapping.mode"
_FIELD_ID, _STORED_NAME = b"delta.columnMapping.id", b"delta.columnMapping.physicalName"


def delta_files(name: TableName) -> TableFiles:
    """The files of a Delta table at a version."""
    import pyarrow as pa
    from deltalake import DeltaTable

    table = DeltaTable(name.place, version=name.version)
    metadata = table.metadata()
    schema, mode = pa.schema(table.schema()), metadata.configuration.get(_MODE, "none")
    parts = list(metadata.partition_columns)
    return TableFiles(
        name=name,
        version=table.version(),
        columns=tuple(
            TableColumn(f.name, f.type, None if f.name in parts else _stored(f, mode))
            for f in schema
        ),
        files=_files(table, name.place, [f.name for f in schema if f.name in parts]),
        beyond=_beyond(table, schema, mode, parts),
    )


def _stored(field: pa.Field, mode: str) -> str | int:
    told: dict[bytes, bytes] = field.metadata or {}
    if mode == "id":
        return int(told[_FIELD_ID])
    return told[_STORED_NAME].decode() if mode == "name" else str(field.name)


def _beyond(table: DeltaTable, schema: pa.Schema, mode: str, parts: list[str]) -> str:
    import pyarrow as pa

    unknown = set(table.protocol().reader_features or ()) - _KNOWN
    if unknown:
        return f"it uses {', '.join(sorted(unknown))}"
    for field in schema:
        if field.name in parts and pa.types.is_binary(field.type):
            return f"the partition column {field.name!r} is binary"
        if mode != "none" and pa.types.is_nested(field.type):
            return f"the nested column {field.name!r} has other names in the files"
    return ""


def _files(table: DeltaTable, place: str, parts: list[str]) -> tuple[DataFile, ...]:
    import pyarrow as pa

    deleted = _deleted_rows(table)
    found = []
    for added in pa.table(table.get_add_actions()).to_pylist():
        path = _path(place, added["path"])
        values = [added["partition"][part] for part in parts]
        # The format says so: an empty text is how some writers put NULL.
        values = [None if value == "" else value for value in values]
        gone = deleted.get(_identity(path)) if deleted else None
        found.append(DataFile(path, added["size_bytes"], tuple(values), gone))
    return tuple(sorted(found, key=lambda file: file.path))


def _path(place: str, logged: str) -> str:
    """Where a file is that the log names relative to the table, or in full."""
    path = local_path(unquote(logged))
    if is_remote(path) or path.startswith("/"):
        return path
    return f"{place.rstrip('/')}/{path}" if is_remote(place) else str(Path(place) / path)


def _deleted_rows(table: DeltaTable) -> dict[str, npt.NDArray[np.int64]]:
    import numpy as np
    import pyarrow as pa

    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    vectors: list[dict[str, Any]] = pa.table(table.deletion_vectors()).to_pylist()
    return {
        _identity(unquote(v["filepath"])): np.flatnonzero(~np.asarray(v["selection_vector"], bool))
        for v in vectors
    }


def _identity(path: str) -> str:
    """One spelling for a file, whether its address was given in full or not."""
    path = local_path(path)
    return path if is_remote(path) else str(Path(path).resolve())
