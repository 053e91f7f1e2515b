"""Rows in a repeatable random order, the same for any engine; rows copied to be read again."""

from __future__ import annotations

import numpy as np

from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.model_database import scanned
from sqlbn.engines.relations import Source, parquet_row_key
from sqlbn.engines.sql import identifier

# Shuffled numbers are below this.
WORD = 2**32


def drawing(seed: int, *purpose: int) -> np.random.Generator:
    """What a purpose draws from, by a seed of any sign.

    >>> bool(drawing(-1, 2).random() == drawing(-1, 2).random())
    True
    """
    return np.random.default_rng([seed % 2**64, *purpose])


def shuffle_sql(row_key: str, seed: int, dialect: Dialect = DUCKDB) -> str:
    """A number below 2^32 that looks random, from a row's number and the seed.

    A multiply-and-shift mix of 32-bit words that fits 64-bit arithmetic; the engine's own hash()
    may change between versions, this must not.
    """
    start = (seed * 2654435769 + 374761393) % WORD
    small = f"(({row_key})::UBIGINT % 4294967291)"
    mixed = f"((({dialect.times(small, 2654435761, WORD)}) + {start}) % {WORD})"
    for shift, factor in ((15, 2246822519), (13, 3266489917)):
        shifted = dialect.xor(mixed, f"{mixed} >> {shift}")
        mixed = f"({dialect.times(shifted, factor, WORD)})"
    return mixed


def staged(session: Session, source: Source, columns: list[str] | None = None) -> Source:
    """The source copied to a scratch file: cheap to scan again, with a row number.

    Only the named columns are kept.
    """
    names = columns if columns is not None else list(source.columns)
    if not session.row_engine.is_local:
        from sqlbn.data.spark_source import staged_in_spark

        return staged_in_spark(session, source, names)
    path = session.scratch_file("staged", ".parquet")
    items = ", ".join(identifier(n) for n in names) or "1 AS nothing"
    with session.in_order(source.ordered):
        session.write_parquet(source.select(items), path)
    return Source(
        relation=scanned(path),
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=parquet_row_key(),
        query=source.query,
    )
