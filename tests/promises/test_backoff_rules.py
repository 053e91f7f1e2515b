"""`--backoff` is one rule in selection and prediction, or the papers' mixture and named as such.

`cell` and `parents-both` are one rule; `parents` selects by the rule of cells and predicts by that
of parents, as the authors' program does.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
from conftest import Run
from limited import limit
from loo_cases import loocv

import sqlbn
from sqlbn.errors import OptionError
from sqlbn.options.catalogue import BACKOFFS

NAMES = ["a", "b", "c", "d"]
RULES = ("cell", "parents", "parents-both")


def table(seed: int, size: int = 60) -> pa.Table:
    """Parents and children of several values: many combinations that one row alone has."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        y, a = rng.choice("pqr"), rng.choice("stuv")
        b = a if rng.random() < 0.6 else rng.choice("stuvw")
        c = rng.choice([y, b, "z"])
        rows.append({"a": a, "b": b, "c": c, "d": rng.choice([a + c, "k", "l"]), "y": y})
    return pa.Table.from_pylist(rows)


def surface(data: pa.Table, **options: Any) -> dict[str, dict[tuple[int, int], float]]:
    with sqlbn.fit(data, "y", kmax=3, **options) as model:
        return loocv(model)


@pytest.mark.parametrize("unseen", ["neutral", "smoothed"])
@pytest.mark.parametrize("most", [1 << 21, 100, 0], ids=["dense", "both", "sparse"])
@pytest.mark.parametrize("rule", RULES)
def test_leave_one_out_against_retraining(
    monkeypatch: pytest.MonkeyPatch, rule: str, most: int, unseen: str
) -> None:
    limit(monkeypatch, loo_dense_values=most)
    data = table(1)
    options = {"backoff": rule, "unseen": unseen}
    ref = reference.fit(data.to_pylist(), NAMES, "y", learner="kdb", k=3, **options)
    wanted = reference.loocv_surfaces(ref, 3)
    for name, cells in surface(data, loss="log_loss", **options).items():
        for (k, n), value in cells.items():
            assert value == pytest.approx(wanted[name][k][n], rel=0, abs=1e-10), (name, k, n)


def test_the_mixture_selects_as_cell_does_and_the_third_rule_does_not() -> None:
    data = table(2)
    cell, parents, both = (surface(data, backoff=rule) for rule in RULES)
    assert cell == parents
    assert cell["rmse"][0, 4] == both["rmse"][0, 4]  # without parents there is no rule
    assert abs(cell["rmse"][2, 4] - both["rmse"][2, 4]) > 0.005


@pytest.mark.parametrize("learner", [{"learner": "tan"}, {"learner": "kdb", "k": 3}])
def test_predictions_of_both_rules_of_parents_are_the_same(learner: dict[str, Any]) -> None:
    data, new = table(3), table(4)
    found = {}
    for rule in RULES:
        with sqlbn.fit(data, "y", backoff=rule, **learner) as model:
            found[rule] = model.predict(new).to_pylist()
            assert model.meta["backoff"] == rule
    assert found["parents"] == found["parents-both"] != found["cell"]
    how = {**learner, "backoff": "parents-both"}
    ref = reference.fit(data.to_pylist(), NAMES, "y", **how)
    wanted = reference.probabilities(ref, new.to_pylist())
    for row, probabilities in zip(found["parents-both"], wanted, strict=True):
        got = [row[f"p_{c}"] for c in ref.classes]
        assert got == pytest.approx([float(p) for p in probabilities], abs=1e-12)


@pytest.mark.parametrize("in_arrays", [True, False], ids=["arrays", "sql"])
@pytest.mark.parametrize("unseen", ["neutral", "smoothed"])
def test_encodings_are_compared_by_the_rule_of_prediction(
    monkeypatch: pytest.MonkeyPatch, in_arrays: bool, unseen: str
) -> None:
    """tan, whose leave-one-out only --discretise auto looks at."""
    if not in_arrays:
        limit(monkeypatch, loo_array_estimates=0)
    data, values = table(5), []
    for rule in RULES:
        how = {"learner": "tan", "backoff": rule, "unseen": unseen}
        ref = reference.fit(data.to_pylist(), NAMES, "y", **how)
        # Three encodings, so that they are tried first.
        auto = {"discretise": "auto", "encodings": ["ef:2", "ef:3", "modl"], **how}
        with sqlbn.fit(data, "y", **auto) as model:
            told = model._session.rows(
                f"SELECT value FROM {model._workspace.table('encodings')} WHERE encoding = 'ef:2'"
            )
        values.append(told[0][0])
        wanted = reference.loocv_surface(ref, 1, "rmse")[1][-1]
        assert values[-1] == pytest.approx(wanted, abs=1e-12)
    assert values[0] == values[1] != values[2]


def test_update_and_like_keep_the_rule() -> None:
    data = table(6)
    with sqlbn.fit(data, "y", kmax=2, backoff="parents-both") as model:
        model.update(table(7))
        assert model.meta["backoff"] == "parents-both"
        with sqlbn.fit(data, "y", like=model) as other:
            assert other.meta["backoff"] == "parents-both"


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="choose cell, parents or parents-both"):
        sqlbn.fit(table(1), "y", backoff="none")
    with pytest.raises(OptionError, match="backoff does nothing"):
        sqlbn.fit(table(1), "y", "a1de", backoff="parents-both")
    with pytest.raises(OptionError, match="requires backoff='cell', not parents-both"):
        sqlbn.fit(table(1), "y", "kdb", backoff="parents-both", missing="ignore")


def test_the_program_says_what_each_is(run: Run, tmp_path: Path) -> None:
    pq.write_table(table(1), tmp_path / "t.parquet")
    words = {
        "cell": "in leave-one-out as in prediction",
        "parents": "selected for another rule than the one that predicts",
        "parents-both": "never seen together, in leave-one-out as in prediction",
    }
    told = " ".join(run("fit", "--help").stdout.replace("│", " ").split())
    assert all(said in told for said in words.values())
    done = run("fit", "t.parquet", "-t", "y", "-l", "kdb", "--backoff", "parents")
    assert f"back-off parents: parents are dropped {BACKOFFS['parents']}" in done.stdout
