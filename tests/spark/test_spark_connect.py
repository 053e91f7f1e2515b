"""Spark Connect: a program without Java that fits, scores and evaluates on a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from spark_cluster import ConnectServer

import sqlbn

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import sqlbn

url, data, folder = sys.argv[1:]
spark = {"engine": "spark", "master": url, "cluster_dir": f"{folder}/kept"}
with sqlbn.fit(data, "kind", "kdb", k=1, **spark) as model:
    model.predict(data, out=f"{folder}/scored.parquet")
    found = {
        "counts": model._table("counts", "ALL").to_pylist(),
        "parents": model._table("parents", "ALL").to_pylist(),
        "losses": model.evaluate(data, ranking=False).losses,
    }
from pyspark.sql import SparkSession
session = SparkSession.builder.remote(url).create()
frame = session.read.parquet(f"file://{data}")
with sqlbn.fit(frame, "kind", "nb", engine="spark", session=session) as model:
    found["rows"] = model.meta["rows"]
names = [t.name for t in session.catalog.listTables("global_temp")]
found["left"] = names + [d.name for d in session.catalog.listDatabases()]
session.stop()
print(json.dumps(found))
"""


def test_a_model_on_connect_is_that_of_duckdb(
    connect_server: ConnectServer, fruit_file: str, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    words = [sys.executable, "-c", PROGRAM, connect_server.url, fruit_file, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    with sqlbn.fit(fruit_file, "kind", "kdb", k=1) as model:
        for name in ("counts", "parents"):
            wanted = json.loads(json.dumps(model._table(name, "ALL").to_pylist()))
            assert found[name] == [pytest.approx(row, abs=1e-9) for row in wanted]
        assert found["losses"] == pytest.approx(model.evaluate(fruit_file, ranking=False).losses)
        wanted_rows = model.predict(fruit_file)
    scored = pq.read_table(tmp_path / "scored.parquet")
    assert scored.column_names == wanted_rows.column_names
    for name in ("p_apple", "p_pear", "p_plum"):
        # One file on one partition: rows come in their order.
        assert scored[name].to_pylist() == pytest.approx(wanted_rows[name].to_pylist(), abs=1e-9)
    assert found["rows"] == 300 and found["left"] == ["default"]
    assert list((tmp_path / "kept").iterdir()) == []
