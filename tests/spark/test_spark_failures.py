"""What can go wrong on Spark: lost workers, wrong data, wrong words; and what is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster, free_port

import sqlbn
from sqlbn.engines import Session, Settings
from sqlbn.engines.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("attributes", "classes", "categories", "cuts", "parents", "loocv", "counts")


def tables_of(model: sqlbn.Model, names: tuple[str, ...] = TABLES) -> dict[str, list[Any]]:
    return {name: model._table(name, "ALL").to_pylist() for name in names}


def assert_same(found: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> None:
    for name, rows in wanted.items():
        assert len(found[name]) == len(rows), name
        for one, other in zip(found[name], rows, strict=True):
            assert one == pytest.approx(other, abs=1e-9), name


# -- workers ------------------------------------------------------------------------------------


class KillsAWorker(Progress):
    """Ends a worker, executors and all, as a pass begins.

    What it had kept is lost, and the first tasks of the pass with it. A moment later would be too
    late on a fast machine.
    """

    def __init__(self, cluster: Cluster, stage: str) -> None:
        super().__init__()
        self._cluster, self._stage = cluster, stage
        self.killed: list[int] = []

    @contextmanager
    def stage(self, name: str, title: str, rows: int = 0, total: int = 0) -> Iterator[None]:
        with super().stage(name, title, rows, total):
            if title.startswith(self._stage) and not self.killed:
                self.killed.append(self._cluster.running()[0])
                self._cluster.kill_worker(self.killed[0])
            yield


@pytest.mark.parametrize("stage", ["pass 1", "pass 3"])
def test_a_fit_survives_the_loss_of_a_worker(
    two_workers: Cluster, spark: SparkSession, adult: str, stage: str
) -> None:
    options: dict[str, Any] = {"kmax": 1, "exclude": ["fnlwgt", "education"]}
    with sqlbn.fit(adult, "class", "skdb", **options) as model:
        wanted = tables_of(model)
    progress = KillsAWorker(two_workers, stage)
    with sqlbn.fit(
        adult, "class", "skdb", **options, engine="spark", session=spark, progress=progress
    ) as model:
        assert progress.killed
        assert_same(tables_of(model), wanted)
    two_workers.wait_for_workers()
    assert progress.killed[0] not in two_workers.running()


# -- what is left behind ------------------------------------------------------------------------


def test_nothing_is_left_behind(spark: SparkSession, fruit_file: str, tmp_path: Path) -> None:
    assert spark.sparkContext._jsc is not None
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    kept = tmp_path / "it's kept"
    kept.mkdir()
    settings = Settings(engine="spark", session=spark, cluster_dir=f"file://{kept}")
    with Session(settings) as engine:
        rows = engine.row_engine.persist("SELECT 1 AS a UNION ALL SELECT 2", "numbers")
        assert engine.row_engine.rows(f"SELECT sum(a) FROM {rows.relation}") == [(3,)]
        assert len(list(kept.rglob("*.parquet"))) > 0
        own = engine.row_engine.spark  # type: ignore[attr-defined]
    assert list(kept.iterdir()) == []
    with Session(Settings(engine="spark", session=spark)) as engine:
        rows = engine.row_engine.persist("SELECT 1 AS a", "numbers")
        assert engine.row_engine.rows(f"SELECT a FROM {rows.relation}") == [(1,)]
        assert set(spark.sparkContext._jsc.getPersistentRDDs()) > before
        other = engine.row_engine.spark  # type: ignore[attr-defined]
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) == before
    for session in (spark, own, other):
        assert [t.name for t in session.catalog.listTables() if "sqlbn" in t.name] == []


# -- names and values ----------------------------------------------------------------------------

HOSTILE = ["a.b", "`q`", 'say "x"', "it's", "back\\slash", "🍏 é", "select", "", "%_\n\t", "0x"]


def test_hostile_names_and_values(spark: SparkSession, tmp_path: Path) -> None:
    # Spark takes names for equal that differ in case alone, so none does here.
    names = ["a.b", "`q`", 'say "x"', "it's", "back\\slash", "🍏 é", "_metadata", "class one"]
    rows = [
        {n: HOSTILE[(i * (j + 3) + j) % (j + 3)] for j, n in enumerate(names)} for i in range(80)
    ]
    for i, row in enumerate(rows):
        row["class one"] = HOSTILE[i % 6]
        row["a.b"] = HOSTILE[i % 4]
    path = tmp_path / "it's [1] {a} 🍏%20.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    with sqlbn.fit(str(path), "class one", "nb") as model:
        wanted, predicted = tables_of(model, ("attributes", "categories", "counts")), None
        predicted = model.predict(str(path))
    with sqlbn.fit(str(path), "class one", "nb", engine="spark", session=spark) as model:
        assert_same(tables_of(model, ("attributes", "categories", "counts")), wanted)
        found = model.predict(str(path))
    assert found.column_names == predicted.column_names
    assert sorted(map(repr, found["prediction"].to_pylist())) == sorted(
        map(repr, predicted["prediction"].to_pylist())
    )


# -- one clear line ------------------------------------------------------------------------------


def test_wrong_data(spark: SparkSession, fruit: pa.Table, fruit_file: str, tmp_path: Path) -> None:
    whole = Path(fruit_file).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "m").mkdir()
    pq.write_table(fruit, tmp_path / "m" / "1.parquet")
    other = fruit.set_column(1, "spots", pa.array(map(str, fruit["spots"].to_pylist())))
    pq.write_table(other, tmp_path / "m" / "2.parquet")
    pq.write_table(fruit.slice(0, 0), tmp_path / "empty.parquet")
    (tmp_path / "scored.parquet").mkdir()
    sqlbn.fit(fruit_file, "kind", "nb", store=tmp_path / "m.duckdb", name="m").close()

    def said(data: object, **options: Any) -> str:
        with pytest.raises(sqlbn.SqlbnError) as error:
            sqlbn.fit(str(data), "kind", "nb", engine="spark", session=spark, **options).close()
        line = str(error.value)
        assert "\n" not in line and "JVM" not in line and "SQLSTATE" not in line, line
        return line

    assert "no file matches" in said(tmp_path / "none.parquet")
    assert "cut.parquet" in said(tmp_path / "cut.parquet")
    line = said(fruit_file, where="spotz > 1")
    assert line.startswith("where='spotz > 1' cannot be used: ") and "spotz" in line
    assert "Spark cannot read" in said(tmp_path / "m.duckdb")
    assert "'spots'" in said(tmp_path / "m")
    assert "no row of" in said(tmp_path / "empty.parquet")
    assert "TABLE_OR_VIEW_NOT_FOUND" not in said("table:nowhere")
    with (
        sqlbn.load(tmp_path / "m.duckdb", "m", engine="spark", session=spark) as model,
        pytest.raises(sqlbn.SqlbnError, match=r"scored\.parquet' is there already"),
    ):
        model.predict(fruit_file, out=tmp_path / "scored.parquet")


def test_a_class_of_one_value(spark: SparkSession, fruit_file: str) -> None:
    where: dict[str, Any] = {"where": "kind = 'plum'"}
    with sqlbn.fit(fruit_file, "kind", "nb", **where) as model:
        wanted = tables_of(model, ("classes", "attributes", "counts"))
    with sqlbn.fit(fruit_file, "kind", "nb", **where, engine="spark", session=spark) as model:
        assert_same(tables_of(model, ("classes", "attributes", "counts")), wanted)


def said_by_program(tmp_path: Path, master: str, **environment: str) -> str:
    """The one line of `sqlbn fit` that fails."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    pq.write_table(pa.table({"a": [1, 2], "kind": ["x", "y"]}), tmp_path / "t.parquet")
    words = [
        "fit",
        "t.parquet",
        "--target",
        "kind",
        "--engine",
        "spark",
        "--master",
        master,
        "--quiet",
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "from sqlbn.cli import main; main()", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 1
    return line


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    line = said_by_program(tmp_path, "local[1]", PATH=str(tmp_path))
    assert "needs Java 17 or later" in line


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_where_nobody_answers(tmp_path: Path, scheme: str) -> None:
    place = f"127.0.0.1:{free_port()}"
    line = said_by_program(
        tmp_path, f"{scheme}://{place}", grpc_proxy="", https_proxy="", http_proxy=""
    )
    assert f"--master {scheme}://{place}: nobody answers at {place}; check the address" in line
