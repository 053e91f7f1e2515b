"""`sqlbn.networks` in Python: learn, read, score, query and plot a network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn import api
from sqlbn.api import only_settings
from sqlbn.data import open_source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.data.opening import check_there
from sqlbn.engines import Session
from sqlbn.engines.progress import ConsoleProgress, Progress
from sqlbn.errors import OptionError, SqlbnWarning
from sqlbn.lists import as_list, names_in
from sqlbn.model import Model
from sqlbn.networks.inference import posterior
from sqlbn.networks.likelihood import Likelihood, model_likelihood, network_likelihood
from sqlbn.networks.network import Network
from sqlbn.networks.stored_networks import is_stored, read_network, stored_model
from sqlbn.report.graphs import check_drawing, draw_network
from sqlbn.search.search_options import SearchOptions
from sqlbn.store.spec import cpt_columns

if TYPE_CHECKING:
    import pyarrow as pa


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


@dataclass(frozen=True)
class NetworkScore:
    """How well a network explains rows: `log_likelihood` is the mean of ln P(row).

    It is that of the rows that are possible, NaN where none is; `rows` counts all of them.
    """

    log_likelihood: float
    rows: int
    impossible_rows: int
    variables: int
    arcs: int
    seconds: float


def load(store: str | Path, name: str) -> Network:
    """The network of a stored model, its class first; an error where the model is not one."""
    return read_network(store=store, name=name).network


def score(
    data: Any = None,
    *,
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    table: str | None = None,
    query: str | None = None,
    where: str | None = None,
    encoding: str | None = None,
    trust_sql: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **settings: Any,
) -> NetworkScore:
    """The mean of ln P(row) over rows whose columns are a network's variables.

    With `bif` (a file, or a `Network`) the columns hold the states' names, and rows with a value
    or a combination of probability 0 are left out, with a warning. With `store` and `name` rows
    are like those of training: ln P(x, y) as prediction has it, values never seen included; only
    rows without a known class are left out.

    >>> import pyarrow as pa
    >>> from sqlbn.networks import Network, Variable
    >>> coin = Network((Variable("coin", ("heads", "tails"), (), [0.5, 0.5]),))
    >>> score(pa.table({"coin": ["heads", "tails", "tails"]}), bif=coin).log_likelihood
    -0.6931471805599453
    """
    started = time.perf_counter()
    stored = is_stored(bif, store, name)
    progress = progress or (Progress() if quiet else ConsoleProgress())
    chosen = only_settings(settings)
    check_there(chosen, data)
    with Session(chosen) as session:
        rows: dict[str, Any] = {"table": table, "query": query, "where": where}
        rows |= {"encoding": encoding, "trust_sql": trust_sql}
        if stored:
            found, variables, arcs = _score_stored(session, store, name, data, rows, progress)
        else:
            network = read_network(bif).network
            source = open_source(session, data, **rows)
            found = network_likelihood(session, network, source, progress)
            variables, arcs = len(network), len(network.arcs)
    if found.impossible_rows:
        why = "have a class" if stored else "have a value or a combination of values"
        which = "that the model does not know" if stored else "of probability 0"
        warnings.warn(
            f"{found.impossible_rows:,} of {found.rows:,} rows {why} {which}; "
            "the mean is that of the others",
            SqlbnWarning,
            stacklevel=2,
        )
    seconds = time.perf_counter() - started
    return NetworkScore(found.mean, found.rows, found.impossible_rows, variables, arcs, seconds)


def _score_stored(
    session: Session,
    store: str | Path | None,
    name: str | None,
    data: Any,
    rows: Mapping[str, Any],
    progress: Progress,
) -> tuple[Likelihood, int, int]:
    """The likelihood under a model, and how many variables and arcs it has."""
    with stored_model(session, store, name) as (workspace, spec):
        source = open_source(session, data, trained=spec.trained(), **rows)
        found = model_likelihood(workspace, spec, source, progress)
        n, has_class = len(spec.selected), spec.has_class
        arcs = sum(len(spec.parents[i]) for i in spec.selected) + n * has_class
        return found, n + has_class, arcs


def query(
    of: str | Sequence[str],
    given: Mapping[str, str] | None = None,
    *,
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
) -> pa.Table:
    """P(of | given): a row for each combination of states, with its `probability`.

    >>> from sqlbn.networks import Network, Variable
    >>> rain = Variable("rain", ("yes", "no"), (), [0.25, 0.75])
    >>> wet = Variable("wet", ("yes", "no"), ("rain",), [[0.75, 0.25], [0.25, 0.75]])
    >>> query("rain", {"wet": "yes"}, bif=Network((rain, wet))).to_pylist()
    [{'rain': 'yes', 'probability': 0.5}, {'rain': 'no', 'probability': 0.5}]
    """
    import pyarrow as pa

    network = read_network(bif, store, name).network
    known = {variable.name for variable in network.variables}
    asked = names_in(as_list(of), known.__contains__)
    table = posterior(network, asked, given)
    columns: dict[str, Any] = {}
    names = cpt_columns(asked, ["probability"])
    for axis, (variable, column) in enumerate(zip(asked, names, strict=True)):
        states = np.array(network[variable].states, dtype=object)
        shape = [-1 if a == axis else 1 for a in range(table.ndim)]
        columns[column] = np.broadcast_to(states.reshape(shape), table.shape).ravel()
    return pa.table({**columns, "probability": table.ravel()})


def plot(
    out: str | Path,
    *,
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    target: str | None = None,
) -> Network:
    """Draw a network in layers, parents above or left of their children, as .svg or .png.

    The class is marked: that of a stored model, or the variable `target`.
    """
    check_drawing(out)
    found = read_network(bif, store, name)
    if target is not None:
        found.network.place(target)
    draw_network(found.network, out, target or found.target)
    return found.network
