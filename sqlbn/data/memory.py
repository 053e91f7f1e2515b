"""Objects in memory as sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb

from sqlbn.data.sampling import staged
from sqlbn.engines import Session
from sqlbn.engines.relations import ROW, Source
from sqlbn.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa


def object_source(session: Session, data: Any, places: bool = False) -> Source:
    """Arrow data, a data frame or a DuckDB relation; with `places` its rows have a number."""
    import pyarrow as pa
    import pyarrow.dataset as pads

    kind = f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
    once = False
    if isinstance(data, duckdb.DuckDBPyRelation):
        data, once = data.to_arrow_reader(), True
    elif kind.startswith("polars."):
        data = data.collect().to_arrow() if kind == "polars.LazyFrame" else data.to_arrow()
    elif kind == "numpy.ndarray":
        data = array_table(data)
    elif isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif isinstance(data, pa.RecordBatchReader):
        once = True
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.Table):
        if not kind.startswith("pandas."):
            data, once = pa.RecordBatchReader.from_stream(data), True
    elif not isinstance(data, pa.Table | pads.Dataset) and not kind.startswith("pandas."):
        raise SourceError(
            f"cannot read data of type {kind}; give paths, an Arrow table or reader, "
            "a pandas or polars data frame, a numpy array, or a DuckDB relation"
        )
    name = session.register(data)
    source = Source(
        relation=name,
        columns=dict(session.columns(name)),
        label=f"the {kind.split('.')[1]}",
        rescannable=not once,
        ordered=not isinstance(data, pads.Dataset | pa.RecordBatchReader) and not _chunked(data),
    )
    numbered = _numbered(data) if places else None
    if numbered is not None:
        source = replace(source, numbered_as=session.register(numbered), place=ROW)
    if once:  # a reader can be read once only, even if the caller asks for the schema twice
        source = staged(session, source)
        session.unregister(name)
    return source


def _numbered(data: Any) -> Any:
    """The same rows with a column that numbers them; None where that would copy them."""
    import numpy as np
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data.append_column(ROW, pa.array(np.arange(data.num_rows)))
    if type(data).__name__ != "DataFrame" or data.columns.nlevels > 1:
        return None
    data = data.copy(deep=False)
    data[ROW] = np.arange(len(data))
    return data


def _chunked(data: Any) -> bool:
    columns = getattr(data, "columns", []) if type(data).__module__.startswith("pyarrow") else []
    return any(column.num_chunks > 1 for column in columns)


def array_table(array: Any) -> pa.Table:
    """A numpy array of rows and columns as a table of columns x0, x1, …"""
    import pyarrow as pa

    if array.dtype.names:
        return pa.table({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise SourceError(
            f"an array of data has rows and columns; this one has {array.ndim} dimensions"
        )
    return pa.table({f"x{i}": pa.array(array[:, i]) for i in range(array.shape[1])})
