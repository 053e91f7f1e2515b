"""Bayesian-network classifiers learned inside the database.

>>> import sqlbn
>>> model = sqlbn.fit("examples/adult.parquet", target="class", learner="kdb", k=1)
>>> model
<sqlbn model: kdb of 'class', 2 classes, 14 attributes, 48,842 rows>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sqlbn.api import (
        curve,
        drop,
        evaluate,
        fit,
        forget,
        load,
        merge,
        models,
        stream,
        update,
    )
    from sqlbn.errors import SqlbnError, SqlbnWarning
    from sqlbn.evaluation import Evaluation
    from sqlbn.evaluation.attribute_ranking import Ranking, rank
    from sqlbn.evaluation.univariate import Preparation, prepare
    from sqlbn.exporting.formats import export
    from sqlbn.model import Model
    from sqlbn.networks.bif import read_bif, write_bif
    from sqlbn.networks.network import Network
    from sqlbn.networks.sample_rows import sample

# Imported on first use: `import sqlbn` stays fast for those who only want its version.
_HOMES = {
    "curve": "sqlbn.api",
    "drop": "sqlbn.api",
    "evaluate": "sqlbn.api",
    "export": "sqlbn.exporting.formats",
    "fit": "sqlbn.api",
    "forget": "sqlbn.api",
    "merge": "sqlbn.api",
    "update": "sqlbn.api",
    "load": "sqlbn.api",
    "stream": "sqlbn.api",
    "models": "sqlbn.api",
    "Evaluation": "sqlbn.evaluation.metrics",
    "Model": "sqlbn.model",
    "Network": "sqlbn.networks.network",
    "Preparation": "sqlbn.evaluation.univariate",
    "Ranking": "sqlbn.evaluation.attribute_ranking",
    "rank": "sqlbn.evaluation.attribute_ranking",
    "prepare": "sqlbn.evaluation.univariate",
    "read_bif": "sqlbn.networks.bif",
    "sample": "sqlbn.networks.sample_rows",
    "write_bif": "sqlbn.networks.bif",
    "SqlbnError": "sqlbn.errors",
    "SqlbnWarning": "sqlbn.errors",
}

__all__ = [
    "Evaluation",
    "Model",
    "Network",
    "Preparation",
    "Ranking",
    "SqlbnError",
    "SqlbnWarning",
    "__version__",
    "curve",
    "drop",
    "evaluate",
    "export",
    "fit",
    "forget",
    "load",
    "merge",
    "models",
    "networks",
    "prepare",
    "rank",
    "read_bif",
    "sample",
    "stream",
    "update",
    "write_bif",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "networks":
        return import_module("sqlbn.networks")
    if name not in _HOMES:
        raise AttributeError(f"module 'sqlbn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
