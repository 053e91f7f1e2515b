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
from sqlbn.encoding.learn_codebooks import candidates
from sqlbn.engines.limits import Limits
from sqlbn.evaluation.auto_encoding import Trial, contradicted

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
    # Parts of so few rows that they are often wrong.
    with sqlbn.fit(table, "y", **options, limits=Limits(trial_rows=50)) as model:
        found = model._session.rows(f"FROM {model._workspace.table('encodings')}")
    return [dict(zip(names, row, strict=True)) for row in found]


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


PART = {"ef_5": 0.30, "ef_9": 0.31, "mdl": 0.33, "modl": 0.36}


@pytest.mark.parametrize(
    ("whole", "then"),
    [
        ({"ef_5": 0.28}, None),  # as the part said
        ({"ef_5": 0.28, "ef_9": 0.29}, None),
        ({"ef_5": 0.29, "ef_9": 0.27}, None),  # who gained most is the best: so would be the others
        ({"ef_5": 0.32}, "ef:9"),  # all rows made it worse than another was on the part
        ({"ef_5": 0.34, "ef_9": 0.335}, "mdl"),
        ({"ef_5": 0.34, "ef_9": 0.32}, None),
        ({"ef_5": 0.30, "mdl": 0.31}, "ef:9"),  # it may gain as much as mdl did
        ({"ef_5": 0.27, "mdl": 0.31}, None),
    ],
    ids=str,
)
def test_who_is_fitted_next(whole: dict[str, float], then: str | None) -> None:
    next_one = candidates(then) if then is not None else []
    assert contradicted(told(100, **PART), told(800, **whole), "rmse") == next_one
    turned = [{name: -value for name, value in values.items()} for values in (PART, whole)]
    assert contradicted(told(100, **turned[0]), told(800, **turned[1]), "mcc") == next_one


def test_trials_on_all_rows_are_not_contradicted() -> None:
    assert contradicted(told(800, **PART), told(800, ef_5=0.40), "rmse") == []
    assert contradicted([], told(800, ef_5=0.40), "rmse") == []


def test_the_kind_of_weights_is_that_of_all_rows() -> None:
    """One row in a hundred has a weight that is not whole: parts may have none."""
    table = bells(1)
    weights = [1.5 if i == 77 else 1.0 for i in range(ROWS)]
    options = {"learner": "nb", "discretise": "auto", "encodings": ENCODINGS, "weight": "w"}
    with sqlbn.fit(table.append_column("w", [weights]), "y", **options) as model:
        assert model.meta["weight_kind"] == "importance"
