"""Delta and Iceberg tables that tests write, also with what no Python library writes."""

from __future__ import annotations

import datetime as dt
import json
import os
import struct
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


Rows = list[dict[str, Any]]


def in_order(rows: Rows) -> Rows:
    """Rows that can be compared, whatever their order."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def baskets(n: int = 60) -> Rows:
    """Rows with columns to partition by: text, whole numbers, dates, all with NULL."""
    rng = np.random.default_rng(5)
    texts = ["plain", "a b", "50%", "x/y=z", "ü'[*]?", None]
    days = [dt.date(2024, 2, 29), dt.date(1969, 12, 31), None]
    return [
        {
            "shop": texts[rng.integers(6)],
            "day": days[rng.integers(3)],
            "floor": [-1, 0, 7, None][rng.integers(4)],
            "weight": float(rng.normal()),
            "kind": ["pear", "plum"][rng.integers(2)],
        }
        for _ in range(n)
    ]


BASKET = pa.schema(
    [
        ("shop", pa.string()),
        ("day", pa.date32()),
        ("floor", pa.int32()),
        ("weight", pa.float64()),
        ("kind", pa.string()),
    ]
)


def basket_table(rows: Rows) -> pa.Table:
    """Baskets as Arrow."""
    return pa.Table.from_pylist(rows, BASKET)


def place(table: Any) -> str:
    """The folder of an Iceberg table."""
    return str(table.location()).removeprefix("file://")


def field(name: str, kind: str, **metadata: str | int) -> dict[str, Any]:
    """A column in a Delta log."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped(name: str, kind: str, number: int, stored: str) -> dict[str, Any]:
    """A column that files call otherwise."""
    named = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": stored}
    return field(name, kind, **named)


def add(path: str, rows: pa.Table, values: dict[str, Any], deleted: list[int]) -> dict[str, Any]:
    """A file of a hand-made Delta table, some of its rows deleted."""
    return {"path": path, "rows": rows, "values": values, "deleted": deleted}


def hand_made_delta(
    folder: Path,
    fields: list[dict[str, Any]],
    files: list[dict[str, Any]],
    *,
    features: list[str],
    settings: dict[str, str] | None = None,
    partitions: list[str] | None = None,
) -> Path:
    """A Delta table of one version with features that delta-rs reads but does not write."""
    actions: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {
            "metaData": {
                "id": "5f1c7f0e-0000-4000-8000-000000000000",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": partitions or [],
                "configuration": settings or {},
                "createdTime": 0,
            }
        },
    ]
    for file in files:
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(file["rows"], path)
        added = {
            "path": quote(file["path"]),
            "partitionValues": file["values"],
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": file["rows"].num_rows}),
        }
        if file["deleted"]:
            added["deletionVector"] = _deletion_vector(file["deleted"])
        actions.append({"add": added})
    (folder / "_delta_log").mkdir(parents=True)
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text("\n".join(json.dumps(action) for action in actions))
    return folder


def _deletion_vector(rows: list[int]) -> dict[str, Any]:
    """Rows of less than 2^16 as the format writes them inside the log: a roaring bitmap in Z85."""
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    bitmap += b"".join(struct.pack("<H", row) for row in sorted(rows))
    data = struct.pack("<IqI", 1681511377, 1, 0) + bitmap
    return {
        "storageType": "i",
        "pathOrInlineDv": _z85(data + b"\0" * (-len(data) % 4)),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def _z85(data: bytes) -> str:
    text = ""
    for (word,) in struct.iter_unpack(">I", data):
        text += "".join(_Z85[word // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def with_delete_file(table: Any, rows: dict[str, list[Any]]) -> str:
    """The metadata of an Iceberg table after a delete that pyiceberg reads but does not write.

    Rows are deleted by position in its one file (`pos`), or where a column has one of some values.
    """
    from pyiceberg import manifest as m
    from pyiceberg.typedef import Record

    class Deletes(m.ManifestWriterV2):
        def content(self) -> Any:
            return m.ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    ((column, values),) = rows.items()
    schema, last, io = table.schema(), table.current_snapshot(), table.io
    if column == "pos":
        paths = [task.file.file_path for task in table.scan().plan_files()] * len(values)
        columns, ids, equal = {"file_path": paths, "pos": values}, [2147483546, 2147483545], None
        content = m.DataFileContent.POSITION_DELETES
    else:
        equal = ids = [schema.find_field(column).field_id]
        columns, content = {column: values}, m.DataFileContent.EQUALITY_DELETES
    deletes = pa.table(columns)
    fields = [
        f.with_metadata({"PARQUET:field_id": str(i)})
        for f, i in zip(deletes.schema, ids, strict=True)
    ]
    folder = f"{table.location()}/metadata"
    file, number = f"{folder}/{column}.parquet", last.snapshot_id + 1
    pq.write_table(deletes.cast(pa.schema(fields)), file.removeprefix("file://"))
    entry = m.DataFile.from_args(
        content=content,
        file_path=file,
        file_format=m.FileFormat.PARQUET,
        partition=Record(),
        record_count=len(values),
        file_size_in_bytes=os.path.getsize(file.removeprefix("file://")),  # noqa: PTH202
        equality_ids=equal,
        _table_format_version=2,
    )
    entry.spec_id = 0
    output = io.new_output(f"{folder}/{column}.avro")
    with Deletes(table.spec(), schema, output, number, "deflate") as writer:
        added = m.ManifestEntryStatus.ADDED
        writer.add_entry(
            m.ManifestEntry.from_args(
                status=added, snapshot_id=number, data_file=entry, _table_format_version=2
            )
        )
    listed, sequence = f"{folder}/{column}-list.avro", last.sequence_number + 1
    with m.write_manifest_list(
        2, io.new_output(listed), number, last.snapshot_id, sequence, "deflate"
    ) as manifests:
        manifests.add_manifests([*last.manifests(io), writer.to_manifest_file()])
    known = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    snapshot = {
        **known["snapshots"][-1],
        "snapshot-id": number,
        "parent-snapshot-id": last.snapshot_id,
        "sequence-number": sequence,
        "manifest-list": listed,
        "summary": {"operation": "delete"},
    }
    known |= {
        "last-sequence-number": sequence,
        "snapshots": [*known["snapshots"], snapshot],
        "current-snapshot-id": number,
        "refs": {"main": {"snapshot-id": number, "type": "branch"}},
    }
    path = Path(folder.removeprefix("file://")) / f"00009-{column}.metadata.json"
    path.write_text(json.dumps(known))
    return str(path)
