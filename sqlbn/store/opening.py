"""Which kind of store a path means."""

from __future__ import annotations

import os
from pathlib import Path

from sqlbn.store.condition import check_words
from sqlbn.store.file import StoreFile
from sqlbn.store.folder import StoreFolder
from sqlbn.urls import is_remote

Store = StoreFile | StoreFolder


def as_folder(path: str) -> str:
    """A path that means a folder of Parquet tables, also where it does not exist yet."""
    check_words(path)
    return path.rstrip("/") + "/"


def open_store(path: str | Path) -> Store:
    """A DuckDB file; a folder or a URL is one of Parquet tables. A folder to be ends in a slash."""
    text = str(path)
    check_words(text)
    if is_remote(text) or text.endswith("/") or os.path.isdir(text):  # noqa: PTH112 - no error where it cannot be known
        return StoreFolder(text)
    return StoreFile(text)
