"""Which network is meant: that of a BIF file, or that of a stored model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines import Session
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import literal, render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import NetworkError, OptionError, SqlbnWarning, opt
from sqlbn.kinds.estimates import Chain, log_factor
from sqlbn.kinds.product.factor_tables import FactorTables
from sqlbn.networks.bif import read_bif
from sqlbn.networks.network import Network, Variable
from sqlbn.store import open_store
from sqlbn.store.spec import ModelSpec, labels_of, read_spec

Array = npt.NDArray[Any]

# What stands for a missing value among the states.
MISSING = "?"
# Sums this far from 1 are those of back-off, not of rounding.
_ROUNDING = 1e-9
_FEW = 5


def network_of(workspace: Workspace, spec: ModelSpec) -> Network:
    """The network of a stored model: its class first, then its attributes in their order.

    States are the values of training; a missing value is a state of its own unless the model leaves
    missing values out. Probabilities are the model's own. Where it backs off cell by cell these do
    not sum to 1: they are divided by their sum, and a warning says so.
    """
    check_is_network(workspace, spec)
    return _Reader(workspace, spec).network()


def check_is_network(workspace: Workspace, spec: ModelSpec) -> None:
    """An error that says why, where a model is more than one product of probabilities."""
    learner = spec.meta.get("learner", "")
    if spec.scoring.mixture:
        raise NetworkError(
            f"a model of {learner} is {spec.scoring.mixture}, not one; fit "
            f"{spec.scoring.nearest} instead"
        )
    if spec.level_weights:
        raise NetworkError(
            f"this model of {learner} has weights of attributes, which no network can say; fit it "
            f"with {opt('weights', 'none')}"
        )
    # Early models have no column of weights; theirs count in full.
    columns = {name for name, _ in workspace.session.columns(workspace.table("attributes"))}
    if "weight" not in columns:
        return
    partial = workspace.read(
        "attributes",
        "attribute",
        "weight",
        where="selected AND weight <> 1",
        order=("position",),
    )
    if partial:
        name, weight = partial[0]
        raise NetworkError(
            f"the attribute {name!r} counts with weight {weight:.3g} in this model of {learner}, "
            f"which no network can say; fit nb, or snb with {opt('map', True)}"
        )


class _Reader:
    """Reads a model's tables once; what it had to divide is told at the end."""

    def __init__(self, workspace: Workspace, spec: ModelSpec) -> None:
        self._workspace, self._spec, self._smoothing = workspace, spec, spec.smoothing
        self._target = spec.target.name if spec.has_class else ""
        self._codes = {i: self._values(i) for i in spec.selected}
        self._divided: list[str] = []

    def network(self) -> Network:
        """Every variable's states and table."""
        meta = self._spec.meta
        variables = [self._class()] if self._target else []
        variables += [self._attribute(i) for i in self._spec.selected]
        if not variables:
            raise NetworkError("the model has no attribute: there is no network in it")
        if self._divided:
            shown = ", ".join(map(repr, self._divided[:_FEW]))
            more = f" and {len(self._divided) - _FEW} more" if len(self._divided) > _FEW else ""
            warnings.warn(
                f"the probabilities of {shown}{more} back off cell by cell and do not sum to 1: in "
                "the network they are divided by their sum, so it may differ from the model; "
                f"{opt('backoff', 'parents')} makes a model that does not",
                SqlbnWarning,
                stacklevel=4,
            )
        return Network(tuple(variables), meta.get("name") or meta["learner"])

    # -- states --------------------------------------------------------------------------------

    def _values(self, position: int) -> list[int]:
        """The codes that are states; an attribute without any value has only the missing one."""
        book = self._spec.books[position]
        ignored = self._smoothing.ignored_codes(book.n_values, book.missing)
        codes = [code for code in range(book.n_values) if code not in ignored]
        return codes or list(range(book.n_values))

    def _states(self, position: int) -> list[str]:
        book = self._spec.books[position]
        table, column = labels_of(book)
        own = f"attribute = {literal(book.name)} AND {column} IS NOT NULL"
        known = dict(self._workspace.read(table, "code", column, where=own))
        if book.missing is not None:
            known[book.missing] = MISSING
        return distinct([str(known[code]) for code in self._codes[position]])

    # -- tables --------------------------------------------------------------------------------

    def _class(self) -> Variable:
        prior = np.exp(self._spec.log_prior)
        return Variable(self._target, self._spec.class_names, (), prior / prior.sum())

    def _attribute(self, position: int) -> Variable:
        spec = self._spec
        book, above = spec.books[position], spec.parents[position]
        parents = [spec.books[v].name for v in above]
        table = self._table(position)
        if not self._target:
            table = table[0]
        else:
            parents.insert(0, self._target)
        return Variable(book.name, self._states(position), parents, table)

    def _table(self, position: int) -> Array:
        """P(x | class, parents), in the order class, parents, value."""
        family = (position, *self._spec.parents[position])
        logs = family_logs(self._workspace, self._spec, position)
        kept = logs[np.ix_(*(self._codes[v] for v in family), range(logs.shape[-1]))]
        axes = range(kept.ndim)
        table: Array = np.exp(np.transpose(kept, [axes[-1], *axes[1:-1], 0]))
        sums = table.sum(axis=-1, keepdims=True)
        if self._smoothing.backoff == "cell" and (np.abs(sums - 1) > _ROUNDING).any():
            self._divided.append(self._spec.books[position].name)
        table /= sums
        return table


def family_logs(workspace: Workspace, spec: ModelSpec, position: int) -> Array:
    """ln P(value | parents, class) as scoring has it, fitted weights included, axes in that order.

    There is a slot for unseen values on every axis but the class.
    """
    books = [spec.books[v] for v in (position, *spec.parents[position])]
    radices = [*(b.n_values for b in books), len(spec.class_names)]
    cells = prod(b.slots for b in books) * radices[-1]
    if cells > workspace.session.limits.network_cells:
        raise NetworkError(
            f"the table of {books[0].name!r} given {len(books) - 1} others would have "
            f"{cells:,} numbers: that is too many; fit with fewer parents or fewer values"
        )
    found = workspace.session.arrays(
        render("count/stored_counts", counts=workspace.table("counts"), positions=[position])
    )
    counts = np.zeros(prod(radices))
    counts[found["key"]] = found["n"]
    smoothing = spec.smoothing
    ignored = [smoothing.ignored_codes(b.n_values, b.missing) for b in books]
    chain = Chain(spec.strengths.get(position, ()), spec.level_weights.get(position))
    return log_factor(counts.reshape(radices), smoothing, ignored, chain)


def smoothed_copy(workspace: Workspace, spec: ModelSpec) -> tuple[Workspace, ModelSpec]:
    """A model of the same counts in which unseen values have a probability, in its own workspace.

    What says nothing of the class is 1 in the tables of scoring, which no likelihood can be.
    """
    copy = Workspace(workspace.session, weighted=bool(spec.meta["weight"]))
    for name in ("categories", "classes"):
        copy.copy(name, workspace.table(name))
    encoded = Encoded(
        "",
        (*(book.n_values for book in spec.books), len(spec.class_names)),
        int(spec.meta["rows"]),
        weighted=bool(spec.meta["weight"]),
        missing=tuple(book.missing for book in spec.books),
        limits=workspace.session.limits,
    )
    counts = FamilyCounts(copy, encoded, {i: (i, *spec.parents[i]) for i in spec.selected})
    copy.insert_from(counts.name, workspace.select("counts"))
    smoothing = replace(spec.smoothing, unseen="smoothed")
    chains = {i: Chain(spec.strengths.get(i, ())) for i in counts.families}
    factors = FactorTables(counts, smoothing, chains).make()
    meta = {**spec.meta, "unseen": smoothing.unseen}
    return copy, replace(spec, meta=meta, factors=tuple(factors))


def distinct(labels: Sequence[str]) -> list[str]:
    """Labels that are told apart: one that is there already gets a `_`.

    >>> distinct(["?", "a", "?"])
    ['?', 'a', '?_']
    """
    found: dict[str, None] = {}
    for label in labels:
        while label in found:
            label += "_"
        found[label] = None
    return list(found)


@dataclass(frozen=True)
class GivenNetwork:
    """A network, and which of its variables is the class; None where none is."""

    network: Network
    target: str | None = None


def read_network(
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
) -> GivenNetwork:
    """The network of a BIF file (or a `Network` itself), or that of the model `name` of a store."""
    if is_stored(bif, store, name):
        with Session() as session, stored_model(session, store, name) as (workspace, spec):
            target = spec.target.name if spec.has_class else None
            return GivenNetwork(network_of(workspace, spec), target)
    assert bif is not None
    return GivenNetwork(bif if isinstance(bif, Network) else read_bif(bif))


def is_stored(bif: str | Path | Network | None, store: str | Path | None, name: str | None) -> bool:
    """Whether a stored model is meant; an error where not exactly one network is named."""
    if bif is not None and (store is not None or name is not None):
        raise OptionError(f"give {opt('bif')}, or {opt('store')} with {opt('name')}, not both")
    if bif is None and store is None and name is None:
        raise OptionError(f"say which network: {opt('bif')}, or {opt('store')} with {opt('name')}")
    if bif is None and name is None:
        raise OptionError(f"say which of its models with {opt('name')}", store=store)
    if bif is None and store is None:
        raise OptionError(
            f"say which file holds it with {opt('store')} (models.duckdb, unless you gave another)",
            name=name,
        )
    return bif is None


@contextmanager
def stored_model(
    session: Session, store: str | Path | None, name: str | None
) -> Iterator[tuple[Workspace, ModelSpec]]:
    """The tables of a model, and what they say."""
    assert store is not None and name is not None
    workspace = open_store(store).load(session, name)
    try:
        spec = read_spec(workspace)
        spec.require_columns("no network can be asked")
        yield workspace, spec
    finally:
        workspace.drop()
