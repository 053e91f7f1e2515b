"""A query over Parquet and CSV files needs no database, and its files are known to the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.errors import OptionError, SourceError

LATE = "SELECT * EXCLUDE (delay), delay > 15 AS late FROM '{}'"


def flights(first: int, n: int = 300) -> pa.Table:
    at = range(first, first + n)
    return pa.table(
        {
            "carrier": [("AA", "BB", "CC")[i * 7 % 3] for i in at],
            "hour": [i * i % 23 for i in at],
            "delay": [float((i * 7 % 3) * 9 + i * i % 23 - i % 7) for i in at],
        }
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "flights"
    folder.mkdir()
    for i in range(3):
        pq.write_table(flights(i * 300), folder / f"{i}.parquet")
    pa_csv.write_csv(flights(0, 900), tmp_path / "all.csv")
    return tmp_path


def tables(model: sqlbn.Model) -> dict[str, Any]:
    with model:
        return {
            "classes": model.classes.to_pydict(),
            "attributes": model.attributes.to_pydict(),
            "hour": model.cpt("hour").to_pydict(),
        }


def plain() -> pa.Table:
    rows = flights(0, 900)
    late = pa.array([d > 15 for d in rows["delay"].to_pylist()])
    return rows.drop_columns(["delay"]).append_column("late", late)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "query",
    [
        LATE.format("{}/flights/*.parquet"),
        LATE.format("{}/all.csv"),
        "FROM (" + LATE.format("{}/flights/*.parquet") + ")",
        "WITH f AS (FROM read_parquet(['{0}/flights/0.parquet', '{0}/flights/1.parquet', "
        "'{0}/flights/2.parquet'])) SELECT carrier, hour, delay > 15 AS late FROM f -- why",
    ],
)
def test_a_query_over_files_is_as_good_as_its_rows(lake: Path, query: str, threads: int) -> None:
    # A sample for the cut points and one for leave-one-out: they depend on the order of rows.
    options: dict[str, Any] = {"loocv_sample": 100, "threads": threads}
    wanted = tables(sqlbn.fit(plain(), "late", "skdb", **options))
    found = sqlbn.fit(query=query.format(lake), target="late", learner="skdb", **options)
    assert tables(found) == wanted


def test_predict_keeps_the_order_of_the_query(lake: Path) -> None:
    every = LATE.format(f"{lake}/all.csv")
    with sqlbn.fit(query=every, target="late", learner="nb", threads=1) as model:
        scored = model.predict(query=f"SELECT hour, carrier FROM '{lake}/flights/*.parquet'")
        assert isinstance(scored, pa.Table)
        assert scored["hour"].to_pylist() == flights(0, 900)["hour"].to_pylist()
        only = model.predict(query=f"FROM '{lake}/all.csv'", where="hour = 3")
        assert isinstance(only, pa.Table) and set(only["hour"].to_pylist()) == {3}
        losses = model.evaluate(query=LATE.format(f"{lake}/all.csv")).losses
        assert losses["accuracy"] > 0.7


def test_files_of_a_query_are_in_the_model_already(lake: Path) -> None:
    store = lake / "m.duckdb"
    first = LATE.format(f"{lake}/flights/[01].parquet")
    sqlbn.fit(query=first, target="late", learner="nb", store=store, name="x").close()
    again = LATE.format(f"{lake}/flights/1.parquet").replace("SELECT", "select\n")
    with pytest.raises(SourceError, match=r"1\.parquet' is in the model already"):
        sqlbn.update(store, "x", query=again)
    sqlbn.update(store, "x", query=LATE.format(f"{lake}/flights/2.parquet"))
    with sqlbn.load(store, "x") as model:
        whole = tables(sqlbn.fit(plain(), "late", "nb", like=model))
    assert tables(sqlbn.load(store, "x"))["classes"] == whole["classes"]
    sqlbn.forget(store, "x", query=again)
    assert sqlbn.models(store)["x"]["rows"] == 600


def test_every_command_takes_a_query_without_data(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)
    query, stored = ["--query", LATE.format("flights/*.parquet")], ["-s", "m.duckdb", "--name"]
    target, nb = [*query, "-t", "late"], ["-l", "nb"]
    for words in (
        ["fit", *target, *stored, "x", *nb],
        ["predict", "x", *query, "--store", "m.duckdb", "--out", "p.csv"],
        ["forget", "x", "--query", LATE.format("flights/2.parquet"), "--store", "m.duckdb"],
        ["update", "x", "--query", LATE.format("flights/2.parquet"), "--store", "m.duckdb"],
        ["evaluate", *target, *nb, "--folds", "2"],
        ["curve", *target, "--learners", "nb", "--sizes", "50", "--repeats", "1"],
        ["rank", *target],
        ["prepare", *target],
        ["network", "learn", *target, *stored, "n", "--method", "hgc"],
        ["network", "score", *query, *stored, "n"],
        ["sql", "predict", "x", *query, "--store", "m.duckdb"],
        ["sql", "fit", *target, *nb],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
    assert len((lake / "p.csv").read_text().splitlines()) == 901


def test_a_query_that_cannot_be_met_is_told_in_a_line(lake: Path) -> None:
    for options, line in (
        ({"query": "FROM 'none/*.parquet'"}, "query: no file matches 'none/"),
        ({"query": "FROM somewhere"}, "'somewhere' is no table here and no file, by its name"),
        ({"query": f"SELECT nope FROM '{lake}/all.csv'"}, 'query: .*"nope" not found'),
        ({"query": f"FROM '{lake}/all.csv' USING SAMPLE 10%"}, "add REPEATABLE"),
        ({"data": f"{lake}/all.csv", "query": "FROM data"}, "names its files itself"),
        ({}, "no data given: name at least one file, or give query"),
    ):
        with pytest.raises((SourceError, OptionError), match=line):
            sqlbn.fit(target="late", learner="nb", **options)
    with pytest.raises(OptionError, match="test does not go with a query"):
        sqlbn.evaluate(query=LATE.format(f"{lake}/all.csv"), target="late", test=f"{lake}/all.csv")
    done = CliRunner().invoke(app, ["fit", "--target", "late"])
    assert done.exit_code == 2 and "--query" in done.output
