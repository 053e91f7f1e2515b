"""What a store's path is before it is opened, and what the engine's refusal of it means.

Every path that cannot be a store gets one line here, before the engine sees it: the engine would
make a database of it, wait for it, or look for an extension that reads it.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from pathlib import Path

from sqlbn.errors import (
    SqlbnError,
    StoreError,
    command,
    opt,
)

# Prefixes by which the engine would open something else than a file.
_OTHER_DATABASES = ("md", "motherduck", "ducklake", "sqlite", "postgres", "postgresql", "mysql")
_DATA_FILES = (".parquet", ".pq", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".bif")
_STARTS = {b"PAR1": "a Parquet file", b"SQLite format 3\x00": "an SQLite database"}
_SPECIAL = {
    stat.S_ISFIFO: "a pipe",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}

# What a DuckDB file begins with: its main header, and two of the database, in turns.
HEADERS = 3 * 4096


def _another() -> str:
    return f"name another file with {opt('store')}; {command('fit')} makes it"


def check_words(path: str) -> None:
    """An error for what is no path at all, or asks for another database than a DuckDB file."""
    if not path.strip():
        raise StoreError(f"{opt('store', path)} names no file: {_another()}")
    if "\x00" in path:
        raise StoreError(f"{opt('store', path)}: no file name can hold a NUL character")
    if path.lower().startswith(":memory:"):
        raise StoreError(
            f"{opt('store', path)}: a model kept in memory is lost when the command ends; "
            f"{_another()}"
        )
    prefix, colon, _ = path.partition(":")
    if colon and prefix.lower() in _OTHER_DATABASES and not Path(path).exists():
        raise StoreError(
            f"{opt('store', path)}: a store is a DuckDB file, or a folder or URL with Parquet "
            "tables"
        )


def check_file(path: Path) -> bool:
    """Whether a store's file is there; an error where it cannot be one. Nothing is changed."""
    try:
        found = path.stat()
    except FileNotFoundError:
        _check_new(path)
        return False
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot open the store {str(path)!r}: {_reason(error)}") from error
    for is_kind, told in _SPECIAL.items():
        if is_kind(found.st_mode):
            raise StoreError(
                f"{str(path)!r} is {told}, not a file that can be a store; {_another()}"
            )
    if found.st_size == 0:
        raise StoreError(
            f"the store {str(path)!r} is empty (0 bytes), not a DuckDB file; remove it, and "
            f"{command('fit')} makes a new one"
        )
    _check_start(path)
    return True


def _check_new(path: Path) -> None:
    if path.is_symlink():
        raise StoreError(f"the store {str(path)!r} is a link to a file that is not there")
    if path.suffix.lower() in _DATA_FILES:
        raise StoreError(
            f"{opt('store', path)}: a store is a DuckDB file, and {path.suffix} names another "
            "kind; "
            "call it for example models.duckdb"
        )


def _check_start(path: Path) -> None:
    """An error where the first bytes are not those of a DuckDB file."""
    try:
        with path.open("rb") as file:
            start = file.read(20)
    except OSError as error:
        raise StoreError(f"cannot open the store {str(path)!r}: {_reason(error)}") from error
    if start[8:12] == b"DUCK":
        return
    kinds = (told for sign, told in _STARTS.items() if start.startswith(sign))
    told = next(kinds, None)
    if told is None and path.suffix.lower() in _DATA_FILES:
        told = f"a {path.suffix} file"
    what = f"is {told}, not a DuckDB file" if told else "is not a DuckDB file, or it is damaged"
    raise StoreError(f"cannot open the store {str(path)!r}: it {what}; {_another()}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def is_busy(error: SqlbnError) -> bool:
    """Whether the engine refused a file because somebody else has it open."""
    lower = str(error).lower()
    signs = ("set lock on file", "conflicting lock", "already attached", "different configuration")
    return any(sign in lower for sign in signs)


def explained(path: Path, error: SqlbnError, write: bool) -> SqlbnError:
    """One line for what the engine says about a store's file; other errors as they are.

    Its words are looked for in the engine's own error: ours may have been made of it already.
    """
    told = f"{error} {error.__cause__ or ''}"
    lower, store = told.lower(), f"the store {str(path)!r}"
    if "storage version" in lower or "version number" in lower:
        known = re.search(
            r"number (\d+), but we can only read storage versions between (\d+)", told
        )
        older = known is not None and int(known[1]) < int(known[2])
        return StoreError(
            f"{store} was written by {'an older' if older else 'a newer'} version of DuckDB than "
            f"this program can read; {'fit its models again' if older else 'upgrade duckdb'}"
        )
    if "encrypt" in lower or "decrypt" in lower:
        return StoreError(f"{store} is encrypted; sqlbn opens stores without a key only")
    if "replaying wal" in lower or "corrupt wal" in lower:
        return StoreError(
            f"the last changes of {store}, in {path.name + '.wal'!r}, are damaged; restore both "
            "files from a copy, or move that one away to lose what it holds"
        )
    damaged = ("corrupt", "checksum", "enough bytes", "valid duckdb database", "serialization")
    if any(sign in lower for sign in damaged) or "invalidated" in lower:
        return StoreError(f"{store} is damaged; restore it from a copy, or fit its models again")
    if str(path) not in told:
        return error  # about another file: the engine's own
    if "no space left" in lower or "file too large" in lower or "quota" in lower:
        return StoreError(f"{store} cannot be written: the disk is full; nothing was changed")
    if "permission denied" in lower or "read-only" in lower or "not permitted" in lower:
        return StoreError(_not_allowed(path, write))
    return error


def _not_allowed(path: Path, write: bool) -> str:
    if not write:
        return f"the store {str(path)!r} cannot be read: permission denied"
    if path.exists() and os.access(path, os.W_OK, effective_ids=True):
        # The engine writes a log beside the file.
        return (
            f"the store {str(path)!r} cannot be written: its folder is read-only; "
            "nothing was changed"
        )
    return (
        f"the store {str(path)!r} cannot be written: it is read-only for you; nothing was changed"
    )


def check_whole_blocks(path: Path) -> None:
    """An error for a file that ends within a block: it was cut off, and writing would hide that.

    The engine finds out only when it reads what is missing. Of 864 files after random changes all
    ended with a block, but 147 of 720 had fewer of them than their header says.
    """
    with path.open("rb") as file:
        head = file.read(HEADERS)
    sizes = {struct.unpack_from("<6Q", head, at)[5] for at in (HEADERS // 3, 2 * HEADERS // 3)}
    if not any(size and (path.stat().st_size - HEADERS) % size == 0 for size in sizes):
        raise StoreError(
            f"the store {str(path)!r} is damaged: it was cut off; restore it from a copy, or fit "
            "its models again"
        )
