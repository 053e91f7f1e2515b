"""Errors and warnings raised on purpose. One line each: what is wrong, and what to do.

Options are named by `opt`, in the spelling of whoever called: `kmax=0` in Python; the program sets
a spelling of its own while it runs a command (`spelling`), and nobody else writes dashes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Spelling(Protocol):
    """How options and commands are written in messages."""

    def option(self, name: str, *value: object) -> str:
        """An option by its plain name, perhaps with its value."""

    def command(self, name: str) -> str:
        """A command: `fit`, `network learn`."""


class PythonSpelling:
    """Keywords and functions.

    >>> spell = PythonSpelling()
    >>> spell.option("kmax", 0), spell.option("replace", True), spell.command("network learn")
    ('kmax=0', 'replace=True', '`sqlbn.networks.learn`')
    """

    def option(self, name: str, *value: object) -> str:
        """The keyword of an argument."""
        return f"{name}={_plain(value[0])!r}" if value else name

    def command(self, name: str) -> str:
        """The function that does the same."""
        return f"`sqlbn.{name.replace('network ', 'networks.')}`"


def _plain(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


# Not bound to a thread or a task: a program has one command, and its threads speak for it too.
_SPELLINGS: list[Spelling] = [PythonSpelling()]


@contextmanager
def spelling(chosen: Spelling) -> Iterator[None]:
    """Meanwhile, messages are written that way."""
    _SPELLINGS.append(chosen)
    try:
        yield
    finally:
        _SPELLINGS.remove(chosen)


def opt(name: str, *value: object) -> str:
    """An option for a message, by its plain name and perhaps its value; a flag's is True.

    >>> f"{opt('bins')} requires {opt('discretise', 'ef')}"
    "bins requires discretise='ef'"
    """
    return _SPELLINGS[-1].option(name, *value)


def command(name: str) -> str:
    """A command for a message: `fit`, `network learn`."""
    return _SPELLINGS[-1].command(name)


class SqlbnError(Exception):
    """Base of all errors a user can cause or meet; the message is one line."""

    _sql: str | None = None

    @property
    def sql(self) -> str | None:
        """The statement that failed, where one did; also that of the error this one came of."""
        error: BaseException | None = self
        while error is not None:
            if isinstance(error, SqlbnError) and error._sql is not None:
                return error._sql
            error = error.__cause__
        return None

    @sql.setter
    def sql(self, statement: str | None) -> None:
        self._sql = statement


class SourceError(SqlbnError, ValueError):
    """The data cannot be read: no such file, schemas that disagree, a damaged file."""


class TableError(SourceError):
    """A Delta or Iceberg table that its library, or the lack of it, keeps from being read."""


class ColumnError(SqlbnError, ValueError):
    """A column is missing, has an unusable type, or holds values it must not."""


class NoRowsError(ColumnError):
    """The data has no row to learn from."""


class OptionError(SqlbnError, ValueError):
    """An option has a value that makes no sense: what is wrong, and the option with its value.

    >>> OptionError("give 0 or more parents", kmax=-1)
    OptionError('kmax=-1: give 0 or more parents')
    """

    option: str | None = None
    value: object = None

    def __init__(self, why: str, /, **given: object) -> None:
        heads = []
        for self.option, self.value in given.items():
            heads.append(opt(self.option, self.value))
        super().__init__(": ".join([*heads, why]))


class StoreError(SqlbnError, ValueError):
    """The model store refuses: no such model, name taken, file of another format."""


class StoreBusyError(StoreError):
    """Another process holds the store's file."""


class NetworkError(SqlbnError, ValueError):
    """A Bayesian network is none: a cycle, a wrong probability, a file that cannot be read."""


class ExportError(SqlbnError, ValueError):
    """A model cannot be said in the format or the dialect that was asked for."""


class EngineError(SqlbnError, RuntimeError):
    """The database engine failed while running one of our statements."""


class OutOfMemoryError(EngineError, MemoryError):
    """The engine ran into the memory limit or the disk it may spill to."""


class SqlbnWarning(UserWarning):
    """Something was decided for the user that the user may want to know."""


class UnseenError(SqlbnError, ValueError):
    """Rows have values that a model has never seen, and they were to be refused."""
