"""`sqlbn.sample`: which network is meant, what is added to it, and the rows into a file."""

from __future__ import annotations

from pathlib import Path

from sqlbn.errors import OptionError, opt
from sqlbn.networks.bif import write_bif
from sqlbn.networks.network import Network
from sqlbn.networks.random_networks import CLASS, RandomModel, random_network, with_irrelevant
from sqlbn.networks.reading import read_network
from sqlbn.networks.row_files import write_rows
from sqlbn.networks.sampling import Disturbance, Sampler
from sqlbn.outfiles import check_folder, is_same, output_format
from sqlbn.progress import ConsoleProgress, Progress


def sample(
    out: str | Path,
    rows: int,
    *,
    bif: str | Path | Network | None = None,
    store: str | Path | None = None,
    name: str | None = None,
    random: str | None = None,
    seed: int = 0,
    attributes: int | None = None,
    values: int | None = None,
    classes: int | None = None,
    edges: int | None = None,
    irrelevant: int = 0,
    noise: float = 0.0,
    missing: float = 0.0,
    target: str | None = None,
    save_bif: str | Path | None = None,
    threads: int | None = None,
    quiet: bool = True,
    progress: Progress | None = None,
) -> Network:
    """Draw rows from a Bayesian network into a Parquet or CSV file; the network is returned.

    It is that of a BIF file (or a `Network`), that of the model `name` of a `store`, or a `random`
    one: nb, tan or ban, a class and `attributes` (19) of `values` states (2), for ban with `edges`
    in all. `irrelevant` attributes depend on nothing; `noise` and `missing` are the probabilities
    that a cell of an attribute holds any state or none. The class is spared, or the `target` where
    that is given (a BIF file does not say what its class is). The same seed draws the same
    rows: the first of them whatever the number of rows, and what is not spoiled with and without
    noise, missing values and irrelevant attributes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sample(f"{folder}/rows.parquet", 1000, random="tan", seed=1)
    <sqlbn network 'tan_1': 20 variables, 37 arcs>
    """
    path = Path(out)
    _check_paths(path, bif, save_bif)
    sizes = {"attributes": attributes, "values": values, "classes": classes, "edges": edges}
    given = {option: size for option, size in sizes.items() if size is not None}
    spoiled = noise > 0 or missing > 0
    is_there = bif is not None or store is not None or name is not None
    if is_there == (random is not None):
        raise OptionError(
            f"give one of {opt('bif')}, {opt('store')} with {opt('name')}, and {opt('random')}"
        )
    if is_there:
        _check_given(given, irrelevant, target, spoiled)
        found = read_network(bif, store, name)
        network, target = found.network, target or found.target
    else:
        if target is not None:
            raise OptionError(
                f"{opt('target')} is for {opt('bif')}: the class of a random network is {CLASS!r}"
            )
        network, target = random_network(RandomModel(str(random), **given), seed), CLASS
    network = with_irrelevant(network, irrelevant, given.get("values", 2))
    sampler = Sampler(network, seed, Disturbance(noise, missing, target))
    progress = progress or (Progress() if quiet else ConsoleProgress())
    write_rows(sampler, path, rows, threads, progress)
    if save_bif is not None:
        write_bif(network, save_bif)
    return network


def _check_paths(out: Path, bif: str | Path | Network | None, save_bif: str | Path | None) -> None:
    """Nothing that is read is written over, and no row is drawn for a path that cannot be."""
    output_format(out)
    written = [("out", out)]
    if save_bif is not None:
        check_folder(Path(save_bif), "save_bif")
        written.append(("save_bif", Path(save_bif)))
        if out.resolve() == Path(save_bif).resolve():
            raise OptionError(
                f"{opt('save_bif', save_bif)} is what {opt('out')} names; write to another"
            )
    for option, path in written:
        if isinstance(bif, str | Path) and is_same(path, bif):
            raise OptionError(f"{opt(option, path)} is the file that is read; write to another")


def _check_given(sizes: dict[str, int], irrelevant: int, target: str | None, spoiled: bool) -> None:
    """Options that say nothing about a network that is there already."""
    for name in sizes:
        if name != "values":
            raise OptionError(f"{opt(name)} is for {opt('random')}: the network says what there is")
        if not irrelevant:
            raise OptionError(f"{opt('values')} is for {opt('random')} or {opt('irrelevant')}")
    if target is not None and not spoiled:
        raise OptionError(
            f"{opt('target')} spares a variable from {opt('noise')} or {opt('missing')}: give "
            "one of them"
        )
