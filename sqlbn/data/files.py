"""Paths to files: patterns, folders, formats; Parquet files and whether they have one schema."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlbn.data.remote import remote_files
from sqlbn.engines import Session
from sqlbn.engines.duckdb_catalog import have_one_schema, parquet_schema
from sqlbn.engines.relations import Source, SourceFile, parquet_row_key
from sqlbn.engines.sql import literals
from sqlbn.errors import (
    SourceError,
    SqlbnError,
    opt,
)
from sqlbn.text import is_remote, shown, without_secrets

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
_DATABASE = (".duckdb", ".ddb", ".db")
_MARK = b"PAR1"


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
        str(Path(place) / name)
        for place, _, names in os.walk(folder, onerror=_cannot_walk)
        for name in names
        if not name.startswith(("_", ".")) and (Path(place) / name).is_file()
    )
    for endings in (_PARQUET, _CSV):
        found = [f for f in everything if f.lower().endswith(endings)]
        if found:
            return found
    raise SourceError(f"the folder {folder!r} holds no Parquet or CSV file")


def _cannot_walk(error: OSError) -> None:
    """A folder inside that may not be read: its rows would be left out without a word."""
    raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error


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
    return f"[{literals(exact_pattern(path, literally) for path in paths)}]"


def exact_pattern(path: str, literally: bool = False) -> str:
    """A path in which no character is taken for a wildcard."""
    if is_remote(path) and not literally:
        return path
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def sized(session: Session, files: Sequence[str]) -> tuple[SourceFile, ...]:
    """The files with their sizes, remote ones with their state; 0 where nobody knows."""
    remote = remote_files(session, [file for file in files if is_remote(file)])
    return tuple(
        found
        for file in files
        for found in remote.get(file) or [SourceFile(file, Path(file).stat().st_size)]
    )


def label_of(files: Sequence[str]) -> str:
    """What messages call some files."""
    first = shown(files[0])
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more"


def parquet_source(session: Session, files: Sequence[str], used: Callable[[str], bool]) -> Source:
    """Parquet files with one schema, hive partitions included."""
    patterns = file_list(files)
    for file in files:
        if not is_remote(file):
            _check_parquet(file, session.limits.head_bytes)
    session.parquet_files += files
    _check_parquet_schemas(session, files, patterns, used)
    hive = any("=" in part for f in files for part in Path(f).parts[:-1])
    relation = f"read_parquet({patterns}, hive_partitioning = {str(hive).lower()})"
    return Source(
        relation=relation,
        columns=dict(session.columns(relation)),
        label=label_of(files),
        files=sized(session, files),
        row_key=parquet_row_key(),
    )


def _check_parquet(path: str, head_bytes: int) -> None:
    """An error where a file is no Parquet file: the format begins and ends with the same mark."""
    with open(path, "rb") as file:  # noqa: PTH123 - keeps the user's spelling
        head = file.read(head_bytes)
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 4))
        tail = file.read(4)
    if not end:
        raise SourceError(f"{path!r} is empty (0 bytes); write the file again")
    if head[:4] == _MARK and tail == _MARK and end >= 12:
        return
    if head[:4] == _MARK:
        raise SourceError(
            f"damaged Parquet file {path!r}: its end is missing, as of a copy that was cut off; "
            "write the file again"
        )
    what = "text, such as CSV: rename it to .csv" if _is_text(head) else "something else"
    if head[:4] == b"PARE":
        what = "an encrypted one, which cannot be read: write it without encryption"
    raise SourceError(f"{path!r} is no Parquet file, though it is called one, but {what}")


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head and b"\n" in head


def _check_parquet_schemas(
    session: Session, files: Sequence[str], patterns: str, used: Callable[[str], bool]
) -> None:
    if len(files) == 1:
        return
    # Writers name the root differently, so a disagreement here is only a reason to look closer.
    if have_one_schema(session, patterns, len(files)):
        return
    schemas = _parquet_schemas(session, patterns)
    names = list(schemas)
    for file in names[1:]:
        compare_schemas(names[0], schemas[names[0]], file, schemas[file], used)


def _parquet_schemas(session: Session, patterns: str) -> dict[str, dict[str, str]]:
    """Top-level columns of every file with their types."""
    schemas: dict[str, dict[str, str]] = {}
    skip = 0
    for file, name, kind, children in parquet_schema(session, patterns):
        if file not in schemas:  # the first row of a file is the root of its schema
            schemas[file], skip = {}, 0
            continue
        if skip:  # inside a nested column
            skip += children - 1
            continue
        schemas[file][name] = "nested" if children else kind
        skip = children
    return schemas


def compare_schemas(
    first: str,
    wanted: dict[str, str],
    file: str,
    found: dict[str, str],
    used: Callable[[str], bool],
) -> None:
    """An error where a file has other columns or types than the first, of those that are used."""
    for name in [*wanted, *found]:
        if not used(name) or wanted.get(name) == found.get(name):
            continue
        if name not in found:
            raise SourceError(
                f"{file!r} has no column {name!r}, which {first!r} has; {opt('exclude')} it"
            )
        if name not in wanted:
            raise SourceError(
                f"{file!r} has a column {name!r} that {first!r} lacks; {opt('exclude')} it"
            )
        raise SourceError(
            f"column {name!r} is {found[name]} in {file!r} but {wanted[name]} in {first!r}; "
            f"write the files with one type, or {opt('exclude')} it"
        )
