"""`sqlbn.networks` in Python: learn, follow, read, score, query and plot a network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from sqlbn.api.call import (
    Place,
    engine_settings,
    kept,
    open_for_fit,
    other_options,
    split_options,
    started,
    told_by,
)
from sqlbn.api.fit_calls import fit
from sqlbn.api.model import Model
from sqlbn.data import open_source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError, SqlbnWarning
from sqlbn.learners.fit_options import checked_rows
from sqlbn.learners.searched import Vfbn2
from sqlbn.networks.following import FollowedBlock, Following
from sqlbn.networks.inference import posterior
from sqlbn.networks.likelihood import Likelihood, model_likelihood, network_likelihood
from sqlbn.networks.network import Network
from sqlbn.networks.stored_networks import is_stored, read_network, stored_model
from sqlbn.options.catalogue import (
    NetworkKeywords,
    ReadingKeywords,
    SearchKeywords,
    fit_options_known,
    names_of,
)
from sqlbn.options.lists import as_list, names_in
from sqlbn.options.option import listed_words, unknown
from sqlbn.report.graphs import check_drawing, draw_network
from sqlbn.store.spec import cpt_columns

if TYPE_CHECKING:
    import pyarrow as pa


_METHODS = ("hgc", "vfbn1", "vfbn2")
_SEARCH, _KEYWORDS = names_of(SearchKeywords), names_of(NetworkKeywords)


@dataclass(frozen=True)
class Followed:
    """All blocks behind the first window, and the network of the last window."""

    blocks: list[FollowedBlock]
    model: Model


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


def learn(
    data: Any = None,
    method: str = "vfbn2",
    *,
    target: Any = None,
    store: str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[NetworkKeywords],
) -> Model:
    """Learn the structure and the tables of a Bayesian network.

    `method` is hgc (hill climbing on all rows), vfbn1 or vfbn2 (the same from as few rows as a
    bound asks for). With a `target` that is the class, a parent of all other variables, and the
    result is a classifier; without one the network describes all columns alike.
    `options` are those of the search, and those of `sqlbn.fit` about columns, rows, estimates and
    the engine.

    >>> import pyarrow as pa
    >>> rows = pa.table({"rain": ["y", "n"] * 300, "wet": ["y", "n"] * 300})
    >>> learn(rows).parents.to_pydict()["attribute"]
    ['rain']
    """
    if method not in _METHODS:
        raise OptionError(f"choose {listed_words(_METHODS)}", method=method)
    keywords: dict[str, Any] = _fit_keywords(options)
    return fit(
        data,
        NO_CLASS if target is None else target,
        method,
        store=store,
        name=name,
        replace=replace,
        quiet=quiet,
        progress=progress,
        **keywords,
    )


def _fit_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a fit, the options of the search put together."""
    search = {k: v for k, v in options.items() if k in _SEARCH and v is not None}
    others = {k: v for k, v in options.items() if k not in _SEARCH}
    for key in others:
        if key not in _KEYWORDS and key not in fit_options_known():  # which says why not
            raise unknown(key, _KEYWORDS)
    return {**others, "search": search}


def follow(
    data: Any,
    *,
    window: int,
    target: str | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[NetworkKeywords],
) -> Followed:
    """Learn a network from the first `window` rows, then keep it true to the last ones.

    Rows come in their order. Each `block` of them is first judged by the network there is, then
    it comes into the window and the oldest block leaves it. Then every variable's parents are put
    to the test: a parent is added where that is better than the present ones by the bound, and
    removed where it has become useless. `options` are those of `learn` with vfbn2. Categories and
    cut points are those of the first window; a value that comes later counts as one unknown value.
    """
    place = Place.of(store, name, replace)
    progress = told_by(quiet, progress)
    named = NO_CLASS if target is None else target
    settings, chosen = split_options(named, "vfbn2", _fit_keywords(options))
    settings.require_order("network follow")
    learner = chosen.make_learner()
    assert isinstance(learner, Vfbn2)
    search = learner.search
    if window < search.block_rows:
        raise OptionError(f"give at least a block, {search.block_rows} rows", window=window)
    with kept(settings, progress, data) as session:
        if place is not None:
            place.check(session, progress)
        source = open_for_fit(session, data, chosen)
        if place is not None:
            place.check_source(source)
        following = Following(session, source, chosen, search, window, progress)
        found = list(following.run())
        workspace, spec = following.model()
        if place is not None:
            place.keep(workspace, spec, progress)
        return Followed(found, Model(session, workspace, spec))


def load(store: str | Path, name: str) -> Network:
    """The network of a stored model, its class first; an error where the model is not one."""
    return read_network(store=store, name=name).network


def score(
    data: Any = None,
    *,
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ReadingKeywords],
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
    began = time.perf_counter()
    stored = is_stored(bif, store, name)
    progress, rows = told_by(quiet, progress), checked_rows(other_options(options))
    with started(engine_settings(options), progress, data) as session:
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
    seconds = time.perf_counter() - began
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
