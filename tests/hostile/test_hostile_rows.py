"""Rows to predict that are none of the model's: each gets a prediction, or the table one line."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile_cases import ROWS, made_store

import sqlbn
from sqlbn.errors import SqlbnError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlbn.Model]:
    """Its attributes: x is text, z a whole number of categories, w a quantity."""
    with sqlbn.load(made_store(tmp_path_factory.mktemp("rows")), "m") as found:
        yield found


def scored(model: sqlbn.Model, rows: Any, number: int) -> None:
    """As many predictions as rows, and probabilities that are some."""
    found = model.predict(rows)
    assert found.num_rows == number
    assert found["prediction"].null_count == 0
    p = np.column_stack([found["p_a"].to_numpy(), found["p_b"].to_numpy()])
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert np.abs(p.sum(axis=1) - 1).max(initial=0) < 1e-9


DAY = dt.date(2020, 2, 29)
ARRAYS: dict[str, pa.Array] = {
    "nothing": pa.nulls(3),
    "no text": pa.nulls(3, pa.string()),
    "no number": pa.nulls(3, pa.float64()),
    "text": pa.array(["v0", "", "new"]),
    "large text": pa.array(["v0", "", None], pa.large_string()),
    "long text": pa.array(["x" * 1_000_000] * 3),
    "null characters": pa.array(["v0\x00", "\x00", "v0"]),
    "controls": pa.array(["\x1b[2J", "\r\n", "\u202e"]),
    "quotes": pa.array(["'", '"', "';--"]),
    "numbers as text": pa.array(["1", "1.0", " 1 "]),
    "exponents as text": pa.array(["1e0", "1e999", "0x1"]),
    "infinities as text": pa.array(["inf", "nan", "-Infinity"]),
    "separators as text": pa.array(["1_000", "1,5", "١"]),
    "truth": pa.array([True, False, None]),
    "bytes": pa.array([b"v0", b"\xff\xfe", None]),
    "small": pa.array([-128, 127, 0], pa.int8()),
    "large": pa.array([2**63 - 1, -(2**63), 0]),
    "unsigned": pa.array([2**64 - 1, 0, 1], pa.uint64()),
    "half": pa.array(np.float16([1, np.inf, np.nan])),
    "floats": pa.array([1.0, 0.5, -0.0], pa.float32()),
    "infinite": pa.array([math.inf, -math.inf, math.nan]),
    "tiny": pa.array([5e-324, -5e-324, 1.7e308]),
    "just off": pa.array([1 + 2**-52, 1 - 2**-53, 0.1 + 0.2]),
    "decimals": pa.array([decimal.Decimal("1.00"), decimal.Decimal("-0.01"), None]),
    "wide decimals": pa.array(
        [decimal.Decimal(10) ** 30, decimal.Decimal(1), None], pa.decimal128(38, 0)
    ),
    "dates": pa.array([DAY, dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "moments": pa.array([dt.datetime(2020, 1, 1)] * 3, pa.timestamp("ns")),
    "zones": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 3),
    "times": pa.array([dt.time(1)] * 3),
    "spans": pa.array([dt.timedelta(days=1)] * 3),
    "lists": pa.array([[1], [], None]),
    "structs": pa.array([{"a": 1}, {"a": None}, None]),
    "maps": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "dictionaries": pa.array(["v0", None, "v1"]).dictionary_encode(),
    "dictionaries of numbers": pa.array([1, None, 0]).dictionary_encode(),
    "run ends": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), pa.array(["v0", "new"])
    ),
    "views": pa.array(["v0", "x" * 20, None], pa.string_view()),
}


@pytest.mark.parametrize("column", ["x", "z", "w"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_a_column_of_another_type(kind: str, column: str, model: sqlbn.Model) -> None:
    rows = ROWS.slice(0, 3).drop_columns(["y"])
    rows = rows.set_column(rows.column_names.index(column), column, ARRAYS[kind])
    try:
        scored(model, rows, 3)
    except SqlbnError as error:
        assert "\n" not in str(error)
        # Of true and false the model of a column of words knows nothing: they would all be unseen.
        assert kind in REFUSED or (kind, column) == ("truth", "x"), error


# A nested value has no text of its own; Arrow's newest types are not all known to the engine.
REFUSED = {"lists", "structs", "maps", "bytes", "half", "spans", "run ends", "views"}


def few(**columns: Any) -> pa.Table:
    return pa.table({"x": ["v0", None], "z": [1, None], "w": [0.5, None], **columns})


TABLES: dict[str, tuple[Any, int]] = {
    "no rows": (few().slice(0, 0), 0),
    "one row": (few().slice(0, 1), 1),
    "other order": (few().select(["w", "x", "z"]), 2),
    "other case": (few().rename_columns(["X", "Z", "W"]), 2),
    "with its class": (few(y=["a", "none such"]), 2),
    "with columns nobody knows": (few(**{"'; --": [1, 2], "q": [[1], [2]]}), 2),
    "of many chunks": (pa.concat_tables([few()] * 300), 600),
    "of empty chunks": (pa.concat_tables([few(), few().slice(0, 0), few()]), 4),
    "a slice": (pa.concat_tables([few()] * 9).slice(5, 3), 3),
    "pandas": (few().to_pandas(), 2),
    "pandas with an odd index": (few().to_pandas().set_index(pd.Index(["q", "q"])), 2),
    "pandas of objects": (
        pd.DataFrame({"x": ["v0", 1], "z": [1, "a"], "w": [None, 2.5]}, dtype=object),
        2,
    ),
    "pandas of nullable": (few().to_pandas().convert_dtypes(), 2),
    "pandas of categories": (few().to_pandas().astype({"x": "category"}), 2),
    "polars": (pl.from_arrow(few()), 2),
    "polars, lazy": (pl.from_arrow(few()).lazy(), 2),
    "polars of categories": (
        pl.from_arrow(few()).with_columns(pl.col("x").cast(pl.Categorical)),
        2,
    ),
    "a reader": (few().to_reader(), 2),
    "a batch": (few().to_batches()[0], 2),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_of_rows(what: str, model: sqlbn.Model) -> None:
    rows, number = TABLES[what]
    try:
        scored(model, rows, number)
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert what in ("polars, lazy", "a batch", "a reader", "pandas of objects"), error


NO_TABLES: dict[str, Any] = {
    "nothing": None,
    "a number": 7,
    "a list": [1, 2],
    "a list of rows": [{"x": "v0"}],
    "bytes": b"x",
    "a set": {1},
    "a function": len,
    "a matrix": np.zeros((2, 2, 2)),
    "an empty list": [],
    "no columns": pa.table({}),
    "no such column": pa.table({"q": [1]}),
    "a part": pa.table({"x": ["v0"]}),
    "twice": pa.Table.from_arrays([pa.array(["v0"])] * 2, ["x", "x"]),
    "a string": "no such file.parquet",
    "an empty string": "",
    "an empty frame": pd.DataFrame(),
    "a series": pd.Series([1]),
    "names that are numbers": pd.DataFrame({0: [1], 1: [2]}),
    "an array": pa.array([1]),
    "columns of several levels": pd.DataFrame(
        [[1]], columns=pd.MultiIndex.from_tuples([("x", "z")])
    ),
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_what_is_no_table_of_rows(what: str, model: sqlbn.Model) -> None:
    with pytest.raises((SqlbnError, TypeError)) as caught:
        model.predict(NO_TABLES[what])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 10
