"""A session: the model database, which is always DuckDB, and beside it the engine that reads rows.

Statements over a model's own tables run in the session itself (`session.rows(…)`); statements over
rows run in `session.row_engine`: DuckDB in the same process, or the cluster that the settings name.
Tuning constants are `session.limits`.
"""

from __future__ import annotations

from sqlbn.engines.duckdb_rows import DuckDBRows
from sqlbn.engines.model_database import ModelDatabase
from sqlbn.engines.progress import Progress
from sqlbn.engines.row_engine import RowEngine
from sqlbn.engines.settings import Settings


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

    def close(self) -> None:
        """End both; no file and no view of theirs stays."""
        self.row_engine.close()
        super().close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_session(settings: Settings, progress: Progress) -> Session:
    """A session; starting Spark takes long enough to be shown."""
    if settings.engine == "duckdb":
        return Session(settings)
    where = settings.master or ("the session" if settings.session is not None else "local")
    with progress.stage("start", f"starting Spark ({where})"):
        return Session(settings)
