"""Files that are not there are named before an engine is started or a store opened."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlbn.engines import Settings
from sqlbn.errors import SourceError
from sqlbn.urls import is_remote

# Tables by name: 'delta:…', 'iceberg:…', 'table:…'.
_PREFIXED = re.compile(r"[a-z][a-z0-9_]+:")


def check_there(settings: Settings, *several: Any) -> None:
    """An error that names the first path or pattern without any file; only paths are looked at.

    A cluster has a file system of its own.
    """
    if settings.is_cluster:
        return
    for data in several:
        paths = [data] if isinstance(data, str | os.PathLike) else data
        if not isinstance(paths, Sequence):
            continue
        for path in paths:
            if isinstance(path, str | os.PathLike) and not _is_there(os.fspath(path)):
                raise SourceError(
                    f"no file matches {os.fspath(path)!r}; check the path or the pattern"
                )


def _is_there(path: str) -> bool:
    try:
        if is_remote(path) or _PREFIXED.match(path) or Path(path).exists():
            return True
        return next(glob.iglob(path, recursive=True), None) is not None  # noqa: PTH207
    except (OSError, ValueError):
        return True  # whoever opens it says what is wrong
