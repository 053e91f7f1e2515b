"""Which network is meant: that of a BIF file, or that of a stored model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlbn.draft import Draft
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import OptionError, opt
from sqlbn.networks.bif import read_bif
from sqlbn.networks.network import Network
from sqlbn.networks.stored import network_of
from sqlbn.store import open_store
from sqlbn.store.spec import ModelSpec, read_spec


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
        with DuckDBEngine() as engine, stored_model(engine, store, name) as (draft, spec):
            target = spec.target.name if spec.has_class else None
            return GivenNetwork(network_of(draft, spec), target)
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
    engine: DuckDBEngine, store: str | Path | None, name: str | None
) -> Iterator[tuple[Draft, ModelSpec]]:
    """The tables of a model, and what they say."""
    assert store is not None and name is not None
    draft = open_store(store).load(engine, name)
    try:
        yield draft, read_spec(draft)
    finally:
        draft.drop()
