"""Stores that something else has changed: the program says so in a line, and leaves them alone."""

from __future__ import annotations

from collections.abc import Callable
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


def changed(place: Path, folder: Path, *statements: str) -> Path:
    """A copy of the store after some statements of somebody else."""
    store = copied(place / "models.duckdb", folder)
    with duckdb.connect(str(store)) as con:
        for statement in statements:
            con.execute(statement)
    return store


def tried(store: Path, place: Path, works: bool | None = None) -> None:
    """Read, scored and updated by the model: each ends in a line, a failure changes nothing."""
    before = store.read_bytes()
    survived("models", "--store", store, codes=(0, 1))
    try:
        with sqlbn.load(store, "m") as model:
            for work in (lambda: model.predict(ROWS), lambda: model.cpt("x")):
                in_a_line(work, works)
            in_a_line(lambda: model.update(place / "data.parquet"), works)
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert not works, error
        assert store.read_bytes() == before
    else:
        assert works is not False


def in_a_line(work: Callable[[], object], works: bool | None) -> None:
    try:
        work()
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert not works, error


# Its tables, by name; a model may have more.
TABLES = (
    "attributes", "categories", "classes", "cmi", "counts", "cuts", "families", "groups", "history",
    "history_files", "meta", "parents", "variables",
)  # fmt: skip
NEEDED = ("meta", "classes", "attributes")


def where(table: str, place: Path) -> str:
    """A table with its schema: some are beside the model's."""
    with duckdb.connect(str(place / "models.duckdb"), read_only=True) as con:
        found = con.execute(
            "SELECT schema_name FROM duckdb_tables() WHERE table_name = ?", [table]
        ).fetchall()
    return f'"{found[0][0]}"."{table}"'


@pytest.mark.hostile
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", ["dropped", "emptied", "of other columns"])
def test_a_table(change: str, table: str, place: Path, tmp_path: Path) -> None:
    name = where(table, place)
    statement = {
        "dropped": f"DROP TABLE {name}",
        "emptied": f"DELETE FROM {name}",
        "of other columns": f"CREATE OR REPLACE TABLE {name} AS SELECT 1 AS q",
    }[change]
    store = changed(place, tmp_path, statement)
    tried(store, place, False if table in NEEDED and change != "emptied" else None)


OTHERS: dict[str, tuple[list[str], bool | None]] = {
    "an empty schema": (["CREATE SCHEMA other"], True),
    "a table of somebody": (["CREATE TABLE t AS FROM range(10)"], True),
    "a schema like a model": (["CREATE SCHEMA n", "CREATE TABLE n.meta (key TEXT)"], True),
    "a schema with a meta of other columns": (
        ["CREATE SCHEMA n", "CREATE TABLE n.meta (q INT)"],
        True,
    ),
    "a view called meta": (["CREATE SCHEMA n", "CREATE VIEW n.meta AS SELECT 1 AS key"], True),
    "a view of what is gone": (
        ["CREATE TABLE t (i INT)", "CREATE VIEW v AS FROM t", "DROP TABLE t"],
        True,
    ),
    "a macro of theirs": (["CREATE MACRO m.f(a) AS a + 1"], True),
    "a macro called predict": (
        ["CREATE SCHEMA n", "CREATE MACRO n.predict(a) AS TABLE SELECT a"],
        True,
    ),
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
    "a learner of the future": (
        ["UPDATE m.meta SET value = '\"xgb\"' WHERE key = 'learner'"],
        None,
    ),
    "classes twice": (["INSERT INTO m.classes FROM m.classes"], None),
    "attributes twice": (["INSERT INTO m.attributes FROM m.attributes"], None),
    "attributes of no name": (["UPDATE m.attributes SET attribute = NULL"], None),
    "attributes of one name": (["UPDATE m.attributes SET attribute = 'x'"], None),
    "attributes of a name like SQL": (
        ["UPDATE m.attributes SET attribute = '\"; DROP TABLE t; --' WHERE attribute = 'x'"],
        None,
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_something_else_in_the_store(what: str, place: Path, tmp_path: Path) -> None:
    statements, works = OTHERS[what]
    store = changed(place, tmp_path, *statements)
    tried(store, place, works)
    survived("show", "m", "--store", store, codes={True: (0,), False: (1,), None: (0, 1)}[works])


@pytest.mark.parametrize("share", range(12))
def test_a_part_overwritten(share: int, place: Path, tmp_path: Path) -> None:
    """A piece of the file holds something else: it is not used, or it is said."""
    store = copied(place / "models.duckdb", tmp_path)
    data = bytearray(store.read_bytes())
    start = len(data) * share // 12
    data[start : start + 3000] = b"\x5a" * len(data[start : start + 3000])
    store.write_bytes(data)
    tried(store, place)
