"""Which kind of store a path means."""

from __future__ import annotations

from pathlib import Path

from sqlbn.store.file import StoreFile
from sqlbn.store.folder import StoreFolder
from sqlbn.urls import is_remote

Store = StoreFile | StoreFolder


def as_folder(path: str) -> str:
    """A path that means a folder of Parquet tables, also where it does not exist yet."""
    return path.rstrip("/") + "/"


def open_store(path: str | Path) -> Store:
    """A DuckDB file; a folder or a URL is one of Parquet tables. A folder to be ends in a slash."""
    text = str(path)
    if is_remote(text) or text.endswith("/") or Path(text).is_dir():
        return StoreFolder(text)
    return StoreFile(text)
