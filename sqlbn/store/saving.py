"""The end of a long piece of work: its model goes into the store, or is not lost."""

from __future__ import annotations

import re
from pathlib import Path

from sqlbn.draft import Draft
from sqlbn.errors import OptionError, SqlbnError, StoreBusyError, opt
from sqlbn.outfiles import is_same
from sqlbn.progress import Progress
from sqlbn.sources import Source
from sqlbn.store.file import StoreFile
from sqlbn.store.opening import open_store
from sqlbn.store.spec import ModelSpec


def store_model(
    store: str | Path,
    draft: Draft,
    spec: ModelSpec,
    name: str,
    replace: bool,
    progress: Progress,
    instead_of: int | None = None,
) -> None:
    """Write a model; where somebody holds the store for too long, into a file of its own."""
    with progress.stage("store", f"storing {name!r} in {store}"):
        try:
            open_store(store).save(draft, spec, name, replace, instead_of, progress.note)
        except StoreBusyError as busy:
            place = _spare_place(Path(store), name)
            try:
                StoreFile(place).save(draft, spec, name, replace=False)
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
