"""Collections of networks: sqlbn against brute force, against each other and against itself.

SQLBN_SOAK works here too.
"""

import math
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
import reference_collections
from collection_cases import (
    ARCHITECTURES,
    EARLIER,
    LEARNERS,
    SINGLE,
    agree,
    collections,
    complete,
    every_learner,
    is_clear,
    made,
    outcome,
    refer,
    same,
    same_model,
    weighted,
)
from collection_tables import GAPS, XOR, sum_of_networks
from hypothesis import assume, given
from hypothesis import strategies as st
from random_tables import WEIGHT, Case, as_if_large, examples, learn
from reference_collections import Collection

import sqlbn

# ---- sqlbn is the reference


def same_if_clear(case: Case) -> None:
    ref = refer(case)
    assume(is_clear(ref))
    same(case, ref)


@examples(24, 12)
@given(collections(SINGLE))
def test_single_networks_are_those_of_the_reference(case: Case) -> None:
    same_if_clear(case)


@examples(24, 12)
@given(collections(("fanc", "spc", "tc")))
def test_architectures_are_those_of_the_reference(case: Case) -> None:
    same_if_clear(case)


@examples(15, 8)
@given(collections(("spcr",)))
def test_the_super_parent_that_training_rows_like_best(case: Case) -> None:
    same_if_clear(case)


@examples(24, 12)
@given(collections(("collection",)))
def test_given_parent_sets_are_those_of_the_reference(case: Case) -> None:
    same_if_clear(case)


@examples(24, 12)
@given(collections(EARLIER))
def test_estimates_of_earlier_learners_are_those_of_the_reference(case: Case) -> None:
    same_if_clear(case)


@examples(24, 12)
@given(collections((*LEARNERS, *EARLIER)), st.sampled_from((1, 30, 200)))
def test_the_ways_of_large_tables_give_the_reference_too(case: Case, limit: int) -> None:
    ref = refer(case)
    assume(is_clear(ref))
    with as_if_large(limit):
        same(case, ref)


# ---- small tables with something in them

ESTIMATES = [
    {},
    {"missing": "value"},
    {"estimate": "m", "m": 0.5},
    {"estimate": "m", "missing": "value"},
]
NEW_GAPS = list(product(("a", "b", "z", None), ("c", "d", "z", None)))


@every_learner
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_seen_unseen_and_missing_values(learner: str, estimate: dict[str, Any]) -> None:
    sets = {"t": [["s"], {"parents": [], "weight": 0.5}]}
    more = {"parents": sets} if learner == "collection" else {}
    same(made(("s", "t"), GAPS, NEW_GAPS, learner=learner, **estimate, **more))


@pytest.mark.parametrize("learner", EARLIER)
@pytest.mark.parametrize("missing", ["value", "ignore"])
@pytest.mark.parametrize("estimate", ["m", "laplace"])
def test_seen_unseen_and_missing_values_of_earlier_learners(
    learner: str, missing: str, estimate: str
) -> None:
    same(made(("s", "t"), GAPS, NEW_GAPS, learner=learner, missing=missing, estimate=estimate))


@every_learner
def test_one_class_is_certain(learner: str) -> None:
    rows = [("u", "v", "only"), ("x", "v", "only"), (None, "v", "only")]
    case = made(("a", "b"), rows, [("u", "v"), ("z", None)], learner=learner, keep=["b"])
    assert same(case) == [[1.0], [1.0]]


@every_learner
def test_classes_that_tie(learner: str) -> None:
    """Everything is alike for both classes: the first of them is predicted."""
    rows = [(u, v, y) for u in "ab" for v in "cd" for y in "qp"]
    new = [("a", "c"), ("b", "z"), ("z", "z"), (None, "d")]
    assert same(made(("u", "v"), rows, new, learner=learner)) == [[0.5, 0.5]] * 4


@every_learner
def test_an_attribute_without_values_is_left_out(learner: str) -> None:
    """New rows may have a value of it all the same; missing as a value it is a constant."""
    rows = [(t, None, u, y) for t, u, y in (*XOR, ("0", None, "p"), ("1", "1", "q"))]
    new = list(product(("0", "z", None), ("any", None), ("1", None)))
    case = made(("t", "s", "u"), rows, new, learner=learner, keep=["s"])
    agree(same(case), outcome(case, columns=["t", "u"], keep=[]))
    same(replace(case, options={**case.options, "missing": "value"}))


@pytest.mark.parametrize("learner", ["superparent", "spc"])
def test_a_super_parent_without_values(learner: str) -> None:
    """fanc is left of spc; under a single super parent no attribute has a term."""
    rows = [(None, *row) for row in GAPS]
    case = made(
        ("s", "t", "u"),
        rows,
        [("any", *row) for row in NEW_GAPS],
        learner=learner,
        superparent="s",
        keep=["s"],
    )
    got = same(case)
    if learner == "spc":
        plain = {"learner": "fanc", "superparent": None, "columns": ["t", "u"], "keep": []}
        agree(got, outcome(case, **plain))
    else:
        agree(got, [[4 / 7, 3 / 7]] * len(got))


@every_learner
@pytest.mark.filterwarnings("ignore::sqlbn.errors.SqlbnWarning")
def test_without_attributes_the_prior_is_left(learner: str) -> None:
    case = made(("x",), [("a", y) for y in "pqqq"], [("a",), ("b",)], learner=learner)
    agree(outcome(case), [[2 / 6, 4 / 6]] * 2)


@pytest.mark.parametrize("learner", ["superparent", "spc", "spcr"])
def test_of_equal_super_parents_the_first_in_the_schema_is_taken(learner: str) -> None:
    """Copies tie in everything; by position, not by name, and whatever the order."""
    rows = [(n, v, n, v, y) for v, n, y in ("acp", "adp", "bdq", "bcp", "bdq", "adq", "acp")]
    for order in ("schema", "mi", "gain"):
        case = made(("z", "m", "a", "b"), rows, [("c", "a", "d", "b")], learner=learner)
        same(replace(case, options={**case.options, "order": order}))


# ---- sums over networks


def unscored_weights(ref: Collection) -> int:
    """The super parent of spcr if all distinct training rows counted alike in the mean."""
    tried = [reference_collections.with_superparent(ref, sp, 9) for sp in range(len(ref.order))]
    means = []
    for each in tried:
        n = reference_collections.tally(each)
        means.append(sum(reference_collections.score(each, n, codes)[y] for codes, y in each.table))
    return means.index(max(means))


SETS = {
    "a": [["b", "c"], {"parents": [], "weight": 2.5}],
    "b": [["c"], {"parents": ["d"], "weight": 0.1}, ["d", "c"]],
    "c": [[], {"parents": ["d"], "weight": 3}],
}


@pytest.mark.parametrize(
    ("options", "networks"),
    [
        ({"learner": "fanc"}, math.factorial(4)),
        ({"learner": "fanc", "order": "gain", "estimate": "m"}, math.factorial(4)),
        ({"learner": "spc", "superparent": "b"}, 1 * 2 * 4 * 6),
        ({"learner": "tc", "parents_from_first": 2}, 1 * 2 * 4 * 4),
        ({"learner": "collection", "parents": SETS}, 2 * 3 * 2),
    ],
)
def test_the_sum_over_all_networks_of_a_collection(options: dict[str, Any], networks: int) -> None:
    """Equation 1 of the paper (add up the networks) is equation 2 (multiply the sums).

    So where no term is left out.
    """
    case = complete(3, unseen="smoothed", **options)
    ref = refer(case)
    assert math.prod(len(terms) for terms in ref.terms.values()) == networks
    agree(outcome(case), sum_of_networks(ref, case.new))


# ---- what random tables seldom decide


@pytest.mark.parametrize("learner", ARCHITECTURES)
@pytest.mark.parametrize("order", ["schema", "mi", "gain"])
def test_parents_from_the_first_of_each_order(learner: str, order: str) -> None:
    for first in (1, 2):
        case = complete(5, learner=learner, order=order, parents_from_first=first)
        assert is_clear(refer(case))
        same(case)


@pytest.mark.parametrize("seed", [5, 7, 18])
def test_weights_of_rows_decide_the_super_parent(seed: int) -> None:
    case = weighted(seed)
    ref = refer(case)
    assert is_clear(ref)
    assert ref.superparent != unscored_weights(ref)
    same(case, ref)


# ---- one learner is another


def as_sets(case: Case) -> dict[str, Any]:
    """Options of a `collection` with the parent sets that the reference finds."""
    ref = refer(case)
    name = [a.name for a in ref.books]
    sets = {
        name[i]: [[name[j] for j in parents] for parents, _ in terms]
        for i, terms in ref.terms.items()
    }
    mine = ("order", "superparent", "score", "parents_from_first", "k")
    return {"learner": "collection", "parents": sets, **dict.fromkeys(mine)}


@examples(12, 6)
@given(collections((*ARCHITECTURES, *SINGLE)))
def test_every_learner_is_a_collection_of_its_sets(case: Case) -> None:
    ref = refer(case)
    assume(is_clear(ref))
    agree(outcome(case), outcome(case, **as_sets(case)))


@pytest.mark.parametrize("learner", [*ARCHITECTURES, *SINGLE])
def test_the_collection_of_the_sets_of_a_learner(learner: str) -> None:
    for seed in (1, 2, 3):
        case = complete(seed, learner=learner)
        got = outcome(case)
        agree(got, outcome(case, **as_sets(case)))
        agree(got, reference_collections.probabilities(refer(case), case.new))


@pytest.mark.parametrize("parents", [{}, {"b": [[]]}])
def test_a_collection_of_empty_sets_is_naive_bayes(parents: dict[str, Any]) -> None:
    case = made(("a", "b"), GAPS, NEW_GAPS, learner="collection", parents=parents)
    nb = {"learner": "nb", "parents": None, "estimate": "laplace", "missing": "ignore"}
    agree(outcome(case), outcome(case, **nb))


@pytest.mark.parametrize("learner", EARLIER)
def test_defaults_of_earlier_learners_may_be_said(fruit: pa.Table, learner: str) -> None:
    with (
        sqlbn.fit(fruit, "kind", learner) as one,
        sqlbn.fit(fruit, "kind", learner, estimate="m", missing="value") as other,
    ):
        assert repr(one.predict(fruit).to_pylist()) == repr(other.predict(fruit).to_pylist())


def test_weights_of_terms_count_only_against_each_other() -> None:
    """All weights of an attribute times a constant are the same model."""
    case = complete(1, learner="collection", parents=SETS)
    many = {
        name: [
            {"parents": s["parents"], "weight": 8 * s["weight"]}
            if isinstance(s, dict)
            else {"parents": s, "weight": 8}
            for s in sets
        ]
        for name, sets in SETS.items()
    }
    agree(outcome(case), outcome(case, parents=many))


def test_an_attribute_with_an_empty_list_is_left_out() -> None:
    """a is in no term, d only a parent: without a the model is the same."""
    sets = {"a": [], "d": [], "b": [["d"], []]}
    case = complete(2, learner="collection", parents=sets)
    got = same(case)
    del sets["a"]
    agree(got, outcome(case, columns=["b", "c", "d"], parents=sets))


# ---- what is refused


def weighing(weight: float) -> dict[str, Any]:
    return {"parents": {"sky": [{"parents": ["heat"], "weight": weight}]}}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (
            {"parents": {"sky": [["heat"]], "heat": [[], ["air"]], "air": [["sky"]]}},
            ["sky", "heat", "air"],
        ),
        ({"parents": {"sky": [["nobody"]]}}, ["nobody"]),
        ({"parents": {"nobody": [[]]}}, ["nobody"]),
        ({"parents": {"sky": [["sky"]]}}, ["sky"]),
        ({"parents": {"sky": [["heat", "air"], [], ["air", "heat"]]}}, ["sky"]),
        (weighing(0), ["sky", "0"]),
        (weighing(-1.5), ["sky", "-1.5"]),
        (weighing(math.inf), ["sky", "inf"]),
        (weighing(math.nan), ["sky", "nan"]),
        ({"parents": {"sky": [[]]}, "order": "mi"}, ["order"]),
        ({"learner": "fanc", "parents": {"sky": [[]]}}, ["parents"]),
        ({"learner": "spc", "superparent": "nobody"}, ["nobody"]),
        ({"learner": "fanc", "superparent": "sky"}, ["superparent"]),
        ({"learner": "fanc", "parents_from_first": 0}, ["parents_from_first"]),
        ({"learner": "fanc", "order": "size"}, ["order", "size"]),
        ({"learner": "fanc", "m": 2.0}, ["m"]),
        ({"learner": "kdb", "estimate": "laplace", "m": 2.0}, ["m"]),
        ({"learner": "kdb", "missing": "ignore", "backoff": "parents"}, ["missing", "backoff"]),
        ({"learner": "skdb", "missing": "ignore"}, ["missing"]),
        ({"learner": "skdb", "estimate": "laplace"}, ["estimate"]),
        ({"learner": "a1de", "missing": "ignore"}, ["missing"]),
        ({"learner": "fan", "score": "mdl"}, ["score", "mdl"]),
        ({"learner": "nb", "estimate": "none"}, ["estimate", "none"]),
        ({"learner": "nb", "missing": "drop"}, ["missing", "drop"]),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line_that_names_it(
    options: dict[str, Any], named: list[str]
) -> None:
    rows = [("sun", "hot", "dry", "p"), ("rain", "cold", "wet", "q")]
    case = made(("sky", "heat", "air"), rows, [], **{"learner": "collection", **options})
    with pytest.raises(sqlbn.SqlbnError) as caught:
        learn(case)
    assert "\n" not in str(caught.value)
    for word in named:
        assert word in str(caught.value)


# ---- sqlbn is itself


@examples(12, 6)
@given(collections((*LEARNERS, *EARLIER)))
def test_threads_do_not_change_the_model(case: Case) -> None:
    same_model(learn(case, threads=1), learn(case, threads=2), case)


@examples(12, 6)
@given(collections((*LEARNERS, *EARLIER)), st.integers(0, 2**32))
def test_order_of_rows_does_not_change_the_model(case: Case, seed: int) -> None:
    mixed = random.Random(seed).sample(case.train, len(case.train))
    same_model(learn(case), learn(replace(case, train=mixed)), case)


@examples(12, 6)
@given(collections((*LEARNERS, *EARLIER), always_whole_weights=True))
def test_whole_weights_are_repeated_rows(case: Case) -> None:
    plain = {name: value for name, value in case.options.items() if name != "weight"}
    repeated = Case(
        case.schema.remove(case.schema.get_field_index(WEIGHT)),
        [{n: v for n, v in r.items() if n != WEIGHT} for r in case.train for _ in range(r[WEIGHT])],
        [],
        plain,
    )
    same_model(learn(case), learn(repeated), case)


@every_learner
def test_a_stored_model_is_the_model(learner: str, tmp_path: Any) -> None:
    case = complete(4, learner=learner, **({"parents": SETS} if learner == "collection" else {}))
    path = tmp_path / "models.duckdb"
    with learn(case, store=path, name="one"):
        pass
    same_model(learn(case), sqlbn.load(path, "one"), case)
