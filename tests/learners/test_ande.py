"""AnDE against brute force, by hand, and against itself; SQLBN_SOAK works here too."""

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from ande_cases import (
    NEW_WEATHER,
    WEATHER,
    agree,
    andes,
    answers,
    every_n,
    every_name,
    learn,
    made,
    meaning,
    outcome,
    refer,
    rounds_the_same,
    same,
    some_names,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from limited import limited
from random_tables import (
    Case,
    as_if_large,
    examples,
    same_model,
)

import sqlbn

# ---- sqlbn is the reference


@examples(30, 15)
@given(andes())
def test_model_predictions_and_losses_are_those_of_the_reference(case: Case) -> None:
    assume(rounds_the_same(refer(case)))
    same(case)


@examples(8)
@given(andes(), st.sampled_from((1, 30, 200)))
def test_the_ways_of_large_tables_give_the_reference_too(case: Case, limit: int) -> None:
    assume(rounds_the_same(refer(case)))
    with as_if_large(limit):
        same(case)


@examples(10, 15)
@given(
    andes(),
    st.sampled_from((0.01, 600.0)),
    st.sampled_from((1, 1 << 13)),
    st.sampled_from((1, 30, 1 << 21)),
)
def test_the_ways_of_arrays_give_the_reference_too(
    case: Case, safe: float, few: int, complete: int
) -> None:
    """Logarithms or products, tables of several children or of one, rows looked up one by one."""
    assume(rounds_the_same(refer(case)))
    with limited(
        average_product_safe=safe,
        average_table_values=few,
        average_array_keys=few,
        average_pattern_rows=1 if few == 1 else 4,
        average_cells_per_row=few - 1,
        average_rows_per_key=1,
        average_implied_bits=few,
        average_implied_keys=few,
        average_array_rows=48,
        average_block_values=8,
        average_complete_values=complete,
        average_fused_values=complete,
    ):
        same(case)


@every_name
def test_every_variant_on_seen_unseen_and_missing_values(name: str) -> None:
    same(made(("sky", "heat", "air"), WEATHER, NEW_WEATHER, min_count=1, **meaning(name)))


@pytest.mark.parametrize("name", ["a1de", "a2de-sw"])
def test_one_class_is_certain(name: str) -> None:
    """No attribute tells anything: every MI is 0, and with weights naive Bayes is left."""
    rows = [("u", "v", "only"), ("w", "v", "only")]
    case = made(("a", "b"), rows, [("u", "v"), ("z", "z")], keep=["b"], **meaning(name))
    assert same(case) == [[1.0], [1.0]]


@some_names
def test_constant_columns_that_are_kept(name: str) -> None:
    """A constant generalises every value: subsumption drops it. Its MI is 0: with weights it is no
    super parent. An unseen value of it is a child all the same."""
    rows = [(x, "same", z, y) for x, z, y in ("abp", "aap", "bbq", "baq", "bbp") for _ in "123"]
    new = [*product("ab", ["same"], "ab"), *product("az", ("other", None, "same"), "az")]
    names = ("x", "constant", "z")
    case = made(names, rows, new, min_count=2, keep=["constant"], **meaning(name))
    got = same(case)
    if "-s" in name:
        without = {"columns": ["x", "z"], "keep": [], "subsumption": False}
        agree(got[:4], outcome(case, case.new[:4], **without))


@pytest.mark.parametrize("name", ["a1de-sw", "a2de"])
def test_classes_that_tie(name: str) -> None:
    """Everything is alike for both classes: the first of them is predicted."""
    rows = [(x, z, y) for x in "ab" for z in "cd" for y in "qp"]
    new = [("a", "c"), ("b", "z"), ("z", "z"), (None, "d")]
    same(made(("x", "z"), rows, new, min_count=0, **meaning(name)))


@every_n
@pytest.mark.filterwarnings("ignore::sqlbn.errors.SqlbnWarning")
def test_without_attributes_the_prior_is_left(n: int) -> None:
    case = made(("x",), [("a", y) for y in "pqqq"], [("a",), ("b",)], n=n)
    agree(outcome(case), [[1.5 / 5, 3.5 / 5]] * 2)


def test_by_hand() -> None:
    """A1DE of two new rows, one with an unseen value, each estimate written out; m = 1."""
    rows = [("a", "c", "p"), ("a", "d", "p"), ("b", "d", "q")]
    case = made(("x", "z"), rows, [("a", "d"), ("a", "e")], n=1)
    #   s = {x = a}: P(y, a) P(d | y, a); s = {z = d}: P(y, d) P(a | y, d); t + m = 4, c v = 4
    p = (2 + 1 / 4) / 4 * (1 + 1 / 2) / (2 + 1) + (1 + 1 / 4) / 4 * (1 + 1 / 2) / (1 + 1)
    q = (0 + 1 / 4) / 4 * (0 + 1 / 2) / (0 + 1) + (1 + 1 / 4) / 4 * (0 + 1 / 2) / (1 + 1)
    #   e is unseen: s = {x = a} alone; nor is it a child, but by smoothing
    r, s = (2 + 1 / 4) / 4, (0 + 1 / 4) / 4
    agree(outcome(case), [[p / (p + q), q / (p + q)], [r / (r + s), s / (r + s)]])
    r, s = r * (0 + 1 / 2) / (2 + 1), s * (0 + 1 / 2) / (0 + 1)
    smoothed = outcome(case, unseen="smoothed")
    agree(smoothed, [[p / (p + q), q / (p + q)], [r / (r + s), s / (r + s)]])


# ---- names and attributes


@every_name
def test_short_names_are_ande_with_options(fruit: pa.Table, name: str) -> None:
    more: dict[str, Any] = {"min_count": 9} if "-s" in name else {}
    with (
        sqlbn.fit(fruit, "kind", name, **more) as short,
        sqlbn.fit(fruit, "kind", "ande", **meaning(name), **more) as long,
    ):
        assert short.attributes.equals(long.attributes)
        assert answers(short, fruit).equals(answers(long, fruit))


@every_n
def test_a_number_of_attributes_is_a_fit_of_those_columns(fruit: pa.Table, n: int) -> None:
    options: dict[str, Any] = {"n": n, "subsumption": True, "weighted": True, "min_count": 9}
    with sqlbn.fit(fruit, "kind", "ande", **options) as model:
        ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    for length in (1, 3):
        names = [row["attribute"] for row in ranked[:length]]
        with (
            sqlbn.fit(fruit, "kind", "ande", attributes=length, **options) as model,
            sqlbn.fit(fruit, "kind", "ande", columns=names, **options) as other,
        ):
            rows = model.attributes.to_pylist()
            assert {row["attribute"] for row in rows if row["selected"]} == set(names)
            got, wanted = answers(model, fruit), answers(other, fruit)
            for name in got.column_names[1:]:
                agree(got[name].to_pylist(), wanted[name].to_pylist())


def test_of_equal_attributes_the_earlier_is_kept() -> None:
    rows = [(a, b, a, y) for a, b, y in ("uvp", "uwp", "wvq", "wwq", "wvp", "uvp")]
    case = made(("z", "m", "a"), rows, [("u", "v", "w")], n=1, attributes=1)
    assert refer(case).kept == (0,)
    same(case)


# ---- sqlbn is itself


@examples(4)
@given(andes())
def test_threads_do_not_change_the_model(case: Case) -> None:
    same_model(learn(case, threads=1), learn(case, threads=2), case)


@examples(4)
@given(andes(), st.integers(0, 2**32))
def test_order_of_rows_does_not_change_the_model(case: Case, seed: int) -> None:
    mixed = random.Random(seed).sample(case.train, len(case.train))
    same_model(learn(case), learn(replace(case, train=mixed)), case)
