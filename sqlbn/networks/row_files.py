"""Chunks of drawn rows into a Parquet or CSV file, in order, a few in memory at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa

from sqlbn.engines.settings import held_threads
from sqlbn.errors import OptionError
from sqlbn.networks.sampling import CHUNK, Sampler
from sqlbn.outfiles import csv_name, output_format, replacing
from sqlbn.progress import Progress

# One thread writes, the others draw: more than a few would only wait for it.
_MOST_THREADS = 4

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
    used = min(held_threads(threads) if threads else os.cpu_count() or 1, _MOST_THREADS)
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
