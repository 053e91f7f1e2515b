"""Stores that something else has changed: the program says so in a line, and leaves them alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hostile_cases import ROWS, copied, made_data, made_store, survived

import sqlbn
from sqlbn.errors import SqlbnError


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    made_data(folder)
    made_store(folder)
    return folder


@pytest.fixture(scope="module")
def tables(place: Path) -> list[str]:
    with duckdb.connect(str(place / "models.duckdb"), read_only=True) as con:
        found = con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'm' ORDER BY 1"
        ).fetchall()
    return [name for (name,) in found]


def changed(place: Path, folder: Path, *statements: str) -> Path:
    """A copy of the store after some statements of somebody else."""
    store = copied(place / "models.duckdb", folder)
    with duckdb.connect(str(store)) as con:
        for statement in statements:
            con.execute(statement)
    return store


def tried(store: Path, place: Path, works: bool | None = None) -> None:
    """Read, scored and updated by the model: all end in a line, and what fails changes nothing."""
    before = store.read_bytes()
    data = place / "data.parquet"
    codes = {True: (0,), False: (1,), None: (0, 1)}[works]
    survived("models", "--store", store, codes=(0, 1))
    survived("show", "m", "--store", store, codes=codes)
    for work in (lambda m: m.predict(ROWS), lambda m: m.cpt("x"), lambda m: m.update(data)):
        try:
            with sqlbn.load(store, "m") as model:
                work(model)
        except SqlbnError as error:
            assert "\n" not in str(error)
            assert works is not True, error
            assert store.read_bytes() == before


NEEDED = ["attributes", "classes", "codes", "counts", "history", "meta"]


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("change", ["dropped", "emptied", "renamed"])
def test_a_table(change: str, number: int, place: Path, tmp_path: Path, tables: list[str]) -> None:
    if number >= len(tables):
        pytest.skip("so many tables there are not")
    table = tables[number]
    statement = {
        "dropped": f'DROP TABLE m."{table}" CASCADE',
        "emptied": f'DELETE FROM m."{table}"',
        "renamed": f'ALTER TABLE m."{table}" RENAME TO "{table}_before"',
    }[change]
    try:
        store = changed(place, tmp_path, statement)
    except duckdb.Error:  # something depends on it: without that
        store = changed(place, tmp_path, f'DELETE FROM m."{table}" WHERE random() < 2')
    tried(store, place, False if table in ("meta", "classes") else None)


@pytest.mark.parametrize("number", range(12))
def test_a_table_of_other_columns(
    number: int, place: Path, tmp_path: Path, tables: list[str]
) -> None:
    if number >= len(tables):
        pytest.skip("so many tables there are not")
    store = changed(
        place, tmp_path, f'CREATE OR REPLACE TABLE m."{tables[number]}" AS SELECT 1 AS q'
    )
    tried(store, place)


OTHERS: dict[str, tuple[list[str], bool | None]] = {
    "an empty schema": (["CREATE SCHEMA other"], True),
    "a table of somebody": (["CREATE TABLE t AS FROM range(10)"], True),
    "a schema like a model": (["CREATE SCHEMA n", "CREATE TABLE n.meta (key TEXT)"], True),
    "a schema with a meta of other columns": (["CREATE SCHEMA n", "CREATE TABLE n.meta (q INT)"], True),
    "a view called meta": (["CREATE SCHEMA n", "CREATE VIEW n.meta AS SELECT 1 AS key"], True),
    "a view of what is gone": (["CREATE TABLE t (i INT)", "CREATE VIEW v AS FROM t", "DROP TABLE t"], True),
    "a macro of theirs": (["CREATE MACRO m.f(a) AS a + 1"], True),
    "a macro called predict": (["CREATE SCHEMA n", "CREATE MACRO n.predict(a) AS TABLE SELECT a"], True),
    "a type": (["CREATE TYPE m.mood AS ENUM ('a')"], True),
    "a sequence": (["CREATE SEQUENCE m.s"], True),
    "an index": (["CREATE INDEX i ON m.meta (key)"], True),
    "another table in the model": (["CREATE TABLE m.mine AS SELECT 1 AS a"], True),
    "a model without anything": (["DROP SCHEMA m CASCADE", "CREATE SCHEMA m"], False),
    "no model": (["DROP SCHEMA m CASCADE"], False),
    "meta of NULLs": (["UPDATE m.meta SET value = NULL"], False),
    "meta of nothing": (["UPDATE m.meta SET value = ''"], False),
    "meta of no JSON": (["UPDATE m.meta SET value = '{'"], False),
    "meta of another kind": (["UPDATE m.meta SET value = '[[1]]'"], False),
    "meta in upper case": (["UPDATE m.meta SET key = upper(key)"], False),
    "meta twice": (["INSERT INTO m.meta FROM m.meta"], None),
    "a learner of the future": (["UPDATE m.meta SET value = '\"xgb\"' WHERE key = 'learner'"], None),
    "classes twice": (["INSERT INTO m.classes FROM m.classes"], None),
    "attributes twice": (["INSERT INTO m.attributes FROM m.attributes"], None),
    "attributes of no name": (["UPDATE m.attributes SET attribute = NULL"], None),
    "attributes of one name": (["UPDATE m.attributes SET attribute = 'x'"], None),
    "attributes of a name like SQL": (["UPDATE m.attributes SET attribute = '\"; DROP TABLE t; --' WHERE attribute = 'x'"], None),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_something_else_in_the_store(what: str, place: Path, tmp_path: Path) -> None:
    statements, works = OTHERS[what]
    tried(changed(place, tmp_path, *statements), place, works)


@pytest.mark.parametrize("share", range(12))
def test_a_part_overwritten(share: int, place: Path, tmp_path: Path) -> None:
    """A piece of the file holds something else: it is not used, or it is said."""
    store = copied(place / "models.duckdb", tmp_path)
    data = bytearray(store.read_bytes())
    start = len(data) * share // 12
    data[start : start + 3000] = b"\x5a" * len(data[start : start + 3000])
    store.write_bytes(data)
    tried(store, place)
