"""AnDE through the store, and against the results of an independent program on real data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_tables
import reference
import reference_ande
from ande_cases import answers, by_ande, meaning
from golden_sets import LONG, QUICK, golden, split
from limited import limited

import sqlbn

GOLDEN = 1e-9


# ---- the store


STORED: dict[str, dict[str, Any]] = {
    "a1de": {},
    "a1de-sw": {"min_count": 9},
    "a2de": {"attributes": 3},
    "a2de-s": {"min_count": 9, "select": "attributes", "loss": "log_loss"},
    "a2de-sw": {"min_count": 9, "m": 0.5},
}


@pytest.mark.parametrize("learner", STORED)
def test_a_stored_model_predicts_in_plain_duckdb(
    fruit: pa.Table, tmp_path: Path, learner: str
) -> None:
    """Also rows with values that were not seen, missing ones and other columns."""
    path, data = tmp_path / "models.duckdb", tmp_path / "new.parquet"
    strange = {"colour": "black", "spots": 99, "ripe": None, "weight": None, "width": 1e9}
    rows = [*fruit.to_pylist()[::7], {**strange, "kind": "nut"}]
    new = pa.Table.from_pylist(rows, fruit.schema).append_column("row", [range(len(rows))])
    pq.write_table(new, data)
    with sqlbn.fit(fruit, "kind", learner, store=path, name="m", **STORED[learner]) as model:
        in_arrays = answers(model, new)
        with limited(average_array_share=0.0):  # the query that the store has, too
            wanted = answers(model, new)
        attributes, surface = model.attributes, model.loocv
    assert_near(in_arrays, wanted)
    with duckdb.connect() as con:
        con.register("given", new)
        con.execute("CREATE TEMP TABLE tbl AS FROM given")
        con.execute(f"ATTACH '{path}' AS m (READ_ONLY)")
        con.execute("USE m.m")
        for name in ("tbl", data):
            found = con.sql(f"FROM predict('{name}') ORDER BY row").to_arrow_table()
            assert found.select(wanted.column_names).equals(wanted)
    with sqlbn.load(path, "m") as loaded:
        with limited(average_array_share=0.0):
            assert answers(loaded, new).equals(wanted)
        assert_near(answers(loaded, new), wanted)
        assert loaded.attributes.equals(attributes)
        assert (loaded.loocv is None) == (surface is None)
        assert surface is None or loaded.loocv.equals(surface)


def assert_near(found: pa.Table, wanted: pa.Table) -> None:
    """The same predictions, and probabilities up to 1e-12."""
    assert found.column_names == wanted.column_names
    assert found["prediction"].equals(wanted["prediction"])
    for name in wanted.column_names[1:]:
        for one, other in zip(found[name].to_pylist(), wanted[name].to_pylist(), strict=True):
            assert one == pytest.approx(other, rel=1e-12, abs=1e-300)


# ---- the results of an independent program


def check_golden(shared: Path, name: str, folder: Path) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], folder)
    learners = [learner for learner in wanted["test"] if learner.startswith(("a1de", "a2de"))]
    assert learners
    options = {"columns": names, "categorical": names, "unseen": "smoothed"}
    for learner in learners:
        with sqlbn.fit(train, wanted["target"], learner, **options) as model:
            losses = model.evaluate(test).losses
        for loss, value in wanted["test"][learner].items():
            assert losses[loss] == pytest.approx(value, rel=0, abs=GOLDEN), (learner, loss)


@pytest.mark.parametrize("name", QUICK)
def test_golden(shared: Path, name: str, tmp_path: Path) -> None:
    check_golden(shared, name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_golden_of_larger_sets(shared: Path, name: str, tmp_path: Path) -> None:
    check_golden(shared, name, tmp_path)


def reference_is_golden(name: str, learners: Sequence[str] | None) -> None:
    wanted, names, train, test = random_tables.golden(name)
    for learner, losses in wanted["test"].items():
        if not (learner in learners if learners else learner.startswith("a")):
            continue
        options = {**meaning(learner), "categorical": names, "unseen": "smoothed"}
        ref = reference_ande.fit(train, names, wanted["target"], **options)
        with by_ande():
            got = reference.evaluate(ref, test)
        for loss, value in losses.items():
            assert got[loss] == pytest.approx(value, rel=0, abs=1e-10), (learner, loss)


@pytest.mark.parametrize(("name", "learners"), [("titanic", None), ("breast-cancer", ["a2de-w"])])
def test_the_reference_gives_the_golden_losses(name: str, learners: Sequence[str] | None) -> None:
    reference_is_golden(name, learners)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast-cancer", "car", "solar-flare2", "vote"])
def test_the_reference_gives_all_golden_losses(name: str) -> None:
    reference_is_golden(name, None)
