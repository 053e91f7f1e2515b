"""`predict` in SQL: paths with dots, without USE, any alias, in order; few tables in sight."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.errors import StoreError

FEW = 14  # contract tables of a model that neither searches nor averages


def bank(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, rows)
    words = np.array(["yes", "no"])
    return pa.table(
        {
            "loan": words[(y + (rng.random(rows) < 0.2)) % 2],
            "job": np.array(["cook", "clerk", "king"])[rng.integers(0, 3, rows)],
            "code": np.array(["007", "042", "A1"])[(rng.integers(0, 2, rows) + y)],
            "age": rng.integers(18, 80, rows) + 5 * y,
            "number": np.arange(rows),
            "y": words[y],
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql")
    (folder / "b").mkdir()
    rows = bank()
    pq.write_table(rows, folder / "a.b.parquet")
    pq.write_table(rows, folder / "b" / "bank-2024.parquet")
    pa_csv.write_csv(rows, folder / "t.csv")
    options = {"exclude": ["number"], "store": folder / "models.duckdb"}
    for learner in ("nb", "a1de", "spc"):
        sqlbn.fit(rows, "y", learner, name=f"bank_{learner}", **options).close()
    return folder


@pytest.fixture(scope="module")
def wanted(place: Path) -> pa.Table:
    with sqlbn.load(place / "models.duckdb", "bank_nb") as model:
        return model.predict(place / "a.b.parquet")


@pytest.fixture
def con(place: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{place}/models.duckdb' AS m (READ_ONLY)")
        connection.execute(f"CREATE TABLE t AS FROM '{place}/a.b.parquet'")
        yield connection


def scores(connection: duckdb.DuckDBPyConnection, query: str) -> list[float]:
    return [row[0] for row in connection.execute(query).fetchall()]


PATHS = ["./t.csv", "t.csv", "a.b.parquet", "b/bank-2024.parquet", "../{here}/b/bank-2024.parquet"]


@pytest.mark.parametrize("path", [*PATHS, "{place}/t.csv", "b/*.parquet"])
def test_paths_with_dots(
    con: duckdb.DuckDBPyConnection,
    place: Path,
    wanted: pa.Table,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place)
    path = path.format(here=place.name, place=place)
    con.execute("USE m.bank_nb")
    found = scores(con, f"SELECT p_yes FROM predict('{path}')")
    assert found == wanted["p_yes"].to_pylist()


INPUTS = {
    "a table": "SELECT p_yes FROM {model}.predict('t')",
    "a full name": "SELECT p_yes FROM {model}.predict('memory.main.t')",
    "a quoted name": "SELECT p_yes FROM {model}.predict('\"t\"')",
    "a CTE": "WITH c AS (FROM t) SELECT p_yes FROM {model}.predict('c')",
    "a CTE of the same name": "WITH t AS (FROM memory.t) SELECT p_yes FROM {model}.predict('t')",
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("alias", ["m", "bank_nb", "a store", 'o"dd.one'])
def test_without_use_under_any_alias(place: Path, wanted: pa.Table, given: str, alias: str) -> None:
    quoted = '"' + alias.replace('"', '""') + '"'
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{place}/models.duckdb' AS {quoted} (READ_ONLY)")
        con.execute(f"CREATE TABLE t AS FROM '{place}/a.b.parquet'")
        found = scores(con, INPUTS[given].format(model=f"{quoted}.bank_nb"))
    assert found == wanted["p_yes"].to_pylist()


def test_views_prepared_statements_and_relations(
    con: duckdb.DuckDBPyConnection, wanted: pa.Table
) -> None:
    told = wanted["p_yes"].to_pylist()
    con.execute("CREATE VIEW scored AS FROM m.bank_nb.predict('t')")
    assert scores(con, "SELECT p_yes FROM scored") == told
    con.execute("PREPARE now AS SELECT p_yes FROM m.bank_nb.predict('t')")
    assert scores(con, "EXECUTE now") == told
    assert (
        con.sql("SELECT p_yes FROM m.bank_nb.predict('t')").fetchnumpy()["p_yes"].tolist() == told
    )
    con.execute("SET search_path = 'memory.main,m.bank_nb'")
    assert scores(con, "SELECT p_yes FROM predict('t')") == told


def test_two_stores_with_a_model_of_one_name(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    rows = bank(300).set_column(0, "loan", pa.array(["yes"] * 150 + ["no"] * 150))
    sqlbn.fit(rows, "y", "nb", exclude=["number"], store=other, name="bank_nb").close()
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{place}/models.duckdb' AS one (READ_ONLY)")
        con.execute(f"ATTACH '{other}' AS two (READ_ONLY)")
        query = f"SELECT p_yes FROM {{}}.bank_nb.predict('{place}/a.b.parquet')"
        one, two = scores(con, query.format("one")), scores(con, query.format("two"))
    with sqlbn.load(other, "bank_nb") as model:
        assert two == model.predict(place / "a.b.parquet")["p_yes"].to_pylist()
    assert one != two


def test_the_store_opened_directly(place: Path, wanted: pa.Table) -> None:
    with duckdb.connect(str(place / "models.duckdb"), read_only=True) as con:
        query = f"SELECT p_yes FROM bank_nb.predict('{place}/t.csv')"
        assert scores(con, query) == wanted["p_yes"].to_pylist()


def test_the_duckdb_program_without_use(place: Path) -> None:
    beside = Path(sys.executable).with_name("duckdb")
    program = shutil.which("duckdb") or (str(beside) if beside.is_file() else None)
    if program is None:
        pytest.skip("the duckdb program is not here (package duckdb-cli)")
    query = "SELECT count(prediction) FROM bank_a1de.predict('./t.csv')"
    done = subprocess.run(
        [program, "-readonly", "-csv", "-noheader", "models.duckdb", "-c", query],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("400\n", "")


def test_a_csv_has_the_types_of_training(con: duckdb.DuckDBPyConnection, place: Path) -> None:
    """`yes` stays a word and `007` a code, though this file has digits only."""
    path = place / "digits.csv"
    path.write_text("loan,job,code,age\nyes,cook,007,30\nno,king,042,40\n")
    rows = con.execute(f"SELECT loan, code, age FROM m.bank_nb.predict('{path}')").fetchall()
    assert rows == [("yes", "007", 30), ("no", "042", 40)]
    path.write_text("loan,job,code,age\nyes,cook,007,thirty\n")
    with pytest.raises(duckdb.Error, match='Could not convert string "thirty"'):
        con.execute(f"FROM m.bank_nb.predict('{path}')")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("learner", ["nb", "a1de", "spc"])
def test_the_order_of_the_rows(place: Path, threads: int, learner: str) -> None:
    rows = 60_000
    many = pa.concat_tables([bank().drop_columns(["number"])] * (rows // 400))
    numbered = many.append_column("number", pa.array(np.arange(rows)))
    pq.write_table(numbered, place / "many.parquet", row_group_size=4000)
    with duckdb.connect() as con:
        con.execute(f"SET threads = {threads}")
        con.execute(f"ATTACH '{place}/models.duckdb' AS m (READ_ONLY)")
        con.execute(f"CREATE TABLE held AS FROM '{place}/many.parquet'")
        for given in ("held", f"{place}/many.parquet"):
            query = f"SELECT number FROM m.bank_{learner}.predict('{given}')"
            assert scores(con, query) == list(range(rows))


# -- what a listing shows ---------------------------------------------------------------------


def test_a_models_schema_holds_what_people_read(con: duckdb.DuckDBPyConnection) -> None:
    for model in ("bank_nb", "bank_a1de", "bank_spc"):
        con.execute(f"USE m.{model}")
        tables = [row[0] for row in con.execute("SHOW TABLES").fetchall()]
        assert not [t for t in tables if t.startswith("predict_") or t in ("factors", "turns")]
        assert len([t for t in tables if not t.startswith("cpt_")]) <= FEW + 2


def test_helper_schemas_are_no_models_and_go_with_theirs(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "models.duckdb"
    for _ in range(2):  # a replaced one too
        options = {"store": store, "name": "bank", "replace": True}
        sqlbn.fit(bank(), "y", "nb", **options).close()
    assert list(sqlbn.models(store)) == ["bank"]
    with duckdb.connect(str(store), read_only=True) as con:
        schemas = "SELECT schema_name FROM duckdb_schemas() WHERE schema_name LIKE 'bank%'"
        assert scores(con, schemas) == ["bank", "bank__tables"]
        markers = "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'predict_marker_%'"
        assert scores(con, markers) == [1]
    with pytest.raises(StoreError, match="cannot be the name of a model"):
        sqlbn.fit(bank(), "y", "nb", store=store, name="bank__tables")
    sqlbn.drop(store, "bank")
    with duckdb.connect(str(store), read_only=True) as con:
        assert scores(con, schemas) == []


def test_a_store_with_all_tables_in_one_schema_still_scores(place: Path, tmp_path: Path) -> None:
    """As earlier versions wrote it."""
    store = tmp_path / "old.duckdb"
    shutil.copy(place / "models.duckdb", store)
    with duckdb.connect(str(store)) as con:
        moved = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'bank_nb__tables'"
        for table in scores(con, moved):
            con.execute(f'CREATE TABLE bank_nb."{table}" AS FROM bank_nb__tables."{table}"')
        con.execute("DROP SCHEMA bank_nb__tables CASCADE")
    with (
        sqlbn.load(store, "bank_nb") as old,
        sqlbn.load(place / "models.duckdb", "bank_nb") as new,
    ):
        rows = place / "t.csv"
        assert old.predict(rows).equals(new.predict(rows))


def test_the_printed_statement_runs_where_the_model_is_in_use(
    con: duckdb.DuckDBPyConnection, run: Run, place: Path, wanted: pa.Table
) -> None:
    done = run("sql", "predict", "bank_nb", "a.b.parquet", cwd=place)
    con.execute("USE m.bank_nb")
    statement = done.stdout.replace("'a.b.parquet'", f"'{place}/a.b.parquet'")
    found = con.sql(statement).fetchnumpy()
    assert found["p_yes"].tolist() == wanted["p_yes"].to_pylist()
