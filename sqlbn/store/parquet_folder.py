"""Models as Parquet tables in a folder of a lake: any engine there can read and join them.

A model is `<folder>/<name>/<version>/<table>.parquet`. Its `meta` is written last: a version that
has none is not there yet, and of those that have one the newest counts. So a reader sees the old
model or the new one, on object storage too, where nothing can be renamed.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from sqlbn.engines import Session
from sqlbn.engines.sql import identifier, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnError, StoreError, opt
from sqlbn.schema import REQUIRED, declared
from sqlbn.store.damage import check_tables, model_label
from sqlbn.store.spec import ModelSpec
from sqlbn.text import is_remote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem

# Parquet does not know all types of ours: they are noted beside the columns.
_TYPES = b"sqlbn_types"
# Where a wait would be said; a folder makes nobody wait.
Say = Callable[[str], None]


class StoreFolder:
    """A folder, here or behind a URL that pyarrow knows, one folder per model."""

    def __init__(self, root: str) -> None:
        self.path = root.rstrip("/") or "/"

    # -- reading -----------------------------------------------------------------------------

    def names(self, session: Session) -> list[str]:
        """The models in the folder."""
        with self._files() as (files, root):
            return sorted(
                unquote(_last(place)) for place in _folders(files, root) if _version(files, place)
            )

    def metas(self, session: Session) -> dict[str, dict[str, str]]:
        """The meta table of every model."""
        found = {}
        for name in self.names(session):
            with self._files() as (files, root):
                rows = _read(files, f"{self._current(files, root, name)}/meta.parquet")
                found[name] = dict(zip(*(c.to_pylist() for c in rows.columns), strict=True))
        return found

    def helpers(self, session: Session, name: str) -> str | None:
        """None: what scoring joins lies beside the other tables."""
        return None

    def load(self, session: Session, name: str, say: Say | None = None) -> Workspace:
        """A model's tables, copied into the engine. Nobody can hold the folder."""
        with self._files() as (files, root):
            place = self._current(files, root, name)
            tables = {unquote(_last(f)[: -len(".parquet")]): f for f in _parquet(files, place)}
            missing = set(REQUIRED) - set(tables)
            if missing:
                raise StoreError(
                    f"the model {name!r} in {self.path!r} lacks the table "
                    f"{sorted(missing)[0]!r}; fit it again"
                )
            workspace = Workspace(session)
            workspace.label = model_label(name, self.path)
            for table, file in tables.items():
                _restore(workspace, table, _read(files, file))
            return workspace

    def _current(self, files: FileSystem, root: str, name: str) -> str:
        """Where the newest version of a model lies."""
        place = _version(files, f"{root}/{quote(name, safe='')}")
        if place is None:
            listed = ", ".join(
                repr(unquote(_last(p))) for p in _folders(files, root) if _version(files, p)
            )
            raise StoreError(
                f"{self.path!r} has no model {name!r}; it holds {listed or 'no model'}"
            )
        return place

    # -- writing -----------------------------------------------------------------------------

    def check_name(
        self, session: Session, name: str, replace: bool, say: Say | None = None
    ) -> None:
        """Fail before the work, not after it, where a model of that name cannot be written."""
        if not name or "\x00" in name or name in (".", ".."):
            raise StoreError(
                f"{name!r} cannot be the name of a model; choose another with {opt('name')}"
            )
        if name in self.check_writable(session, say) and not replace:
            raise StoreError(self._taken(name))

    def check_writable(self, session: Session, say: Say | None = None) -> list[str]:
        """The models in the folder; an error where it cannot be written to. Nobody can hold it."""
        if not is_remote(self.path):
            there = next(p for p in (Path(self.path), *Path(self.path).parents) if p.exists())
            if not os.access(there, os.W_OK):
                raise StoreError(f"the folder {str(there)!r} for the store cannot be written to")
        return self.names(session)

    def save(
        self,
        workspace: Workspace,
        spec: ModelSpec,
        name: str,
        replace: bool,
        instead_of: int | None = None,
        say: Say | None = None,
    ) -> None:
        """Write a model as a new version; older ones are removed when it is whole."""
        check_tables(workspace)
        with self._files() as (files, root):
            model = f"{root}/{quote(name, safe='')}"
            old = _version(files, model)
            self._check_old(name, old, replace, instead_of)
            number = _number(old) + 1 if old is not None else 1
            place = f"{model}/v{number:06d}-{uuid.uuid4().hex[:8]}"
            files.create_dir(place, recursive=True)
            try:
                for table in sorted(workspace.names(), key=lambda t: t == "meta"):
                    rows = _noted(workspace, table)
                    if table == "meta":
                        rows = _named(rows, name, number)
                    _write(files, f"{place}/{quote(table, safe='')}.parquet", rows)
            except BaseException:
                files.delete_dir(place)
                raise
            for version in _folders(files, model):
                if _last(version) < _last(place):
                    files.delete_dir(version)

    def _check_old(self, name: str, old: str | None, replace: bool, instead_of: int | None) -> None:
        if old is None and instead_of is not None:
            raise StoreError(f"the model {name!r} was dropped meanwhile; nothing was changed")
        if old is not None and not replace:
            raise StoreError(self._taken(name))
        if old is not None and instead_of is not None and _number(old) != instead_of:
            raise StoreError(
                f"the model {name!r} was changed by somebody else meanwhile; nothing was changed, "
                "try again"
            )

    def drop(self, session: Session, name: str) -> None:
        """Remove a model."""
        with self._files() as (files, root):
            self._current(files, root, name)
            files.delete_dir(f"{root}/{quote(name, safe='')}")

    def _taken(self, name: str) -> str:
        return (
            f"{self.path!r} already holds a model {name!r}; use {opt('replace', True)}, or "
            f"another {opt('name')}"
        )

    @contextmanager
    def _files(self) -> Iterator[tuple[FileSystem, str]]:
        """The file system, and the folder's path in it."""
        from pyarrow.fs import FileSystem, LocalFileSystem

        try:
            if not is_remote(self.path):
                yield LocalFileSystem(), self.path
                return
            scheme, rest = self.path.split("://", 1)
            # Hadoop's name for the same storage.
            yield FileSystem.from_uri(f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}")
        except SqlbnError:
            raise
        except (OSError, ValueError) as error:
            line = str(error).splitlines()[0]
            raise StoreError(f"cannot use the store {self.path!r}: {line}") from error


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _number(version: str) -> int:
    return int(_last(version)[1:].split("-")[0])


def _folders(files: FileSystem, place: str) -> list[str]:
    """The folders in a folder, by name."""
    from pyarrow.fs import FileSelector, FileType

    found = files.get_file_info(FileSelector(place, allow_not_found=True))
    return sorted(info.path for info in found if info.type == FileType.Directory)


def _parquet(files: FileSystem, place: str) -> list[str]:
    from pyarrow.fs import FileSelector

    return sorted(
        info.path
        for info in files.get_file_info(FileSelector(place))
        if info.path.endswith(".parquet")
    )


def _version(files: FileSystem, model: str) -> str | None:
    """The newest version of a model that is whole."""
    from pyarrow.fs import FileType

    for version in reversed(_folders(files, model)):
        if files.get_file_info(f"{version}/meta.parquet").type == FileType.File:
            return version
    return None


def _read(files: FileSystem, path: str) -> pa.Table:
    import pyarrow.parquet as pq

    with files.open_input_file(path) as file:
        return pq.read_table(file)


def _write(files: FileSystem, path: str, rows: pa.Table) -> None:
    import pyarrow.parquet as pq

    with files.open_output_stream(path) as file:
        pq.write_table(rows, file)


def _noted(workspace: Workspace, table: str) -> pa.Table:
    """A table with the types of its columns; whole numbers past 64 bits are decimals."""
    types = workspace.columns(table)
    items = ", ".join(_item(name, t == "HUGEINT", "DECIMAL(38,0)") for name, t in types.items())
    rows = workspace.session.arrow(select_sql(workspace.table(table), items))
    return rows.replace_schema_metadata({_TYPES: json.dumps(types).encode(), **_comments(table)})


def _item(name: str, cast: bool, sql_type: str) -> str:
    quoted = identifier(name)
    return f"CAST({quoted} AS {sql_type}) AS {quoted}" if cast else quoted


def _comments(name: str) -> dict[bytes, bytes]:
    """What `schema` says of a table and its columns: `parquet_kv_metadata` of DuckDB shows it."""
    table = declared(name)
    if table is None:
        return {}
    columns = {column.name: column.comment for column in table.columns}
    return {b"comment": table.comment.encode(), b"column_comments": json.dumps(columns).encode()}


def _named(meta: pa.Table, name: str, number: int) -> pa.Table:
    """The meta table of a stored model."""
    import pyarrow as pa

    rows = dict(zip(*(c.to_pylist() for c in meta.columns), strict=True))
    rows |= {"name": name, "version": str(number)}
    columns = [pa.array(list(rows), pa.string()), pa.array(list(rows.values()), pa.string())]
    return pa.table(columns, schema=meta.schema)


def _restore(workspace: Workspace, table: str, rows: pa.Table) -> None:
    session = workspace.session
    types = json.loads((rows.schema.metadata or {}).get(_TYPES, b"{}"))
    view = session.register(rows)
    known = dict(session.columns(view))
    try:
        items = ", ".join(_item(name, types.get(name) == "HUGEINT", "HUGEINT") for name in known)
        workspace.copy(table, f"({select_sql(view, items)})")
    finally:
        session.unregister(view)
