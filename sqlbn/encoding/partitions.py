"""Which partition a column gets: the methods of discretisation and what each finds.

A new method is an entry in `INTERVALS` (cut points supervised by the class) or, like `ef`, a road
of its own in books.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.encoding.categories import categories_sql, insert_categories
from sqlbn.encoding.codebook import Codebook, column_sql, comparable
from sqlbn.encoding.discretise.mdl import mdl_partition
from sqlbn.encoding.discretise.modl import cuts_at, modl_partition
from sqlbn.encoding.discretise.modl_groups import modl_groups
from sqlbn.encoding.value_classes import Array, Labelled, ValueClasses
from sqlbn.encoding.variables import PartCounts, Variable, variable_of
from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import OptionError, SqlbnWarning
from sqlbn.lists import as_list, names_in

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Grouped:
    """The groups of a column: what they tell, and their counts, missing values last."""

    variable: Variable
    counts: Array


def learn_groups(
    rows: Labelled, workspace: Workspace, book: Codebook, keep: bool
) -> Grouped | None:
    """Group the categories of a column and write them, unless they tell nothing.

    With `keep` they are written all the same. None where the values are too many by class.
    """
    session = rows.session
    counted = session.fresh_name("counted")
    value = comparable(book, column_sql("i", book.name), dialect=session.row_engine.dialect)
    with session.row_engine.brought(rows.counts_statement(value)) as found:
        session.execute(f"CREATE TABLE {counted} AS FROM {found}")
    try:
        totals = f"(SELECT value, sum(n) AS n FROM {counted} GROUP BY value)"
        statement = categories_sql(totals)
        grouped = _grouped(rows, book, counted)
        groups = None
        if grouped is None:
            _warn_many(book.name)
        elif grouped[0].variable.used or keep:
            groups = _by_value(rows, statement, grouped[1])
        else:
            return grouped[0]
        insert_categories(workspace, book, statement, groups)
        return grouped[0] if grouped is not None else None
    finally:
        session.execute(f"DROP TABLE {counted}")


def _grouped(rows: Labelled, book: Codebook, counted: str) -> tuple[Grouped, Array] | None:
    """The groups, and that of each value in sorted order; None where there is no room."""
    n_values, some_missing = rows.session.row(
        f"SELECT count(DISTINCT value), count(*) > count(value) FROM {counted}"
    )
    if n_values > rows.most_groupable:
        return None
    found = rows.session.arrays(render("encode/numbered_values", counted=counted))
    counts = rows.zeros(int(n_values) + bool(some_missing), rows.n_classes)
    counts[found["place"], found["class"]] = found["n"]
    group = _groups_of(counts[: int(n_values)])
    n_groups = int(group.max(initial=-1)) + 1
    parts = rows.zeros(n_groups + bool(some_missing), rows.n_classes)
    np.add.at(parts, group, counts[: int(n_values)])
    if some_missing:
        parts[-1] = counts[-1]
    sized = Codebook(
        book.name, book.sql_type, "categorical", len(parts), n_groups if some_missing else None
    )
    variable = variable_of(sized, PartCounts.of(parts), len(counts), len(counts))
    return Grouped(variable.or_left_out(), parts), group


def _groups_of(counts: Array) -> Array:
    """The group of each value, numbered as they first occur."""
    if len(counts) == 0:
        return np.zeros(0, np.int64)
    return np.asarray(modl_groups(counts).group)


def _by_value(rows: Labelled, statement: str, group: Array) -> pa.Table | None:
    """Groups as (value, group); None where every value is its own."""
    import pyarrow as pa

    if len(group) == 0 or int(group.max()) + 1 == len(group):
        return None
    values = rows.session.arrow(
        f"SELECT value FROM ({statement}) WHERE value IS NOT NULL ORDER BY code"
    )
    return values.append_column("group", pa.array(group.astype(np.int64)))


def _warn_many(name: str) -> None:
    warnings.warn(
        f"{name} has too many values by class to be grouped in memory; they stay as they are "
        "(raise --memory-limit, or --exclude it)",
        SqlbnWarning,
        stacklevel=2,
    )


METHODS = ("ef", "mdl", "modl")
# The best of several, by leave-one-out.
AUTO = "auto"
ENCODINGS = "ef:5,ef:10,ef:20,ef:50,mdl,modl"
DEFAULT_BINS = 5


@dataclass(frozen=True)
class Discretisation:
    """How columns become parts: by equal frequency, or supervised by the class."""

    method: str = "ef"
    bins: int = DEFAULT_BINS

    @property
    def intervals(self) -> Callable[[ValueClasses], Sequence[int]] | None:
        """The supervised search for cut points; None for equal frequency."""
        return INTERVALS.get(self.method)

    def options(self) -> dict[str, Any]:
        """What the meta table tells of it."""
        return {"discretise": self.method} | ({"bins": self.bins} if self.method == "ef" else {})

    def __str__(self) -> str:
        return f"ef:{self.bins}" if self.method == "ef" else self.method

    @property
    def groups_values(self) -> bool:
        """Whether categories are put into groups."""
        return self.method == "modl"


def candidates(given: str | Sequence[str] = ()) -> list[Discretisation]:
    """The encodings that are tried, written as in `ef:20,modl`; without any, the usual ones.

    >>> candidates("ef:20,modl")
    [Discretisation(method='ef', bins=20), Discretisation(method='modl', bins=5)]
    """
    found = []
    for word in names_in(as_list(given or ENCODINGS)):
        method, _, bins = word.strip().partition(":")
        if method not in METHODS or (bins and (method != "ef" or not bins.isdigit())):
            raise OptionError(f"--encodings {word.strip()!r}: write for example {ENCODINGS}")
        if bins and int(bins) < 2:
            raise OptionError(f"--encodings {word.strip()!r}: give at least 2 intervals")
        found.append(Discretisation(method, int(bins) if bins else DEFAULT_BINS))
    return list(dict.fromkeys(found))


def checked_method(method: str, bins: int | None) -> str:
    """The method where it is known and goes with the number of bins."""
    if method not in (*METHODS, AUTO):
        raise OptionError(f"--discretise {method}: choose {', '.join((*METHODS, AUTO))}")
    if bins is not None and method != "ef":
        raise OptionError(f"--bins goes with --discretise ef; {method} finds their number itself")
    return method


def _modl(cells: ValueClasses) -> Sequence[int]:
    found: list[int] = modl_partition(cells.counts, cells.missing).bounds.tolist()
    return found


def _mdl(cells: ValueClasses) -> Sequence[int]:
    found: list[int] = mdl_partition(cells.counts).tolist() if cells.some_present else []
    return found


INTERVALS: dict[str, Callable[[ValueClasses], Sequence[int]]] = {"mdl": _mdl, "modl": _modl}


def cut_points(cells: ValueClasses, bounds: Sequence[int]) -> tuple[float, ...]:
    """The cut points of intervals that begin at the cells in `bounds`."""
    return cuts_at(cells.uppers, np.array(bounds, dtype=np.intp))
