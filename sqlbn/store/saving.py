"""The end of a long piece of work: its model goes into the store, or is not lost."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sqlbn.data import Source
from sqlbn.engines.output_files import is_same
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import (
    OptionError,
    SqlbnError,
    StoreBusyError,
    opt,
)
from sqlbn.store.condition import check_words
from sqlbn.store.duckdb_file import StoreFile
from sqlbn.store.parquet_folder import StoreFolder
from sqlbn.store.spec import ModelSpec
from sqlbn.text import is_remote

Store = StoreFile | StoreFolder


def as_folder(path: str) -> str:
    """A path that means a folder of Parquet tables, also where it does not exist yet."""
    check_words(path)
    return path.rstrip("/") + "/"


def is_folder(path: str | Path) -> bool:
    """Whether a store is a folder or a URL with Parquet tables."""
    return isinstance(open_store(path), StoreFolder)


def open_store(path: str | Path) -> Store:
    """A DuckDB file; a folder or a URL is one of Parquet tables. A folder to be ends in a slash."""
    text = str(path)
    check_words(text)
    if is_remote(text) or text.endswith("/") or os.path.isdir(text):  # noqa: PTH112 - no error where it cannot be known
        return StoreFolder(text)
    return StoreFile(text)


def store_model(
    store: str | Path,
    workspace: Workspace,
    spec: ModelSpec,
    name: str,
    replace: bool,
    progress: Progress,
    instead_of: int | None = None,
) -> None:
    """Write a model; where somebody holds the store for too long, into a file of its own."""
    with progress.stage("store", f"storing {name!r} in {store}"):
        try:
            open_store(store).save(workspace, spec, name, replace, instead_of, progress.note)
        except StoreBusyError as busy:
            place = _spare_place(Path(store), name)
            try:
                StoreFile(place).save(workspace, spec, name, replace=False)
            except SqlbnError:
                raise busy from None
            held = str(busy).split(";")[0]
            raise StoreBusyError(
                f"{held}; the model is not lost: it is stored as {name!r} in {str(place)!r}, use "
                f"it with {opt('store', str(place))}"
            ) from busy


def _spare_place(store: Path, name: str) -> Path:
    """A file beside the store that is not there yet."""
    stem = f"{store.stem}-{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:40]}"
    number = 1
    while (place := store.with_name(f"{stem}-{number}.duckdb")).exists():
        number += 1
    return place


def check_not_read(store: str | Path | None, source: Source) -> None:
    """An error where the rows are in the store's own file, which cannot be read and written."""
    if store is not None and any(is_same(Path(store), file.path) for file in source.files):
        raise OptionError(f"{opt('store', str(store))} is a file that is read; name another")
