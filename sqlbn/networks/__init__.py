"""Bayesian networks of discrete variables: read, written, scored, queried, sampled, plotted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlbn.networks.bif import read_bif, write_bif
from sqlbn.networks.network import Network, Variable

if TYPE_CHECKING:
    from sqlbn.api.network_calls import (
        NetworkScore,
        follow,
        learn,
        load,
        plot,
        query,
        score,
    )
    from sqlbn.networks.sample_rows import sample

# Imported on first use: they need the engine, files and tables do not.
_HOMES = {
    "NetworkScore": "sqlbn.api.network_calls",
    "follow": "sqlbn.api.network_calls",
    "learn": "sqlbn.api.network_calls",
    "load": "sqlbn.api.network_calls",
    "plot": "sqlbn.api.network_calls",
    "query": "sqlbn.api.network_calls",
    "sample": "sqlbn.networks.sample_rows",
    "score": "sqlbn.api.network_calls",
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
