"""What `fit` chooses where no learner is named, and what it refuses to choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import Run

import sqlbn
from sqlbn.api.fit_calls import plan


def table(rows: int, seed: int = 0) -> pa.Table:
    """A class that depends on the sum of two numbers, a word that repeats one, and noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=rows), rng.normal(size=rows)
    y = np.where(a + b + rng.normal(scale=0.3, size=rows) > 0, "up", "down")
    word = np.where(a > 0.5, "high", np.where(a < -0.5, "low", "middle"))
    noise = [f"n{v}" for v in rng.integers(0, 200, rows)]
    return pa.table({"a": a, "b": b, "word": word, "noise": noise, "y": y})


def test_normal_is_the_default_and_says_what_it_chose() -> None:
    with sqlbn.fit(table(2000), "y") as model:
        meta = model.meta
        assert (meta["learner"], meta["effort"]) == ("eskdb", "normal")
        assert model.members is not None and model.members.num_rows == 4
        assert set(meta["smoothing_losses"]) == {"backoff", "hierarchical"}
        assert meta["smoothing"] in meta["smoothing_losses"]
        assert meta["weights"] in ("none", "attributes", "levels")
        assert set(meta["mean_losses"]) <= {"geometric", "arithmetic"}


def test_normal_beats_quick_where_attributes_repeat_each_other() -> None:
    new = table(3000, seed=1)
    losses = {}
    for effort in ("quick", "normal"):
        with sqlbn.fit(table(3000), "y", effort=effort) as model:
            losses[effort] = model.evaluate(new).losses
    assert losses["normal"]["rmse"] < losses["quick"]["rmse"]
    assert losses["normal"]["log_loss"] < losses["quick"]["log_loss"]


def test_best_is_an_ensemble_and_the_same_in_plain_sql(tmp_path: Path) -> None:
    store, new = tmp_path / "m.duckdb", table(300, seed=5)
    with sqlbn.fit(table(600), "y", effort="best", members=3, store=store, name="m") as model:
        assert (model.meta["learner"], model.meta["effort"]) == ("eskdb", "best")
        wanted = model.predict(new).column("p_up").to_pylist()
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{store}' AS s (READ_ONLY)")
        con.register("rows_", new)
        con.execute("CREATE TABLE new_rows AS FROM rows_")
        got = con.sql("SELECT p_up FROM s.m.predict('new_rows')").fetchall()
    assert [row[0] for row in got] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("options", [{"learner": "skdb"}, {"effort": "quick"}])
def test_a_named_learner_and_quick_do_what_the_paper_says(options: dict[str, Any]) -> None:
    with sqlbn.fit(table(500), "y", **options) as model:
        assert model.meta["smoothing"] == "backoff"
        assert model.weights is None
        assert model.meta["options"]["discretise"] == "ef"
        assert "weights" not in model.meta


def test_an_option_that_is_given_is_not_chosen() -> None:
    options = {"discretise": "ef", "bins": 3, "smoothing": "backoff", "weights": "attributes"}
    with sqlbn.fit(table(500), "y", **options) as model:
        assert model.meta["options"]["bins"] == 3
        assert model.meta["smoothing"] == "backoff"
        assert model.meta["weights"] == "attributes"
        assert "encodings" not in model._workspace.names()


def test_few_rows_are_nothing_to_choose_by() -> None:
    with sqlbn.fit(table(40), "y") as model:
        assert model.meta["learner"] == "skdb"
        assert model.meta["smoothing"] == "backoff"
        assert model.weights is None


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_fewer_rows_than_anything(rows: int) -> None:
    with sqlbn.fit(table(rows), "y") as model:
        assert model.predict(table(5, seed=2)).num_rows == 5


def test_one_class() -> None:
    data = table(200)
    alone = data.set_column(data.schema.get_field_index("y"), "y", pa.array(["up"] * 200))
    with sqlbn.fit(alone, "y") as model:
        assert model.predict(data).column("prediction").to_pylist() == ["up"] * 200
        assert model.meta["learner"] == "skdb"
        assert "rows of one class, 'up', are too little" in model.meta["encoding_choice"]


def test_nearly_as_many_classes_as_rows() -> None:
    data = table(100)
    names = pa.array([f"c{i % 60}" for i in range(100)])
    many = data.set_column(data.schema.get_field_index("y"), "y", names)
    with sqlbn.fit(many, "y") as model:
        assert model.meta["learner"] == "skdb"
        assert "100 rows of 60 classes are too few" in model.meta["encoding_choice"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "effort with a learner": ({"effort": "quick", "learner": "nb"}, "chooses a learner"),
    "effort with k": ({"effort": "normal", "k": 1}, "chooses a learner"),
    "an effort that is none": ({"effort": "huge"}, "quick"),
    "weights of an average": ({"learner": "a1de", "weights": "levels"}, "is for products"),
    "smoothing of a collection": ({"learner": "tc", "smoothing": "auto"}, "is for products"),
    "weights of snb": ({"learner": "snb", "weights": "auto"}, "is for products"),
    "weights without leave-one-out": (
        {"learner": "kdb", "missing": "ignore", "weights": "levels"},
        "needs leave-one-out",
    ),
    "auto without leave-one-out": ({"learner": "fan", "smoothing": "auto"}, "leave-one-out"),
    "a race of members that are weighed": ({"race": "off"}, "does nothing for weighed members"),
    "a difference of losses that nothing is selected by": ({"tau": 0.1}, "tau requires bound"),
    "mixed levels and back-off": (
        {"learner": "kdb", "smoothing": "hierarchical", "backoff": "parents"},
        "requires backoff='cell'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(case: str) -> None:
    options, words = REFUSED[case]
    with pytest.raises(sqlbn.SqlbnError, match=words) as error:
        sqlbn.fit(table(100), "y", **options)
    assert "\n" not in str(error.value)


def test_a_plan_reads_nothing() -> None:
    assert plan("y", effort="quick")[0].startswith("learner: skdb")
    lines = plan("y")
    assert any(line.startswith("smoothing: backoff or hierarchical") for line in lines)
    assert any(line.startswith("weights: attributes, levels") for line in lines)
    alone = plan("y", learner="skdb", weights="auto")
    assert any(line.startswith("weights: none, attributes, levels") for line in alone)


def test_weights_stay_after_an_update_unless_fitted_again(tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(table(600), "y", learner="nb", weights="levels", store=store, name="m").close()
    with sqlbn.load(store, "m") as model:
        before = model.weights.to_pylist()
    change = sqlbn.update(store, "m", table(400, seed=3))
    assert any("the weights stay as they are" in note for note in change.notes)
    with sqlbn.load(store, "m") as model:
        assert model.weights.to_pylist() == before
    change = sqlbn.update(store, "m", table(500, seed=4), refit_weights=True)
    assert not any("the weights stay as they are" in note for note in change.notes)
    with sqlbn.load(store, "m") as model:
        assert model.weights.to_pylist() != before
        assert model.meta["rows"] == 1500


def test_weights_are_not_fitted_again_by_a_handful_of_rows(tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(table(600), "y", learner="nb", weights="levels", store=store, name="m").close()
    with pytest.raises(sqlbn.SqlbnError, match="20 rows are too few"):
        sqlbn.update(store, "m", table(20, seed=3), refit_weights=True)
    one_class = table(400, seed=3).filter(pc.field("y") == "up")
    with pytest.raises(sqlbn.SqlbnError, match="1 of the 2 classes"):
        sqlbn.update(store, "m", one_class, refit_weights=True)
    with sqlbn.load(store, "m") as model:
        assert model.meta["rows"] == 600


def test_members_alone_are_those_of_the_default() -> None:
    with sqlbn.fit(table(300), "y", members=2, discretise="ef") as model:
        assert (model.meta["effort"], model.meta["learner"]) == ("normal", "eskdb")
        assert model.members is not None and model.members.num_rows == 2
    with sqlbn.fit(table(300), "y", members=2, kmax=1) as model:
        assert model.meta["learner"] == "eskdb"
        assert "effort" not in model.meta


def test_a_plan_of_rows_checks_names_and_tells_of_too_few(run: Run, tmp_path: Path) -> None:
    *lines, form = plan("y", data=table(200))
    assert lines == plan("y")
    assert form.startswith("leave-one-out: in arrays, about 0.")
    lines = plan("y", data=table(30), discretise="ef", bins=3)
    assert lines[0].startswith("30 rows are too few")
    assert lines[1].startswith("learner: skdb")
    with pytest.raises(sqlbn.SqlbnError, match="'z'"):
        plan("z", data=table(200))
    missing = run("fit", tmp_path / "none.parquet", "-t", "y", "--dry-run")
    assert missing.returncode == 1 and "none.parquet" in missing.stderr
    fixed = plan("y", smoothing="hierarchical", weights="none")
    assert "smoothing: hierarchical" in fixed and "weights: none" in fixed


def test_refit_of_a_model_without_weights_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(table(100), "y", learner="nb", store=store, name="m").close()
    with pytest.raises(sqlbn.SqlbnError, match="has no weights"):
        sqlbn.update(store, "m", table(50, seed=1), refit_weights=True)


def test_show_tells_of_levels_and_encodings_of_an_ensemble(tmp_path: Path, run: Run) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(table(400), "y", encodings="ef:2,ef:5", store=store, name="m").close()
    said = run("show", "m", "--store", store, "--levels", "--encodings").stdout
    assert "member  attribute" in said and "strength" in said
    assert "cross-fitted" in said and "ef:2" in said
    asked = ("--levels", "--encodings", "--json")
    both = json.loads(run("show", "m", "--store", store, *asked).stdout)
    assert {row["member"] for row in both["levels"]} <= set(range(4))
    assert sum(row["chosen"] for row in both["encodings"]) == 1
    refused = run("show", "m", "--store", store, "--loocv")
    assert refused.returncode == 1 and "weighed, not selected" in refused.stderr
