"""`predict` tells the share of rows with values never seen, by column; `--strict` refuses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.errors import SqlbnError

TRAIN = pa.table(
    {
        "job": ["cook", "clerk"] * 50,
        "age": [float(i % 60) for i in range(100)],
        "city": ["Rome", None] * 50,
        "y": ["a", "b"] * 50,
    }
)
NEW = pa.table(
    {
        "job": ["cook", "king", None, "clerk"],
        "age": [1000.0, None, 5.0, -9.0],
        "city": [None, "Rome", "Rome", "Rome"],
    }
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unseen") / "models.duckdb"
    sqlbn.fit(TRAIN, "y", "nb", store=path, name="m").close()
    pq.write_table(NEW, path.with_name("new.parquet"))
    return path


@pytest.fixture(scope="module", params=["nb", "a1de", "spc"])
def model(request: pytest.FixtureRequest) -> Iterator[sqlbn.Model]:
    with sqlbn.fit(TRAIN, "y", request.param) as fitted:
        yield fitted


def test_shares_by_column(model: sqlbn.Model) -> None:
    """A new category, and missing values where training had none; numbers of any size are known."""
    model.predict(NEW)
    assert model.unseen.rows == 4
    assert model.unseen.shares == {"job": 0.5, "age": 0.25}
    model.predict(TRAIN)
    assert model.unseen.shares == {}


def test_strict_is_an_error_and_nothing_is_written(model: sqlbn.Model, tmp_path: Path) -> None:
    with pytest.raises(SqlbnError, match=r"job 50\.0 % of rows, age 25\.0 % of rows"):
        model.predict(NEW, out=tmp_path / "scored.csv", strict=True)
    assert list(tmp_path.iterdir()) == []
    assert model.predict(TRAIN, strict=True).num_rows == 100


def test_in_the_command_line(run: Run, store: Path) -> None:
    words = ("predict", "m", "new.parquet", "--store", store)
    done = run(*words, cwd=store.parent)
    assert "unseen values: job 50.0 % of rows, age 25.0 % of rows" in done.stderr.splitlines()
    assert len(done.stdout.splitlines()) == 5
    done = run(*words, "--json", "--out", "scored.parquet", cwd=store.parent)
    assert json.loads(done.stdout)["unseen"] == {"job": 0.5, "age": 0.25}
    done = run(*words, "--strict", "--out", "never.parquet", cwd=store.parent)
    assert done.returncode == 1
    assert done.stderr.startswith("sqlbn: values that the model has never seen: job")
    assert not (store.parent / "never.parquet").exists()
