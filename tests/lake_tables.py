"""Delta and Iceberg tables that tests write, also with what no Python library writes."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


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
