"""A repeatable random order of rows in plain integer SQL: the same for any engine and threads."""

from __future__ import annotations

from sqlbn.engines.dialects import DUCKDB, Dialect

# Shuffled numbers are below this.
WORD = 2**32


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
