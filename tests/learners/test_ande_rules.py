"""What AnDE leaves out: values that others imply, super parents that were not seen."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from ande_cases import agree, every_n, made, meaning, outcome, same, some_names
from limited import limited
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
)

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


def test_a_dry_run_says_how_long_scoring_takes(fruit: pa.Table) -> None:
    """And what to do where it is long."""
    from sqlbn.api.results import plan

    [said] = [line for line in plan("kind", "a1de", data=fruit) if "super-parents" in line]
    assert "100,000 rows are scored in about" in said and "with fewer" not in said
    with limited(average_outlook_seconds=0.0):
        assert plan("kind", "a2de", data=fruit)[-1].endswith("with fewer attributes or n=1 in less")
