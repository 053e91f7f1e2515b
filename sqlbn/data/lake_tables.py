"""Delta and Iceberg tables: how they are named, and which files and rows are theirs.

No engine is needed here. What `table_files` tells is enough to read a table with any engine that
reads Parquet by name (Delta) or by field id (Iceberg). On Spark, `spark.read.format("delta")
.option("versionAsOf", version)` and `spark.read.format("iceberg").option("snapshot-id", version)`
read the same rows and are better where the cluster has their jars: they plan on the executors and
know what is `beyond` files. Where it has not: `spark.read.schema(…).parquet(*files)`, for field ids
with `spark.sql.parquet.fieldId.read.enabled` and `parquet.field.id` in the fields' metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlbn.errors import SourceError, SqlbnError, TableError
from sqlbn.text import is_remote, shown, without_secrets

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

Format = Literal["delta", "iceberg"]
PACKAGES: dict[Format, str] = {"delta": "deltalake", "iceberg": "pyiceberg"}
TITLES: dict[Format, str] = {"delta": "Delta", "iceberg": "Iceberg"}
_VERSIONS: dict[Format, str] = {"delta": "version", "iceberg": "snapshot"}
_METADATA = ".metadata.json"


@dataclass(frozen=True)
class TableName:
    """What the user calls a table; `version` is a Delta version or an Iceberg snapshot."""

    format: Format
    place: str
    version: int | None = None

    @property
    def title(self) -> str:
        """The table in a message."""
        at = "" if self.version is None else f" at {_VERSIONS[self.format]} {self.version}"
        return f"the {TITLES[self.format]} table {shown(self.place)!r}{at}"


@dataclass(frozen=True)
class TableColumn:
    """A column; `stored` is its name or its field id in the files, None where a file has one value.

    A column that a file lacks is NULL there.
    """

    name: str
    type: pa.DataType
    stored: str | int | None


@dataclass(frozen=True)
class DataFile:
    """A Parquet file; `values` are those of the partition columns, `deleted` rows that are gone."""

    path: str
    size: int
    values: tuple[Any, ...] = ()
    deleted: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class TableFiles:
    """A table at one version; `beyond` says why its files are not all of it, '' where they are."""

    name: TableName
    version: int | None
    columns: tuple[TableColumn, ...]
    files: tuple[DataFile, ...]
    beyond: str = ""

    @property
    def format(self) -> Format:
        """Delta or Iceberg."""
        return self.name.format

    @property
    def partition_columns(self) -> tuple[TableColumn, ...]:
        """The columns that are not in the files, in the order of the files' `values`."""
        return tuple(c for c in self.columns if c.stored is None)

    @property
    def by_field_id(self) -> bool:
        """Whether columns are found in files by field id, not by name."""
        return any(isinstance(c.stored, int) for c in self.columns)

    @property
    def label(self) -> str:
        """The table and its version, as a history tells it."""
        return table_label(self.name, self.version)


def table_label(name: TableName, version: int | None) -> str:
    """A table and its version, as far as it is known.

    >>> table_label(TableName("delta", "lake/sales"), 3)
    'lake/sales (delta version 3)'
    """
    known = f" {_VERSIONS[name.format]} {version}" if version is not None else ""
    return f"{shown(name.place)} ({name.format}{known})"


# -- names -------------------------------------------------------------------------------------


def table_name(path: str) -> TableName | None:
    """The table that a path names, by its prefix or by what lies there; None where it is none."""
    for prefix in PACKAGES:
        if path.startswith(f"{prefix}:"):
            return _explicit(prefix, path[len(prefix) + 1 :])
    if path.endswith(_METADATA) and (is_remote(path) or Path(path).is_file()):
        return TableName("iceberg", path)
    if is_remote(path) or not Path(path).is_dir():
        return None
    # A Delta table may carry Iceberg metadata for other readers, not the other way round.
    if (Path(path) / "_delta_log").is_dir():
        return TableName("delta", path)
    if next((Path(path) / "metadata").glob(f"*{_METADATA}"), None) is not None:
        return TableName("iceberg", path)
    return None


def _explicit(prefix: Format, place: str) -> TableName:
    place = local_path(place)
    found = re.fullmatch(r"(.+)@(\d+)", place, re.DOTALL)
    if found and (is_remote(place) or not Path(place).exists()):
        return TableName(prefix, found[1], int(found[2]))
    if not place:
        raise SourceError(f"{prefix}: names no table; write for example {prefix}:lake/table")
    return TableName(prefix, place)


def the_table(paths: Sequence[str]) -> TableName | None:
    """The table among paths; it must be alone, for tables and files have schemas of their own."""
    names = [name for name in map(table_name, paths) if name is not None]
    if names and len(paths) > 1:
        raise SourceError(f"{names[0].title} cannot be read with other data; give it alone")
    return names[0] if names else None


# -- files -------------------------------------------------------------------------------------


def table_files(path: str | TableName) -> TableFiles | None:
    """The files of a table as it is now, or at the version asked for; None where it is no table."""
    name = table_name(path) if isinstance(path, str) else path
    if name is None:
        return None
    if shown(name.place) != name.place:
        raise SourceError(
            f"{name.title}: take user, password and query out of its address; its library finds "
            "credentials in the environment"
        )
    if find_spec(PACKAGES[name.format]) is None:
        raise TableError(f"{name.title} needs a package: pip install 'sqlbn[{name.format}]'")
    if name.format == "delta":
        from sqlbn.data.delta import delta_files as found
    else:
        from sqlbn.data.iceberg import iceberg_files as found
    with library_errors(name):
        return found(name)


@contextmanager
def library_errors(name: TableName) -> Iterator[None]:
    """What a library says about a table in one line, without secrets."""
    try:
        yield
    except SqlbnError:
        raise
    except Exception as error:
        # A library may tell the cause in lines below, coloured for a terminal.
        lines = re.sub(r"\x1b\[[0-9;]*m|↳", "", str(error)).splitlines()
        told = "; ".join(line.strip() for line in lines if line.strip())
        line = without_secrets(told)[:300] or type(error).__name__
        raise TableError(f"cannot open {name.title}: {line}") from error


def local_path(path: str) -> str:
    """The path of a file that a table's log may write as an address."""
    return re.sub(r"^file:/+", "/", path)
