"""Errors and warnings raised on purpose. One line each: what is wrong, and what to do.

Their texts spell options as a shell does; `str` of them is in the spelling of the caller.
"""

from sqlbn.spelling import spelled


class SqlbnError(Exception):
    """Base of all errors a user can cause or meet; the message is one line."""

    _sql: str | None = None

    def __str__(self) -> str:
        return spelled(super().__str__())

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
    """An option has a value that makes no sense."""


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

    def __str__(self) -> str:
        return spelled(super().__str__())


class UnseenError(SqlbnError, ValueError):
    """Rows have values that a model has never seen, and they were to be refused."""
