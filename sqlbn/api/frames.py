"""Data frames and arrays: labels that come apart from the rows, results as frames."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from sqlbn.data.memory import array_table
from sqlbn.errors import (
    ColumnError,
    OptionError,
    opt,
)

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUTS = ("arrow", "pandas", "polars")
# The name of labels that have none.
_UNNAMED = "target"


def library(data: Any) -> str:
    """The package that a value's type is of."""
    return type(data).__module__.split(".")[0]


# -- rows and labels apart ----------------------------------------------------------------------


def with_target(data: Any, target: Any) -> tuple[Any, str]:
    """Rows with the column to predict, and its name.

    `target` is that name, or the labels themselves: a series, an array or a list, one for each row
    of a data frame, an Arrow table or a numpy array.
    """
    if isinstance(target, str):
        return data, target
    if target is None:
        raise OptionError(f"give the {opt('target')}, the column to predict")
    frame = library(data)
    if frame not in ("pandas", "polars", "pyarrow", "numpy") or not hasattr(data, "shape"):
        raise OptionError(
            f"{opt('target')} is the name of a column of the data; labels apart go with a data "
            "frame, an "
            "Arrow table or a numpy array: fit(X, y)"
        )
    labels, name = _labels(target), _name(target)
    rows = array_table(data) if frame == "numpy" else data
    _check_labels(rows, target, len(labels), name)
    if frame == "pandas":
        joined = rows.copy(deep=False)
        joined[name] = labels.to_pandas().to_numpy()
        return joined, name
    if frame == "polars":
        import polars as pl

        return rows.with_columns(pl.Series(name, pl.from_arrow(labels))), name
    return rows.append_column(name, labels), name


def _check_labels(rows: Any, labels: Any, number: int, name: str) -> None:
    """An error where labels are not those of the rows."""
    columns = [str(c) for c in (getattr(rows, "column_names", None) or rows.columns)]
    if name in columns:
        raise ColumnError(
            f"the data has a column {name!r} already, the name of the labels; leave it out of the "
            "data, or rename the labels"
        )
    if rows.shape[0] != number:
        raise ColumnError(f"the data has {rows.shape[0]:,} rows, and there are {number:,} labels")
    index = getattr(labels, "index", None) if library(rows) == library(labels) == "pandas" else None
    if index is not None and not rows.index.equals(index):
        raise ColumnError(
            "the data and the labels have different indexes; to go by their order: "
            "y.set_axis(X.index)"
        )


def _name(labels: Any) -> str:
    columns = getattr(labels, "column_names", None)  # of an Arrow table
    if columns is None and len(getattr(labels, "shape", ())) == 2:
        columns = list(getattr(labels, "columns", ()))
    name = columns[0] if columns else getattr(labels, "name", None)
    return str(name) if name not in (None, "") else _UNNAMED


def _labels(labels: Any) -> pa.Array:
    """Labels as one Arrow array."""
    import pyarrow as pa

    if len(getattr(labels, "shape", ())) == 2:
        if labels.shape[1] != 1:
            raise ColumnError(f"labels are one column; there are {labels.shape[1]}")
        if isinstance(labels, pa.Table):
            labels = labels.column(0)
        else:
            labels = labels.iloc[:, 0] if library(labels) == "pandas" else labels[:, 0]
    try:
        found = labels.to_arrow() if library(labels) == "polars" else labels
        found = found if isinstance(found, pa.Array | pa.ChunkedArray) else pa.array(found)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise ColumnError(f"the labels cannot be read: {str(error).splitlines()[0]}") from error
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


# -- results as frames --------------------------------------------------------------------------


class Output:
    """What a table of results becomes; the rows of a pandas frame keep their index and types."""

    def __init__(self, kind: str, data: Any) -> None:
        if kind not in OUTPUTS:
            raise OptionError("choose arrow, pandas or polars", output=kind)
        if kind != "arrow" and importlib.util.find_spec(kind) is None:
            raise OptionError(f"{opt('output', kind)} needs {kind}: pip install {kind}")
        self._kind, self._data = kind, data
        self._keeps = kind == "pandas" and library(data) == "pandas"
        self._place = "row of the frame"

    @property
    def data(self) -> Any:
        """The data to read: a pandas frame with the places of its rows, to find them again."""
        if not self._keeps:
            return self._data
        while self._place in self._data.columns:
            self._place += "_"
        return self._data.assign(**{self._place: range(len(self._data))})

    def of(self, table: pa.Table) -> Any:
        """The result in the form that was asked for."""
        if self._kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        if self._kind == "arrow":
            return table
        if not self._keeps:
            return table.to_pandas()
        names = table.column_names
        at = names.index(self._place)
        kept = [c for c in self._data.columns if str(c) in names[:at]]
        found = self._data[kept].iloc[table.column(self._place).to_numpy()].copy()
        for name in names[at + 1 :]:
            found[name] = table.column(name).to_pandas().to_numpy()
        return found
