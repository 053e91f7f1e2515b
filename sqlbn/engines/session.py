"""A session: the model database, which is always DuckDB, and beside it the engine that reads rows.

Statements over a model's own tables run in the session itself (`session.rows(…)`); statements over
rows run in `session.row_engine`: DuckDB in the same process, or the cluster that the settings name.
Tuning constants are `session.limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Self, TypeVar

from sqlbn.engines.duckdb_rows import DuckDBRows
from sqlbn.engines.model_database import ModelDatabase
from sqlbn.engines.progress import Progress
from sqlbn.engines.row_engine import RowEngine
from sqlbn.engines.settings import Settings

T = TypeVar("T")


class Session(ModelDatabase):
    """A model database with a row engine; both end with it."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        try:
            self.row_engine = self._start_row_engine()
        except BaseException:
            super().close()
            raise

    def _start_row_engine(self) -> RowEngine:
        if self.settings.engine == "duckdb":
            return DuckDBRows(self)
        from sqlbn.engines.spark.spark_rows import SparkRows

        return SparkRows(self)

    @contextmanager
    def another(self) -> Iterator[Self]:
        """The same by a connection of its own, also of the row engine where that is local."""
        with super().another() as found:
            found.row_engine = found._start_row_engine()
            yield found

    def together(
        self, jobs: Sequence[Callable[[Session], T]], advance: Callable[[], None]
    ) -> list[T]:
        """What some independent jobs find: at the same time where the rows are in this process.

        They read tables and files, not what was registered, and switch no setting: those are the
        database's. They do not show progress.
        """
        threads = min(self.threads, len(jobs)) if self.row_engine.is_local else 1
        if threads < 2:
            return list(_counted((job(self) for job in jobs), advance))

        def done(job: Callable[[Session], T]) -> T:
            with self.another() as session:
                return job(session)

        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(copy_context().run, done, job) for job in jobs]
            try:
                return list(_counted((future.result() for future in futures), advance))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def close(self) -> None:
        """End both; no file and no view of theirs stays."""
        self.row_engine.close()
        super().close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _counted(found: Iterable[T], advance: Callable[[], None]) -> Iterator[T]:
    """Each as it comes, a step further."""
    for item in found:
        advance()
        yield item


def start_session(settings: Settings, progress: Progress) -> Session:
    """A session; starting Spark takes long enough to be shown."""
    if settings.engine == "duckdb":
        return Session(settings)
    where = settings.master or ("the session" if settings.session is not None else "local")
    with progress.stage("start", f"starting Spark ({where})"):
        return Session(settings)
