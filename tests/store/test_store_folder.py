"""Models as Parquet tables in a folder: the same model as in a file, whole or not there."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sqlbn
import sqlbn as api
from sqlbn.errors import StoreError
from sqlbn.store import parquet_folder as store_folder
from sqlbn.store.parquet_folder import StoreFolder

NAME = 'a "b"/c%é'


@pytest.fixture
def table() -> pa.Table:
    random = np.random.default_rng(3)
    columns = {f"x{i}": random.integers(0, 4, 300) for i in range(5)}
    return pa.table({**columns, "y": np.where(columns["x0"] > 1, "yes", "no")})


@pytest.mark.parametrize("learner", ["kdb", "a1de", "spc"])
def test_same_model_as_in_a_file(tmp_path: Path, table: pa.Table, learner: str) -> None:
    file = tmp_path / "m.duckdb"
    with api.fit(table, "y", learner, store=file, name=NAME) as model:
        expected = model.predict(table)
    with api.fit(table, "y", learner, store_table=str(tmp_path / "lake"), name=NAME):
        pass
    with api.load(tmp_path / "lake", NAME) as model:
        assert model.predict(table).equals(expected)
        assert model.meta["name"] == NAME
    assert list(api.models(tmp_path / "lake")) == [NAME]
    meta = next((tmp_path / "lake").glob("*/*/meta.parquet"))
    assert duckdb.sql(f"SELECT value FROM '{meta}' WHERE key = 'target'").fetchall() == [("y",)]


def test_wide_keys_come_back_whole(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    columns = {f"x{i}": random.integers(0, 2**20, 900).astype(str) for i in range(8)}
    table = pa.table({**columns, "y": random.integers(0, 2, 900)})
    options = {"k": 7, "keep": list(columns), "exclude": []}
    with api.fit(table, "y", "kdb", store=tmp_path / "m.duckdb", name="m", **options) as model:
        expected = model.predict(table)
        kinds = dict(model._session.columns(model._workspace.table("counts")))
    api.fit(table, "y", "kdb", store_table=str(tmp_path / "lake"), name="m", **options).close()
    with api.load(tmp_path / "lake", "m") as model:
        assert dict(model._session.columns(model._workspace.table("counts"))) == kinds
        assert kinds["key"] == "HUGEINT"
        assert model.predict(table).equals(expected)


def test_update_makes_a_new_version(tmp_path: Path, table: pa.Table) -> None:
    lake = str(tmp_path / "lake")
    api.fit(table, "y", "nb", store_table=lake, name="m").close()
    api.update(lake, "m", table)
    with api.load(lake, "m") as model:
        assert model.meta["rows"] == 600
    assert [p.name[:7] for p in (tmp_path / "lake" / "m").iterdir()] == ["v000002"]


def test_failed_write_leaves_the_old_model(
    tmp_path: Path, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = str(tmp_path / "lake")
    api.fit(table, "y", "nb", store_table=lake, name="m").close()
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(store_folder, "_named", full)
        with pytest.raises(StoreError, match="No space left"):
            api.fit(table, "y", "tan", store_table=lake, name="m", replace=True)
    with api.load(lake, "m") as model:
        assert model.meta["learner"] == "nb"


def test_unfinished_versions_are_not_seen(tmp_path: Path, table: pa.Table) -> None:
    lake = tmp_path / "lake"
    api.fit(table, "y", "nb", store_table=str(lake), name="m").close()
    (lake / "m" / "v000009-dead").mkdir()
    (lake / "only half" / "v000001-dead").mkdir(parents=True)
    assert list(api.models(lake)) == ["m"]
    api.drop(lake, "m")
    assert api.models(lake) == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, t: api.load(s, "absent"), "has no model 'absent'; it holds 'm'"),
        (lambda s, t: api.drop(s, "absent"), "has no model 'absent'"),
        (lambda s, t: api.fit(t, "y", "nb", store_table=s, name="m"), "already holds a model 'm'"),
        (lambda s, t: api.fit(t, "y", "nb", store_table=s, name=".."), "cannot be the name"),
        (lambda s, t: api.load("nowhere://x/y", "m"), "cannot use the store"),
        (
            lambda s, t: api.fit(t, "y", "nb", store="a.duckdb", store_table=s, name="m"),
            "not both",
        ),
    ],
)
def test_errors(tmp_path: Path, table: pa.Table, call: object, message: str) -> None:
    lake = str(tmp_path / "lake")
    api.fit(table, "y", "nb", store_table=lake, name="m").close()
    with pytest.raises(sqlbn.SqlbnError, match=message):
        call(lake, table)  # type: ignore[operator]


def test_an_older_version_is_refused(tmp_path: Path, table: pa.Table) -> None:
    lake = str(tmp_path / "lake")
    with api.fit(table, "y", "nb", store_table=lake, name="m") as model:
        model.save(lake + "/", "m", replace=True)
        with pytest.raises(StoreError, match="changed by somebody else"):
            StoreFolder(lake).save(model._workspace, model.spec, "m", True, instead_of=1)
