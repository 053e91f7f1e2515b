"""The store: many models in one file, whole or not at all, and never trusted as code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.errors import StoreBusyError, StoreError
from sqlbn.store import duckdb_file as store_file

Row = tuple[Any, ...]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "models.duckdb"


def save(data: Any, store: Path, name: str, **options: Any) -> None:
    sqlbn.fit(data, "kind", "nb", store=store, name=name, **options).close()


def accuracy(store: Path, name: str, data: Any) -> float:
    with sqlbn.load(store, name) as model:
        return model.evaluate(data).losses["accuracy"]


def sql_rows(store: Path, *statements: str) -> list[Row]:
    """The answer to the last statement, by plain DuckDB."""
    with duckdb.connect(str(store)) as con:
        for statement in statements[:-1]:
            con.execute(statement)
        return con.execute(statements[-1]).fetchall()


# -- many models ------------------------------------------------------------------------------


def test_one_file_holds_many_models(fruit: pa.Table, store: Path) -> None:
    save(fruit, store, "all")
    save(fruit, store, "an odd name; DROP", columns=["colour"])
    save(fruit, store, 'quo"te', columns=["spots"])
    assert list(sqlbn.models(store)) == ["all", "an odd name; DROP", 'quo"te']
    for name, count in (("all", 5), ("an odd name; DROP", 1), ('quo"te', 1)):
        with sqlbn.load(store, name) as model:
            assert model.attributes.num_rows == count
            assert model.meta["name"] == name
    sqlbn.drop(store, "an odd name; DROP")
    assert list(sqlbn.models(store)) == ["all", 'quo"te']


def test_meta_says_where_a_model_comes_from(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "fruit", where="spots < 3")
    meta = sqlbn.models(store)["fruit"]
    wanted = {"learner": "nb", "target": "kind", "version": 1, "where": "spots < 3"}
    assert wanted.items() <= meta.items()
    assert {"created_at", "sqlbn", "duckdb", "files", "rows", "rows_skipped", "seconds"} <= set(
        meta
    )
    with sqlbn.load(store, "fruit") as model:
        assert model.meta["files"] == [
            {"path": fruit_file, "bytes": Path(fruit_file).stat().st_size}
        ]


def test_a_name_is_not_overwritten_without_replace(fruit: pa.Table, store: Path) -> None:
    save(fruit, store, "fruit")
    with pytest.raises(StoreError, match=r"already holds a model 'fruit'; use replace=True"):
        save(fruit, store, "fruit")
    save(fruit, store, "fruit", replace=True, columns=["colour"])
    assert sqlbn.models(store)["fruit"]["version"] == 2
    with sqlbn.load(store, "fruit") as model:
        assert model.attributes.num_rows == 1
        with pytest.raises(StoreError, match="already holds"):
            model.save(store, "fruit")


@pytest.mark.parametrize("name", ["", "main", "pg_catalog", "a\x00b", "MAIN"])
def test_names_that_cannot_be(fruit: pa.Table, store: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be the name of a model"):
        save(fruit, store, name)
    assert not store.exists()


def test_names_that_differ_in_case_only_are_one(fruit: pa.Table, store: Path) -> None:
    """DuckDB ignores the case of schemas: the second is a clash that must be told."""
    save(fruit, store, "fruit")
    with pytest.raises(StoreError, match="already holds a model 'fruit'"):
        save(fruit, store, "Fruit")


def test_what_is_not_there(fruit: pa.Table, store: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        sqlbn.load(store, "fruit")
    with pytest.raises(StoreError, match="there is no store"):
        sqlbn.drop(store, "fruit")
    assert not store.exists()
    save(fruit, store, "fruit")
    for action in (sqlbn.load, sqlbn.drop):
        with pytest.raises(StoreError, match="has no model 'nuts'; it holds 'fruit'"):
            action(store, "nuts")


def test_a_file_that_is_no_database(fruit: pa.Table, store: Path) -> None:
    store.write_bytes(b"not a database at all" * 1000)
    with pytest.raises(StoreError, match="cannot open the store"):
        sqlbn.models(store)
    with pytest.raises(StoreError, match="cannot open the store"):
        save(fruit, store, "fruit")
    assert store.read_bytes().startswith(b"not a database")


def test_other_tables_of_a_file_are_left_alone(fruit: pa.Table, store: Path) -> None:
    sql_rows(store, "CREATE TABLE mine AS SELECT 42 AS answer", "SELECT 1")
    save(fruit, store, "fruit")
    sqlbn.drop(store, "fruit")
    assert sql_rows(store, "FROM mine") == [(42,)]


def test_an_older_duckdb_opens_the_file(fruit: pa.Table, store: Path) -> None:
    save(fruit, store, "fruit")
    tags = sql_rows(store, "SELECT tags FROM duckdb_databases() WHERE database_name = 'models'")
    assert "v1.0.0" in str(tags)


# -- whole or not at all ----------------------------------------------------------------------


def test_a_failing_save_leaves_the_old_model(
    fruit: pa.Table, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(fruit, store, "fruit")
    wanted = accuracy(store, "fruit", fruit)
    monkeypatch.setattr(store_file, "write_face", _fail)
    with pytest.raises(RuntimeError, match="the disk is full"):
        save(fruit, store, "fruit", replace=True, columns=["colour"])
    monkeypatch.undo()
    assert accuracy(store, "fruit", fruit) == wanted
    assert sqlbn.models(store)["fruit"]["version"] == 1


def _fail(*_: object) -> None:
    raise RuntimeError("the disk is full")


def test_a_failing_first_save_leaves_no_file(
    fruit: pa.Table, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_file, "write_face", _fail)
    with pytest.raises(RuntimeError, match="the disk is full"):
        save(fruit, store, "fruit")
    assert list(store.parent.iterdir()) == []


SLOW_SAVE = """
import sys, time
import sqlbn
import sqlbn.store.duckdb_file

def stop(*_):
    print("saving", flush=True)
    time.sleep(60)

sqlbn.store.duckdb_file.write_face = stop
data, store = sys.argv[1:]
sqlbn.fit(data, "kind", "kdb", k=1, store=store, name="fruit", replace=True, columns=["colour"])
"""


def child(code: str, *words: object) -> subprocess.Popen[str]:
    """A Python process that has said its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def end(process: subprocess.Popen[str], how: signal.Signals = signal.SIGKILL) -> None:
    if process.poll() is None:
        os.kill(process.pid, how)
    process.wait(timeout=20)
    if process.stdout is not None:
        process.stdout.close()


def test_a_killed_save_leaves_the_old_model(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "fruit")
    wanted = accuracy(store, "fruit", fruit_file)
    end(child(SLOW_SAVE, fruit_file, store))
    assert accuracy(store, "fruit", fruit_file) == wanted
    assert sqlbn.models(store)["fruit"]["version"] == 1
    save(fruit_file, store, "fruit", replace=True)
    assert sqlbn.models(store)["fruit"]["version"] == 2


# -- several processes ------------------------------------------------------------------------

HOLDER = """
import sys, time
import duckdb
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reads")
print("holding", flush=True)
time.sleep(60)
"""

SLOW_FIT = """
import sys, time
import sqlbn
from sqlbn.kinds.product import product_fit as products

learn_rest = products.count_information
def slow(*words):
    print("fitting", flush=True)
    time.sleep(3)
    return learn_rest(*words)

products.count_information = slow
sqlbn.fit(sys.argv[1], "kind", "nb", store=sys.argv[2], name="second")
"""


def test_a_held_store_names_the_holder(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "fruit")
    holder = child(HOLDER, store, "writes")
    try:
        with pytest.raises(StoreBusyError) as caught:
            sqlbn.load(store, "fruit", limits=Limits(store_patience=0.3))
        assert str(caught.value) == (
            f"the store {str(store)!r} is held by process {holder.pid}; "
            "wait until it ends or close its connection, then try again"
        )
    finally:
        end(holder)
    sqlbn.load(store, "fruit").close()


def test_readers_share_a_store_but_stop_a_writer(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "fruit")
    holder = child(HOLDER, store, "reads")
    try:
        sqlbn.load(store, "fruit").close()
        with pytest.raises(StoreBusyError, match=f"process {holder.pid}"):
            save(fruit_file, store, "other", limits=Limits(store_patience_before=0.3))
    finally:
        end(holder)


def test_a_writer_waits_for_a_short_holder(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "fruit")
    holder = child(HOLDER.replace("sleep(60)", "sleep(1)"), store, "reads")
    try:
        save(fruit_file, store, "other")
    finally:
        end(holder)
    assert list(sqlbn.models(store)) == ["fruit", "other"]


def test_models_are_read_while_another_is_fitted(fruit_file: str, store: Path) -> None:
    save(fruit_file, store, "first")
    fitting = child(SLOW_FIT, fruit_file, store)
    started = time.monotonic()
    try:
        assert accuracy(store, "first", fruit_file) > 0.5
        assert time.monotonic() - started < 3  # it did not wait for the fit to end
        assert fitting.wait(timeout=30) == 0
    finally:
        end(fitting)
    assert list(sqlbn.models(store)) == ["first", "second"]


# -- a store is data, not code ----------------------------------------------------------------

TRAPS = {
    "meta is a view": [
        'ALTER TABLE "fruit".meta RENAME TO real_meta',
        "CREATE VIEW \"fruit\".meta AS SELECT key, error('ran a view') AS value "
        'FROM "fruit".real_meta',
    ],
    "a factor is a view": [
        "ALTER TABLE fruit__tables.predict_factor_0 RENAME TO real_factor",
        "CREATE VIEW fruit__tables.predict_factor_0 AS "
        "SELECT * REPLACE (error('ran a view') AS l_0) FROM fruit__tables.real_factor",
    ],
    "a type is SQL": [
        """UPDATE "fruit".attributes SET type = 'VARCHAR); SELECT error(''ran a type''); --'""",
    ],
    "the target type is SQL": [
        """UPDATE "fruit".meta SET value = 'VARCHAR) OR error(''x'' ' WHERE key = 'target_type'""",
    ],
    "a factor number is negative": ["UPDATE fruit__tables.factors SET members = [999]"],
    "m is text": ["""UPDATE "fruit".meta SET value = 'one' WHERE key = 'm'"""],
    "the format is newer": ["""UPDATE "fruit".meta SET value = '99' WHERE key = 'format'"""],
    "the format is no number": ["""UPDATE "fruit".meta SET value = 'new' WHERE key = 'format'"""],
    "a table is missing": ['DROP TABLE "fruit".cuts CASCADE'],
    "a column is missing": ['ALTER TABLE "fruit".cuts DROP COLUMN upper'],
    "the target is missing": ["""DELETE FROM "fruit".meta WHERE key = 'target'"""],
    "a parent is unknown": ["""INSERT INTO "fruit".parents VALUES ('colour', 'nothing', 0, 0.1)"""],
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_doctored_store_is_refused_in_one_line(fruit: pa.Table, store: Path, trap: str) -> None:
    save(fruit, store, "fruit")
    with duckdb.connect(str(store)) as con:
        con.execute('DROP MACRO TABLE "fruit".predict')
        for (view,) in con.execute(
            "SELECT view_name FROM duckdb_views() WHERE schema_name = 'fruit'"
        ).fetchall():
            con.execute(f'DROP VIEW "fruit"."{view}"')
        for statement in TRAPS[trap]:
            con.execute(statement)
    with pytest.raises(sqlbn.SqlbnError) as caught, sqlbn.load(store, "fruit") as model:
        model.predict(fruit)
    assert "\n" not in str(caught.value)
    assert "ran a" not in str(caught.value)


def test_odd_text_in_categories_stays_text(fruit: pa.Table, store: Path) -> None:
    save(fruit, store, "fruit")
    evil = "red' THEN error('ran a category') WHEN 'x"
    with duckdb.connect(str(store)) as con:
        con.execute("UPDATE fruit.categories SET value = $1 WHERE value = 'red'", [evil])
        con.execute("UPDATE fruit.classes SET class = $1 WHERE class = 'plum'", [evil])
        con.execute('UPDATE fruit.classes SET "column" = $1 WHERE code = 2', ['p" , error(1) --'])
    with sqlbn.load(store, "fruit") as model:
        scored = model.predict(fruit)
    assert scored.num_rows == 300
    assert evil in scored["prediction"].to_pylist()
    assert scored.column_names[-1] == 'p" , error(1) --'


def test_macros_of_the_file_are_never_run(fruit: pa.Table, store: Path) -> None:
    save(fruit, store, "fruit")
    wanted = accuracy(store, "fruit", fruit)
    names = ("count", "ln", "exp", "greatest", "coalesce", "sum")
    sql_rows(
        store,
        *(f"CREATE MACRO fruit.{n}(x) AS error('ran a macro')" for n in names),
        *(f"CREATE MACRO main.{n}(x) AS error('ran a macro')" for n in names),
        "SELECT 1",
    )
    assert accuracy(store, "fruit", fruit) == wanted
