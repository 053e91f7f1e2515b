"""How much one statement may hold: its planning grows faster than its expressions.

DuckDB 2.0, 5,000 rows: count(DISTINCT) of 1,000 columns took minutes in one statement, a second in
blocks of 50. The values are read when they are needed: tests lower them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

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
