"""Remote files: what tells one state of a file from the next, without reading it.

A URL alone says nothing of the rows behind it. Its size with its ETag or its time of change does.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from sqlbn.engines import Session
from sqlbn.engines.duckdb_catalog import file_states
from sqlbn.engines.relations import SourceFile
from sqlbn.errors import SqlbnError

# Signed addresses may be good for GET alone.
_NO_HEAD = (400, 403, 404, 405, 501)


def remote_files(session: Session, paths: Sequence[str]) -> dict[str, list[SourceFile]]:
    """For every address or pattern the files behind it, with size and state where these are told.

    Asked by HTTP itself, else by the engine, which has the credentials; else by pyarrow.
    """
    web = [path for path in paths if _is_web(path)]
    asked = partial(_by_http, seconds=session.limits.answer_seconds)
    with ThreadPoolExecutor(session.limits.requests_at_once) as pool:
        found = {p: [f] for p, f in zip(web, pool.map(asked, web), strict=True) if f is not None}
    for path in paths:
        if path not in found:
            found[path] = _by_engine(session, path) or [_by_arrow(path) or SourceFile(path, 0)]
    return found


def _is_web(path: str) -> bool:
    return path.lower().startswith(("http://", "https://")) and "*" not in path


def _by_http(path: str, seconds: float) -> SourceFile | None:
    for request in (
        Request(path, method="HEAD"),
        Request(path, headers={"Range": "bytes=0-0"}),
    ):
        try:
            with urlopen(request, timeout=seconds) as answer:
                return _told(path, answer.headers)
        except HTTPError as error:
            if error.code not in _NO_HEAD:
                return None
        except (OSError, HTTPException, ValueError):
            return None
    return None


def _told(path: str, headers: Any) -> SourceFile | None:
    """A file as the headers of an answer tell it; those of a part name the whole behind a '/'."""
    size = str(headers.get("Content-Range") or headers.get("Content-Length") or "").split("/")[-1]
    state = headers.get("ETag") or headers.get("Last-Modified")
    if not size.isdecimal() or not state:
        return None
    return SourceFile(path, int(size), state=str(state))


def _by_engine(session: Session, path: str) -> list[SourceFile]:
    try:
        rows = file_states(session, path)
    except SqlbnError:
        return []
    return [SourceFile(name, size, state=state or "") for name, size, state in rows]


def _by_arrow(path: str) -> SourceFile | None:
    from pyarrow.fs import FileSystem, FileType

    try:
        files, place = FileSystem.from_uri(path)
        info = files.get_file_info(place)
    except (OSError, ValueError):
        return None
    if info.type != FileType.File or info.mtime_ns is None:
        return None
    return SourceFile(path, info.size, state=str(info.mtime_ns))
