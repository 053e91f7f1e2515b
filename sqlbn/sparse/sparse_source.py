"""Long input is opened: the cells, the labels beside them, the columns by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlbn.data import open_source
from sqlbn.data.long_rows import LongNames, LongRows
from sqlbn.data.sampling import staged
from sqlbn.engines import Session
from sqlbn.engines.relations import Source
from sqlbn.errors import OptionError, opt
from sqlbn.options.lists import names_in
from sqlbn.store.spec import ModelSpec


def open_cells(session: Session, data: Any, **rows: Any) -> Source:
    """A source of cells, which is read several times."""
    if not session.row_engine.is_local:
        raise OptionError(f"{opt('long')} is read by DuckDB, not by Spark")
    source = open_source(session, data, **rows)
    return source if source.rescannable else staged(session, source)


def open_long(
    session: Session, data: Any, given: Sequence[str], target: str, labels: Any, **rows: Any
) -> LongRows:
    """Cells and labels to learn from."""
    names = LongNames.of(names_in(given))
    cells = open_cells(session, data, **rows)
    return with_labels(session, names.within(cells), cells, target, labels)


def with_labels(
    session: Session, names: LongNames, cells: Source, target: str, labels: Any
) -> LongRows:
    """The same for cells that are open already."""
    found = open_cells(session, labels) if labels is not None else None
    return LongRows(names, cells, target, found)


def open_long_like(
    session: Session, spec: ModelSpec, data: Any, labels: Any, **rows: Any
) -> LongRows:
    """Cells and labels for a model: they have the columns that it was learned from."""
    rules = spec.scoring.rules  # type: ignore[attr-defined]
    if rules.left_out is None and labels is None:
        raise OptionError(f"the model has its classes from a table of labels: give {opt('labels')}")
    cells = open_cells(session, data, **rows)
    return with_labels(session, rules.names.within(cells), cells, spec.target.name, labels)
