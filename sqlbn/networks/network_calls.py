"""`sqlbn.networks` in Python: read, score, query, plot a network that is there already."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.api import only_settings
from sqlbn.data import open_source
from sqlbn.data.opening import check_there
from sqlbn.engines import Session
from sqlbn.engines.progress import ConsoleProgress, Progress
from sqlbn.errors import SqlbnWarning
from sqlbn.lists import as_list, names_in
from sqlbn.networks.inference import posterior
from sqlbn.networks.likelihood import Likelihood, model_likelihood, network_likelihood
from sqlbn.networks.network import Network
from sqlbn.networks.stored_networks import is_stored, read_network, stored_model
from sqlbn.report.graphs import check_drawing, draw_network
from sqlbn.store.spec import cpt_columns

if TYPE_CHECKING:
    import pyarrow as pa


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
