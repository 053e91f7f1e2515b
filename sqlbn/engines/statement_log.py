"""The log of statements that run: none, a list, or a file of SQL with seconds and stages."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlbn.engines.progress import current_stage
from sqlbn.errors import OptionError
from sqlbn.text import without_secrets


@dataclass
class Statement:
    """A statement that runs or has run: where, in which stage, and how long it took."""

    sql: str
    engine: str
    stage: str
    number: int
    seconds: float = 0.0
    failed: bool = False


class StatementLog:
    """Numbers and times every statement, and says nothing. The base of those that do.

    Statements of a cluster may run at the same time.
    """

    def __init__(self) -> None:
        self._count = 0
        self._guard = threading.Lock()

    @contextmanager
    def running(self, sql: str, engine: str = "duckdb") -> Iterator[None]:
        """A statement runs inside, or its rows are read."""
        with self._guard:
            self._count += 1
            statement = Statement(sql, engine, current_stage(), self._count)
            self.begin(statement)
        started, statement.failed = time.perf_counter(), True
        try:
            yield
            statement.failed = False
        finally:
            statement.seconds = time.perf_counter() - started
            with self._guard:
                self.end(statement)

    def begin(self, statement: Statement) -> None:
        """A statement is about to run."""

    def end(self, statement: Statement) -> None:
        """It has run, or failed."""

    def close(self) -> None:
        """No statement follows."""


class StatementList(StatementLog):
    """Keeps the statements."""

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[Statement] = []

    def begin(self, statement: Statement) -> None:
        self.statements.append(statement)


class StatementFile(StatementLog):
    """Writes each statement before it runs, so that one that hangs can be read, and its seconds.

    The file is SQL: what is not a statement is a comment. Sessions of one program follow each other
    in it. Passwords and tokens of addresses are left out.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        try:
            self._stream = sys.stderr if path == "-" else Path(path).open("a", encoding="utf-8")  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OptionError(f"cannot be written: {reason}", sql_log=path) from error

    def begin(self, statement: Statement) -> None:
        stage = f" · {statement.stage}" if statement.stage else ""
        sql = without_secrets(statement.sql).encode("utf-8", "replace").decode()
        self._stream.write(f"-- {statement.number} · {statement.engine}{stage}\n{sql};\n")
        self._stream.flush()

    def end(self, statement: Statement) -> None:
        how = "failed after " if statement.failed else ""
        self._stream.write(f"-- {statement.number}: {how}{statement.seconds:.3f} s\n\n")
        self._stream.flush()

    def close(self) -> None:
        if self._stream is not sys.stderr:
            self._stream.close()


def statement_log(path: str | Path | None) -> StatementLog:
    """The log that was asked for: a file, '-' for standard error, None for none."""
    return StatementLog() if path is None else StatementFile(str(path))
