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
    from sqlbn import networks
    from sqlbn.api.bench_calls import Bench, bench
    from sqlbn.api.describe_calls import drop, models, prepare, rank
    from sqlbn.api.evaluate_calls import curve, evaluate, stream
    from sqlbn.api.export_calls import export
    from sqlbn.api.fit_calls import fit, load
    from sqlbn.api.model import Model
    from sqlbn.api.update_calls import forget, merge, update
    from sqlbn.errors import SqlbnError, SqlbnWarning
    from sqlbn.evaluation.attribute_ranking import Ranking
    from sqlbn.evaluation.metrics import Evaluation
    from sqlbn.evaluation.univariate import Preparation
    from sqlbn.learners import Learner, register
    from sqlbn.learners.ande import Ande
    from sqlbn.learners.collections import Collection, Fanc, Spc, Spcr, Tc
    from sqlbn.learners.eskdb import Eskdb
    from sqlbn.learners.fan import Fan
    from sqlbn.learners.kdb import Kdb
    from sqlbn.learners.nb import Nb
    from sqlbn.learners.searched import Hgc, Vfbn1, Vfbn2
    from sqlbn.learners.skdb import Skdb
    from sqlbn.learners.snb import Snb
    from sqlbn.learners.superparent import SuperParent
    from sqlbn.learners.tan import Tan
    from sqlbn.networks.bif import read_bif, write_bif
    from sqlbn.networks.network import Network
    from sqlbn.networks.sample_rows import sample

# Imported on first use: `import sqlbn` stays fast for those who only want its version. What is not
# listed is a learner.
_HOMES = {
    "sqlbn.api.bench_calls": ("Bench", "bench"),
    "sqlbn.api.describe_calls": ("drop", "models", "prepare", "rank"),
    "sqlbn.api.evaluate_calls": ("curve", "evaluate", "stream"),
    "sqlbn.api.export_calls": ("export",),
    "sqlbn.api.fit_calls": ("fit", "load"),
    "sqlbn.api.model": ("Model",),
    "sqlbn.api.update_calls": ("forget", "merge", "update"),
    "sqlbn.errors": ("SqlbnError", "SqlbnWarning"),
    "sqlbn.evaluation.attribute_ranking": ("Ranking",),
    "sqlbn.evaluation.metrics": ("Evaluation",),
    "sqlbn.evaluation.univariate": ("Preparation",),
    "sqlbn.networks.bif": ("read_bif", "write_bif"),
    "sqlbn.networks.network": ("Network",),
    "sqlbn.networks.sample_rows": ("sample",),
}

__all__ = [
    "Ande",
    "Bench",
    "Collection",
    "Eskdb",
    "Evaluation",
    "Fan",
    "Fanc",
    "Hgc",
    "Kdb",
    "Learner",
    "Model",
    "Nb",
    "Network",
    "Preparation",
    "Ranking",
    "Skdb",
    "Snb",
    "Spc",
    "Spcr",
    "SqlbnError",
    "SqlbnWarning",
    "SuperParent",
    "Tan",
    "Tc",
    "Vfbn1",
    "Vfbn2",
    "__version__",
    "bench",
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
    "register",
    "sample",
    "stream",
    "update",
    "write_bif",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "networks":
        return import_module("sqlbn.networks")
    if name not in __all__:
        raise AttributeError(f"module 'sqlbn' has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "sqlbn.learners")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
