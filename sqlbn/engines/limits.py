"""How much one statement may hold: its planning grows faster than its expressions.

DuckDB 2.0, 5,000 rows: count(DISTINCT) of 1,000 columns took minutes in one statement, a second in
blocks of 50. The values are read when they are needed: tests lower them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Every tuning constant, as one value that a session carries: `session.limits`.

    A fit, a prediction and a test of either get another by `Settings(limits=Limits(…))`, in Python
    `sqlbn.fit(…, limits=Limits(…))`. What a constant means and where it was measured stands beside
    it; what users may choose is an option, not a limit.
    """

    # -- engines, data -----------------------------------------------------------------------

    # -- encoding ----------------------------------------------------------------------------

    # -- counts ------------------------------------------------------------------------------

    # -- structure, search -------------------------------------------------------------------

    # -- models ------------------------------------------------------------------------------

    # -- store, updates ----------------------------------------------------------------------

    # Columns of views and lookup tables with a comment in a store. One takes 0.1 ms, but in a table
    # of 1,000 columns 0.8 ms (the engine copies the table's description every time).
    stored_comments: int = 500
    # How long to wait for another process that has the store open, in seconds: it holds the file
    # for a moment only. Before the work less, for a reader may stay for hours; after it longer, for
    # the work is at stake.
    store_patience: float = 10.0
    store_patience_before: float = 3.0
    store_patience_after: float = 60.0
    # A wait of more than this is said; the file is tried again so often.
    store_wait_unsaid: float = 1.0
    store_retry: float = 0.2

    # -- evaluation, networks, export --------------------------------------------------------


# Columns that one statement over rows looks at.
COLUMNS = 100
# Terms of one sum: the engine refuses expressions that are 1,000 deep, and a + b + c is 2 deep.
TERMS = 100
# Joins, and joins times classes, of one scoring query; a larger model is scored in several.
MOST_JOINS = 64
MOST_LOOKUPS = 2000
# The same of each of these.
JOINS = 32
LOOKUPS = 1000
# Classes times attributes of leave-one-out by queries: with few rows, and with many.
LOO_LOOKUPS = (500, 10_000)
# Classes past which the tables of chains are made in arrays (1,000: 0.2 s instead of 3 s a table).
CHAIN_CLASSES = 100
# Joins and lookups of the macro `predict`, which has one query only: past that it refuses. 200
# joins of 2 classes are planned in 17 s, 20 of 1,000 in 4 s.
SQL_JOINS = 250
SQL_LOOKUPS = 30_000


def in_blocks(items: Sequence[T], most: int | None = None) -> list[Sequence[T]]:
    """The items in order, at most so many at once; as even as may be."""
    n = len(items)
    blocks = -(-n // (most or COLUMNS))
    return [items[n * b // blocks : n * (b + 1) // blocks] for b in range(blocks)]


def added(terms: Sequence[str]) -> str:
    """The sum of some expressions; a sum of sums where they are many."""
    if len(terms) <= TERMS:
        return " + ".join(terms)
    return added([f"({' + '.join(block)})" for block in in_blocks(terms, TERMS)])
