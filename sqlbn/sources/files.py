"""Paths to files: patterns, folders, formats, and the check that all files have one schema."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlbn.engines import DuckDBEngine
from sqlbn.errors import SourceError, SqlbnError
from sqlbn.quoting import literal, literals
from sqlbn.sources.csv_types import Types, csv_types, types_sql
from sqlbn.sources.relation import Source, SourceFile, parquet_row_key
from sqlbn.urls import is_remote, shown, without_secrets

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
_DATABASE = (".duckdb", ".ddb", ".db")


@contextmanager
def remote_errors(paths: Sequence[str]) -> Iterator[None]:
    """Errors about remote data, with a remedy and without secrets."""
    try:
        yield
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise SourceError(
            f"cannot read {label_of(paths)[:200]!r}: {error.strerror or error}"
        ) from error
    except SqlbnError as error:
        if not any(map(is_remote, paths)):
            raise
        line = without_secrets(str(error), paths)
        needed = re.search(r"extension '?(\w+)", line)
        if needed is None:
            raise type(error)(line) from None
        raise SourceError(
            f"{label_of(paths)} needs DuckDB's extension {needed[1]}, which is not installed, and "
            f"sqlbn fetches nothing by itself; run INSTALL {needed[1]} in DuckDB once"
        ) from None


def expand(paths: Sequence[str]) -> list[str]:
    """The files that paths, patterns and folders stand for, in a repeatable order."""
    files: list[str] = []
    for path in paths:
        if is_remote(path) or os.path.isfile(path):  # noqa: PTH113 - keeps the user's spelling
            files.append(path)
        elif Path(path).is_dir():
            files += _folder_files(path)
        else:
            found = sorted(f for f in glob.glob(path, recursive=True) if Path(f).is_file())  # noqa: PTH207
            if not found:
                raise SourceError(f"no file matches {path!r}; check the path or the pattern")
            files += found
    return list(dict.fromkeys(files))


def _folder_files(folder: str) -> list[str]:
    everything = sorted(
        str(f) for f in Path(folder).rglob("*") if f.is_file() and not f.name.startswith(("_", "."))
    )
    for endings in (_PARQUET, _CSV):
        found = [f for f in everything if f.lower().endswith(endings)]
        if found:
            return found
    raise SourceError(f"the folder {folder!r} holds no Parquet or CSV file")


def file_format(path: str) -> str:
    """'parquet', 'csv' or 'database', by ending, else by the first bytes."""
    lower = path.lower().split("?")[0] if is_remote(path) else path.lower()
    for endings, name in ((_PARQUET, "parquet"), (_CSV, "csv"), (_DATABASE, "database")):
        if lower.endswith(endings):
            return name
    if not is_remote(path):
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(12)
        if head[:4] == b"PAR1":
            return "parquet"
        if head[8:12] == b"DUCK":
            return "database"
    also = "; write delta:… or iceberg:… before a table" if is_remote(path) else ""
    raise SourceError(f"{path!r} is neither Parquet, CSV nor a DuckDB file, by its name{also}")


def file_list(paths: Sequence[str], literally: bool = False) -> str:
    """The files as a list in SQL; a remote path may be a pattern, unless it is meant literally."""
    return f"[{literals(_pattern(path, literally) for path in paths)}]"


def _pattern(path: str, literally: bool = False) -> str:
    """A path in which no character is taken for a wildcard."""
    if is_remote(path) and not literally:
        return path
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def sized(files: Sequence[str]) -> tuple[SourceFile, ...]:
    """The files with their sizes; 0 where only the engine knows."""
    return tuple(SourceFile(f, 0 if is_remote(f) else Path(f).stat().st_size) for f in files)


def label_of(files: Sequence[str]) -> str:
    """What messages call some files."""
    first = shown(files[0])
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more"


def parquet_source(
    engine: DuckDBEngine, files: Sequence[str], used: Callable[[str], bool]
) -> Source:
    """Parquet files with one schema, hive partitions included."""
    patterns = file_list(files)
    for file in files:
        if not is_remote(file) and Path(file).stat().st_size == 0:
            raise SourceError(f"{file!r} is empty (0 bytes); write the file again")
    _check_parquet_schemas(engine, files, patterns, used)
    hive = any("=" in part for f in files for part in Path(f).parts[:-1])
    relation = f"read_parquet({patterns}, hive_partitioning = {str(hive).lower()})"
    return Source(
        relation=relation,
        columns=dict(engine.columns(relation)),
        label=label_of(files),
        files=sized(files),
        row_key=parquet_row_key(),
    )


def _check_parquet_schemas(
    engine: DuckDBEngine, files: Sequence[str], patterns: str, used: Callable[[str], bool]
) -> None:
    if len(files) == 1:
        return
    agreed = engine.rows(
        f"SELECT count(*) = {len(files)} FROM parquet_schema({patterns}) "
        "GROUP BY name, type, duckdb_type, num_children"
    )
    # Writers name the root differently, so a disagreement here is only a reason to look closer.
    if all(row[0] for row in agreed):
        return
    schemas = _parquet_schemas(engine, patterns)
    names = list(schemas)
    for file in names[1:]:
        _compare_schemas(names[0], schemas[names[0]], file, schemas[file], used)


def _parquet_schemas(engine: DuckDBEngine, patterns: str) -> dict[str, dict[str, str]]:
    """Top-level columns of every file with their types."""
    schemas: dict[str, dict[str, str]] = {}
    skip = 0
    for file, name, kind, children in engine.rows(
        "SELECT file_name, name, coalesce(duckdb_type, type, 'nested'), coalesce(num_children, 0) "
        f"FROM parquet_schema({patterns})"
    ):
        if file not in schemas:  # the first row of a file is the root of its schema
            schemas[file], skip = {}, 0
            continue
        if skip:  # inside a nested column
            skip += children - 1
            continue
        schemas[file][name] = "nested" if children else kind
        skip = children
    return schemas


def _compare_schemas(
    first: str,
    wanted: dict[str, str],
    file: str,
    found: dict[str, str],
    used: Callable[[str], bool],
) -> None:
    for name in [*wanted, *found]:
        if not used(name) or wanted.get(name) == found.get(name):
            continue
        if name not in found:
            raise SourceError(f"{file!r} has no column {name!r}, which {first!r} has; --exclude it")
        if name not in wanted:
            raise SourceError(f"{file!r} has a column {name!r} that {first!r} lacks; --exclude it")
        raise SourceError(
            f"column {name!r} is {found[name]} in {file!r} but {wanted[name]} in {first!r}; "
            "write the files with one type, or --exclude it"
        )


def csv_source(
    engine: DuckDBEngine, files: Sequence[str], used: Callable[[str], bool], trained: Types
) -> Source:
    """CSV files with the same columns; types as in training, else those that hold all values."""
    schemas = {f: engine.columns(f"read_csv({literal(_pattern(f))})") for f in files}
    wanted = {name: "" for name, _ in schemas[files[0]]}
    for file in files[1:]:
        _compare_schemas(files[0], wanted, file, {n: "" for n, _ in schemas[file]}, used)
    hive = any("=" in part for f in files for part in Path(f).parts[:-1])
    options = f"union_by_name = true, hive_partitioning = {str(hive).lower()}"
    columns = dict(engine.columns(f"read_csv({file_list(files)}, {options})"))
    own = {name: columns[name] for name in wanted if name in columns}  # not those of folders
    types = csv_types(engine, [literal(_pattern(f)) for f in files], own, trained)
    return Source(
        relation=f"read_csv({file_list(files)}, {options}{types_sql(types)})",
        columns={**columns, **types},
        label=label_of(files),
        files=sized(files),
        rescannable=False,
    )
