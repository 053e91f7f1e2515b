"""Exported scripts on other databases, run as they are: PostgreSQL and Spark."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import export_cases as cases
import postgres_server
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.api.model import Model
from sqlbn.exporting.formats import export_pieces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("sqlglot", reason="sqlglot is not installed (sqlbn[export])")

# On Spark every INSERT is a job.
ON_SPARK: dict[str, dict[str, Any]] = {
    "nb": {"learner": "nb"},
    "a1de": {"learner": "a1de", "columns": ['odd "name"', "size"]},
}
POSTGRES_TYPES = {
    "id": "bigint",
    'odd "name"': "text",
    "order": "integer",
    "code": "bigint",
    "size": "double precision",
    "half": "double precision",
    "price": "numeric(9, 2)",
    "day": "date",
    "moment": "timestamp",
    "ripe": "boolean",
    "many": "text",
}


@pytest.fixture(scope="module")
def train() -> pa.Table:
    return cases.rows(400, 1).drop_columns(["id"])


@pytest.fixture(scope="module")
def new() -> pa.Table:
    return cases.rows(120, 2, new=True).drop_columns(["select"])


@pytest.fixture(scope="module")
def postgres(new: pa.Table) -> Iterator[postgres_server.Server]:
    """A server with the table `new_rows`."""
    reason = postgres_server.why_not()
    if reason:
        pytest.skip(reason)
    server = postgres_server.Server()
    quoted = [f"{_quoted(name)} {kind}" for name, kind in POSTGRES_TYPES.items()]
    lines = "".join("\t".join(map(_copied, row.values())) + "\n" for row in new.to_pylist())
    server.psql(
        f"CREATE TABLE new_rows ({', '.join(quoted)});\nCOPY new_rows FROM stdin;\n{lines}\\.\n"
    )
    yield server
    server.stop()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _copied(value: Any) -> str:
    """A value in PostgreSQL's COPY."""
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


@pytest.mark.parametrize("name", cases.LEARNERS)
def test_postgres(
    name: str, train: pa.Table, new: pa.Table, postgres: postgres_server.Server
) -> None:
    with sqlbn.fit(train, target="select", **cases.LEARNERS[name]) as model:
        script = model.export(
            dialect="postgres", table="NEW_ROWS", key=["id"], view=f"of {name}", name=name
        )
        wanted = model.predict(new)
    postgres.psql(str(script))
    told = postgres.psql(f'COPY (SELECT * FROM "of {name}") TO STDOUT (FORMAT csv, HEADER);')
    header, *rows = csv.reader(io.StringIO(told, newline=""))
    assert header == ["id", *wanted.column_names[-4:]]
    cases.check_equal({int(row[0]): row[1:] for row in rows}, wanted, 3)


def test_spark(train: pa.Table, new: pa.Table, spark: SparkSession) -> None:
    spark.createDataFrame(new).createOrReplaceTempView("new_rows")
    for name, options in ON_SPARK.items():
        with sqlbn.fit(train, target="select", **options) as model:
            found = _run_on_spark(spark, model, name)
            cases.check_equal(found, model.predict(new), 3)


def _run_on_spark(spark: SparkSession, model: Model, name: str) -> dict[int, list[Any]]:
    """Statement by statement; the last one is the query."""
    options = {"dialect": "spark", "table": "new_rows", "key": ["id"]}
    _, *statements = export_pieces(model._workspace, model.spec, "sql", f"out_{name}", options)
    for statement in statements[:-1]:
        spark.sql(statement.rstrip(";\n"))
    rows = spark.sql(statements[-1].rstrip(";\n")).collect()
    return {row[0]: list(row)[1:] for row in rows}
