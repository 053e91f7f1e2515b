"""Random small tables: sqlbn against the brute-force reference, and against itself.

The reference itself is checked against ../shared/golden where that exists.
"""

import random
from dataclasses import replace

import pyarrow as pa
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
    as_if_large,
    cases,
    examples,
    golden,
    learn,
    refer,
    rounds_the_same,
    same_classes,
    same_losses,
    same_model,
    same_predictions,
    same_structure,
)

import sqlbn

# ---- sqlbn is the reference


def same(case: Case) -> None:
    ref = refer(case)
    with learn(case) as model:
        same_structure(model, ref, case)
        same_classes(model, ref)
        same_predictions(model, ref, case)
        same_losses(model, ref, case)


@examples(150, 60)
@given(cases())
def test_model_predictions_and_losses_are_those_of_the_reference(case: Case) -> None:
    assume(rounds_the_same(refer(case)))
    same(case)


@examples(70, 35)
@given(cases(), st.sampled_from((1, 30, 200)))
def test_the_ways_of_large_tables_give_the_reference_too(case: Case, limit: int) -> None:
    assume(rounds_the_same(refer(case)))
    with as_if_large(limit):
        same(case)


def test_without_attributes_the_prior_is_left() -> None:
    rows = [{"x": 1, TARGET: y} for y in ("a", "b", "b", "b")]
    case = Case(
        pa.schema([("x", pa.int64()), (TARGET, pa.string())]),
        rows,
        rows[:2],
        {"learner": "kdb", "k": 2},
    )
    with pytest.warns(sqlbn.SqlbnWarning):
        model = learn(case)
    assert model.attributes.num_rows == 0
    same_predictions(model, refer(case), case)


def test_rows_without_weight_are_not_evaluated() -> None:
    schema = pa.schema([("x", pa.string()), (TARGET, pa.string()), (WEIGHT, pa.int64())])
    rows = [
        {"x": x, TARGET: y, WEIGHT: w}
        for x, y, w in (("a", "no", 1), ("b", "yes", 2), ("a", "yes", 0))
    ]
    case = Case(schema, rows, rows, {"learner": "nb", "weight": WEIGHT})
    same(case)
    assert learn(case).evaluate(case.new_table, weight=WEIGHT).rows == 2


# ---- sqlbn is itself


@examples(30, 15)
@given(cases())
def test_threads_do_not_change_the_model(case: Case) -> None:
    same_model(learn(case, threads=1), learn(case, threads=2), case)


@examples(30, 15)
@given(cases(), st.integers(0, 2**32))
def test_order_of_rows_does_not_change_the_model(case: Case, seed: int) -> None:
    mixed = random.Random(seed).sample(case.train, len(case.train))
    same_model(learn(case), learn(replace(case, train=mixed)), case)


@examples(30, 15)
@given(cases(always_whole_weights=True))
def test_whole_weights_are_repeated_rows(case: Case) -> None:
    plain = {name: value for name, value in case.options.items() if name != "weight"}
    column = case.schema.get_field_index(WEIGHT)
    repeated = Case(
        case.schema.remove(column),
        [{n: v for n, v in r.items() if n != WEIGHT} for r in case.train for _ in range(r[WEIGHT])],
        [],
        plain,
    )
    same_model(learn(case), learn(repeated), case)


# ---- the reference is right


@pytest.mark.parametrize("name", ["titanic", "breast-cancer", "vote"])
def test_reference_gives_the_golden_structure_and_losses(name: str) -> None:
    wanted, names, train, test = golden(name)
    for k in range(wanted["kmax"] + 1):
        options = {"categorical": names, "unseen": "smoothed"}
        ref = reference.fit(train, names, wanted["target"], "kdb", k, **options)
        label = [a.name for a in ref.attributes]
        assert [(label[i], ref.mi[i]) for i in ref.order] == [
            (a["attribute"], a["mi"]) for a in wanted["attributes"]
        ]
        parents = {label[i]: [label[j] for j in ref.parents[i]] for i in ref.order}
        assert parents == {a: p[:k] for a, p in wanted["parents"].items()}
        got = reference.evaluate(ref, test)
        for loss, value in wanted["test"][f"kdb:{k}"].items():
            assert got[loss] == pytest.approx(value, rel=0, abs=1e-10)


@pytest.mark.parametrize("name", ["titanic", "breast-cancer"])
def test_reference_gives_the_golden_leave_one_out_surface(name: str) -> None:
    wanted, names, train, _ = golden(name)
    options = {"categorical": names, "unseen": "smoothed"}
    ref = reference.fit(train, names, wanted["target"], "kdb", wanted["kmax"], **options)
    surface = reference.loocv_surface(ref, wanted["kmax"], "rmse")
    for got, line in zip(surface, wanted["loocv_rmse"], strict=True):
        assert got == pytest.approx(line, rel=0, abs=1e-12)
    best = wanted["best"]
    assert reference.choose(surface) == (best["k"], best["n_attributes"])


def test_reference_leaves_one_of_the_repeated_rows_out() -> None:
    """A weight of 2 is two rows: one of them goes, the other stays; 0.5 goes altogether."""
    rows = [{"x": x, TARGET: y, WEIGHT: w} for x, y, w in ((0, "a", 2), (1, "b", 1), (0, "b", 0.5))]
    ref = reference.fit(rows, ["x"], TARGET, weight=WEIGHT)
    n = reference.tally(ref, left_out=((0,), 0))
    assert (n["y", 0], n["x", 0, 0, (), 0]) == (1, 1)
    n = reference.tally(ref, left_out=((0,), 1))
    assert (n["y", 1], n["x", 0, 0, (), 1], n["x", 0, 1, (), 1]) == (0.5, 0, 1)
