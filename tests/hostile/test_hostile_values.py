"""Values of attributes and of targets: learned as they are, left out with a word, or refused."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_cases import ROWS, N

import sqlbn
from sqlbn.errors import SqlbnError

HALF = N // 2
TEXTS: dict[str, list[Any]] = {
    "quotes": ["it's", 'quo"te'],
    "case": ["a", "A"],
    "blanks": ["", " "],
    "words": ["NULL", "null"],
    "ends": ["a", "a "],
    "null characters": ["nul\x00", "nul"],
    "controls": ["\x1b[2J", "\x07\r\n"],
    "directions": ["\u202ea", "a"],
    "forms": ["é", "e\u0301"],
    "joined": ["👩‍👩‍👧", "👩"],
    "lines": ["a\nb", "a\r\nb"],
    "separators": ["\u2028", "\u2029"],
    "templates": ["{{ x }}", "{% if %}"],
    "SQL": ["'; DROP TABLE t; --", "--"],
    "names of ours": ["prediction", "p_a"],
    "long": ["x" * 100_000, "x" * 100_001],
    "no numbers": ["nan", "inf"],
    "zeros": ["0", "-0"],
    "numbers": ["1", "1.0"],
    "truth": ["true", "t"],
    "one and none": ["a", None],
    "slashes": ["a\\", "\\\\"],
    "astral": ["\U0010ffff", "\ufffd"],
    "CSV": ["a,b", '"a"'],
    "missing words": ["NA", "?"],
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts(kind: str) -> None:
    """As categories and as classes; each finds its own."""
    pair = TEXTS[kind]
    rows = pa.table({"v": pair * HALF, "c": [f"{i % 2}" for i in range(N)], "t": pair * HALF})
    with sqlbn.fit(rows, "t", "nb") as model:
        found = model.predict(rows)["prediction"].to_pylist()
    assert set(found) == {v for v in pair if v is not None}
    assert all(a == b for a, b in zip(found, pair * HALF, strict=True) if b is not None)


def every(*values: Any, kind: Any = None) -> pa.Array:
    """So many rows of some values in turn."""
    return pa.array([values[i % len(values)] for i in range(N)], kind)


TYPES: dict[str, pa.Array] = {
    "truth": every(True, False),
    "truth or nothing": every(True, None),
    "small": every(-128, 127, kind=pa.int8()),
    "wide": every(2**63 - 1, -(2**63)),
    "unsigned": every(2**64 - 1, 0, kind=pa.uint64()),
    "floats": every(0.1, 0.2, kind=pa.float32()),
    "nearly one": every(1.0, 1 + 2**-52),
    "zeros": every(0.0, -0.0, 1.0),
    "no numbers": every(math.nan, 1.0, None),
    "infinities": every(math.inf, -math.inf),
    "tiny": every(5e-324, 1e-320),
    "huge": every(1.7e308, -1.7e308),
    "decimals": every(decimal.Decimal("1.10"), decimal.Decimal("1.1")),
    "wide decimals": every(
        decimal.Decimal(10) ** 37, decimal.Decimal(0), kind=pa.decimal128(38, 0)
    ),
    "dates": every(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "moments": every(dt.datetime(1970, 1, 1), dt.datetime(2262, 1, 1), kind=pa.timestamp("ns")),
    "zones": every(dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)),
    "times": every(dt.time(0), dt.time(23, 59, 59, 999_999)),
    "spans": every(dt.timedelta(1), dt.timedelta(-1)),
    "dictionaries": every("a", "b").dictionary_encode(),
    "large text": every("a", "b", kind=pa.large_string()),
    "lists": every([1], [2]),
    "structs": every({"a": 1}, {"a": 2}),
    "bytes": every(b"a", b"\xff"),
    "halves": pa.array(np.float16(range(N))),
    "maps": every([("a", 1)], kind=pa.map_(pa.string(), pa.int64())),
    "nothing": pa.nulls(N),
    "one value": every("a"),
    "all different": pa.array([f"#{i}" for i in range(N)]),
    "all different numbers": pa.array(np.arange(N) / 3),
}


@pytest.mark.parametrize("kind", TYPES)
def test_an_attribute_of_a_type(kind: str) -> None:
    rows = ROWS.select(["x", "y"]).append_column("q", TYPES[kind])
    try:
        with sqlbn.fit(rows, "y", "nb") as model:
            found = model.predict(rows)
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert kind in ("halves", "spans"), error
    else:
        assert found.num_rows == N
        assert found["prediction"].null_count == 0


# What can be no class.
NO_TARGETS = {"lists", "structs", "maps", "bytes", "halves", "nothing", "spans"}


@pytest.mark.hostile
@pytest.mark.parametrize("kind", TYPES)
def test_a_target_of_a_type(kind: str) -> None:
    rows = ROWS.select(["x", "z"]).append_column("t", TYPES[kind])
    try:
        with sqlbn.fit(rows, "t", "nb") as model:
            found = model.predict(rows)
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert "'t'" in str(error) or kind in ("halves",)
        assert kind in NO_TARGETS, error
    else:
        assert found.num_rows == N
        assert found["prediction"].null_count == 0
        assert kind not in NO_TARGETS - {"spans"}


WEIGHTS: dict[str, tuple[Any, bool]] = {
    "ones": (every(1), True),
    "zeros": (every(0), False),
    "some zeros": (every(0, 1), True),
    "negative": (every(-1, 1), False),
    "missing": (every(None, 1.0), False),
    "no numbers": (every(math.nan, 1.0), False),
    "infinite": (every(math.inf, 1.0), False),
    "tiny": (every(1e-300, 1.0), True),
    "huge": (every(1e15), False),
    "numbers as text": (every("1", "2"), True),
    "text": (every("a", "2"), False),
    "halves": (every(0.5, 1.5), True),
    "truth": (every(True, False), True),
    "decimals": (every(decimal.Decimal("0.5"), decimal.Decimal("1")), True),
    "lists": (every([1]), False),
    "dates": (every(dt.date(2020, 1, 1)), False),
    "nothing": (pa.nulls(N), False),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(kind: str) -> None:
    weights, fine = WEIGHTS[kind]
    rows = ROWS.select(["x", "y"]).append_column("g", weights)
    try:
        with sqlbn.fit(rows, "y", "nb", weight="g") as model:
            assert model.predict(rows)["prediction"].null_count == 0
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert not fine, error
    else:
        assert fine
