"""Where the rows are: the one interface through which every pass reads them.

A model's tables always lie in the model database; rows are read by a row engine, which is that same
DuckDB or Spark. What a pass collects from it are counts, sums and samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from sqlbn.engines.dialects import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

Arrays = dict[str, npt.NDArray[Any]]

# The column that numbers persisted rows where an engine does not number them by itself.
ROW_NUMBER = "__sqlbn_row_number"


@dataclass(frozen=True)
class Numbering:
    """The order in which a query's rows get their numbers, from 0: expressions over its columns.

    `pieces` never fall along that order. Rows of one piece are sorted in one place, so there should
    be many pieces, but not too many to be counted one by one.
    """

    order: tuple[str, ...]
    pieces: tuple[str, ...]

    @classmethod
    def by(cls, column: str, rows: int) -> Numbering:
        """The order of a column of whole numbers that has few gaps, so many rows in one place."""
        return cls((column,), (f"{column} // {rows}",))


@dataclass(frozen=True)
class Persisted:
    """Rows that a pass left for later ones: a relation, its file if it is one, and the expression
    that numbers its rows from 0 in the order they had (None: they have no number)."""

    relation: str
    scratch: Path | None = None
    row_number: str | None = None


class RowEngine(Protocol):
    """Runs statements over rows; their text is DuckDB's, with the dialect's expressions.

    A statement may name tables of the model database, such as lookup tables to join with: they are
    small, and an engine elsewhere broadcasts them when they are first named, until `unbroadcast`.
    """

    dialect: Dialect
    # Whether rows are read on this machine: from files written here, in a stream, in its memory.
    is_local: bool
    # Whether it is better to persist what was joined than to join it again.
    joins_once: bool
    # Whether persisted rows are numbered in the order of their query whoever asks for it.
    numbers_rows: bool
    # Whether predictions come out in the order of the rows.
    keeps_order: bool

    @property
    def block_cells(self) -> int:
        """Cells that a block of counts may have."""

    @property
    def blocks_at_once(self) -> int:
        """Blocks that one statement counts."""

    @property
    def joins_at_once(self) -> int:
        """Joins that one statement should have."""

    @property
    def cores(self) -> int:
        """How many of them share the rows of a statement."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a small result."""

    def row(self, sql: str) -> tuple[Any, ...]:
        """The one row of an aggregate."""

    def arrays(self, sql: str) -> Arrays:
        """A result as one numpy array a column; NULLs are masked."""

    def all_arrays(self, statements: Sequence[str]) -> Iterator[Arrays]:
        """Several results of which none needs another, in the order of the statements."""

    def arrow(self, sql: str) -> pa.Table:
        """A result as an Arrow table."""

    def batches(self, sql: str) -> AbstractContextManager[pa.RecordBatchReader]:
        """A result as a stream of Arrow batches, for what may not fit in memory."""

    def collect(self, sql: str) -> AbstractContextManager[str]:
        """A result as a relation of the model database, to select from once."""

    def persist(
        self, statement: str, stem: str, size: int = 0, numbering: Numbering | None = None
    ) -> Persisted:
        """The rows of a query, of about so many bytes, for later passes.

        With a `numbering` they have a number each, without gaps, in the column `ROW_NUMBER`; it is
        for engines that do not number rows by themselves.
        """

    def unpersist(self, kept: Persisted) -> None:
        """Free what persisted rows take."""

    def unbroadcast(self, table: str) -> None:
        """Free what a table of the model database takes that statements have named."""

    def joins_as_written(self) -> AbstractContextManager[None]:
        """Keep the order of joins: in scoring it is known."""

    def in_order(self, already: bool) -> AbstractContextManager[None]:
        """Keep the rows of a source in order that several threads would mix up."""

    def check_target(self, out: str) -> None:
        """An error where rows cannot be written to such a path; before the work."""

    def write(self, sql: str, out: str) -> int:
        """The rows of a query as Parquet or CSV; how many they were."""

    def close(self) -> None:
        """Free everything."""
