"""How many rows have values that training had not: a category, or a missing value, never seen.

One scan of the columns in use, beside that of scoring, and before it: what is refused is not written.
Numbers beyond those of training are not unseen: they fall into the first or the last interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlbn.engines.lake import Lake
from sqlbn.errors import UnseenError
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.query import Scorer, code_items
from sqlbn.sources import Source
from sqlbn.store.spec import ModelSpec
from sqlbn.templates import render


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


def count_unseen(lake: Lake, spec: ModelSpec, scorer: Scorer, source: Source) -> Unseen:
    """Count the rows of a source that have unseen values, by column."""
    if not scorer.used:
        return Unseen(0, {})
    scorer = replace(scorer, books=spec.books)
    counts = lake.row(unseen_sql(scorer, source.filtered_relation))
    names = (scorer.books[v].name for v in scorer.used)
    found = {name: int(n) for name, n in zip(names, counts[1:], strict=True) if n}
    return Unseen(int(counts[0]), found)


def unseen_sql(scorer: Scorer, relation: str) -> str:
    """The number of rows, and for every column in use that of rows with an unseen value."""
    codes, joins = code_items(scorer, NAMES.code)
    coded = render("codes", items="1 AS one", codes=codes, joins=joins, relation=relation)
    sums = [
        f"count(*) FILTER (WHERE {NAMES.code}{v} = {scorer.books[v].unseen})" for v in scorer.used
    ]
    return f"SELECT {', '.join(['count(*)', *sums])} FROM ({coded})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.1f} %"
