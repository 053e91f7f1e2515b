"""One clear line for what DuckDB says: the file, what is wrong with it, and what to do."""

from __future__ import annotations

import re

import duckdb

from sqlbn.errors import (
    EngineError,
    OutOfMemoryError,
    SourceError,
    SqlbnError,
    opt,
)
from sqlbn.text import without_secrets

# What its Parquet reader says of files that are not as they were written.
_DAMAGED = (
    "magic bytes",
    "too small to be a parquet",
    "don't match",
    "don't know what type",
    "corrupt",
    "decompress",
    "gzip stream",
    "payload value",
    "snappy",
    "thrift",
    "tprotocol",
    "zstd",
)
_WORDS = {"DOUBLE": "number", "BIGINT": "whole number", "DATE": "date", "TIMESTAMP": "time"}
_NAMED = re.compile(r"""['"]([^'"]+)['"]""")


def first_line(error: BaseException) -> str:
    """The engine's message without its position marker and suggestions."""
    text = str(error).strip().split("\n\nLINE ")[0].split("\n")[0]
    return re.sub(r"^[A-Za-z ]+ Error: ", "", text).strip()


def is_damage(error: duckdb.Error) -> bool:
    """Whether a Parquet file is not as it was written."""
    lower = first_line(error).lower()
    return any(sign in lower for sign in _DAMAGED)


def damaged(path: str, error: duckdb.Error | None = None) -> SourceError:
    """The error of a Parquet file that cannot be read."""
    why = f" ({without_secrets(first_line(error))})" if error is not None else ""
    return SourceError(f"damaged Parquet file {path!r}{why}; write the file again")


def translate(error: duckdb.Error) -> SqlbnError:
    """The engine's error as one of ours."""
    line = without_secrets(first_line(error))
    lower = line.lower()
    if isinstance(error, duckdb.OutOfMemoryException) or "out of memory" in lower:
        return OutOfMemoryError(
            f"out of memory or disk: {line}; raise {opt('memory_limit')}, "
            f"or point {opt('temp_dir')} at a disk with more room"
        )
    if line.startswith("CSV Error"):
        return _csv_error(str(error), line)
    if is_damage(error):
        named = _NAMED.search(line)
        return damaged(named[1] if named else "(which one, the engine does not say)", error)
    absent = re.search(r'(\w+)\.duckdb_extension" not found', str(error))
    if absent:
        return SourceError(
            f"this needs DuckDB's extension {absent[1]}, which is not installed, and sqlbn fetches "
            f"nothing by itself; run INSTALL {absent[1]} in DuckDB once"
        )
    if "no files found" in lower:
        return SourceError(f"{line}; check the path")
    if isinstance(error, duckdb.IOException):
        return SourceError(line)
    return EngineError(f"the database engine says: {line}")


def _csv_error(text: str, line: str) -> SourceError:
    """The file and the line that are wrong, which the engine tells in twenty lines."""
    file = re.search(r"^\s*file = (.+)$", text, re.MULTILINE)
    number = re.search(r"on Line: (\d+)", line)
    told = [t.strip() for t in text.splitlines()[1:] if t.strip()]
    why = next((t for t in told if not t.startswith("Original Line:")), line)
    place = without_secrets(file[1].strip()) if file else "a CSV file"
    at = f", line {number[1]}" if number else ""
    if "not utf-8 encoded" in text.lower():
        return SourceError(
            f"{place!r}{at}: this is not UTF-8; say how it is encoded, such as "
            f"{opt('encoding', 'latin-1')} "
            "(or utf-16)"
        )
    value = re.search(r'column "(.*?)"\. Could not convert string "(.*?)" to ', text, re.DOTALL)
    kind = re.search(r"is being converted as type (\S+)", text)
    if value and kind:
        return SourceError(
            f"{place!r}{at}: column {value[1]!r} has {value[2][:80]!r}, which is no "
            f"{_WORDS.get(kind[1], kind[1])}; correct the value, or leave it empty where it is "
            "missing"
        )
    return SourceError(f"{place!r}{at}: {without_secrets(why)}")
