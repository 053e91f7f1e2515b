"""Sources: the same rows give the same model, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import sqlbn
from sqlbn.errors import ColumnError, OptionError, SourceError

Tables = dict[str, list[dict[str, Any]]]
TABLES = {
    "classes": "code",
    "attributes": "position",
    "cuts": "attribute, code",
    "categories": "attribute, code",
    "parents": "attribute, rank",
    "cmi": "attribute, other",
    "counts": "position, key",
    "families": "position, axis",
    "factors": "factor",
}


def model_tables(data: Any, **options: Any) -> Tables:
    """The tables of the model that a fit gives; types of columns may differ by source."""
    with sqlbn.fit(data, "kind", "kdb", **{"k": 2, **options}) as model:
        found = {name: model._table(name, order).to_pylist() for name, order in TABLES.items()}
    for row in found["attributes"]:
        del row["type"]
    return found


@pytest.fixture(scope="module")
def rows(fruit: pa.Table) -> pa.Table:
    """The fruit without NaN: CSV and pandas cannot tell it from NULL."""
    width = pa.array([None if w != w else w for w in fruit["width"].to_pylist()], pa.float64())
    return fruit.set_column(fruit.column_names.index("width"), "width", width)


@pytest.fixture(scope="module")
def wanted(rows: pa.Table) -> Tables:
    return model_tables(rows)


# -- files ------------------------------------------------------------------------------------


def parts(rows: pa.Table, folder: Path, write: Callable[[pa.Table, Path], None], end: str) -> None:
    for i in range(3):
        write(rows.slice(100 * i, 100), folder / f"part-{i}.{end}")


def parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path)


def csv(rows: pa.Table, path: Path) -> None:
    pa_csv.write_csv(rows, path)


def hive(rows: pa.Table, folder: Path) -> None:
    """Partitioned by `spots`; the folder names carry its values."""
    with duckdb.connect() as con:
        con.register("rows", rows)
        con.execute(f"COPY rows TO '{folder}' (FORMAT parquet, PARTITION_BY (spots))")


def test_a_file(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    parquet(rows, tmp_path / "fruit.parquet")
    assert model_tables(tmp_path / "fruit.parquet") == wanted
    assert model_tables(str(tmp_path / "fruit.parquet")) == wanted


def test_a_list_a_pattern_and_a_folder(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    parts(rows, tmp_path, parquet, "parquet")
    assert model_tables([tmp_path / f"part-{i}.parquet" for i in range(3)]) == wanted
    assert model_tables(str(tmp_path / "*.parquet")) == wanted
    assert model_tables(str(tmp_path / "**" / "part-?.parquet")) == wanted
    assert model_tables(tmp_path) == wanted


def test_a_file_named_twice_is_read_once(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    parquet(rows, tmp_path / "fruit.parquet")
    twice = [str(tmp_path / "fruit.parquet"), str(tmp_path / "*.parquet")]
    assert model_tables(twice) == wanted


def test_a_hive_folder(rows: pa.Table, tmp_path: Path) -> None:
    hive(rows, tmp_path / "lake")
    turned = rows.select(["colour", "ripe", "weight", "width", "kind", "spots"])
    wanted = model_tables(turned)
    assert model_tables(tmp_path / "lake") == wanted
    assert model_tables(str(tmp_path / "lake" / "*" / "*.parquet")) == wanted
    assert "spots" in [row["attribute"] for row in wanted["attributes"]]


def test_a_csv_file_and_several(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    csv(rows, tmp_path / "fruit.csv")
    assert model_tables(tmp_path / "fruit.csv") == wanted
    (tmp_path / "lake").mkdir()
    parts(rows, tmp_path / "lake", csv, "csv")
    assert model_tables(str(tmp_path / "lake" / "*.csv")) == wanted
    assert model_tables(tmp_path / "lake") == wanted


@pytest.mark.parametrize("name", ["a[1].parquet", "what?.parquet", "st*r.parquet", "it's.parquet"])
def test_names_with_wildcards_in_them(
    rows: pa.Table, wanted: Tables, tmp_path: Path, name: str
) -> None:
    parquet(rows, tmp_path / name)
    parquet(rows.slice(0, 50), tmp_path / "a1.parquet")  # what the pattern would match
    parquet(rows.slice(0, 50), tmp_path / "whats.parquet")
    parquet(rows.slice(0, 50), tmp_path / "star.parquet")
    assert model_tables(tmp_path / name) == wanted


def test_a_csv_name_with_wildcards_in_it(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    csv(rows, tmp_path / "a[1]*.csv")
    csv(rows.slice(0, 50), tmp_path / "a1x.csv")
    assert model_tables(tmp_path / "a[1]*.csv") == wanted


def test_parquet_without_its_ending(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    parquet(rows, tmp_path / "fruit")
    assert model_tables(tmp_path / "fruit") == wanted


def test_a_file_of_no_known_format(tmp_path: Path) -> None:
    (tmp_path / "fruit.xyz").write_text("apple")
    with pytest.raises(SourceError, match="neither Parquet, CSV nor a DuckDB file"):
        model_tables(tmp_path / "fruit.xyz")


def test_files_of_several_formats(rows: pa.Table, tmp_path: Path) -> None:
    parquet(rows, tmp_path / "a.parquet")
    csv(rows, tmp_path / "b.csv")
    with pytest.raises(SourceError, match=r"several formats \(csv, parquet\)"):
        model_tables([tmp_path / "a.parquet", tmp_path / "b.csv"])


def test_nan_in_a_parquet_file_is_missing(fruit: pa.Table, tmp_path: Path) -> None:
    """Writers leave NaN out of a file's statistics, and the engine believes these."""
    parquet(fruit, tmp_path / "fruit.parquet")
    wanted = model_tables(fruit)
    assert model_tables(tmp_path / "fruit.parquet") == wanted
    assert {"attribute": "width", "code": 5, "lower": None, "upper": None, "label": None} in (
        wanted["cuts"]
    )


def test_nan_in_a_parquet_file_is_missing_at_prediction(fruit: pa.Table, tmp_path: Path) -> None:
    parquet(fruit, tmp_path / "fruit.parquet")
    with sqlbn.fit(fruit, "kind", "nb") as model:
        from_file = model.predict(tmp_path / "fruit.parquet")["p_plum"].to_pylist()
        assert from_file == model.predict(fruit)["p_plum"].to_pylist()


# -- databases --------------------------------------------------------------------------------


@pytest.fixture
def database(rows: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "fruit.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE fruit AS FROM rows")
        con.execute("CREATE VIEW ripe_or_not AS FROM fruit")
        con.execute("CREATE SCHEMA other")
        con.execute('CREATE TABLE other."odd name" AS FROM fruit')
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"table": "fruit"},
        {"table": "main.fruit"},
        {"table": "ripe_or_not"},
        {"table": "other.odd name"},
        {"query": "SELECT * FROM fruit"},
        {"query": "FROM fruit -- all of it"},
        {"query": "WITH f AS (FROM fruit) FROM f;"},
    ],
)
def test_a_table_a_view_and_a_query(
    wanted: Tables, database: Path, options: dict[str, str]
) -> None:
    assert model_tables(database, **options) == wanted


def test_the_only_table_needs_no_name(rows: pa.Table, wanted: Tables, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "one.db")) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE fruit AS FROM rows")
    assert model_tables(tmp_path / "one.db") == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'fruit', 'ripe_or_not', 'other.odd name'; choose with table or query"),
        ({"table": "nuts"}, "has no table 'nuts'; it holds 'fruit'"),
        ({"table": "fruit", "query": "FROM fruit"}, "give table or query, not both"),
        ({"query": "DROP TABLE fruit"}, "query takes one SELECT statement"),
        ({"query": "FROM fruit; FROM fruit"}, "query takes one SELECT statement"),
        ({"query": "not sql"}, "query is not SQL"),
        ({"query": "FROM nowhere"}, "query cannot be used: 'nowhere' is no table"),
    ],
)
def test_a_choice_that_cannot_be_met(database: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(sqlbn.SqlbnError) as caught:
        model_tables(database, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_table_and_query_need_a_database(rows: pa.Table, fruit_file: str) -> None:
    for data in (rows, fruit_file):
        with pytest.raises(OptionError, match="goes with a DuckDB database file"):
            model_tables(data, table="fruit")


DUCKDB_TYPES = {
    "hugeints": "(170141183460469231731687303715884105727::HUGEINT - i % 20)",
    "uhugeints": "(340282366920938463463374607431768211455::UHUGEINT - (i % 3)::UHUGEINT)",
    "uuids": "('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID",
    "enums": "(CASE WHEN i % 2 = 0 THEN 'u' ELSE 'v' END)::ENUM ('v', 'u', 'w')",
    "infinite dates": "[DATE 'infinity', DATE '-infinity', DATE '2020-01-01' + i::INT][1 + i % 3]",
    "infinite moments": "[TIMESTAMP 'infinity', TIMESTAMP '2020-01-01' + to_days(i::INT)][1 + i%2]",
    "time zones": "(TIMESTAMP '2020-01-01' + to_days(i::INT))::TIMESTAMPTZ",
    "far dates": "(DATE '0001-01-01' + (i * 90000)::INT)",
    "dates before Christ": "(DATE '0300-01-01 (BC)' + (i * 9000)::INT)",
}


@pytest.mark.parametrize("kind", DUCKDB_TYPES)
def test_a_column_of_a_type_of_the_database(kind: str, tmp_path: Path) -> None:
    path, store = str(tmp_path / "data.duckdb"), tmp_path / "models.duckdb"
    with duckdb.connect(path) as con:
        con.execute(
            f"CREATE TABLE t AS SELECT {DUCKDB_TYPES[kind]} AS q, i % 3 AS z, "
            f"(i % 4 = 0)::VARCHAR AS y FROM range(40) AS r(i)"
        )
    with sqlbn.fit(path, "y", k=1, store=store, name="m") as model:
        assert "q" in model.attributes["attribute"].to_pylist()
        wanted = model.predict(path)
    assert wanted.num_rows == 40
    with sqlbn.load(store, "m") as model:
        assert model.predict(path)["prediction"].equals(wanted["prediction"])


# -- objects ----------------------------------------------------------------------------------

OBJECTS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow chunks": lambda rows: pa.concat_tables([rows.slice(0, 7), rows.slice(7)]),
    "arrow reader": lambda rows: rows.to_reader(max_chunksize=64),
    "arrow batch": lambda rows: rows.combine_chunks().to_batches()[0],
    "arrow dataset": pads.dataset,
    "pandas": lambda rows: rows.to_pandas(),
    "pandas with arrow types": lambda rows: rows.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda rows: pl.from_arrow(rows).lazy(),
    "duckdb relation": lambda rows: duckdb.sql("FROM rows"),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_object_in_memory(rows: pa.Table, wanted: Tables, kind: str) -> None:
    assert model_tables(OBJECTS[kind](rows)) == wanted


def test_an_object_that_is_no_table() -> None:
    with pytest.raises(SourceError, match=r"cannot read data of type builtins\.dict"):
        model_tables({"kind": [1]})
    with pytest.raises(SourceError, match="no data given"):
        model_tables([])


# -- which rows and columns -------------------------------------------------------------------


def test_where_filters_rows(rows: pa.Table, fruit_file: str) -> None:
    filtered = duckdb.sql("FROM rows WHERE spots < 3 OR ripe").to_arrow_table()
    assert model_tables(rows, where="spots < 3 OR ripe") == model_tables(filtered)
    assert model_tables(rows, where="spots < 3 OR ripe -- why") == model_tables(filtered)


def test_columns_and_exclude_choose_attributes(rows: pa.Table) -> None:
    chosen = model_tables(rows.select(["colour", "ripe", "kind"]))
    assert model_tables(rows, columns=["ripe", "colour"]) == chosen
    assert model_tables(rows, exclude=["spots", "weight", "width"]) == chosen
    assert model_tables(rows, columns=["RIPE", "Colour"]) == chosen


@pytest.mark.parametrize("option", ["columns", "exclude", "categorical", "numeric", "keep"])
def test_an_unknown_column_is_named_with_its_neighbours(rows: pa.Table, option: str) -> None:
    with pytest.raises(ColumnError, match="'color' is not in the Table; there is 'colour'"):
        model_tables(rows, **{option: ["color"]})


# -- samples ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_table() -> pa.Table:
    """150,000 rows: more than the sample that cut points come from."""
    rng = np.random.default_rng(9)
    kind = rng.integers(0, 2, 150_000)
    return pa.table({"x": rng.normal(kind, 1.0), "z": rng.random(150_000), "kind": kind})


def split_files(table: pa.Table, folder: Path) -> str:
    for i in range(5):
        pq.write_table(
            table.slice(30_000 * i, 30_000), folder / f"{i}.parquet", row_group_size=7_000
        )
    return str(folder / "*.parquet")


def test_samples_do_not_depend_on_threads(long_table: pa.Table, tmp_path: Path) -> None:
    files = split_files(long_table, tmp_path)
    first = model_tables(files, threads=1)
    assert len(first["cuts"]) == 10
    assert model_tables(files, threads=2) == first
    assert model_tables(files, threads=2) == first
    assert model_tables(long_table, threads=1) == model_tables(long_table, threads=2)


def test_samples_depend_on_the_seed(long_table: pa.Table, tmp_path: Path) -> None:
    files = split_files(long_table, tmp_path)
    assert model_tables(files, seed=0)["cuts"] != model_tables(files, seed=1)["cuts"]


def test_short_tables_are_not_sampled(rows: pa.Table, wanted: Tables) -> None:
    assert model_tables(rows, seed=5) == wanted
