"""Scored rows on standard output: CSV, or JSON lines.

By the stream that Python has: the engine would open /dev/stdout anew and truncate it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sqlbn.json_text import json_text
from sqlbn.outfiles import csv_name

if TYPE_CHECKING:
    import pyarrow as pa


def print_csv(reader: pa.RecordBatchReader) -> int:
    """Rows as CSV with a header; how many they were."""
    import pyarrow.csv as csv

    out, rows = sys.stdout.buffer, 0
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    header = ",".join(csv_name(name) for name in reader.schema.names)
    out.write(f"{header}\n".encode())
    with csv.CSVWriter(out, reader.schema, write_options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def print_json_lines(reader: pa.RecordBatchReader) -> int:
    """Rows as one JSON object a line; how many they were."""
    out, rows = sys.stdout.buffer, 0
    for batch in reader:
        out.write("".join(f"{json_text(row)}\n" for row in batch.to_pylist()).encode())
        rows += batch.num_rows
    return rows
