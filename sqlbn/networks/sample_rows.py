"""`sqlbn.sample`: which network is meant, what is added to it, and the rows into a file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa

from sqlbn.engines.limits import Limits
from sqlbn.engines.output_files import (
    check_folder,
    csv_name,
    is_same,
    output_format,
    replacing,
)
from sqlbn.engines.progress import ConsoleProgress, Progress
from sqlbn.engines.settings import held_threads
from sqlbn.errors import OptionError, opt
from sqlbn.networks.bif import write_bif
from sqlbn.networks.network import Network
from sqlbn.networks.random_networks import (
    CHUNK,
    CLASS,
    Disturbance,
    RandomModel,
    Sampler,
    random_network,
    with_irrelevant,
)
from sqlbn.networks.stored_networks import read_network

_Write = Callable[[pa.RecordBatch], None]


def write_rows(
    sampler: Sampler, path: Path, rows: int, threads: int | None, progress: Progress
) -> None:
    """Draw `rows` rows into a file. `threads` changes the time it takes, not the file."""
    if rows < 1:
        raise OptionError("give at least 1", rows=rows)
    if threads is not None and threads < 1:
        raise OptionError("give at least 1", threads=threads)
    form = output_format(path)
    number = -(-rows // CHUNK)
    used = min(held_threads(threads) if threads else os.cpu_count() or 1, Limits.sampling_threads)
    opened = _parquet if form == "parquet" else _csv
    try:
        with (
            progress.stage("sample", "drawing", rows, number),
            replacing(path) as part,
            opened(part, sampler.schema) as write,
            closing(_chunks(sampler, rows, used)) as chunks,
        ):
            for chunk in chunks:
                write(chunk)
                progress.advance()
    except OSError as error:
        raise OptionError(f"{error.strerror or error}", out=path) from error


def _chunks(sampler: Sampler, rows: int, threads: int) -> Generator[pa.RecordBatch, None, None]:
    """All chunks in order, drawn by all threads but the one that takes them; some are ahead."""
    tasks = ((i, min(CHUNK, rows - start)) for i, start in enumerate(range(0, rows, CHUNK)))
    if threads == 1:
        yield from (sampler.chunk(*task) for task in tasks)
        return
    ahead: deque[Future[pa.RecordBatch]] = deque()
    pool = ThreadPoolExecutor(threads - 1)
    try:
        for task in tasks:
            ahead.append(pool.submit(sampler.chunk, *task))
            if len(ahead) == threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[_Write]:
    """A chunk is a row group; its columns stay dictionaries of texts and small integers."""
    import pyarrow.parquet as pq

    # Smallest and largest states of random rows would help no reader, and cost a third of the time.
    with pq.ParquetWriter(path, schema, write_statistics=False) as writer:
        yield lambda chunk: writer.write_batch(chunk, row_group_size=CHUNK)


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[_Write]:
    """A missing value is nothing, an empty text is in quotes."""
    import pyarrow.csv as csv

    texts = pa.schema([pa.field(name, pa.string()) for name in schema.names])
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as file:
        file.write((",".join(map(csv_name, schema.names)) + "\n").encode())
        with csv.CSVWriter(file, texts, write_options=options) as writer:
            yield lambda chunk: writer.write_batch(_decoded(chunk, texts))


def _decoded(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.dictionary_decode() for column in chunk.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


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
