"""Engines: the only place that runs SQL."""

from sqlbn.engines.session import Session
from sqlbn.engines.settings import Settings

__all__ = ["Session", "Settings"]
