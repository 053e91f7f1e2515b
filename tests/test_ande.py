"""AnDE against brute force, by hand, against an independent program, and through the store.

The brute force is reference_ande.py; random tables come from test_properties.py, and SQLBN_SOAK
works here too.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
import reference_ande
import test_properties
from hypothesis import assume, given
from hypothesis import strategies as st
from reference_ande import Ande
from test_loo_surface import MANY_CLASSES, loocv, with_column
from test_properties import (
    ROUNDING,
    TARGET,
    WEIGHT,
    Case,
    as_if_large,
    cases,
    examples,
    learn,
    near,
    same_classes,
    same_losses,
    same_model,
    same_predictions,
    some,
)
from test_selection import is_clear
from test_shared_golden import LONG, QUICK, golden, split

import sqlbn

SURFACE = 1e-10
GOLDEN = 1e-9
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "-s": {"subsumption": True},
    "-w": {"weighted": True},
    "-sw": {"subsumption": True, "weighted": True},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=["plain", "s", "w", "sw"])
every_n = pytest.mark.parametrize("n", [1, 2])


# ---- random tables


def with_implied(rng: random.Random, case: Case) -> Case:
    """One more column, which another implies in training; new rows may contradict it."""
    source = rng.choice(case.attributes)
    seen = sorted({repr(row[source]) for row in case.train})
    inside = some(rng, seen, len(seen))

    def implied(row: dict[str, Any], trust: float = 1.0) -> str:
        honest = "in" if repr(row[source]) in inside else "out"
        return honest if rng.random() < trust else rng.choice(("in", "out", "other"))

    return replace(
        case,
        schema=case.schema.insert(
            rng.randint(0, len(case.schema)), pa.field("implied", pa.string())
        ),
        train=[{**row, "implied": implied(row)} for row in case.train],
        new=[{**row, "implied": implied(row, 0.7)} for row in case.new],
    )


@st.composite
def andes(draw: st.DrawFn, selecting: bool = False) -> Case:
    case = draw(cases())
    rng = random.Random(draw(st.integers(0, 2**32)))
    asked: dict[str, Any] = {
        key: value for key, value in case.options.items() if key not in ("k", "backoff")
    }
    asked |= {
        "learner": "ande",
        "n": rng.choice((1, 2)),
        "subsumption": rng.random() < 0.6,
        "weighted": rng.random() < 0.5,
        "min_count": rng.choice((0, 0, 1, 2, 3)),
    }
    if rng.random() < 0.2:
        asked["keep"] = case.attributes
    case = replace(case, options=asked)
    if rng.random() < 0.6:
        case = with_implied(rng, case)
    if rng.random() < 0.1:
        many = rng.choices(range(MANY_CLASSES), k=len(case.train))
        case = with_column(case, TARGET, pa.int64(), many)
    d = len(refer(case).model.attributes)
    if selecting:
        asked |= {"select": "attributes", "loss": rng.choice(reference.LOSSES)}
    elif d and rng.random() < 0.3:
        asked["attributes"] = rng.randint(1, d)
    return case


def refer(case: Case) -> Ande:
    """The brute force of the same rows and options."""
    options = {
        key: value
        for key, value in case.options.items()
        if key not in ("learner", "select", "loss")
    }
    return reference_ande.fit(case.train, case.attributes, TARGET, **options)


def rounds_the_same(ref: Ande) -> bool:
    """Whether no MI is so near half a unit of the last decimal that one bit decides."""
    d, n = range(len(ref.model.attributes)), ref.n if ref.weighted else 1
    subsets = [s for size in range(1, n + 1) for s in combinations(d, size)]
    exact = [reference_ande.information(ref.model, s) for s in subsets]
    low, high = ([round(x + e, reference.DECIMALS) for x in exact] for e in (-ROUNDING, ROUNDING))
    return low == high


# ---- what is compared


@contextmanager
def by_ande() -> Iterator[None]:
    """What compares with the probabilities of reference.py compares with those of AnDE."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "probabilities", reference_ande.probabilities)
        yield


def kept_names(ref: Ande) -> list[str]:
    return [ref.model.attributes[i].name for i in ref.kept]


def same_attributes(model: Any, ref: Ande) -> None:
    """The code books, MI and its order, and which attributes are used."""
    rows = model.attributes.to_pylist()
    assert [r["attribute"] for r in rows] == [a.name for a in ref.model.attributes]
    for i, (row, book) in enumerate(zip(rows, ref.model.attributes, strict=True)):
        assert row["n_values"] == book.n_values, book
        assert near(row["mi"], ref.model.mi[i]), book
        assert row["rank"] == ref.model.order.index(i), book
    assert [r["attribute"] for r in rows if r["selected"]] == kept_names(ref)


def same_scores(model: Any, ref: Ande, case: Case) -> None:
    """Predictions and losses; only the attributes in use are needed for them."""
    with by_ande():
        same_predictions(model, ref, case)
        same_losses(model, ref, case)
    needed = [n for n in case.schema.names if n in (*kept_names(ref), TARGET)]
    scored = model.predict(case.new_table)
    outputs = scored.column_names[len(case.schema) :]
    fewer = model.predict(case.new_table.select(needed))
    assert fewer.select(outputs).equals(scored.select(outputs))


def same(case: Case) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    with learn(case) as model:
        same_attributes(model, ref)
        same_classes(model, ref.model)
        same_scores(model, ref, case)


# ---- sqlbn is the reference


@examples(60)
@given(andes())
def test_model_predictions_and_losses_are_those_of_the_reference(case: Case) -> None:
    same(case)


@examples(20)
@given(andes(), st.sampled_from((1, 30, 200)))
def test_the_ways_of_large_tables_give_the_reference_too(case: Case, limit: int) -> None:
    with as_if_large(limit):
        same(case)


def made(names: Sequence[str], train: Sequence[Any], new: Sequence[Any], **options: Any) -> Case:
    """A case of text columns; training rows end with the class, which new rows do not have."""
    rows = [dict(zip((*names, TARGET), row, strict=True)) for row in train]
    return Case(
        pa.schema([(n, pa.string()) for n in (*names, TARGET)]),
        rows,
        [{**dict(zip(names, row, strict=True)), TARGET: None} for row in new],
        {"learner": "ande", **options},
    )


def outcome(case: Case, new: Sequence[dict[str, Any]] | None = None, **more: Any) -> list[Any]:
    """The probabilities that sqlbn gives to each new row."""
    table = case.new_table if new is None else pa.Table.from_pylist(list(new), case.schema)
    with learn(case, **more) as model:
        scored = model.predict(table)
    first = scored.column_names.index("prediction") + 1
    return [list(row.values())[first:] for row in scored.to_pylist()]


def agree(got: list[Any], wanted: list[Any]) -> None:
    assert len(got) == len(wanted)
    for p, q in zip(got, wanted, strict=True):
        assert p == pytest.approx(q, rel=0, abs=test_properties.TOLERANCE)


WEATHER = [
    *[("sun", "hot", "dry", "stay")] * 3,
    *[("sun", "mild", "dry", "go")] * 4,
    *[("rain", "mild", "wet", "go")] * 2,
    *[("rain", "cold", None, "stay")] * 3,
    ("sun", "cold", "dry", "go"),
]
NEW_WEATHER = list(product(("sun", "rain", None), ("hot", "cold", "snow"), ("dry", "wet", None)))


@every_n
@every_variant
def test_every_variant_on_seen_unseen_and_missing_values(n: int, variant: str) -> None:
    names = ("sky", "heat", "air")
    same(made(names, WEATHER, NEW_WEATHER, n=n, min_count=1, **VARIANTS[variant]))


@every_n
@every_variant
def test_one_class_is_certain(n: int, variant: str) -> None:
    """No attribute tells anything: every MI is 0, and with weights naive Bayes is left."""
    case = made(("a", "b"), [("u", "v", "only"), ("w", "v", "only")], [("u", "v"), ("z", "z")], n=n)
    case = replace(case, options={**case.options, "keep": ["b"], **VARIANTS[variant]})
    same(case)
    assert outcome(case) == [[1.0], [1.0]]


@every_n
@every_variant
def test_constant_columns_that_are_kept(n: int, variant: str) -> None:
    """A constant generalises every value: subsumption drops it; its MI is 0: weights leave it out
    as a super parent. An unseen value of it is a child all the same."""
    rows = [(x, "same", z, y) for x, z, y in ("abp", "aap", "bbq", "baq", "bbp") for _ in "123"]
    new = [*product("abz", ("same", "other", None), "ab"), ("z", "same", "z"), ("z", "other", "z")]
    case = made(("x", "constant", "z"), rows, new, n=n, min_count=2, keep=["constant"])
    case = replace(case, options={**case.options, **VARIANTS[variant]})
    same(case)
    if "s" in variant:
        usual = [row for row in case.new if row["constant"] == "same" and row["x"] in "ab"]
        without = {"columns": ["x", "z"], "keep": [], "subsumption": False}
        agree(outcome(case, usual), outcome(case, usual, **without))


@every_n
def test_classes_that_tie(n: int) -> None:
    """Everything is alike for both classes: the first of them is predicted."""
    rows = [(x, z, y) for x in "ab" for z in "cd" for y in "qp"]
    case = made(("x", "z"), rows, [("a", "c"), ("b", "z"), ("z", "z"), (None, "d")], n=n)
    for variant in VARIANTS.values():
        same(replace(case, options={**case.options, **variant, "min_count": 0}))


@every_n
@pytest.mark.filterwarnings("ignore::sqlbn.errors.SqlbnWarning")
def test_without_attributes_the_prior_is_left(n: int) -> None:
    case = made(("x",), [("a", y) for y in "pqqq"], [("a",), ("b",)], n=n)
    agree(outcome(case), [[1.5 / 5, 3.5 / 5]] * 2)


def test_by_hand() -> None:
    """A1DE of two rows of new values, each estimate written out; m = 1."""
    rows = [("a", "c", "p"), ("a", "d", "p"), ("b", "d", "q")]
    case = made(("x", "z"), rows, [("a", "d"), ("a", "e")], n=1)
    #   s = {x = a}: P(y, a) P(d | y, a); s = {z = d}: P(y, d) P(a | y, d); t + m = 4, c v = 4
    p = (2 + 1 / 4) / 4 * (1 + 1 / 2) / (2 + 1) + (1 + 1 / 4) / 4 * (1 + 1 / 2) / (1 + 1)
    q = (0 + 1 / 4) / 4 * (0 + 1 / 2) / (0 + 1) + (1 + 1 / 4) / 4 * (0 + 1 / 2) / (1 + 1)
    #   e is unseen: s = {x = a} alone
    r = (2 + 1 / 4) / 4 * (0 + 1 / 2) / (2 + 1)
    s = (0 + 1 / 4) / 4 * (0 + 1 / 2) / (0 + 1)
    agree(outcome(case), [[p / (p + q), q / (p + q)], [r / (r + s), s / (r + s)]])


# ---- names and attributes


@every_n
@every_variant
def test_short_names_are_ande_with_options(fruit: pa.Table, n: int, variant: str) -> None:
    with (
        sqlbn.fit(fruit, "kind", f"a{n}de{variant}", min_count=9) as short,
        sqlbn.fit(fruit, "kind", "ande", n=n, min_count=9, **VARIANTS[variant]) as long,
    ):
        assert short.attributes.equals(long.attributes)
        assert short.predict(fruit).equals(long.predict(fruit))


@every_n
def test_a_number_of_attributes_is_a_fit_of_those_columns(fruit: pa.Table, n: int) -> None:
    options: dict[str, Any] = {"n": n, "subsumption": True, "weighted": True, "min_count": 9}
    with sqlbn.fit(fruit, "kind", "ande", **options) as model:
        ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    for length in range(1, len(ranked) + 1):
        names = [row["attribute"] for row in ranked[:length]]
        with (
            sqlbn.fit(fruit, "kind", "ande", attributes=length, **options) as model,
            sqlbn.fit(fruit, "kind", "ande", columns=names, **options) as other,
        ):
            rows = model.attributes.to_pylist()
            assert {row["attribute"] for row in rows if row["selected"]} == set(names)
            got, wanted = model.predict(fruit), other.predict(fruit)
            for name in (f"p_{kind}" for kind in ("apple", "pear", "plum")):
                agree(got[name].to_pylist(), wanted[name].to_pylist())


def test_of_equal_attributes_the_earlier_is_kept() -> None:
    rows = [(a, b, a, y) for a, b, y in ("uvp", "uwp", "wvq", "wwq", "wvp", "uvp")]
    case = made(("z", "m", "a"), rows, [("u", "v", "w")], n=1, attributes=1)
    same(case)
    with learn(case) as model:
        assert [r["selected"] for r in model.attributes.to_pylist()] == [True, False, False]


# ---- subsumption


def drops(case: Case, remaining: dict[tuple[str, ...], list[str]]) -> None:
    """Each row has the probabilities of a fit of the columns that remain, without subsumption."""
    same(case)
    for values, names in remaining.items():
        rows = [row for row in case.new if tuple(row.values())[:-1] == values]
        assert len(rows) == 1, values
        without = outcome(case, rows, subsumption=False, columns=names)
        agree(outcome(case, rows), without)


CHAIN = {
    ("yes", "yes", "yes"): ["a"],
    ("no", "yes", "yes"): ["a", "b"],
    ("no", "no", "yes"): ["b", "c"],
    ("no", "no", "no"): ["c"],
    # What training never saw: a without b, a without c, b without c.
    ("yes", "no", "no"): ["a", "c"],
    ("yes", "no", "yes"): ["a", "b"],
    ("yes", "yes", "no"): ["a", "c"],
    ("no", "yes", "no"): ["b", "c"],
    # Unseen and, in training, not missing either: they imply nothing.
    ("yes", "what", "yes"): ["a", "b"],
    ("no", "no", None): ["b", "c"],
}


@every_n
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "w"])
def test_a_chain_of_implications(n: int, weighted: bool) -> None:
    """a implies b implies c (and not c implies not b implies not a); z is by itself."""
    seen = [("yes", "yes", "yes"), ("no", "yes", "yes"), ("no", "no", "yes"), ("no", "no", "no")]
    rows = [
        (*abc, z, "pq"[(i * i + j + (z == "u")) % 3 % 2])
        for i, abc in enumerate(seen)
        for z in "uv"
        for j in range(4 + i)
    ]
    case = made(
        ("a", "b", "c", "z"),
        rows,
        [(*abc, "u") for abc in CHAIN],
        n=n,
        weighted=weighted,
        subsumption=True,
        min_count=3,
    )
    drops(case, {(*abc, "u"): [*names, "z"] for abc, names in CHAIN.items()})


@every_n
def test_of_identical_columns_the_first_is_kept(n: int) -> None:
    """By the place in the schema, not by name; a row where they differ loses none."""
    rows = [(v, v, z, v, y) for v, z, y in ("xcp", "xdp", "ydq", "ycp", "ydq", "xdq", "xcp", "ycq")]
    names = ("n", "b", "z", "a")
    case = made(names, rows, [("x", "x", "c", "x"), ("x", "y", "d", "x")], n=n)
    case = replace(case, options={**case.options, "subsumption": True, "min_count": 2})
    drops(case, {("x", "x", "c", "x"): ["n", "z"], ("x", "y", "d", "x"): ["n", "b", "z"]})


@every_n
@pytest.mark.parametrize("turned", [False, True])
def test_equal_counts_of_one_value_go_by_place_not_by_information(n: int, turned: bool) -> None:
    """s and t are k in the same rows; elsewhere t tells the class and s does not."""
    rows = [("k", "k", y) for y in "pqqp"] + [(s, y, y) for s in "mn" for y in "ppqqqq"]
    rows = [(s, t, z, y) for s, t, y in rows for z in "uv"]
    names, new = ("s", "t", "z"), [("k", "k", "u"), ("k", "k", "w")]
    if turned:
        names, rows = ("t", "s", "z"), [(t, s, z, y) for s, t, z, y in rows]
    case = made(names, rows, new, n=n, subsumption=True, min_count=7)
    drops(case, {row: [names[0], "z"] for row in new})


@pytest.mark.parametrize("options", [{}, {"min_count": 100}], ids=["default", "given"])
@pytest.mark.parametrize(("count", "dropped"), [(100, False), (101, True)])
def test_more_than_the_least_count_is_asked(
    count: int, dropped: bool, options: dict[str, Any]
) -> None:
    schema = pa.schema([(n, pa.string()) for n in ("sex", "pregnant", "z", TARGET)])
    schema = schema.append(pa.field(WEIGHT, pa.int64()))
    weights = [("f", "yes", "u", "p", count - 60), ("f", "yes", "v", "q", 60)]
    weights += [(s, "no", z, y, 70) for s in "fm" for z in "uv" for y in "pq"]
    rows = [dict(zip(schema.names, row, strict=True)) for row in weights]
    case = Case(schema, rows, rows[:1], {"learner": "a1de-s", "weight": WEIGHT, **options})
    fewer = ["pregnant", "z"] if dropped else ["sex", "pregnant", "z"]
    agree(outcome(case), outcome(case, learner="a1de", columns=fewer, min_count=None))
    other = ["sex", "pregnant", "z"] if dropped else ["pregnant", "z"]
    (got,), (wrong,) = outcome(case), outcome(case, learner="a1de", columns=other, min_count=None)
    assert abs(got[0] - wrong[0]) > 1e-3


def test_a_missing_value_can_imply_and_be_implied() -> None:
    rows = [(None, None, y) for y in "ppq"] + [("a", None, y) for y in "pqq"]
    rows += [("a", "b", y) for y in "pqp"]
    case = made(("x", "z"), rows, [(None, None), ("a", "b"), (None, "b"), ("a", None)], n=1)
    case = replace(case, options={**case.options, "subsumption": True, "min_count": 2})
    drops(
        case,
        {
            (None, None): ["x"],
            ("a", "b"): ["z"],
            (None, "b"): ["x", "z"],
            ("a", None): ["x", "z"],
        },
    )


def test_attributes_that_are_not_kept_do_not_subsume() -> None:
    """a implies b, but only b, which tells more, is in use."""
    rows = [("yes", "yes", y) for y in "pq"] + [("no", "yes", y) for y in "ppp"]
    rows += [("no", "no", y) for y in "qqqq"]
    case = made(("a", "b"), rows, [("yes", "yes"), ("no", "yes"), ("no", "no")], n=1)
    options = {"subsumption": True, "min_count": 1, "attributes": 1}
    case = replace(case, options={**case.options, **options})
    same(case)
    agree(outcome(case), outcome(case, columns=["b"], subsumption=False))


# ---- fewer super parents than asked


PAIRS = [("a", "a", "a", "p"), ("b", "b", "b", "q"), ("c", "c", "c", "q"), ("a", "a", "a", "q")]
NO_PAIR = [("a", "b", "c"), ("b", "c", "z"), ("c", "z", "z")]  # no two values seen together
NOTHING_SEEN = [("z", "z", "z"), (None, "z", None)]


@every_variant
def test_pairs_never_seen_together_leave_single_super_parents(variant: str) -> None:
    case = made(("x", "y1", "y2"), PAIRS, NO_PAIR, n=2, min_count=0, **VARIANTS[variant])
    same(case)
    agree(outcome(case), outcome(case, n=1))


@every_n
@every_variant
def test_values_never_seen_leave_naive_bayes(n: int, variant: str) -> None:
    case = made(("x", "y1", "y2"), PAIRS, NOTHING_SEEN, n=n, min_count=0, **VARIANTS[variant])
    same(case)
    nb = replace(case, options={"learner": "nb"})
    agree(outcome(case), outcome(nb))


def test_one_pair_seen_is_enough() -> None:
    case = made(("x", "y1", "y2"), PAIRS, [("a", "a", "b"), ("z", "c", "c")], n=2)
    same(case)
    (one, _), (other, _) = outcome(case), outcome(case, n=1)
    assert one != pytest.approx(other, abs=1e-6)


@every_n
@every_variant
def test_fewer_attributes_than_asked(n: int, variant: str) -> None:
    case = made(("x",), [row[:1] + row[3:] for row in PAIRS], [("a",), ("z",)], n=n, min_count=0)
    case = replace(case, options={**case.options, **VARIANTS[variant]})
    same(case)
    agree(outcome(case, case.new[:1]), outcome(case, case.new[:1], n=1))


def test_super_parents_without_weight_do_not_count() -> None:
    """x and z tell the class together and nothing alone: the pair (0, 2) was never seen, x and z
    weigh nothing, and naive Bayes is left."""
    rows = [(x, z, "pq"[x != z]) for x in "01" for z in "01"] + [("2", "2", y) for y in "pq"]
    case = made(("x", "z"), rows, [("0", "2"), ("0", "1"), ("2", "2")], n=2, weighted=True)
    same(case)
    unseen, *_ = outcome(case)
    nb, *_ = outcome(replace(case, options={"learner": "nb"}))
    agree([unseen], [nb])


def test_subsumption_can_leave_too_few() -> None:
    """x implies z: A2DE has x alone, so its estimate is that of one super parent."""
    rows = [("a", "c", y) for y in "ppq"] + [("b", z, y) for z in "cd" for y in "pqq"]
    case = made(("x", "z"), rows, [("a", "c")], n=2, subsumption=True, min_count=2)
    same(case)
    p, q = 2 + 1 / 4, 1 + 1 / 4
    agree(outcome(case), [[p / (p + q), q / (p + q)]])


# ---- sqlbn is itself


@examples(8)
@given(andes())
def test_threads_do_not_change_the_model(case: Case) -> None:
    same_model(learn(case, threads=1), learn(case, threads=2), case)


@examples(8)
@given(andes(), st.integers(0, 2**32))
def test_order_of_rows_does_not_change_the_model(case: Case, seed: int) -> None:
    mixed = random.Random(seed).sample(case.train, len(case.train))
    same_model(learn(case), learn(replace(case, train=mixed)), case)


# ---- leave-one-out


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


@examples(40)
@given(andes(selecting=True))
def test_leave_one_out_is_that_of_retraining(case: Case) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    same_selection(case, reference_ande.loocv_surfaces(ref), ref)


@examples(12)
@given(andes(selecting=True), st.sampled_from((1, 30, 200)))
def test_leave_one_out_by_the_ways_of_large_tables(case: Case, limit: int) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    with as_if_large(limit):
        same_selection(case, reference_ande.loocv_surfaces(ref), ref)


@every_n
@every_variant
def test_every_loss(n: int, variant: str) -> None:
    names = ("sky", "heat", "air")
    options = {"n": n, "min_count": 1, "select": "attributes", **VARIANTS[variant]}
    case = made(names, WEATHER, NEW_WEATHER, **options)
    ref = refer(case)
    wanted = reference_ande.loocv_surfaces(ref)
    for loss in reference.LOSSES:
        same_selection(replace(case, options={**case.options, "loss": loss}), wanted, ref)


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
    options = {"select": "attributes", "loss": loss, "min_count": 9}
    with (
        sqlbn.fit(fruit, "kind", "a2de-sw", **options) as short,
        sqlbn.fit(fruit, "kind", "ande", n=2, **VARIANTS["-sw"], **options) as long,
    ):
        assert short.loocv.equals(long.loocv)
        assert short.predict(fruit).equals(long.predict(fruit))
        length = short.meta["selected_attributes"]
        with sqlbn.fit(fruit, "kind", "a2de-sw", attributes=length, min_count=9) as fixed:
            assert fixed.predict(fruit).equals(short.predict(fruit))
            assert fixed.loocv is None


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
        wanted = model.predict(new)
        attributes, surface = model.attributes, model.loocv
    with duckdb.connect() as con:
        con.register("given", new)
        con.execute("CREATE TEMP TABLE tbl AS FROM given")
        con.execute(f"ATTACH '{path}' AS m (READ_ONLY)")
        con.execute("USE m.m")
        for name in ("tbl", data):
            found = con.sql(f"FROM predict('{name}') ORDER BY row").to_arrow_table()
            assert found.to_pylist() == wanted.to_pylist()
    with sqlbn.load(path, "m") as loaded:
        assert loaded.predict(new).equals(wanted)
        assert loaded.attributes.equals(attributes)
        assert (loaded.loocv is None) == (surface is None)
        assert surface is None or loaded.loocv.equals(surface)


# ---- the results of an independent program


def check_golden(shared: Path, name: str, folder: Path) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], folder)
    learners = [learner for learner in wanted["test"] if learner.startswith(("a1de", "a2de"))]
    assert learners
    for learner in learners:
        with sqlbn.fit(train, wanted["target"], learner, columns=names, categorical=names) as model:
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
    wanted, names, train, test = test_properties.golden(name)
    for learner, losses in wanted["test"].items():
        if not (learner in learners if learners else learner.startswith("a")):
            continue
        n, variant = int(learner[1]), VARIANTS[learner[4:]]
        ref = reference_ande.fit(train, names, wanted["target"], n, **variant, categorical=names)
        with by_ande():
            got = reference.evaluate(ref, test)
        for loss, value in losses.items():
            assert got[loss] == pytest.approx(value, rel=0, abs=1e-10), (learner, loss)


@pytest.mark.parametrize(
    ("name", "learners"), [("titanic", None), ("breast-cancer", ("a1de", "a2de-w"))]
)
def test_the_reference_gives_the_golden_losses(name: str, learners: Sequence[str] | None) -> None:
    reference_is_golden(name, learners)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast-cancer", "car", "solar-flare2", "vote"])
def test_the_reference_gives_all_golden_losses(name: str) -> None:
    reference_is_golden(name, None)
