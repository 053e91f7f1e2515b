"""A choice of encoding is honest: what rows taught is judged by other rows.

All encodings are tried on a part of the rows; models of its halves are tried on the other half, and
the best by what that lets expect is fitted on all rows. Where these contradict it, a second one is.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import sqlbn
from sqlbn.encoding.learn_codebooks import candidates
from sqlbn.engines.limits import Limits
from sqlbn.evaluation.encoding_trials import HalfLosses, Trial, expected, pooled, seen

pytestmark = pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
ENCODINGS = ["ef:3", "ef:5", "ef:8", "mdl", "modl"]
ROWS = 600


def bells(seed: int, size: int = ROWS) -> pa.Table:
    """A class that shifts one quantity, widens another, and leaves the third alone."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        y = rng.random() < 0.4
        quantities = {"a": rng.gauss(0.9 * y, 1), "b": rng.gauss(0, 1 + 0.6 * y), "c": rng.random()}
        rows.append({**quantities, "y": "yn"[y]})
    return pa.Table.from_pylist(rows)


def crowd(seed: int, size: int = 900) -> pa.Table:
    """Names of three rows each, whose classes are chance: groups of them tell only these rows."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        y = rng.random() < 0.5
        names = {f"name{j}": f"n{rng.randrange(size // 3)}" for j in range(4)}
        rows.append({**names, "a": rng.gauss(0.7 * y, 1), "y": "yn"[y]})
    return pa.Table.from_pylist(rows)


def trials(table: pa.Table, encodings: list[str], **options: Any) -> list[dict[str, Any]]:
    """The table `encodings` of a fit."""
    names = ("encoding", "rows", "codes", "loss", "value", "cross_fitted", "expected", "chosen")
    asked = {"learner": "nb", "discretise": "auto", "encodings": encodings, "threads": 1}
    with sqlbn.fit(table, "y", **(asked | options)) as model:
        found = model._session.rows(f"FROM {model._workspace.table('encodings')}")
    return [dict(zip(names, row, strict=True)) for row in found]


def kept(found: list[dict[str, Any]]) -> dict[str, Any]:
    (one,) = [t for t in found if t["chosen"]]
    return one


@pytest.mark.parametrize("seed", range(3))
def test_cross_fitted_losses_are_those_of_models_of_the_other_half(seed: int) -> None:
    """Two models by hand, of rows that are drawn by the seed: nothing else is in the figure."""
    table = bells(seed, 200)
    for found in trials(table, ["ef:3", "modl"], seed=seed):
        how = {"discretise": "modl"} if found["encoding"] == "modl" else {"bins": 3}
        halves = halves_of(table, seed)
        values = []
        for training, test in (halves, halves[::-1]):
            with sqlbn.fit(training, "y", "nb", **how) as model:
                values.append(model.evaluate(test).losses["rmse"])
        rows = [half.num_rows for half in halves[::-1]]
        assert found["cross_fitted"] == pytest.approx(pooled(values, rows, "rmse"), abs=1e-12)


def halves_of(table: pa.Table, seed: int) -> tuple[pa.Table, pa.Table]:
    """The rows by the mix of their number and the seed, in plain Python."""
    first = [_shuffled(i, seed) < 2**31 for i in range(table.num_rows)]
    return table.filter(pa.array(first)), table.filter(pa.array([not x for x in first]))


def _shuffled(row: int, seed: int) -> int:
    mixed = (row * 2654435761 + seed * 2654435769 + 374761393) % 2**32
    for shift, factor in ((15, 2246822519), (13, 3266489917)):
        mixed = (mixed ^ (mixed >> shift)) * factor % 2**32
    return mixed


@pytest.mark.parametrize("learner", ["nb", "skdb"])
def test_noise_does_not_win_by_flattery(learner: str) -> None:
    """What leave-one-out says of groups of noise is better than what is expected of them."""
    for seed in range(3):
        table = crowd(seed)
        found = trials(table, ["ef:3", "ef:5", "modl"], learner=learner, seed=seed)
        best = kept(found)
        by_loss = {t["encoding"]: t["cross_fitted"] for t in found}
        assert by_loss[best["encoding"]] <= min(by_loss.values()) * 1.02
        for t in found:
            assert t["cross_fitted"] > 0.4


def test_the_choice_is_the_same_with_any_number_of_threads() -> None:
    found = []
    for threads in (1, 2):
        told = trials(bells(5), ENCODINGS, threads=threads, limits=Limits(trial_rows=100))
        found.append([(t["encoding"], t["rows"], t["codes"], t["chosen"]) for t in told])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", [0, 8, 11, 12])
def test_at_most_two_encodings_are_fitted_on_all_rows(seed: int) -> None:
    found = trials(bells(seed), ENCODINGS, limits=Limits(trial_rows=100))
    whole = [t for t in found if t["rows"] == ROWS]
    assert [t["encoding"] for t in found if t["rows"] < ROWS] == ENCODINGS
    assert 1 <= len({t["encoding"] for t in whole}) == len(whole) <= 2
    assert kept(found) == min(whole, key=lambda t: t["expected"])


# -- too few rows ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encodings", "plain"), [(None, "ef:5"), (["modl", "ef:8"], "ef:8"), (["mdl", "modl"], "ef:5")]
)
def test_too_few_rows_to_choose_by(encodings: list[str] | None, plain: str) -> None:
    asked = {"encodings": encodings} if encodings else {}
    with sqlbn.fit(bells(1, 40), "y", "nb", discretise="auto", **asked) as model:
        told = model._workspace.read("encodings", "encoding", "rows", "cross_fitted", "chosen")
        assert [tuple(row) for row in told] == [(plain, 40, None, True)]
        assert model.meta["encoding_choice"] == (
            f"{plain}: 40 rows are too few to choose an encoding by"
        )


def test_a_half_of_one_class() -> None:
    table = bells(1, 80)
    table = table.set_column(3, "y", [["y"] + ["n"] * 79])
    with sqlbn.fit(table, "y", "nb", discretise="auto") as model:
        assert "too few" in model.meta["encoding_choice"]


def test_fewer_rows_than_classes() -> None:
    table = bells(1, 80)
    table = table.set_column(3, "y", [[f"c{i % 60}" for i in range(80)]])
    with sqlbn.fit(table, "y", "nb", discretise="auto") as model:
        assert "too few" in model.meta["encoding_choice"]


# -- what trials let expect --------------------------------------------------------------------


def tried(encoding: str, value: float, own: float, crossed: float, codes: int = 10) -> Trial:
    (how,) = candidates(encoding)
    return Trial(how, 1000, value, codes, True, HalfLosses(own, crossed))


def test_gains_by_more_rows_go_on() -> None:
    coarse, fine = tried("ef:5", 0.30, 0.30, 0.30), tried("ef:20", 0.31, 0.34, 0.34)
    both = [coarse, fine]
    assert expected(coarse, both, 64_000, "rmse") == 0.30
    # As many rows as were tried: what they were seen to gain. Half of the rest at four times that.
    assert expected(fine, both, 1000, "rmse") == pytest.approx(0.31)
    left = 0.03 / (1 - 0.5**0.5) * 0.5**0.5
    assert expected(fine, both, 4000, "rmse") == pytest.approx(0.31 - left / 2)
    assert expected(fine, both, 10**12, "rmse") == pytest.approx(0.31 - left, abs=1e-5)
    # More rows do no harm.
    assert expected(tried("ef:5", 0.32, 0.31, 0.31), both, 4000, "rmse") == pytest.approx(0.31)


def test_supervised_cuts_gain_as_equal_frequency_with_as_many_codes() -> None:
    others = [tried("ef:5", 0.30, 0.31, 0.31, 10), tried("ef:20", 0.30, 0.34, 0.34, 40)]
    few, many = tried("modl", 0.1, 0.2, 0.36, 12), tried("modl", 0.1, 0.2, 0.36, 38)
    assert expected(few, [*others, few], 1000, "rmse") == pytest.approx(0.35)
    assert expected(many, [*others, many], 1000, "rmse") == pytest.approx(0.32)
    assert expected(many, [many], 1000, "rmse") == pytest.approx(0.26)
    steady = tried("modl", 0.2, 0.21, 0.36, 38)
    assert expected(steady, [*others, steady], 1000, "rmse") == pytest.approx(0.35)
    assert seen(many, many, "rmse") == pytest.approx(0.1 + 0.16)


def test_of_mcc_more_is_better() -> None:
    trial = tried("ef:5", 0.7, 0.6, 0.55)
    assert expected(trial, [trial], 1000, "mcc") == pytest.approx(-0.65)
    assert seen(trial, trial, "mcc") == pytest.approx(-0.65)


def test_squares_are_pooled() -> None:
    assert pooled([0.3, 0.4], [100, 300], "rmse") == pytest.approx(
        (0.25 * 0.09 + 0.75 * 0.16) ** 0.5
    )
    assert pooled([0.3, 0.4], [100, 300], "zero_one") == pytest.approx(0.375)


def test_the_kind_of_weights_is_that_of_all_rows() -> None:
    """One row in a hundred has a weight that is not whole: parts may have none."""
    table = bells(1)
    weights = [1.5 if i == 77 else 1.0 for i in range(ROWS)]
    options = {"learner": "nb", "discretise": "auto", "encodings": ENCODINGS, "weight": "w"}
    with sqlbn.fit(table.append_column("w", [weights]), "y", **options) as model:
        assert model.meta["weight_kind"] == "importance"
