"""auc, aoprc and mcc are about `--positive`: of two classes the rarer one by default, and said."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run
from reference_ranking import auc, average_precision

import sqlbn
from sqlbn.errors import OptionError
from sqlbn.kinds.losses import matthews


def table(classes: list[str]) -> pa.Table:
    """Rows whose `x` tells something of the class."""
    rng = random.Random(3)
    places = {name: at for at, name in enumerate(sorted(set(classes)))}
    x = [(places[y] + rng.choice([0, 0, 0, 1, 2])) % 4 for y in classes]
    z = [(places[y] + rng.choice([0, 1])) % 3 for y in classes]
    return pa.table({"x": x, "z": z, "y": classes})


TWO = table((["ill"] * 3 + ["well"] * 7) * 12)
THREE = table((["a"] * 3 + ["b"] * 5 + ["c"] * 2) * 12)


def wanted(model: sqlbn.Model, rows: pa.Table, positive: str) -> dict[str, float]:
    """By every pair of rows."""
    scored = model.predict(rows).to_pylist()
    judged = [(r["y"] == positive, Fraction(r[f"p_{positive}"]), Fraction(1)) for r in scored]
    confusion = [[0.0, 0.0], [0.0, 0.0]]
    for r in scored:
        confusion[r["y"] == positive][r["prediction"] == positive] += 1
    return {
        "auc": float(auc(judged)),
        "aoprc": float(1 - average_precision(judged)),
        "mcc": matthews(confusion),
    }


@pytest.mark.parametrize("rows", [TWO, THREE], ids=["two", "three"])
def test_figures_are_those_of_the_class(rows: pa.Table) -> None:
    with sqlbn.fit(rows, "y", "nb") as model:
        for name in sorted(set(rows["y"].to_pylist())):
            found = model.evaluate(rows, positive=name)
            figures = {key: found.losses[key] for key in ("auc", "aoprc", "mcc")}
            assert figures == pytest.approx(wanted(model, rows, name), rel=1e-12)
            assert found.positive == found.to_dict()["positive"] == name


def test_the_rarer_class_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "two.parquet"
    pq.write_table(TWO, path)
    with sqlbn.fit(TWO, "y", "nb") as model:
        rarer, other = wanted(model, TWO, "ill"), wanted(model, TWO, "well")
        found = model.evaluate(TWO)
    assert found.positive == "ill"
    assert found.aoprc == pytest.approx(rarer["aoprc"])
    assert rarer["aoprc"] != pytest.approx(other["aoprc"])
    assert sqlbn.evaluate(TWO, "y", "nb", test=TWO).positive == "ill"
    assert sqlbn.evaluate(TWO, "y", "nb", folds=3).positive == "ill"
    assert sqlbn.curve(TWO, "y", ["nb"], [30], repeats=1, ranking=True)[0].positive == "ill"
    batches = sqlbn.stream(TWO, "y", "nb", batch=40, measure="aoprc")
    assert {b.positive for b in batches} == {"ill"}


def test_rarer_by_weight_and_even_classes() -> None:
    heavy = TWO.append_column(
        "w", pa.array([9.0 if y == "ill" else 1.0 for y in TWO["y"].to_pylist()])
    )
    assert sqlbn.evaluate(heavy, "y", "nb", folds=2, weight="w").positive == "well"
    even = table(["a", "b"] * 30)
    assert sqlbn.evaluate(even, "y", "nb", folds=2).positive == "b"
    assert sqlbn.evaluate(THREE, "y", "nb", folds=2).positive is None


def test_it_can_be_asked_for_everywhere() -> None:
    with sqlbn.fit(TWO, "y", "nb") as model:
        figure = wanted(model, TWO, "well")["aoprc"]
    assert sqlbn.evaluate(TWO, "y", "nb", test=TWO, positive="well").aoprc == pytest.approx(figure)
    folds = [sqlbn.evaluate(TWO, "y", "nb", folds=3, positive=p).aoprc for p in ("well", "ill")]
    assert folds[0] < folds[1]
    for given in ("well", "ill"):
        point = sqlbn.curve(TWO, "y", ["nb"], [60], repeats=1, ranking=True, positive=given)[0]
        assert point.to_dict()["positive"] == given
        batches = sqlbn.stream(TWO, "y", "nb", batch=60, measure="aoprc", positive=given)
        assert {b.positive for b in batches} == {given}


def test_a_value_of_the_column_is_its_class() -> None:
    rows = pa.table({"x": [0, 1] * 20, "y": [True, False] * 20})
    with sqlbn.fit(rows, "y", "nb") as model:
        assert model.evaluate(rows, positive=True).positive == "true"
    rows = rows.set_column(1, "y", pa.array([7, 9] * 20))
    with sqlbn.fit(rows, "y", "nb") as model:
        assert model.evaluate(rows, positive=7).positive == "7"


def test_a_class_that_is_not_there() -> None:
    text = "positive='sick' is no class; there is 'ill', 'well'"
    with sqlbn.fit(TWO, "y", "nb") as model, pytest.raises(OptionError) as caught:
        model.evaluate(TWO, positive="sick")
    assert str(caught.value) == text
    for call in (
        lambda: sqlbn.evaluate(TWO, "y", "nb", folds=2, positive="sick"),
        lambda: sqlbn.evaluate(TWO, "y", "nb", test=TWO, positive="sick"),
        lambda: sqlbn.curve(TWO, "y", ["nb"], [30], repeats=1, positive="sick"),
        lambda: sqlbn.stream(TWO, "y", "nb", batch=60, positive="sick"),
    ):
        with pytest.raises(OptionError) as caught:
            call()
        assert str(caught.value) == text


def test_the_program_says_it(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(TWO, "two.parquet")
    words = ("evaluate", "two.parquet", "-t", "y", "-l", "nb", "--folds", 2)
    said = cli(*words).stdout
    assert "(auc, aoprc, mcc: of the class 'ill', the rarer one; --positive chooses)\n" in said
    assert "(auc, aoprc, mcc: of the class 'well')\n" in cli(*words, "--positive", "well").stdout
    told = json.loads(cli(*words, "--json").stdout)
    assert (told["positive"], told["folds"][0]["positive"]) == ("ill", "ill")
    done = cli(*words, "--positive", "sick", "-q")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sqlbn: --positive sick is no class; there is 'ill', 'well'\n"
    words = ("curve", "two.parquet", "-t", "y", "--learners", "nb", "--sizes", 40, "--repeats", 1)
    said = cli(*words, "--measure", "auc").stdout
    assert "(auc: of the class 'ill', the rarer one; --positive chooses)\n" in said
    assert "of the class" not in cli(*words, "--measure", "rmse").stdout
    words = ("stream", "two.parquet", "-t", "y", "--batch", 40, "--measure", "aoprc")
    assert "(aoprc: of the class 'well')" in cli(*words, "--positive", "well").stdout
