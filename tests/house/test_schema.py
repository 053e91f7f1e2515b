"""The declaration of stored tables, the stores of all learners and the page of help say the same.

`SQLBN_UPDATE_GOLDEN=1 pytest tests/house/test_schema.py` writes the page's tables anew.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.learners import learners
from sqlbn.schema import META, TABLES, Table, declared, reference

PAGE = Path(sqlbn.__file__).parent / "help" / "store.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
# The long form costs nothing.
LONG = Limits(long_plan_costs=(0, 0, 0), long_row_costs=(0, 0, 0))
PLAIN = ["colour", "size", "month", "sort", "farm"]
# Every learner, and what else writes a table or a column of another type.
CASES: dict[str, dict[str, Any]] = {
    **{name: {"learner": name} for name in learners()},
    "superparent": {"learner": "superparent", "superparent": "colour"},
    "collection": {
        "learner": "collection",
        "parents": {"size": [["colour"], ["month"]], "colour": [[]]},
        "columns": ["size", "colour", "month"],
    },
    "subsumption": {"learner": "a1de", "subsumption": True, "min_count": 2},
    "a2de selected": {"learner": "a2de", "select": "attributes"},
    "weighted": {"learner": "skdb", "weight": "w"},
    "raced": {
        "learner": "skdb",
        "limits": Limits(race_rows=50, loo_few_estimates=0, inline_categories=20),
    },
    "weighted average": {"learner": "a1de", "weight": "w"},
    "mixed": {"learner": "skdb", "smoothing": "auto", "weights": "levels"},
    "normal": {"effort": "normal", "encodings": ["ef:2", "ef:3"]},
    "members": {"learner": "eskdb", "members": 8, "kmax": 1, "weights": "auto"},
    "mixed levels": {"learner": "kdb", "smoothing": "hierarchical", "weights": "auto"},
    "auto": {"learner": "kdb", "discretise": "auto", "encodings": ["ef:2", "ef:3"]},
    "modl": {"learner": "nb", "discretise": "modl", "keep": PLAIN},
    "bound": {"learner": "kdb", "bound": "hoeffding"},
    "many values": {"learner": "nb", "columns": ["name"], "categorical": ["name"]},
    "many tables": {
        "learner": "nb",
        "limits": Limits(long_plan_costs=(0, 0, 0), long_row_costs=(0, 0, 0)),
    },
    "many classes": {"learner": "nb", "target": "name", "columns": ["colour"]},
    "sparse average": {"learner": "a2de", "columns": ["name", *PLAIN], "categorical": ["name"]},
    "long": {"learner": "nb", "long": ["id", "about", "value"], "columns": None},
    "long kdb": {"learner": "kdb", "long": ["id", "about", "value"], "columns": None},
    "wide keys": {"learner": "kdb", "k": 4, "backoff": "parents", "bins": 60},
}


def rows(n: int = 300) -> pa.Table:
    r = random.Random(16)
    found = []
    for i in range(n):
        kind = r.choice(["apple", "pear", "plum"])
        found.append(
            {
                "colour": r.choice([kind[:2], "red", "green", None]),
                "size": r.gauss(len(kind), 1.0),
                "month": float(r.randint(1, 300)),
                "sort": f"{kind[0]}{i % 2}",
                "farm": "north" if kind == "apple" else r.choice(["south", "east"]),
                "name": f"n{i % 140}",
                "kind": kind,
                "w": r.choice([0.5, 1.0, 2.5]),
            }
        )
    return pa.Table.from_pylist(found)


def cells(table: pa.Table) -> pa.Table:
    """The same as a long table."""
    found = [
        {"id": i, "about": name, "value": str(row[name])}
        for i, row in enumerate(table.to_pylist())
        for name in ("kind", "colour", "sort")
    ]
    return pa.Table.from_pylist(found)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One store with a model of every case; one of them was changed."""
    folder = tmp_path_factory.mktemp("stores")
    data = rows()
    for name, given in CASES.items():
        target = given.get("target", "kind")
        options = {"columns": PLAIN, **given, "target": target}
        options = {"limits": Limits(inline_categories=20), **options}
        with sqlbn.fit(cells(data) if "long" in given else data, **options) as model:
            model.save(folder / "models.duckdb", name)
    sqlbn.update(folder / "models.duckdb", "weighted", data.slice(0, 20))
    return folder / "models.duckdb"


def stored(store: Path) -> list[tuple[str, str, str, str, str | None]]:
    """Model, table, column, type, comment."""
    with duckdb.connect(str(store), read_only=True) as con:
        return con.sql(
            "SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() "
            "WHERE NOT internal ORDER BY ALL"
        ).fetchall()


def test_all_that_is_stored_is_declared(store: Path) -> None:
    for model, table, column, kind, _ in stored(store):
        found = declared(table)
        assert found is not None, (model, table)
        assert found.helper == model.endswith("__tables"), (model, table)
        said = found.column(column)
        assert said is not None, (model, table, column)
        assert kind in said.types, (model, table, column, kind)


def test_all_that_is_declared_is_stored(store: Path) -> None:
    seen = set()
    for _, name, column, kind, _ in stored(store):
        table = declared(name)
        assert table is not None
        said = table.column(column)
        assert said is not None
        seen |= {(table.name, said.name), (table.name, said.name, kind)}
    for table in TABLES:
        for column in table.columns:
            assert (table.name, column.name) in seen, f"no store has {table.name}.{column.name}"
            if column.type == "BIGINT or DOUBLE":
                for kind in column.types:
                    assert (table.name, column.name, kind) in seen, (table.name, column.name, kind)


def test_what_every_model_has(store: Path) -> None:
    found: dict[str, set[str]] = {}
    for model, name, *_ in stored(store):
        table = declared(name)
        assert table is not None
        found.setdefault(table.name, set()).add(model.removesuffix("__tables"))
    for table in TABLES:
        if table.required or table.writers == "every model":
            assert found[table.name] == set(CASES), table.name
        elif table.form == "table":
            assert found[table.name] < set(CASES), table.name


def test_columns_come_in_the_declared_order(store: Path) -> None:
    """Older programs insert and compare by place."""
    with duckdb.connect(str(store), read_only=True) as con:
        for (_, name), columns in _in_order(con).items():
            table = declared(name)
            assert table is not None
            order = [table.columns.index(_column(table, column)) for column in columns]
            assert order == sorted(order), (name, columns)


def _in_order(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in con.sql(
        "SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE NOT internal "
        "ORDER BY schema_name, table_name, column_index"
    ).fetchall():
        found.setdefault((schema, table), []).append(column)
    return found


def _column(table: Table, name: str) -> Any:
    found = table.column(name)
    assert found is not None, (table.name, name)
    return found


def test_the_store_carries_the_comments(store: Path) -> None:
    for model, name, column, _, comment in stored(store):
        table = declared(name)
        assert table is not None
        assert comment == _column(table, column).comment, (model, name, column)
    with duckdb.connect(str(store), read_only=True) as con:
        for what in ("table", "view"):
            query = f"SELECT {what}_name, comment FROM duckdb_{what}s() WHERE NOT internal"
            for name, comment in con.sql(query).fetchall():
                table = declared(name)
                assert table is not None
                assert comment == table.comment
        macros = con.sql(
            "SELECT comment FROM duckdb_functions() WHERE function_name = 'predict'"
        ).fetchall()
    assert len(macros) == len(CASES)
    assert all("prediction" in comment for (comment,) in macros)


def test_comments_of_very_many_columns_are_left_out(tmp_path: Path) -> None:
    """A comment on a column of a table of 1,000 columns costs as much as a small table."""
    path = tmp_path / "models.duckdb"
    limits = Limits(stored_comments=5)
    sqlbn.fit(rows(), "kind", "nb", store=path, name="m", limits=limits, columns=PLAIN).close()
    several = [c for _, t, _, _, c in stored(path) if t.startswith(("cpt_", "predict_factor"))]
    assert sum(comment is not None for comment in several) == 5 < len(several)
    assert all(c for _, t, _, _, c in stored(path) if t == "attributes")


def test_keys_of_meta(store: Path) -> None:
    with duckdb.connect(str(store), read_only=True) as con:
        found = [
            dict(con.sql(f'SELECT key, value FROM "{name}".meta').fetchall()) for name in CASES
        ]
    known = {key.name for key in META}
    for meta in found:
        assert set(meta) <= known
        assert {key.name for key in META if key.required} <= set(meta)
    # Of columns with very many values, of a search that was stopped, of `network follow`.
    elsewhere = {"elementary", "interrupted", "window"}
    assert known - set().union(*found) == elsewhere


def test_parquet_tables_carry_the_comments(tmp_path: Path) -> None:
    sqlbn.fit(rows(), "kind", "nb", store=f"{tmp_path}/lake/", name="m", columns=PLAIN).close()
    files = list(tmp_path.rglob("*.parquet"))
    assert files
    for file in files:
        table = declared(file.stem)
        assert table is not None
        noted = pq.read_schema(file).metadata
        assert noted[b"comment"].decode() == table.comment
        assert json.loads(noted[b"column_comments"]) == {c.name: c.comment for c in table.columns}


def test_the_page_prints_the_declaration() -> None:
    page = PAGE.read_text(encoding="utf-8")
    block = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    wanted = block.sub(lambda _: f"{BEGIN}\n{reference()}\n{END}", page)
    if os.environ.get("SQLBN_UPDATE_GOLDEN") == "1":
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert wanted == page, "SQLBN_UPDATE_GOLDEN=1 pytest tests/house/test_schema.py writes it anew"
