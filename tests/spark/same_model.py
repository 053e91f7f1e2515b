"""Models of two engines side by side: what is compared, and the data they are learned from."""

import datetime as dt
import json
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sqlbn
from sqlbn.api.model import Model

TARGET = "the `kind`"
SPARK = {"engine": "spark", "master": "local[2]"}
TOLERANCE = 1e-9
# What differs from run to run, or tells where rows were read.
# What a run says of itself; `chunks` are how it held its rows, which engines group in other ways.
_OWN_META = {
    *("seconds", "created_at", "updated_at", "engine", "duckdb", "python", "platform", "chunks"),
}
_OWN_COLUMNS = {"changed_at"}

_TEXTS = ("it's", 'quo"te', "back\\slash", "`tick`", "a.b", "", " ", "🍋", "NULL", "ä", "A", None)


def hostile_rows(n: int, seed: int = 5) -> pa.Table:
    """Columns of all kinds under names that need quoting, with missing values and twins."""
    rng = random.Random(seed)
    kinds = [rng.choice(["so", "so", "it's", "`b.c`\\"]) for _ in range(n)]
    at = [["so", "it's", "`b.c`\\"].index(kind) for kind in kinds]

    def some(make: Any, missing: float = 0.1) -> list[Any]:
        return [None if rng.random() < missing else make(i) for i in range(n)]

    day = dt.date(2024, 2, 27)
    noon = dt.datetime(2024, 1, 1, 12)
    columns = {
        'te"xt': pa.array([_TEXTS[(3 * at[i] + rng.randrange(5)) % 12] for i in range(n)]),
        "select": pa.array(some(lambda i: rng.random() < 0.3 + 0.3 * at[i])),
        "a.b": pa.array(some(lambda i: rng.randrange(3) + at[i]), pa.int16()),
        "größe 🍋": pa.array(
            [rng.choice([math.nan, round(rng.gauss(at[i], 1), 1)]) for i in range(n)]
        ),
        "back\\slash": pa.array(some(lambda i: rng.randrange(80) + 30 * at[i]), pa.int32()),
        "`tick`": pa.array(some(lambda i: day + dt.timedelta(rng.randrange(9) * (1 + at[i])))),
        "it's": pa.array(
            some(lambda i: noon + dt.timedelta(seconds=rng.randrange(9999))), pa.timestamp("us")
        ),
        "group by": pa.array(
            some(lambda i: Decimal(rng.randrange(-99, 999 * (1 + at[i]))) / 100),
            pa.decimal128(9, 2),
        ),
        "nothing": pa.nulls(n, pa.string()),
        "w": pa.array([rng.choice([0.0, 1.0, 2.0, 0.3]) for _ in range(n)]),
        TARGET: pa.array([None if rng.random() < 0.02 else kind for kind in kinds]),
    }
    return pa.table(columns)


def write_lake(folder: Path, n: int = 330, seed: int = 5) -> str:
    """These rows in several files; a pattern for them."""
    rows = hostile_rows(n, seed)
    third = n // 3
    for part in range(3):
        size = third if part < 2 else n - 2 * third
        pq.write_table(rows.slice(part * third, size), folder / f"part {part}.parquet")
    return str(folder / "*.parquet")


@contextmanager
def both(data: Any, learner: str | None, **options: Any) -> Iterator[tuple[Model, Model]]:
    """The model of the rows as DuckDB and as Spark learns it."""
    options = {"target": TARGET, **options}
    with (
        sqlbn.fit(data, learner=learner, **options) as one,
        sqlbn.fit(data, learner=learner, **SPARK, **options) as other,
    ):
        yield one, other


def assert_same(one: Model, other: Model) -> None:
    """Every table of two models has the same rows."""
    names, others = one._workspace.names(), other._workspace.names()
    assert names == others
    for name in names:
        mine, theirs = (m._session.arrow(f"FROM {m._workspace.table(name)}") for m in (one, other))
        if name == "meta":
            assert _meta(mine) == _meta(theirs)
        else:
            assert_same_rows(mine, theirs, name)


def assert_same_rows(one: pa.Table, other: pa.Table, what: str = "") -> None:
    """Two tables hold the same rows in some order, numbers up to rounding."""
    assert one.schema.names == other.schema.names, what
    exact = [f.name for f in one.schema if not pa.types.is_floating(f.type)]
    exact = [name for name in exact if name not in _OWN_COLUMNS]
    loose = [f.name for f in one.schema if pa.types.is_floating(f.type)]
    assert [one.schema.field(n).type for n in exact] == [other.schema.field(n).type for n in exact]
    mine, theirs = (_sorted_rows(table, exact, loose) for table in (one, other))
    assert [key for key, _ in mine] == [key for key, _ in theirs], what
    for (key, values), (_, found) in zip(mine, theirs, strict=True):
        for column, a, b in zip(loose, values, found, strict=True):
            assert _close(a, b), f"{what}: {column} of {key} is {a} and {b}"


def _sorted_rows(
    table: pa.Table, exact: list[str], loose: list[str]
) -> list[tuple[tuple[str, ...], list[float | None]]]:
    lists = table.to_pydict()
    rows = [
        (tuple(repr(lists[n][i]) for n in exact), [lists[n][i] for n in loose])
        for i in range(table.num_rows)
    ]
    return sorted(rows, key=lambda row: (row[0], [_rounded(x) for x in row[1]]))


def _rounded(value: float | None) -> tuple[bool, float]:
    return value is None, round(value, 6) if value is not None and not math.isnan(value) else 0.0


def _close(a: float | None, b: float | None) -> bool:
    if a is None or b is None or math.isnan(a) or math.isnan(b):
        return repr(a) == repr(b)
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _meta(table: pa.Table) -> dict[str, Any]:
    found = dict(zip(*(table.column(c).to_pylist() for c in ("key", "value")), strict=True))
    return {key: _plain(value) for key, value in found.items() if key not in _OWN_META}


def _plain(value: Any) -> Any:
    """Numbers to a few places, also in what a value of the meta table lists."""
    try:
        read = json.loads(value)
    except (TypeError, ValueError):
        return value
    return json.loads(json.dumps(read), parse_float=lambda text: f"{float(text):.8g}")
