"""A store that the version before wrote (`before/README.md`): all that can be done with a model."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

import sqlbn

BEFORE = Path(__file__).parent / "before"
FRUIT = str(BEFORE / "fruit.parquet")
MODELS = ["a1de", "kdb", "skdb", "snb", "spc", "weighted"]
CLASSES = ["p_apple", "p_pear", "p_plum"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The store, to be changed."""
    path = tmp_path / "models.duckdb"
    path.write_bytes(lzma.decompress((BEFORE / "models.duckdb.xz").read_bytes()))
    return path


def predicted(name: str) -> dict[str, list[Any]]:
    """What the version before predicted."""
    found = pq.read_table(BEFORE / "predictions.parquet", filters=[("model", "=", name)])
    return {c: found.sort_by("row")[c].to_pylist() for c in ("prediction", *CLASSES)}


def same(found: Any, wanted: dict[str, list[Any]]) -> None:
    assert found["prediction"].to_pylist() == wanted["prediction"]
    for column in CLASSES:
        assert found[column].to_pylist() == pytest.approx(wanted[column], abs=1e-12)


def test_it_is_listed_and_shown(store: Path) -> None:
    metas = sqlbn.models(store)
    assert sorted(metas) == MODELS
    assert {meta["rows"] for meta in metas.values()} == {240}
    with sqlbn.load(store, "kdb") as model:
        assert model.attributes.num_rows == 4
        assert model.target == "kind"


def test_its_losses_are_shown(store: Path, run: Any) -> None:
    """They do not say on how many rows they rest: on all."""
    with sqlbn.load(store, "skdb") as model:
        assert "rows" not in model.loocv.column_names
    shown = run("show", "skdb", "--store", store, "--loocv")
    assert shown.returncode == 0
    assert "* chosen: k = " in shown.stdout
    assert "~" not in shown.stdout


@pytest.mark.parametrize("name", MODELS)
def test_it_predicts_the_same(store: Path, name: str) -> None:
    with sqlbn.load(store, name) as model:
        same(model.predict(FRUIT), predicted(name))


def test_its_own_macro_predicts_the_same(store: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        for name in MODELS:
            found = con.sql(f"FROM m.{name}.predict('{FRUIT}')").to_arrow_table()
            same(found, predicted(name))


@pytest.mark.parametrize("name", MODELS)
def test_it_is_updated_and_rows_are_taken_out(store: Path, name: str) -> None:
    sqlbn.update(store, name, FRUIT, again=True)
    assert sqlbn.models(store)[name]["rows"] == 480
    sqlbn.forget(store, name, FRUIT, again=True)
    meta = sqlbn.models(store)[name]
    assert (meta["rows"], meta["version"]) == (240, 3)
    with sqlbn.load(store, name) as model:
        same(model.predict(FRUIT), predicted(name))


def test_it_is_merged_and_replaced(store: Path) -> None:
    sqlbn.merge(store, "kdb", "kdb", "both", other_store=store, again=True)
    assert sqlbn.models(store)["both"]["rows"] == 480
    sqlbn.fit(FRUIT, "kind", "nb", store=store, name="kdb", replace=True).close()
    metas = sqlbn.models(store)
    assert (metas["kdb"]["learner"], metas["kdb"]["version"]) == ("nb", 2)
    assert sorted(metas) == sorted([*MODELS, "both"])
    with duckdb.connect(str(store), read_only=True) as con:
        told = con.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 'cuts'").fetchall()
    # Only what was written now has comments.
    assert sorted(text is not None for (text,) in told) == [False] * 5 + [True] * 2
