"""What every step reads: the rows of a source with a checked schema, and rows as codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sqlbn.engines.limits import Limits
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.sql import RESERVED, identifier, select_sql
from sqlbn.errors import ColumnError
from sqlbn.text import shown

ROW = f"{RESERVED}source_row"
# What the engine calls the place of a row in Parquet files.
PLACES = frozenset({"file_index", "file_row_number"})


@dataclass(frozen=True)
class SourceFile:
    """A file that rows come from; `part` is what its place in a table adds to every row of it.

    `state` tells a remote file from what it was before: its ETag or its time of change.
    """

    path: str
    size: int
    part: str = ""
    state: str = ""

    @property
    def name(self) -> str:
        """The path as it is stored: without passwords."""
        return shown(self.path)


@dataclass(frozen=True)
class Source:
    """Rows that can be selected from, again and again.

    `relation` can stand behind FROM. `row_key` numbers the rows the same way in every scan,
    whatever the number of threads; None where the engine cannot tell. `rescannable` is False
    where every scan would parse everything anew (CSV, a query) or cannot be repeated. `ordered` is
    False where several threads would mix up the rows. `hidden` are columns that are not the user's.
    `numbered`: the relation has a column `ROW` besides, which is the row key. `numbered_as` is the
    same relation where only that one has the `row_key`. `place` numbers the rows as they lie, where
    that is not the order of the `row_key`. `query` is what a query asks of the files that it names.
    """

    relation: str
    columns: dict[str, str]
    label: str
    files: tuple[SourceFile, ...] = ()
    row_key: str | None = None
    rescannable: bool = True
    ordered: bool = True
    where: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    numbered: bool = False
    numbered_as: str | None = None
    place: str | None = None
    query: str | None = None

    def column(self, name: str, role: str = "column") -> str:
        """The exact spelling of a column; engines ignore case, so we do where it is unambiguous."""
        if name in self.columns:
            return name
        same = [c for c in self.columns if c.lower() == name.lower()]
        if len(same) == 1:
            return same[0]
        known = [c for c in self.columns if c not in self.hidden]
        close = difflib.get_close_matches(name, known, n=3) or known[:5]
        more = ", …" if len(close) < len(known) else ""
        raise ColumnError(
            f"{role} {name!r} is not in {self.label}; there is {', '.join(map(repr, close))}{more}"
        )

    def has(self, name: str) -> bool:
        """Whether `column` would find a column of that name."""
        return name in self.columns or [c.lower() for c in self.columns].count(name.lower()) == 1

    def filtered(self, *conditions: str) -> Source:
        """The rows that also satisfy these conditions."""
        return replace(self, where=(*self.where, *conditions))

    @property
    def where_sql(self) -> str:
        """The WHERE clause, or nothing."""
        # The line break ends a comment that a user's condition may close with.
        return "WHERE " + " AND ".join(f"({c}\n)" for c in self.where) if self.where else ""

    def select(self, items: str) -> str:
        """A query for some expressions over the rows."""
        return f"{select_sql(self.relation, items)} {self.where_sql}".rstrip()

    @property
    def numbered_relation(self) -> str:
        """The relation in which rows have their `row_key`."""
        return self.numbered_as or self.relation

    @property
    def with_numbers(self) -> Source:
        """The same rows, from the relation in which they have their `row_key`."""
        return replace(self, relation=self.numbered_relation)

    @property
    def has_places(self) -> bool:
        """Whether rows can be told by their place; a column of the user's may be called like it."""
        key = self.place or self.row_key
        read = PLACES if key == parquet_row_key() else {key}
        return key is not None and read.isdisjoint(name.lower() for name in self.columns)

    def in_places(self, columns: Iterable[str]) -> str:
        """Some columns of the filtered rows, and in `ROW` what puts them into their order again.

        Joins mix up the rows as soon as two threads work (DuckDB 2.0, also where it is told to keep
        insertion order). Without places of its own a scan is numbered by one thread.
        """
        place = self.place or self.row_key if self.has_places else "row_number() OVER ()"
        items = ", ".join([*map(identifier, columns), f"{place} AS {ROW}"])
        source = self.with_numbers if self.has_places else self
        return f"({source.select(items)})"

    @property
    def filtered_relation(self) -> str:
        """The rows as something that can stand behind FROM, filters applied."""
        if self.numbered:
            return f"({self.select(f'* EXCLUDE ({ROW})')})"
        return f"({self.select('*')})" if self.where else self.relation


def parquet_row_key() -> str:
    """Row number over a list of Parquet files: file and row give the same in every scan."""
    return "(file_index::UBIGINT * 1099511627776 + file_row_number)"


@dataclass(frozen=True)
class CodeArrays:
    """Codes of few rows in memory: a column for every variable, the class last, and weights."""

    columns: Sequence[npt.NDArray[Any]]
    w: npt.NDArray[Any] | None


@dataclass(frozen=True)
class Encoded:
    """A table of codes: variables 0..d-1 are attributes, x0, x1, …; variable d is the class, y.

    `missing` has the code of missing values of each attribute, None where it has none. Where rows
    are `weighted`, leaving one out takes 1 from the counts, or with `importance` its whole weight.
    Those of a trial may be in `arrays` alone: then there is no relation.
    """

    relation: str
    cards: tuple[int, ...]
    rows: int
    weighted: bool
    scratch: Path | None = None
    missing: tuple[int | None, ...] = ()
    block_cells: int = Limits.block_cells
    number: str | None = None
    importance: bool = False
    limits: Limits = field(default_factory=Limits)
    arrays: CodeArrays | None = field(default=None, repr=False, compare=False)

    @property
    def persisted(self) -> Persisted:
        """What the row engine knows these rows by."""
        return Persisted(self.relation, self.scratch, self.number)

    @property
    def row_number(self) -> str:
        """The expression that numbers the rows from 0."""
        if self.number is not None:
            return self.number
        return "rowid" if self.scratch is None else "file_row_number"

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.cards) - 1

    @property
    def class_variable(self) -> int:
        """The variable that stands for the class."""
        return len(self.cards) - 1

    def column(self, variable: int) -> str:
        """The column that holds a variable's codes."""
        return "y" if variable == self.class_variable else f"x{variable}"

    @property
    def total_sql(self) -> str:
        """The aggregate that counts rows."""
        return "sum(w)" if self.weighted else "count(*)"
