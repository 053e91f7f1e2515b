"""Engines: the only place that runs SQL."""

from sqlbn.engines.duck import DuckDBEngine
from sqlbn.engines.settings import Settings

__all__ = ["DuckDBEngine", "Settings"]
