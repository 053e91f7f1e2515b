"""A filter or a query that is more than one over columns and named files is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sqlbn
from sqlbn.data import open_source
from sqlbn.engines import Session
from sqlbn.errors import ColumnError, SourceError

ROWS = pa.table(
    {"a": [1, 2, 3], "b": ["x", "y", "z"], "l": [[1], [2], [3]], "kind": ["u", "v", "u"]}
)

FILTERS = [
    # other files and tables
    "a IN (SELECT 1)",
    "EXISTS (FROM 'secret.csv')",
    "(SELECT content FROM read_text('{}/secret')) = 'x'",
    "b = (SELECT content FROM read_text('{}/secret'))",
    "b = ANY(SELECT content FROM read_text('{}/secret'))",
    "a = (FROM query('SELECT 1'))",
    "a < (SELECT count(*) FROM glob('/*'))",
    "b IN (SELECT name FROM duckdb_secrets())",
    "b IN (FROM duckdb_settings)",
    "b IN (SELECT value FROM sqlbn_model_1.meta)",
    "a IN (FROM range(3))",
    "a IN (VALUES (1))",
    "a = (SELECT max(a) FROM ROWS)",
    # settings, variables, sequences, the environment
    "getenv('HOME') = b",
    "current_setting('temp_directory') = b",
    "b = getvariable('x')",
    "nextval('s') = 1",
    "currval('s') = 1",
    "setval('s', 3) = 1",
    "in_search_path('a', 'b')",
    "current_user = b",
    "current_database() = b",
    "current_schema() = b",
    "session_user = b",
    "version() = b",
    "current_query() = b",
    "pg_get_viewdef('x') = b",
    "txid_current() = a",
    # effects
    "enable_logging() = 1",
    "write_log('x') IS NULL",
    "a IN (FROM enable_logging('QueryLog', storage_path = '{}/log'))",
    "a IN (FROM enable_profiling())",
    "a IN (FROM checkpoint())",
    "sleep_ms(10000) IS NULL",
    "pg_sleep(10) IS NULL",
    "setseed(0.5) IS NULL",
    # errors that tell something
    "error(b) IS NULL",
    "error(getenv('HOME')) IS NULL",
    "CAST(getenv('HOME') AS INTEGER) = 1",
    "CAST((SELECT content FROM read_text('{}/secret')) AS INTEGER) = 1",
    # what does not repeat
    "random() < 0.5",
    "uuid() = b",
    "now() > DATE '2020-01-01'",
    "today() > DATE '2020-01-01'",
    "current_timestamp > DATE '2020-01-01'",
    # SQL inside SQL
    "json_execute_serialized_sql('x') = 1",
    "json_serialize_sql('SELECT 1') = b",
    "json_serialize_plan('SELECT 1') = b",
    "json_deserialize_sql('x') = b",
    # more than one condition
    "a = 1) OR (a = 2",
    "true); DROP TABLE t; SELECT (1",
    "a = 1; DROP TABLE t",
    "a = 1; COPY (SELECT 1) TO '{}/written'",
    "true UNION ALL SELECT 1",
    "true GROUP BY a",
    "true ORDER BY a",
    "true LIMIT 1",
    "true HAVING true",
    "true QUALIFY row_number() OVER () = 1",
    "true USING SAMPLE 1",
    "true WINDOW w AS ()",
    "a = 1 /*",
    "a = 1 */",
    "",
    "-- nothing",
    # no expressions over a row
    "count(*) > 1",
    "sum(a) > 1",
    "list(a) = l",
    "row_number() OVER () = 1",
    "sum(a) OVER () > 1",
    "a = ?",
    "a = $1",
    "a = $name",
    "COLUMNS(*) = 1",
    "COLUMNS(*)::VARCHAR = 'x'",
    "*COLUMNS(*) = 1",
    "#1 = 1",
    "unnest(l) = 1",
    "GROUPING(a) = 1",
    "DEFAULT",
    # names that are no columns
    "rowid = 1",
    "file_index = 0",
    "filename = 'x'",
    "system.main.lower(b) = 'x'",
    "main.lower(b) = 'x'",
    "nope = 1",
    "list_filter(l, lambda x: y > 1) = l",
    "list_transform(l, lambda x: getenv('HOME')) = ['x']",
    "CASE WHEN a = 1 THEN getenv('HOME') ELSE b END = 'x'",
    "[getenv(x) FOR x IN [b]] = ['x']",
    "a BETWEEN 1 AND (SELECT 2)",
    "b COLLATE nocase = getenv('HOME')",
    "a IN (1, (SELECT 1))",
    "{{'x': getenv('HOME')}}.x = b",
    # too much
    "(" * 3000 + "a = 1" + ")" * 3000,
    "NOT " * 3000 + "a = 1",
    "[" * 900 + "a" + "]" * 900 + " = 1",
    "a = 1 OR " * 20_000 + "a = 2",
    "\x00",
    "a = 1\x00",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Session]:
    with Session() as found:
        yield found


@pytest.mark.parametrize("at", range(len(FILTERS)))
def test_a_hostile_filter_is_refused_in_a_line(at: int, engine: Session, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    where = FILTERS[at].format(tmp_path)
    with pytest.raises(ColumnError, match=r"^where=") as told:
        open_source(engine, ROWS, where=where)
    message = str(told.value)
    assert "the secret" not in message and "\n" not in message.replace(where, "")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


QUERIES = [
    "DROP TABLE t",
    "COPY (SELECT 1) TO '{}/written'",
    "ATTACH '{}/x.duckdb'",
    "SET memory_limit = '1GB'",
    "PRAGMA version",
    "INSTALL httpfs",
    "CALL enable_logging()",
    "FROM 'a.csv'; FROM 'a.csv'",
    "FROM enable_logging()",
    "FROM enable_logging('QueryLog', storage_path = '{}/log')",
    "FROM read_text('{}/secret')",
    "FROM read_blob('{}/secret')",
    "FROM glob('/*')",
    "FROM query('SELECT 1')",
    "FROM query_table('t')",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_secrets",
    "FROM sqlite_master",
    "FROM information_schema.tables",
    "FROM pg_catalog.pg_class",
    "FROM memory.main.t",
    "FROM ROWS",
    "FROM engine",
    "SHOW TABLES",
    "DESCRIBE SELECT 1",
    "SUMMARIZE SELECT 1",
    "FROM (SHOW ALL TABLES)",
    "SELECT getenv('HOME') AS kind",
    "SELECT current_setting('temp_directory') AS kind",
    "SELECT nextval('s') AS kind",
    "SELECT write_log('x') AS kind",
    "SELECT error('x') AS kind",
    "SELECT random() AS kind",
    "WITH duckdb_secrets AS (FROM duckdb_secrets) FROM duckdb_secrets",
    "WITH a AS (FROM b), b AS (SELECT 1) FROM a",
    "SELECT (SELECT content FROM read_text('{}/secret')) AS kind",
    "FROM read_csv(getvariable('x'))",
    "FROM read_csv(['{}/secret', getenv('HOME')])",
    "FROM read_csv('{}/secret') JOIN duckdb_secrets() ON true",
    "FROM (VALUES (getenv('HOME'))) v(kind)",
    "SELECT 1 AS kind ORDER BY getenv('HOME')",
    "SELECT 1 AS kind LIMIT (SELECT 1 FROM duckdb_secrets())",
    "SELECT 1 AS kind FROM range(getenv('HOME'))",
    "SELECT sum(1) FILTER (WHERE getenv('HOME') = 'x') AS kind",
    "SELECT first(1 ORDER BY getenv('HOME')) AS kind",
    "SELECT row_number() OVER (ORDER BY getenv('HOME')) AS kind",
    "SELECT * REPLACE (getenv('HOME') AS kind) FROM (SELECT 1 AS kind)",
    "FROM json_execute_serialized_sql('x')",
    "",
    ";",
    "not sql",
]


@pytest.mark.parametrize("at", range(len(QUERIES)))
def test_a_hostile_query_is_refused_in_a_line(at: int, engine: Session, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    query = QUERIES[at].format(tmp_path)
    with pytest.raises(SourceError, match=r"^query\b") as told:
        open_source(engine, None, query=query)
    message = str(told.value)
    assert "the secret" not in message and "\n" not in message.replace(query, "")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_trusted_sql_is_run(tmp_path: Path) -> None:
    (tmp_path / "only").write_text("x")
    where = f"b = (SELECT content FROM read_text('{tmp_path}/only'))"
    with sqlbn.fit(ROWS, "kind", "nb", keep=["a"], columns=["a"]) as model:
        scored = model.predict(ROWS, where=where, trust_sql=True)
        assert isinstance(scored, pa.Table) and scored["a"].to_pylist() == [1]
