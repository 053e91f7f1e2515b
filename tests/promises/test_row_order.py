"""Predictions come in the order of the rows, for every learner, source and output.

Joins of DuckDB 2.0 mix up rows as soon as two threads work, and those that score equal rows once do
so with one thread; what was scored is put into order by the rows' places.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import sqlbn
from sqlbn.report.sql_text import predict_statement

ROWS, PIECE = 60_000, 4_000
LEARNERS = {"nb": {}, "kdb": {}, "a1de": {}, "spc": {}, "snb": {}}
Files = dict[str, str]


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, ROWS)
    columns = {f"a{i}": (rng.integers(0, 3, ROWS) + y).astype("int8") for i in range(3)}
    return pa.table({**columns, "number": np.arange(ROWS), "y": y})


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table()


@pytest.fixture(scope="module")
def files(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("order")
    pq.write_table(rows, folder / "one.parquet", row_group_size=PIECE)
    parts = folder / "parts"
    parts.mkdir()
    for start in range(0, ROWS, ROWS // 3):
        part = rows.slice(start, ROWS // 3)
        pq.write_table(part, parts / f"{start:09}.parquet", row_group_size=PIECE)
    pa_csv.write_csv(rows, folder / "one.csv")
    with duckdb.connect(str(folder / "base.duckdb")) as con:
        con.execute(f"CREATE TABLE held AS FROM '{folder}/one.parquet'")
        con.execute("CREATE VIEW seen AS FROM held WHERE number >= 0")
    return {
        "parquet": f"{folder}/one.parquet",
        "list": f"{parts}/*.parquet",
        "csv": f"{folder}/one.csv",
        "database": f"{folder}/base.duckdb",
    }


def chunks(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(at, PIECE) for at in range(0, ROWS, PIECE)])


SOURCES: dict[str, Callable[[pa.Table, Files], Any]] = {
    "an Arrow table": lambda rows, files: rows,
    "Arrow of many chunks": lambda rows, files: chunks(rows),
    "a record batch reader": lambda rows, files: chunks(rows).to_reader(),
    "pandas": lambda rows, files: rows.to_pandas(),
    "polars": lambda rows, files: pytest.importorskip("polars").from_arrow(chunks(rows)),
    "a dataset": lambda rows, files: pads.dataset(files["list"].removesuffix("/*.parquet")),
    "a DuckDB relation": lambda rows, files: duckdb.sql(f"FROM '{files['parquet']}'"),
    "Parquet": lambda rows, files: files["parquet"],
    "a list of Parquet files": lambda rows, files: files["list"],
    "CSV": lambda rows, files: files["csv"],
}


@pytest.fixture(scope="module", params=[1, 2], ids=["1 thread", "2 threads"])
def models(request: pytest.FixtureRequest, rows: pa.Table) -> Iterator[dict[str, sqlbn.Model]]:
    train, fitted = rows.slice(0, 2000).drop_columns(["number"]), {}
    for learner in LEARNERS:
        fitted[learner] = sqlbn.fit(train, "y", learner, threads=request.param)
    yield fitted
    for model in fitted.values():
        model.close()


def is_in_order(scored: pa.Table, rows: int = ROWS) -> bool:
    return bool(np.array_equal(scored["number"].to_numpy(), np.arange(rows)))


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner(models: dict[str, sqlbn.Model], files: Files, learner: str) -> None:
    assert is_in_order(models[learner].predict(files["parquet"]))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("learner", ["nb", "a1de"])
def test_every_source(
    models: dict[str, sqlbn.Model], rows: pa.Table, files: Files, source: str, learner: str
) -> None:
    assert is_in_order(models[learner].predict(SOURCES[source](rows, files)))


@pytest.mark.parametrize(
    "options", [{"table": "held"}, {"table": "seen"}, {"query": "FROM held ORDER BY number"}]
)
def test_tables_views_and_queries(
    models: dict[str, sqlbn.Model], files: Files, options: dict[str, str]
) -> None:
    assert is_in_order(models["kdb"].predict(files["database"], **options))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("learner", ["nb", "spc"])
def test_files_that_are_written(
    models: dict[str, sqlbn.Model], files: Files, tmp_path: Path, ending: str, learner: str
) -> None:
    out = tmp_path / f"scored.{ending}"
    models[learner].predict(files["parquet"], out=out)
    read = pq.read_table(out) if ending == "parquet" else pa_csv.read_csv(out)
    assert is_in_order(read)


def test_standard_output(
    models: dict[str, sqlbn.Model], files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Output:
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdout", Output)
    models["nb"].write_predictions(files["list"], "-")
    monkeypatch.undo()
    Output.buffer.seek(0)
    assert is_in_order(pa_csv.read_csv(Output.buffer))


def test_filters_and_left_out_columns_keep_it(models: dict[str, sqlbn.Model], files: Files) -> None:
    scored = models["nb"].predict(files["parquet"], where="number < 40000", exclude=["y"])
    assert is_in_order(scored, 40_000)
    assert "y" not in scored.column_names


def test_rows_that_are_equal_by_order_by_keep_theirs(
    models: dict[str, sqlbn.Model], files: Files
) -> None:
    scored = models["nb"].predict(files["parquet"], order_by=["a1"])
    keys = np.lexsort((scored["number"].to_numpy(), scored["a1"].to_numpy()))
    assert np.array_equal(keys, np.arange(ROWS))


@pytest.mark.parametrize("name", ["file_row_number", "rowid", "file_index"])
def test_a_column_that_is_called_like_a_place(
    models: dict[str, sqlbn.Model], rows: pa.Table, tmp_path: Path, name: str
) -> None:
    backwards = rows.append_column(name, rows["number"].take(np.arange(ROWS)[::-1]))
    pq.write_table(backwards, tmp_path / "rows.parquet", row_group_size=PIECE)
    assert is_in_order(models["nb"].predict(tmp_path / "rows.parquet"))


def test_the_statement_that_is_printed_sorts(files: Files, tmp_path: Path, rows: pa.Table) -> None:
    train = rows.slice(0, 2000).drop_columns(["number"])
    sqlbn.fit(train, "y", "nb", store=tmp_path / "m.duckdb", name="m").close()
    statement = predict_statement(tmp_path / "m.duckdb", "m", files["parquet"])
    assert statement.rstrip().endswith("ORDER BY __sqlbn_source_row")
