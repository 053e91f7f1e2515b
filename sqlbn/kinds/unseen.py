"""How many rows have values that training had not: a category, or a missing value, never seen.

One scan, before that of scoring (what is refused is not written), of the columns that can have any.
Numbers beyond those of training are not unseen: they fall into the first or the last interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlbn.data import Source
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines import Session
from sqlbn.engines.limits import in_blocks
from sqlbn.engines.sql import NAMES, render, select_sql
from sqlbn.errors import UnseenError
from sqlbn.kinds.compiler import Scorer, code_items


@dataclass(frozen=True)
class Unseen:
    """Rows with an unseen value by column, only those that have any, and all rows."""

    rows: int
    columns: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """The share of rows by column."""
        return {name: n / self.rows for name, n in self.columns.items()}

    def __str__(self) -> str:
        """One line, the worst column first; empty where all values are known."""
        worst = sorted(self.columns.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {_percent(n / self.rows)} of rows" for name, n in worst)

    def refuse(self) -> None:
        """An error where some value was never seen."""
        if self.columns:
            raise UnseenError(f"values that the model has never seen: {self}; nothing was written")


def count_unseen(
    session: Session, trained: Sequence[Codebook], scorer: Scorer, source: Source
) -> Unseen:
    """Count the rows of a source with values that the codebooks of training lack, by column."""
    # Which interval or category a value is does not matter here. With one code for all of a column
    # of whole numbers its bounds in a file's statistics can tell that none is unseen, without rows.
    books = tuple(
        replace(book, cuts=(), groups=tuple(0 for _ in book.categories or ()) or None)
        for book in trained
    )
    scorer = replace(scorer, books=books)
    able = [v for v in scorer.used if _can_be_unseen(scorer, v)]
    row_engine = session.row_engine
    rows = int(row_engine.row(source.select("count(*)"))[0])
    if not able or not rows:
        return Unseen(rows, {})
    found: dict[str, int] = {}
    for block in in_blocks(able, session.limits.statement_columns):
        counts = row_engine.row(unseen_sql(scorer, block, source.filtered_relation))
        found |= {scorer.books[v].column: int(n) for v, n in zip(block, counts, strict=True) if n}
    return Unseen(rows, found)


def _can_be_unseen(scorer: Scorer, v: int) -> bool:
    """Not so a quantity that was missing in training too: any number is in some interval."""
    book = scorer.books[v]
    of_numbers = book.kind == "numeric" and book.column in scorer.same_type
    return not of_numbers or book.missing is None or book.missing == 0


def unseen_sql(scorer: Scorer, able: Sequence[int], relation: str) -> str:
    """For every column that can have them, the number of rows with an unseen value.

    Rows without any are filtered out first: they are nearly all.
    """
    codes, joins, values = code_items(scorer, NAMES.code, able)
    over = values.over(relation)
    coded = render("encode/codes", items="1 AS one", codes=codes, joins=joins, relation=over)
    tests = [f"{NAMES.code}{v} = {scorer.books[v].unseen}" for v in able]
    sums = ", ".join(f"count(*) FILTER (WHERE {test})" for test in tests)
    return select_sql(f"({coded})", sums, where=" OR ".join(tests))


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.1f} %"
