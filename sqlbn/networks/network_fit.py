"""`sqlbn.networks.learn`: a network from rows, with or without a class."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from sqlbn import api
from sqlbn.data.no_target import NO_CLASS
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError
from sqlbn.model import Model
from sqlbn.search.search_options import SearchOptions

METHODS = ("hgc", "vfbn1", "vfbn2")
_SEARCH = tuple(f.name for f in fields(SearchOptions))


def learn(
    data: Any = None,
    method: str = "vfbn2",
    *,
    target: str | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Model:
    """Learn the structure and the tables of a Bayesian network.

    `method` is hgc (hill climbing on all rows), vfbn1 or vfbn2 (the same from as few rows as a
    bound asks for). With a `target` that is the class, a parent of all other variables, and the
    result is a classifier; without one the network describes all columns alike.
    `options` are those of the search: `score` (bdeu, k2, bic) and `ess` for hgc; `bound` (normal,
    hoeffding), `delta` or `delta_star`, `tau`, `block` for the others; `max_parameters`,
    `max_parents`, `max_changes`; and those of `sqlbn.fit` about columns, rows, estimates and the
    engine.

    >>> import pyarrow as pa
    >>> rows = pa.table({"rain": ["y", "n"] * 300, "wet": ["y", "n"] * 300})
    >>> learn(rows).parents.to_pydict()["attribute"]
    ['rain']
    """
    target, learner, keywords = fit_keywords(method, target, options)
    return api.fit(
        data,
        target,
        learner,
        store=store,
        name=name,
        replace=replace,
        quiet=quiet,
        progress=progress,
        **keywords,
    )


def fit_keywords(
    method: str, target: str | None, options: dict[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Target, learner and options of a fit, the options of the search put together."""
    if method not in METHODS:
        raise OptionError(f"--method {method}: choose hgc, vfbn1 or vfbn2")
    search = {key: value for key, value in options.items() if key in _SEARCH and value is not None}
    others = {key: value for key, value in options.items() if key not in _SEARCH}
    return NO_CLASS if target is None else target, method, {**others, "search": search}
