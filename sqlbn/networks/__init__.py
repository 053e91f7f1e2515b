"""Bayesian networks of discrete variables: read, written, scored, queried, sampled, plotted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlbn.networks.bif import read_bif, write_bif
from sqlbn.networks.network import Network, Variable

if TYPE_CHECKING:
    from sqlbn.networks.api import NetworkScore, load, plot, query, score
    from sqlbn.networks.drawing import sample
    from sqlbn.networks.following import follow
    from sqlbn.networks.learning import learn

# Imported on first use: they need the engine, files and tables do not.
_HOMES = {
    "NetworkScore": "sqlbn.networks.api",
    "follow": "sqlbn.networks.following",
    "learn": "sqlbn.networks.learning",
    "load": "sqlbn.networks.api",
    "plot": "sqlbn.networks.api",
    "query": "sqlbn.networks.api",
    "sample": "sqlbn.networks.drawing",
    "score": "sqlbn.networks.api",
}

__all__ = [
    "Network",
    "NetworkScore",
    "Variable",
    "follow",
    "learn",
    "load",
    "plot",
    "query",
    "read_bif",
    "sample",
    "score",
    "write_bif",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sqlbn.networks' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
