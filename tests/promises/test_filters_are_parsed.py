"""A filter is an expression over the source's columns, also the one that a model has stored."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.cli.output import ShellSpelling
from sqlbn.data import open_source
from sqlbn.engines import Session
from sqlbn.errors import ColumnError, SourceError

TAKEN = [
    "spots = 1",
    "spots IN (1, 2) AND NOT ripe",
    "colour LIKE 'r%' OR colour IS NULL -- why",
    "colour /* why */ ILIKE '_ED'",
    "lower(colour) = 'red' AND colour.upper() = 'RED'",
    "spots BETWEEN 1 AND 2 AND weight ** 2 > 3 AND spots % 2 = 0",
    "CASE WHEN ripe THEN spots ELSE -spots END > 0",
    "coalesce(colour, 'none') <> 'none'",
    "try_cast(colour AS INTEGER) IS NULL AND weight::INTEGER > 0",
    "isnan(width) OR width IS DISTINCT FROM 3",
    "regexp_matches(colour, 'r.d') AND colour ~ 'red'",
    "length(colour) > 2 AND colour || 'x' = 'redx'",
    "DATE '2020-01-01' + INTERVAL 1 DAY > DATE '2019-01-01'",
    "extract(year FROM DATE '2020-01-01') = 2020",
    "list_contains(['red', 'blue'], colour)",
    "len(list_filter([spots, 9], lambda x: x > spots)) = 1",
    "[x + 1 FOR x IN [spots] IF x > 1] <> []",
    "{'a': spots}.a = 1 AND colour COLLATE nocase = 'RED'",
    "ripe",
    "spots",
    "\"colour\" = 'it''s'",
]


@pytest.mark.parametrize("where", TAKEN)
def test_an_expression_over_columns_is_taken(fruit: pa.Table, where: str) -> None:
    with Session() as engine, duckdb.connect() as connection:
        found = engine.row(open_source(engine, fruit, where=where).select("count(*)"))
        connection.register("fruit", fruit)
        wanted = connection.execute(f"SELECT count(*) FROM fruit WHERE {where}\n").fetchone()
    assert found == wanted


@pytest.mark.parametrize(
    ("where", "line"),
    [
        (
            "getenv('HOME') = colour",
            "it has the function getenv; only columns, constants and plain",
        ),
        ("spots IN (SELECT 1)", "it has a query inside it"),
        ("spotz = 1", "'spotz' is no column of the source"),
        ("spots = 1) OR (true", "syntax error"),
        ("spots = 1 ORDER BY 1", "it is not one condition"),
        ("colour", "is not a condition but of type VARCHAR: compare it with a value"),
        ("'red'", "is not a condition but of type VARCHAR"),
        ("weight", "is not a condition but of type DOUBLE"),
    ],
)
def test_what_is_none_is_told(fruit_file: str, where: str, line: str) -> None:
    done = CliRunner().invoke(app, ["rank", fruit_file, "--target", "kind", "--where", where])
    assert done.exit_code == 1 and done.output.count("\n") == 1
    assert f"{ShellSpelling().option('where', where)} " in done.output and line in done.output


def test_trust_lifts_it_in_python_and_the_program(fruit_file: str, fruit: pa.Table) -> None:
    where = "spots IN (SELECT max(spots) FROM range(3) t(spots))"
    with Session() as engine:
        trusted = open_source(engine, fruit, where=where, trust_sql=True)
        assert engine.row(trusted.select("min(spots), max(spots)")) == (2, 2)
    words = ["rank", fruit_file, "--target", "kind", "--where", where]
    assert CliRunner().invoke(app, words).exit_code == 1
    assert CliRunner().invoke(app, [*words, "--trust-sql"]).exit_code == 0


def test_a_stored_filter_is_parsed_again(fruit_file: str, fruit: pa.Table, tmp_path: Path) -> None:
    store, more = tmp_path / "m.duckdb", tmp_path / "more.parquet"
    pq.write_table(fruit.slice(0, 50), more)
    sqlbn.fit(fruit_file, "kind", "nb", where="spots < 3", store=store, name="x").close()
    crafted = f"spots < 3 AND spots IN (FROM enable_logging(storage_path = '{tmp_path}/log'))"
    with duckdb.connect(store) as connection:
        connection.execute("UPDATE x.meta SET value = ? WHERE key = 'where'", [crafted])
    for change in (sqlbn.update, sqlbn.forget):
        with pytest.raises(ColumnError, match=r"the model's own condition.*give where for these"):
            change(store, "x", str(more))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.duckdb", "more.parquet"]
    sqlbn.update(store, "x", str(more), where="spots < 3")


def test_a_database_cannot_lend_its_own_functions(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(9)")
        connection.execute("CREATE MACRO lower(x) AS current_setting('threads')")
        connection.execute("CREATE MACRO more(x) AS x + 1")
    with Session() as engine:
        for call in ("lower(a)", "more(a)"):
            with pytest.raises(SourceError, match=r"^query cannot be used: it has the function"):
                open_source(engine, path, query=f"SELECT {call} AS b FROM t")
        for table in ("memory.main.t", "duckdb_secrets", "nowhere", "information_schema.tables"):
            with pytest.raises(SourceError, match="is no table of the database and no file"):
                open_source(engine, path, query=f"FROM {table}")
        source = open_source(engine, path, query="SELECT a + 1 AS b FROM main.t WHERE a > 1")
        assert engine.row(source.select("sum(b)")) == (42,)
