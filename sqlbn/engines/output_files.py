"""Files and standard output that results go to: checked before, whole or not there after.

By the stream that Python has: the engine would open /dev/stdout anew and truncate it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlbn.engines.scratch import end_part, new_part
from sqlbn.errors import OptionError, opt
from sqlbn.text import json_text

if TYPE_CHECKING:
    import pyarrow as pa


_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
_TABLE_FORMATS = {**_FORMATS, ".json": "json"}


def output_format(path: Path) -> str:
    """'parquet' or 'csv', by the ending; an error where rows cannot be written to such a file."""
    if path.suffix.lower() not in _FORMATS:
        raise OptionError("the name must end in .parquet or .csv", out=path)
    check_folder(path, "out")
    return _FORMATS[path.suffix.lower()]


def check_rows_file(out: str) -> None:
    """An error where rows cannot be written to such a file."""
    output_format(Path(out))


def check_table_file(path: Path | None) -> None:
    """An error where a table of results cannot be written to such a file."""
    if path is None:
        return
    if path.suffix.lower() not in _TABLE_FORMATS:
        raise OptionError("the name must end in .parquet, .csv or .json", out=path)
    check_folder(path, "out")


def write_table(table: pa.Table, path: Path) -> None:
    """A table of results, as Parquet, CSV or a JSON list of rows; by the ending."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    form = _TABLE_FORMATS[path.suffix.lower()]
    try:
        with replacing(path) as part:
            if form == "csv":
                csv.write_csv(table, part)
            elif form == "parquet":
                pq.write_table(table, part)
            else:
                part.write_text(f"{json_text(table.to_pylist())}\n", encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{error.strerror or error}", out=path) from error


def check_new_folder(out: str) -> None:
    """An error where Spark cannot write its folder of files; a URL is its own to check."""
    ending = out.rstrip("/").rsplit(".", 1)[-1].lower()
    if f".{ending}" not in _FORMATS:
        raise OptionError(
            "the name must end in .parquet or .csv, also that of a folder of files", out=out
        )
    if "://" not in out and Path(out).exists():
        raise OptionError(
            f"{opt('out', out)} is there already; Spark writes a new folder of files: name another"
        )


def check_folder(path: Path, option: str) -> None:
    """An error where a file's folder does not exist or cannot be written to."""
    if not path.parent.is_dir():
        raise OptionError("the folder does not exist", **{option: path})
    if path.is_dir():
        raise OptionError("that is a folder; name a file", **{option: path})
    if not os.access(path.parent, os.W_OK):
        raise OptionError("the folder cannot be written to", **{option: path})


def is_same(path: Path, other: str | Path) -> bool:
    """Whether two paths lead to one file that exists."""
    return path.exists() and Path(other).exists() and path.samefile(other)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside the target to write to; renamed at the end, so nobody sees half a file."""
    part = new_part(path)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        end_part(part)


def csv_name(name: str) -> str:
    """A column's name in the first line of a CSV file.

    >>> print(csv_name("a"), csv_name('5" pipe'))
    a "5"" pipe"
    """
    quoted = any(sign in name for sign in ',"\r\n')
    return '"' + name.replace('"', '""') + '"' if quoted else name


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
