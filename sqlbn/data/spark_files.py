"""Files that Spark reads: their addresses, and the numbers of their rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlbn.engines.spark.spark_rows import SparkRows
from sqlbn.engines.sql import RESERVED
from sqlbn.text import is_remote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NUMBER = f"{RESERVED}row_key"
# The number of a row's file, and that of the row in it.
PLACE = f"{RESERVED}place"
OWN = f"{RESERVED}own"
_PATH = f"{RESERVED}path"
# Rows of one file; the number of the file stands above them.
_ROWS_A_FILE = 2**40


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
