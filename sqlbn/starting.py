"""Starts an engine, and says so where that takes a while."""

from __future__ import annotations

from sqlbn.engines import Session, Settings
from sqlbn.engines.progress import Progress


def opened_engine(settings: Settings, progress: Progress) -> Session:
    """An engine; starting Spark takes long enough to be told."""
    if settings.engine == "duckdb":
        return Session(settings)
    where = settings.master or ("the session" if settings.session is not None else "local")
    with progress.stage("start", f"starting Spark ({where})"):
        return Session(settings)
