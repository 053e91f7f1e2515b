"""The store's file: open, list, copy models in and out, drop. Every change is one transaction."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlbn.engines import Session
from sqlbn.engines.attached_file import AttachedFile
from sqlbn.engines.sql import identifier, render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import (
    EngineError,
    SqlbnError,
    StoreBusyError,
    StoreError,
    command,
    opt,
)
from sqlbn.schema import REQUIRED
from sqlbn.store.condition import HEADERS, check_file, check_whole_blocks, explained, is_busy
from sqlbn.store.damage import check_tables, model_label
from sqlbn.store.spec import ModelSpec
from sqlbn.store.sql_objects import (
    HELPERS,
    helper_schema,
    is_derived,
    is_helper,
    schema_of,
    write_face,
)

_RESERVED_NAMES = {"main", "information_schema", "pg_catalog", "temp", "system"}

# Where a wait is said.
Say = Callable[[str], None]


class StoreFile:
    """One DuckDB file, one schema per model."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    # -- opening -----------------------------------------------------------------------------

    @contextmanager
    def _attached(
        self,
        session: Session,
        write: bool,
        patience: float | None = None,
        say: Say | None = None,
    ) -> Iterator[AttachedFile]:
        new = not check_file(self.path)
        if new and not write:
            raise StoreError(f"there is no store {str(self.path)!r}; {command('fit')} makes one")
        log = Path(f"{self.path}.wal")
        had_log = log.exists()
        patience = session.limits.store_patience if patience is None else patience
        file = self._attach(session, write, new, patience, say)
        with self._explaining(write):
            # Another process may have made the file while this one waited for it.
            new = new and not file.schemas()
            try:
                if write and not new:
                    check_whole_blocks(self.path)
                yield file
            except BaseException:
                with suppress(SqlbnError):
                    file.detach()
                self._restore(log, new, had_log)
                raise
            file.detach()

    @contextmanager
    def _explaining(self, write: bool) -> Iterator[None]:
        """What the engine says about the file, as one line about the store."""
        try:
            yield
        except StoreError:
            raise
        except SqlbnError as error:
            told = explained(self.path, error, write)
            if told is error:
                raise
            raise told from error

    def _restore(self, log: Path, new: bool, had_log: bool) -> None:
        """Nothing stays beside a store, or of a new one, where a change was not made."""
        with suppress(OSError):
            if new:
                self.path.unlink(missing_ok=True)
            if new or (not had_log and log.stat().st_size == 0):
                log.unlink(missing_ok=True)

    def _attach(
        self, session: Session, write: bool, new: bool, patience: float, say: Say | None
    ) -> AttachedFile:
        """Attach the file; where another process holds it, wait for it."""
        limits, started = session.limits, time.monotonic()
        while True:
            try:
                return AttachedFile(session, self.path, write, new)
            except SqlbnError as error:
                if not is_busy(error):
                    raise self._refused(error, write, new) from error
                waited = time.monotonic() - started
                if waited > patience:
                    raise StoreBusyError(self._busy_text(str(error))) from error
                if say is not None and waited > limits.store_wait_unsaid:
                    say(f"{self._held_text(str(error))}: waiting up to {patience:.0f} s for it")
                    say = None
                time.sleep(limits.store_retry)

    def _refused(self, error: SqlbnError, write: bool, new: bool) -> SqlbnError:
        """The error of a file that cannot be opened at all."""
        if new and self._size() < HEADERS:
            self.path.unlink(missing_ok=True)  # what the engine began, on a full disk
        told = explained(self.path, error, write)
        if told is error:
            return StoreError(f"cannot open the store {str(self.path)!r}: {error}")
        return told

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _held_text(self, message: str) -> str:
        holder = re.search(r"held in (.+?)(?: by |\.|$)", message)
        pid = re.search(r"PID (\d+)", message)
        who = f"process {pid[1]}" if pid else holder[1] if holder else "another connection"
        return f"the store {str(self.path)!r} is held by {who}"

    def _busy_text(self, message: str) -> str:
        remedy = "wait until it ends or close its connection, then try again"
        return f"{self._held_text(message)}; {remedy}"

    # -- reading -----------------------------------------------------------------------------

    def names(self, session: Session) -> list[str]:
        """The models in the file."""
        with self._attached(session, write=False) as file:
            return _model_names(file)

    def metas(self, session: Session) -> dict[str, dict[str, str]]:
        """The meta table of every model."""
        with self._attached(session, write=False) as file:
            return {name: _meta(file, name) for name in _model_names(file)}

    def helpers(self, session: Session, name: str) -> str | None:
        """The quoted schema of what scoring joins, in the store; None: the model's own."""
        with self._attached(session, write=False) as file:
            schema = _tables(file, name).get("factors", name)
            return identifier(schema) if schema != name else None

    def load(self, session: Session, name: str, say: Say | None = None) -> Workspace:
        """A model's tables, copied into the engine: the file is free again afterwards.

        Only tables are read. Views and macros of the file are never run: they are text that
        somebody else may have put there.
        """
        with self._attached(session, write=False, say=say) as file:
            self._require(file, name)
            workspace = Workspace(session)
            workspace.label = model_label(name, self.path)
            for table, schema in _tables(file, name).items():
                workspace.copy(table, file.name(schema, table))
            return workspace

    def _require(self, file: AttachedFile, name: str) -> None:
        names = _model_names(file)
        if name not in names:
            listed = ", ".join(map(repr, names)) or "no model"
            raise StoreError(f"{str(self.path)!r} has no model {name!r}; it holds {listed}")
        missing = set(REQUIRED) - set(_tables(file, name))
        if missing:
            raise StoreError(
                f"the model {name!r} in {str(self.path)!r} lacks the table {sorted(missing)[0]!r}; "
                "fit it again"
            )

    # -- writing -----------------------------------------------------------------------------

    def check_name(
        self, session: Session, name: str, replace: bool, say: Say | None = None
    ) -> None:
        """Fail before the work, not after it, where a model of that name cannot be written."""
        reserved = name.lower() in _RESERVED_NAMES or name.lower().endswith(HELPERS)
        if not name or reserved or "\x00" in name:
            raise StoreError(
                f"{name!r} cannot be the name of a model; choose another with {opt('name')}"
            )
        if not check_file(self.path):
            if not self.path.parent.is_dir():
                raise StoreError(
                    f"the folder {str(self.path.parent)!r} for the store does not exist"
                )
            if not os.access(self.path.parent, os.W_OK):
                raise StoreError(
                    f"the folder {str(self.path.parent)!r} for the store cannot be written to"
                )
            return
        names = self.check_writable(session, say)
        self._check_helpers(name, names)
        same = [n for n in names if n.lower() == name.lower()]
        if same and (not replace or name not in same):
            raise StoreError(_taken(self.path, same[0]))

    def check_writable(self, session: Session, say: Say | None = None) -> list[str]:
        """Open the file for writing, as the end of the work will, and give it back at once.

        The models in it. Readers that have it open would stop a writer then.
        """
        patience = session.limits.store_patience_before
        with self._attached(session, True, patience, say) as file:
            return _model_names(file)

    def _check_helpers(self, name: str, models: Sequence[str]) -> None:
        """An error where a model is called like the schema of this one's helper tables."""
        taken = [n for n in models if n.lower() == helper_schema(name).lower()]
        if taken:
            raise StoreError(
                f"{str(self.path)!r} holds a model {taken[0]!r}, which is what the tables of "
                f"{name!r} would be called; use another {opt('name')}"
            )

    def save(
        self,
        workspace: Workspace,
        spec: ModelSpec,
        name: str,
        replace: bool,
        instead_of: int | None = None,
        say: Say | None = None,
    ) -> None:
        """Write a model in one transaction: a reader sees the old one or the new one.

        `instead_of` is the version that the model was made from: where that is no longer the one
        in the file, somebody else has changed it meanwhile.
        """
        check_tables(workspace)
        session = workspace.session
        columns = workspace.all_columns()  # before the views of other models can be asked, too
        patience = session.limits.store_patience_after
        with self._attached(session, True, patience, say) as file, file.transaction():
            version = self._make_room(file, name, replace, instead_of)
            for schema in (name, helper_schema(name)):
                file.create_schema(schema)
            for table in columns:
                rows = workspace.table(table)
                if table == "meta":
                    rows = f"({render('store/stored_meta', meta=rows, name=name, version=version)})"
                file.copy(schema_of(name, table), table, rows)
            write_face(file, name, spec, columns)

    def _make_room(
        self, file: AttachedFile, name: str, replace: bool, instead_of: int | None
    ) -> int:
        """Drop the model of that name, if it may be; the version of the new one."""
        others = _model_names(file)
        self._check_helpers(name, others)
        if name not in others:
            self._drop_leftover(file, helper_schema(name))
            if instead_of is not None:
                raise StoreError(f"the model {name!r} was dropped meanwhile; nothing was changed")
            return 1
        if not replace:
            raise StoreError(_taken(self.path, name))
        stored = _meta(file, name).get("version") or "0"
        old = int(stored) if stored.isdecimal() else 0  # what is damaged may be replaced
        if instead_of is not None and old != instead_of:
            raise StoreError(
                f"the model {name!r} was changed by somebody else meanwhile; nothing was changed, "
                "try again"
            )
        _drop(file, name)
        return old + 1

    def _drop_leftover(self, file: AttachedFile, schema: str) -> None:
        """Drop helper tables whose model is gone; a schema of somebody else's is left alone."""
        foreign = [table for table in file.tables(schema) if not is_helper(table)]
        if foreign:
            raise StoreError(
                f"{str(self.path)!r} has a schema {schema!r} with a table {foreign[0]!r}, which is "
                f"where the model's own tables would go; use another {opt('name')}"
            )
        file.drop_schema(schema)

    def drop(self, session: Session, name: str) -> None:
        """Remove a model."""
        if not check_file(self.path):
            raise StoreError(f"there is no store {str(self.path)!r}")
        with self._attached(session, write=True) as file:
            self._require(file, name)
            with file.transaction():
                _drop(file, name)


def _meta(file: AttachedFile, name: str) -> dict[str, str]:
    """The meta table of a model; nothing where it is damaged."""
    try:
        return dict(file.read(name, "meta", "key", "value"))
    except EngineError:
        return {}


def _taken(path: Path, name: str) -> str:
    return (
        f"{str(path)!r} already holds a model {name!r}; use {opt('replace', True)}, or "
        f"another {opt('name')}"
    )


def _model_names(file: AttachedFile) -> list[str]:
    return file.schemas_with("meta", "classes")


def _tables(file: AttachedFile, name: str) -> dict[str, str]:
    """A model's tables and their schemas; older stores have all in one."""
    found = file.tables(name, helper_schema(name))
    return {table: schema for table, schema in found.items() if not is_derived(table)}


def _drop(file: AttachedFile, name: str) -> None:
    for schema in (name, helper_schema(name)):
        file.drop_schema(schema)
