"""A choice of encoding on a part of the rows that all rows contradict is not kept.

All encodings are tried on a part; the best are fitted on all rows. Where these show that the part
was wrong, those that it had ruled out are fitted on all rows too.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import sqlbn
from sqlbn.encode.partitions import candidates
from sqlbn.trials import Trial, contradicted

ENCODINGS = ["ef:3", "ef:5", "ef:8", "mdl", "modl"]
ROWS = 600


def bells(seed: int) -> pa.Table:
    """A class that shifts one quantity, widens another, and leaves the third alone."""
    rng, rows = random.Random(seed), []
    for _ in range(ROWS):
        y = rng.random() < 0.4
        quantities = {"a": rng.gauss(0.9 * y, 1), "b": rng.gauss(0, 1 + 0.6 * y), "c": rng.random()}
        rows.append({**quantities, "y": "yn"[y]})
    return pa.Table.from_pylist(rows)


def trials(table: pa.Table, encodings: list[str]) -> list[dict[str, Any]]:
    """The table `encodings` of a fit."""
    names = ("encoding", "rows", "codes", "loss", "value", "chosen")
    options = {"learner": "nb", "discretise": "auto", "encodings": encodings, "threads": 1}
    with sqlbn.fit(table, "y", **options) as model:
        found = model._engine.rows(f"FROM {model._draft.table('encodings')}")
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of so few rows that they are often wrong."""
    monkeypatch.setattr("sqlbn.choosing._LEAST_ROWS", 50)


def test_the_worst_but_one_of_five_is_not_kept() -> None:
    """The part sees ef:3 first; on all rows that is the worst, and modl by far the best."""
    table = bells(11)
    found = trials(table, ENCODINGS)
    part = {t["encoding"]: t["value"] for t in found if t["rows"] < ROWS}
    assert min(part, key=part.__getitem__) == "ef:3"
    everywhere = {e: trials(table, [e])[0]["value"] for e in ENCODINGS}
    assert max(everywhere, key=everywhere.__getitem__) == "ef:3"
    (kept,) = [t for t in found if t["chosen"]]
    assert kept["encoding"] == min(everywhere, key=everywhere.__getitem__) == "modl"
    assert kept["value"] == pytest.approx(everywhere["modl"], abs=1e-12)


@pytest.mark.parametrize("seed", [0, 8, 12])
def test_no_encoding_that_was_better_on_the_part_is_left_untried(seed: int) -> None:
    found = trials(bells(seed), ENCODINGS)
    whole = [t for t in found if t["rows"] == ROWS]
    (kept,) = [t for t in found if t["chosen"]]
    assert kept["value"] == min(t["value"] for t in whole)
    left = {t["encoding"] for t in found} - {t["encoding"] for t in whole}
    assert not [t for t in found if t["encoding"] in left and t["value"] < kept["value"]]
    # Every encoding is fitted once at most, and the table tells on how many rows.
    assert len(whole) == len({t["encoding"] for t in whole}) <= len(ENCODINGS)


def told(rows: int, **values: float) -> list[Trial]:
    return [
        Trial(candidates(name.replace("_", ":"))[0], rows, value, 10, numeric=True)
        for name, value in values.items()
    ]


def test_all_rows_that_agree_with_the_part_cost_nothing_more() -> None:
    part = told(100, ef_5=0.30, ef_9=0.31, mdl=0.33, modl=0.36)
    assert contradicted(part, told(800, ef_5=0.28), "rmse") == []
    assert contradicted(part, told(800, ef_5=0.28, ef_9=0.29), "rmse") == []
    assert contradicted(part, told(100, ef_5=0.30), "rmse") == []


def test_a_best_that_all_rows_make_worse_was_flattered() -> None:
    part = told(100, ef_5=0.30, ef_9=0.31, mdl=0.33, modl=0.36)
    ef9, mdl = candidates("ef:9,mdl")
    assert contradicted(part, told(800, ef_5=0.32), "rmse") == [ef9]
    assert contradicted(part, told(800, ef_5=0.32, ef_9=0.33), "rmse") == [mdl]
    assert contradicted(part, told(800, ef_5=0.32, ef_9=0.33, mdl=0.31), "rmse") == []


def test_a_best_that_was_not_the_best_of_the_part_makes_others_possible() -> None:
    part = told(100, ef_5=0.30, ef_9=0.31, mdl=0.33, modl=0.36)
    (mdl,) = candidates("mdl")
    assert contradicted(part, told(800, ef_5=0.29, ef_9=0.28), "rmse") == [mdl]
    turned = told(100, ef_5=-0.30, ef_9=-0.31, mdl=-0.33, modl=-0.36)
    assert contradicted(turned, told(800, ef_5=-0.29, ef_9=-0.28), "mcc") == [mdl]


def test_the_kind_of_weights_is_that_of_all_rows() -> None:
    """One row in a hundred has a weight that is not whole: parts may have none."""
    table = bells(1)
    weights = [1.5 if i == 77 else 1.0 for i in range(ROWS)]
    options = {"learner": "nb", "discretise": "auto", "encodings": ENCODINGS, "weight": "w"}
    with sqlbn.fit(table.append_column("w", [weights]), "y", **options) as model:
        assert model.meta["weight_kind"] == "importance"
