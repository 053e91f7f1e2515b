"""AnDE against brute force, by hand, against an independent program, and through the store.

The brute force is reference_ande.py; random tables come from test_properties.py, and SQLBN_SOAK
works here too.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
import reference
import reference_ande
import test_properties
from hypothesis import assume, given
from hypothesis import strategies as st
from reference_ande import Ande
from test_loo_surface import MANY_CLASSES, with_column
from test_properties import (
    ROUNDING,
    TARGET,
    WEIGHT,
    Case,
    as_if_large,
    cases,
    examples,
    near,
    same_classes,
    same_losses,
    same_model,
    same_predictions,
    some,
)

import sqlbn

VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "-s": {"subsumption": True},
    "-w": {"weighted": True},
    "-sw": {"subsumption": True, "weighted": True},
}
NAMES = [f"a{n}de{variant}" for n in (1, 2) for variant in VARIANTS]
every_name = pytest.mark.parametrize("name", NAMES)
some_names = pytest.mark.parametrize("name", ["a1de", "a1de-sw", "a2de-s", "a2de-w"])
every_n = pytest.mark.parametrize("n", [1, 2])


def meaning(name: str) -> dict[str, Any]:
    """The options that the short name of a learner stands for."""
    return {"n": int(name[1]), **VARIANTS[name[4:]]}


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
        "subsumption": rng.random() < 0.7,
        "weighted": rng.random() < 0.5,
        "min_count": rng.choice((0, 0, 1, 2, 3)),
    }
    if rng.random() < 0.2:
        asked["keep"] = case.attributes
    # Values of new rows are drawn one by one: those of training rows do imply each other.
    familiar = rng.choices(case.train, k=rng.randint(0, 8))
    case = replace(case, options=asked, new=[*case.new, *familiar])
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


def learn(case: Case, **more: Any) -> Any:
    """A fit; the least count is given only where it matters, for sqlbn asks for that."""
    options = {**case.options, **more}
    if not (options.get("subsumption") or "-s" in options["learner"]):
        options["min_count"] = None
    return test_properties.learn(replace(case, options=options))


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


def answers(model: Any, rows: pa.Table) -> pa.Table:
    """What a prediction adds to the rows (which may hold NaN, never equal to itself)."""
    scored = model.predict(rows)
    return scored.select(scored.column_names[rows.num_columns :])


def same_scores(model: Any, ref: Any, case: Case) -> None:
    """Predictions and losses; only the attributes in use are needed for them."""
    with by_ande():
        same_predictions(model, ref, case)
        same_losses(model, ref, case)
    if len(ref.kept) < len(ref.model.attributes):
        needed = [n for n in case.schema.names if n in (*kept_names(ref), TARGET)]
        fewer = case.new_table.select(needed)
        assert answers(model, fewer).equals(answers(model, case.new_table))


def same(case: Case) -> list[list[float]]:
    """Compare the model, predictions and losses; the probabilities, now the same for both."""
    ref = refer(case)
    with learn(case) as model:
        same_attributes(model, ref)
        same_classes(model, ref.model)
        same_scores(model, ref, case)
    return [[float(q) for q in p] for p in reference_ande.probabilities(ref, case.new)]


# ---- sqlbn is the reference


@examples(30)
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


def made(names: Sequence[str], train: Sequence[Any], new: Sequence[Any], **options: Any) -> Case:
    """A case of text columns; training rows end with the class, which new rows do not have."""
    rows = [dict(zip((*names, TARGET), row, strict=True)) for row in train]
    return Case(
        pa.schema([(n, pa.string()) for n in (*names, TARGET)]),
        rows,
        [{**dict(zip(names, row, strict=True)), TARGET: None} for row in new],
        {"learner": "ande", **options},
    )


def outcome(case: Case, new: list[dict[str, Any]] | None = None, **more: Any) -> list[Any]:
    """The probabilities that sqlbn gives to some rows, by default the new ones."""
    with learn(case, **more) as model:
        table = replace(case, new=case.new if new is None else new).new_table
        return [list(row.values())[1:] for row in answers(model, table).to_pylist()]


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


# ---- subsumption


def drops(case: Case, remaining: Sequence[list[str]]) -> None:
    """Each new row has the probabilities of a fit of the columns that remain of it, without
    subsumption."""
    got = same(case)
    for names in {tuple(names) for names in remaining}:
        rows = [i for i, those in enumerate(remaining) if tuple(those) == names]
        new = [case.new[i] for i in rows]
        without = outcome(case, new, subsumption=False, columns=names)
        agree([got[i] for i in rows], without)


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


@pytest.mark.parametrize("name", ["a1de-s", "a2de-sw"])
def test_a_chain_of_implications(name: str) -> None:
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
        min_count=3,
        **meaning(name),
    )
    drops(case, [[*names, "z"] for names in CHAIN.values()])


@every_n
def test_of_identical_columns_the_first_is_kept(n: int) -> None:
    """By the place in the schema, not by name; a row where they differ loses none."""
    rows = [(v, v, z, v, y) for v, z, y in ("xcp", "xdp", "ydq", "ycp", "ydq", "xdq", "xcp", "ycq")]
    names = ("n", "b", "z", "a")
    new = [("x", "x", "c", "x"), ("x", "y", "d", "x")]
    case = made(names, rows, new, n=n, subsumption=True, min_count=2)
    drops(case, [["n", "z"], ["n", "b", "z"]])


@pytest.mark.parametrize("turned", [False, True])
def test_equal_counts_of_one_value_go_by_place_not_by_information(turned: bool) -> None:
    """s and t are k in the same rows; elsewhere t tells the class, and s has more values."""
    pairs = [("k", "k", y) for y in "pqqp"] + [(s, y, y) for s in "lmn" for y in "ppqqqq"]
    rows = [(s, t, z, y) for s, t, y in pairs for z in "uv"]
    names, new = ("s", "t", "z"), [("k", "k", "u"), ("k", "k", "w")]
    if turned:
        names, rows = ("t", "s", "z"), [(t, s, z, y) for s, t, z, y in rows]
    drops(
        made(names, rows, new, n=1, subsumption=True, min_count=7), [[names[0], "z"] for _ in new]
    )


@pytest.mark.parametrize(("count", "dropped"), [(100, False), (101, True)])
def test_more_than_a_hundred_are_asked(count: int, dropped: bool) -> None:
    schema = pa.schema([(n, pa.string()) for n in ("sex", "pregnant", "z", TARGET)])
    schema = schema.append(pa.field(WEIGHT, pa.int64()))
    weights = [("f", "yes", "u", "p", count - 60), ("f", "yes", "v", "q", 60)]
    weights += [(s, "no", z, y, 70) for s in "fm" for z in "uv" for y in "pq"]
    rows = [dict(zip(schema.names, row, strict=True)) for row in weights]
    case = Case(schema, rows, rows[:1], {"learner": "a1de-s", "weight": WEIGHT})
    got = outcome(case)
    both, one = (
        outcome(case, learner="a1de", columns=names)
        for names in (["sex", "pregnant", "z"], ["pregnant", "z"])
    )
    agree(got, one if dropped else both)
    assert abs(both[0][0] - one[0][0]) > 1e-3


def test_a_missing_value_can_imply_and_be_implied() -> None:
    seen = [((None, None), "ppq"), (("a", None), "pqq"), (("a", "b"), "pqp")]
    rows = [(*values, y) for values, classes in seen for y in classes]
    new = [(None, None), ("a", "b"), (None, "b"), ("a", None)]
    case = made(("x", "z"), rows, new, n=1, subsumption=True, min_count=2)
    drops(case, [["x"], ["z"], ["x", "z"], ["x", "z"]])


def test_attributes_that_are_not_kept_do_not_subsume() -> None:
    """a implies b, but only b, which tells more, is in use."""
    rows = [("yes", "yes", y) for y in "pq"] + [("no", "yes", y) for y in "ppp"]
    rows += [("no", "no", y) for y in "qqqq"]
    new = [("yes", "yes"), ("no", "yes"), ("no", "no")]
    case = made(("a", "b"), rows, new, n=1, subsumption=True, min_count=1, attributes=1)
    drops(case, [["b"]] * 3)


# ---- fewer super parents than asked


PAIRS = [("a", "a", "a", "p"), ("b", "b", "b", "q"), ("c", "c", "c", "q"), ("a", "a", "a", "q")]
NO_PAIR = [("a", "b", "c"), ("b", "c", "z"), ("c", "z", "z")]  # no two values seen together
NOTHING_SEEN = [("z", "z", "z"), (None, "z", None)]


@pytest.mark.parametrize("name", ["a2de", "a2de-sw"])
def test_pairs_never_seen_together_leave_single_super_parents(name: str) -> None:
    case = made(("x", "y1", "y2"), PAIRS, NO_PAIR, min_count=0, **meaning(name))
    agree(same(case), outcome(case, n=1))


@some_names
def test_values_never_seen_leave_naive_bayes(name: str) -> None:
    case = made(("x", "y1", "y2"), PAIRS, NOTHING_SEEN, min_count=0, **meaning(name))
    agree(same(case), outcome(case, learner="nb", **dict.fromkeys(meaning(name))))


def test_one_pair_seen_is_enough() -> None:
    case = made(("x", "y1", "y2"), PAIRS, [("a", "a", "b"), ("z", "c", "c")], n=2)
    for two, one in zip(same(case), outcome(case, n=1), strict=True):
        assert two != pytest.approx(one, abs=1e-3)


@pytest.mark.parametrize("name", ["a2de", "a2de-sw"])
def test_fewer_attributes_than_asked(name: str) -> None:
    rows = [(x, y) for x, _, _, y in PAIRS]
    case = made(("x",), rows, [("a",), ("z",)], min_count=0, **meaning(name))
    agree(same(case), outcome(case, n=1))


def test_super_parents_without_weight_do_not_count() -> None:
    """x and z tell the class together and nothing alone: the pair (0, 2) was never seen, x and z
    weigh nothing, and naive Bayes is left."""
    rows = [(x, z, "pq"[x != z]) for x in "01" for z in "01"] + [("2", "2", y) for y in "pq"]
    case = made(("x", "z"), rows, [("0", "2"), ("0", "1"), ("2", "2")], n=2, weighted=True)
    agree(same(case)[:1], outcome(case, case.new[:1], learner="nb", n=None, weighted=None))


def test_subsumption_can_leave_too_few() -> None:
    """x implies z: A2DE has x alone, so its estimate is that of one super parent."""
    rows = [("a", "c", y) for y in "ppq"] + [("b", z, y) for z in "cd" for y in "pqq"]
    case = made(("x", "z"), rows, [("a", "c")], n=2, subsumption=True, min_count=2)
    p, q = 2 + 1 / 4, 1 + 1 / 4
    agree(same(case), [[p / (p + q), q / (p + q)]])


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
