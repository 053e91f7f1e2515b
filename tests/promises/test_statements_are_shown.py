"""`--sql` writes every statement as it runs, and an error keeps the one that failed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import Run

import sqlbn
from sqlbn.engines import Session, Settings
from sqlbn.errors import ColumnError, EngineError, OptionError, SourceError, SqlbnError


def test_an_error_of_the_engine_has_its_sql() -> None:
    with Session() as session, pytest.raises(EngineError) as caught:
        session.rows("SELECT nonsense FROM nowhere")
    assert caught.value.sql == "SELECT nonsense FROM nowhere"
    assert "nonsense FROM" not in str(caught.value)
    with (
        Session() as session,
        pytest.raises(EngineError) as caught,
        session.batches("SELECT error('late') FROM range(3)") as reader,
    ):
        reader.read_all()
    assert caught.value.sql == "SELECT error('late') FROM range(3)"


def test_an_error_that_came_of_another_has_its_sql(fruit: pa.Table) -> None:
    with pytest.raises(ColumnError) as caught:
        sqlbn.fit(fruit, "kind", where="width + colour > 1")
    assert caught.value.sql is not None
    assert "width + colour > 1" in caught.value.sql
    with pytest.raises(SourceError) as other:
        sqlbn.fit("nowhere.parquet", "kind")
    assert other.value.sql is None


def test_the_file_is_sql_with_stages_and_seconds(fruit: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "run.sql"
    with sqlbn.fit(fruit, "kind", "nb", sql_log=path) as model:
        learned = path.read_text()
        model.predict(fruit)
    both = path.read_text()
    assert both.startswith(learned)
    assert len(both) > len(learned)
    headers = [line for line in both.splitlines() if " · duckdb" in line]
    ends = [line for line in both.splitlines() if line.endswith(" s") and line.startswith("-- ")]
    assert len(headers) == len(ends) == len(duckdb.extract_statements(both)) > 20
    assert any(line.endswith(" · duckdb · scoring") for line in headers)
    assert "failed" not in both


def test_the_program_adds_to_the_file_and_marks_what_failed(
    program: Run, fruit_file: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.sql"
    wrong = ("fit", fruit_file, "-t", "kind", "-q", "--where", "width + colour > 1")
    done = program(*wrong, "--sql", path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "width + colour > 1" in path.read_text()
    assert path.read_text().count("failed after") == 1
    done = program(*wrong, "--traceback", "--sql", "-")
    assert done.returncode == 1
    shown, _, statement = done.stderr.partition("the statement:\n")
    assert "Traceback" in shown
    assert "failed after" in shown
    assert "width + colour > 1" in statement
    assert program(*wrong, "--sql", tmp_path).stderr.startswith("sqlbn: --sql ")


def test_no_secret_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.sql"
    with Session(Settings(sql_log=path)) as session, pytest.raises(SqlbnError):
        session.rows("SELECT x FROM 's3://key:secret@bucket/x.parquet?token=1' AS t, nowhere")
    assert "bucket/x.parquet" in path.read_text()
    assert "secret" not in path.read_text()
    assert "token=1" not in path.read_text()


def test_a_file_that_cannot_be_written_is_refused(fruit: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"sql_log=.*cannot be written"):
        sqlbn.fit(fruit, "kind", sql_log=tmp_path / "no" / "folder.sql")


def test_spark_keeps_its_own_spelling(spark: object, tmp_path: Path) -> None:
    path = tmp_path / "run.sql"
    settings = Settings(engine="spark", session=spark, sql_log=path)
    with Session(settings) as session:
        session.row_engine.rows('SELECT 7//2 AS "a b"')
        for asked in (session.row_engine.rows, session.row_engine.arrow):
            with pytest.raises(EngineError) as caught:
                asked('SELECT "nothing" FROM nowhere')
            assert caught.value.sql == "SELECT `nothing` FROM nowhere"
        list(session.row_engine.all_arrays(["SELECT 1 AS a", "SELECT 2 AS a"]))
    text = path.read_text()
    assert "· spark\nSELECT 7 div 2 AS `a b`;" in text
    assert text.count("failed after") == 2
