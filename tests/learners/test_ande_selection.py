"""Leave-one-out of AnDE against brute force that retrains for every row."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import reference
import reference_ande
from ande_cases import (
    NEW_WEATHER,
    VARIANTS,
    WEATHER,
    agree,
    andes,
    answers,
    learn,
    made,
    meaning,
    outcome,
    refer,
    rounds_the_same,
    same_attributes,
    same_scores,
    some_names,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from loo_cases import is_clear, loocv
from random_tables import (
    WEIGHT,
    Case,
    as_if_large,
    examples,
)
from reference_ande import Ande

import sqlbn

SURFACE = 1e-10


def surfaces(model: Any, n: int, d: int) -> dict[str, list[float]]:
    """For each loss that is reported its value by number of attributes."""
    found = loocv(model)
    for cells in found.values():
        assert set(cells) == {(n, length) for length in range(d + 1)}
    return {loss: [cells[n, length] for length in range(d + 1)] for loss, cells in found.items()}


def same_selection(case: Case, wanted: dict[str, reference.Surface], ref: Ande) -> None:
    """The surface, what is chosen, and the model that is left."""
    loss, d = case.options["loss"], len(ref.model.order)
    with learn(case) as model:
        got = surfaces(model, case.options["n"], d)
        assert loss in got
        for name, values in got.items():
            assert values == pytest.approx(wanted[name][0], rel=0, abs=SURFACE), name
        if not is_clear(wanted[loss], case):
            return
        _, length = reference.choose(wanted[loss], "attributes", loss)
        chosen = reference_ande.shortened(ref, length)
        assert model.meta["selected_attributes"] == length
        same_attributes(model, chosen)
        same_scores(model, chosen, case)


@examples(16, 8)
@given(andes(selecting=True))
def test_leave_one_out_is_that_of_retraining(case: Case) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    same_selection(case, reference_ande.loocv_surfaces(ref), ref)


@examples(6)
@given(andes(selecting=True), st.sampled_from((1, 30, 200, 10**6)))
def test_leave_one_out_by_the_ways_of_large_tables(case: Case, limit: int) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    with as_if_large(limit):
        same_selection(case, reference_ande.loocv_surfaces(ref), ref)


@pytest.mark.parametrize("name", ["a1de-sw", "a2de"])
def test_every_loss(name: str) -> None:
    options = {"min_count": 1, "select": "attributes", **meaning(name)}
    case = made(("sky", "heat", "air"), WEATHER, NEW_WEATHER[::5], **options)
    ref = refer(case)
    wanted = reference_ande.loocv_surfaces(ref)
    for loss in reference.LOSSES:
        same_selection(replace(case, options={**case.options, "loss": loss}), wanted, ref)


@some_names
def test_parts_of_rows_are_left_out_whole(name: str) -> None:
    """Weights below and above 1: a cell below 1 becomes 0, and implications come and go by that."""
    options = {"select": "attributes", "loss": "rmse", "min_count": 0, **meaning(name)}
    case = made(("sky", "heat", "air"), WEATHER, NEW_WEATHER[::5], weight=WEIGHT, **options)
    case = replace(
        case,
        schema=case.schema.append(pa.field(WEIGHT, pa.float64())),
        train=[{**r, WEIGHT: (0.25, 0.5, 0.125)[i % 3]} for i, r in enumerate(case.train)],
        new=[{**r, WEIGHT: 1.0} for r in case.new],
    )
    ref = refer(case)
    same_selection(case, reference_ande.loocv_surfaces(ref), ref)


def test_of_equal_losses_fewer_attributes_are_chosen() -> None:
    """The second attribute says nothing that counts: 0-1 loss is the same with and without it."""
    rows = [(x, z, x) for x in "pq" for z in "uv" for _ in range(3)]
    case = made(("z", "x"), [(z, x, y) for x, z, y in rows], [("u", "p"), ("v", "q")], n=1)
    case = replace(case, options={**case.options, "select": "attributes", "loss": "zero_one"})
    ref = refer(case)
    same_selection(case, reference_ande.loocv_surfaces(ref), ref)
    with learn(case) as model:
        assert model.meta["selected_attributes"] == 1
        assert surfaces(model, 1, 2)["zero_one"][1:] == [0, 0]


def test_nothing_selected_leaves_the_prior() -> None:
    """Attributes that say nothing: each value as often with each class."""
    rows = [(x, z, y) for x in "abc" for z in "de" for y in "pqq" for _ in range(3)]
    case = made(("x", "z"), rows, [("a", "d")], n=2, select="attributes", loss="rmse")
    ref = refer(case)
    same_selection(case, reference_ande.loocv_surfaces(ref), ref)
    with learn(case) as model:
        assert model.meta["selected_attributes"] == 0
    agree(outcome(case), [[18.5 / 55, 36.5 / 55]])


@pytest.mark.parametrize("loss", ["rmse", "log_loss"])
def test_a_short_name_selects_too(fruit: pa.Table, loss: str) -> None:
    options: dict[str, Any] = {"select": "attributes", "loss": loss, "min_count": 9}
    with (
        sqlbn.fit(fruit, "kind", "a2de-sw", **options) as short,
        sqlbn.fit(fruit, "kind", "ande", n=2, **VARIANTS["-sw"], **options) as long,
    ):
        for one, other in zip(short.loocv.to_pylist(), long.loocv.to_pylist(), strict=True):
            assert one == {**other, "value": pytest.approx(other["value"], rel=0, abs=1e-12)}
        assert answers(short, fruit).equals(answers(long, fruit))
        length = short.meta["selected_attributes"]
        with sqlbn.fit(fruit, "kind", "a2de-sw", attributes=length, min_count=9) as fixed:
            assert answers(fixed, fruit).equals(answers(short, fruit))
            assert fixed.loocv is None
