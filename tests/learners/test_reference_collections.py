"""The brute force of collections by hand, by enumeration of networks, and against reference.py."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import reference
import reference_collections as rc
from collection_cases import EARLIER, are_clear, by_collections, collections, made, refer
from collection_tables import GAPS, XOR, F, sum_of_networks
from hypothesis import given
from random_tables import TARGET, WEIGHT, Case, examples
from reference_collections import Collection


def gives(case: Case, wanted: Sequence[Sequence[Any]]) -> None:
    """The brute force gives the new rows these probabilities, each row up to a constant."""
    got = rc.probabilities(refer(case), case.new)
    assert got == [reference.normalised([F(p) for p in row]) for row in wanted]


def named(ref: Collection) -> dict[str, list[str]]:
    """Terms by name: 'xz' is the set of x and z."""
    name = [a.name for a in ref.books]
    return {name[i]: ["".join(name[j] for j in pa) for pa, _ in ref.terms[i]] for i in ref.order}


# ---- by hand


def test_fanc_with_missing_and_unseen_values() -> None:
    """Prior 4 : 3. Rows that count: s in p a, a, b and in q b; t in p c, d and in q d, d; both in
    p (a, c), (a, d) and in q (b, d)."""
    new = [("a", "d"), (None, "d"), ("b", None), ("z", "d"), ("b", "z"), (None, None)]
    third, half = F(1, 3), F(1, 2)
    gives(
        made("st", GAPS, new, learner="fanc", unseen="smoothed"),
        [
            # P(a|p) = 3/5, P(a|q) = 1/3; P(d|p) = 2/4, P(d|q) = 3/4; P(d|a,p) = 2/4, (a,q) unseen
            [4 * F(3, 5) * (half + half), 3 * third * (F(3, 4) + half)],
            # s is left out, as a child and as a parent
            [4 * half, 3 * F(3, 4)],
            # t is left out; P(b|p) = 2/5, P(b|q) = 2/3
            [4 * F(2, 5), 3 * F(2, 3)],
            # z has no counts: P(z|p) = 1/5, P(z|q) = 1/3, and nothing was seen with it
            [4 * F(1, 5) * (half + half), 3 * third * (F(3, 4) + half)],
            # P(z|p) = P(z|q) = 1/4; (b,p) has no row with a t, (b,q) has one
            [4 * F(2, 5) * (F(1, 4) + half), 3 * F(2, 3) * (F(1, 4) + third)],
            [4, 3],
        ],
    )
    # Of z nothing is said, as of a missing value.
    gives(
        made("st", GAPS, [("z", "d"), ("b", "z"), ("z", "z")], learner="fanc"),
        [[4 * half, 3 * F(3, 4)], [4 * F(2, 5), 3 * F(2, 3)], [4, 3]],
    )


def test_fanc_with_missing_as_a_value_and_the_m_estimate() -> None:
    """Prior 3.5 : 2.5; missing is a third value of s and of t."""
    new = [(None, "d"), ("z", None)]
    options = {"learner": "fanc", "estimate": "m", "missing": "value"}
    third = F(1, 3)
    seen = [7 * F(1, 12) * (third + third), 5 * F(4, 9) * (F(7, 9) + F(2, 3))]
    gives(made("st", GAPS, new, **options), [seen, [7 * third, 5 * F(1, 9)]])
    gives(
        made("st", GAPS, new, unseen="smoothed", **options),
        [
            # P(-|p) = (0+1/3)/4, P(-|q) = (1+1/3)/3; P(d|p) = (1+1/3)/4, P(d|q) = (2+1/3)/3;
            # P(d|-,p): nothing seen, 1/3; P(d|-,q) = (1+1/3)/2
            seen,
            # P(z|p) = (1/3)/4, P(z|q) = (1/3)/3; P(-|p) = (1+1/3)/4, P(-|q) = (1/3)/3;
            # nothing was seen with z: 1/3
            [7 * F(1, 12) * (third + third), 5 * F(1, 9) * (F(1, 9) + third)],
        ],
    )


def test_missing_as_a_value_that_training_never_had_is_unseen() -> None:
    rows = [("a", "p"), ("a", "p"), ("b", "q")]
    gives(made("s", rows, [(None,)], missing="value"), [[3, 2]])
    # P(-|p) = 1/(2+2), P(-|q) = 1/(1+2)
    smoothed = made("s", rows, [(None,)], missing="value", unseen="smoothed")
    gives(smoothed, [[3 * F(1, 4), 2 * F(1, 3)]])
    gives(made("s", rows, [(None,)], missing="ignore"), [[3, 2]])


def test_weights_of_rows_and_of_terms() -> None:
    """p weighs 2.5, q 0.25; rows without weight or class are not there."""
    rows = [("a", "c", "p", 2), ("b", "c", "p", 0.5), ("b", "d", "q", 0.25), ("b", "d", "p", 0)]
    names = ("s", "t", TARGET, WEIGHT)
    train = [dict(zip(names, row, strict=True)) for row in (*rows, ("a", "d", None, 1))]
    sets = {"t": [{"parents": ["s"], "weight": 3.5}, {"parents": []}], "s": []}
    ref = rc.fit(train, "st", TARGET, "collection", parents=sets, weight=WEIGHT)
    # s has no term. P(c|p) = 3.5/4.5, P(c|q) = 1/2.25; P(c|b,p) = 1.5/2.5, P(c|b,q) = 1/2.25
    p = F(7, 2) * (F(7, 2) * F(3, 5) + F(7, 9))
    q = F(5, 4) * (F(7, 2) * F(4, 9) + F(4, 9))
    assert rc.probabilities(ref, [{"s": "b", "t": "c"}]) == [reference.normalised([p, q])]


def test_an_attribute_without_values_is_left_out_of_everything() -> None:
    rows = [(None, "c", "p"), (None, "d", "p"), (None, "d", "q")]
    new = [("a", "d"), (None, "c")]
    # Prior 3 : 2; P(c|p) = P(d|p) = 1/2, P(c|q) = 1/3, P(d|q) = 2/3; the set {s} adds nothing.
    case = made("st", rows, new, learner="fanc", keep=["s"])
    gives(case, [[F(3, 2), F(4, 3)], [F(3, 2), F(2, 3)]])
    # With no other parent than s, t has no term.
    only = replace(case, options={"learner": "superparent", "superparent": "s", "keep": ["s"]})
    gives(only, [[3, 2]] * 2)


BACKED_OFF = [("a", "c", "p"), ("a", "d", "p"), *[("b", "d", "q")] * 2, ("b", None, "q")]


@pytest.mark.parametrize("learner", ["tan", "kdb"])
def test_back_off_where_missing_is_no_value(learner: str) -> None:
    """s tells all about the class, so t has the parent s. m = 1, prior 2.5 : 3.5."""
    new = [("b", "d"), (None, "d"), ("b", "c"), ("a", "z"), ("a", None)]
    case = made("st", BACKED_OFF, new, learner=learner, missing="ignore")
    assert named(refer(case)) == {"s": [""], "t": ["s"]}
    a, b = (F(5, 6), F(1, 8)), (F(1, 6), F(7, 8))  # P(s|p), P(s|q)
    gives(
        case,
        [
            # (b,p) was never seen, (b,q) twice with a value of t
            [5 * b[0] * F(1, 2), 7 * b[1] * F(5, 6)],
            # the parent is missing: P(d|p) = 1.5/3, P(d|q) = 2.5/3
            [5 * F(1, 2), 7 * F(5, 6)],
            # c never with b: P(c|p) = 1.5/3, P(c|q) = 0.5/3
            [5 * b[0] * F(1, 2), 7 * b[1] * F(1, 6)],
            [5 * a[0] * F(1, 6), 7 * a[1] * F(1, 6)],
            [5 * a[0], 7 * a[1]],
        ],
    )


def test_laplace_of_naive_bayes() -> None:
    case = made("st", GAPS, [("a", "d"), ("a", None)], learner="nb", estimate="laplace")
    # Missing is a value: three values of s and t each; prior 4 : 3.
    gives(
        case,
        [
            [4 * F(3, 6) * F(2, 6), 3 * F(1, 5) * F(3, 5)],
            [4 * F(3, 6) * F(2, 6), 3 * F(1, 5) * F(1, 5)],
        ],
    )


# ---- structure


def test_parent_sets_of_each_architecture() -> None:
    rng = random.Random(1)
    rows = [(*rng.choices("01", k=4), rng.choice("pq")) for _ in range(30)]

    def sets(learner: str, **options: Any) -> dict[str, list[str]]:
        return named(refer(made("abcd", rows, [], learner=learner, **options)))

    assert sets("fanc") == {
        "a": [""],
        "b": ["", "a"],
        "c": ["", "a", "b"],
        "d": ["", "a", "b", "c"],
    }
    assert sets("tc")["d"] == ["", "a", "b", "c", "ab", "ac", "bc"]
    assert sets("tc", parents_from_first=2) == {
        "a": [""],
        "b": ["", "a"],
        "c": ["", "a", "b", "ab"],
        "d": ["", "a", "b", "ab"],
    }
    assert sets("spc", superparent="c") == {
        "c": [""],
        "a": ["", "c"],
        "b": ["", "c", "a", "ca"],
        "d": ["", "c", "a", "b", "ca", "cb"],
    }
    assert sets("spc", superparent="c", parents_from_first=1)["d"] == ["", "c"]
    assert sets("spc", superparent="c", parents_from_first=2)["d"] == ["", "c", "a", "ca"]
    assert sets("superparent", superparent="b", order="schema") == {
        "b": [""],
        "a": ["b"],
        "c": ["b"],
        "d": ["b"],
    }


def test_orders() -> None:
    """u tells a little about the class by itself; x and z nothing alone, everything together."""
    rows = [(u, x, z, y) for x, z, y in XOR for u in ("k", "k", y)]

    def order(how: str) -> str:
        ref = refer(made("xuz", rows, [], order=how))
        return "".join(ref.books[i].name for i in ref.order)

    rows = [(x, u, z, y) for u, x, z, y in rows]
    assert order("schema") == "xuz"
    assert order("mi") == "uxz"
    ref = refer(made("xuz", rows, [], order="gain"))
    # I(u;y) = (1/3) ln 2: a third of the rows tell the class, whatever x or z is. x: ln 2 beside z,
    # nothing beside u.
    one = math.log(2)
    assert rc.gain_sums(ref.model) == pytest.approx([one, 2 * one / 3, one], abs=1e-11)
    assert order("gain") == "xzu"
    assert refer(made("xuz", rows, [], learner="spc")).superparent == 0


def test_spcr_asks_the_training_rows() -> None:
    """P(z) = 1/2, P(z|x,y) = 2/3 for the true class and 1/3 for the other; x and z tie."""
    ref = refer(made("xz", XOR, [], learner="spcr"))
    assert ref.compared == pytest.approx([7 / 12] * 2)
    assert ref.superparent == 0
    # Noise in front: with x, which makes z tell the class, more terms do than with noise.
    rows = [(m, n, x, z, y) for m in "uv" for n in "uv" for x, z, y in XOR]
    ref = refer(made("mnxz", rows, [], learner="spcr"))
    assert ref.compared[2] > ref.compared[0] + 0.01
    assert ref.compared == pytest.approx([ref.compared[0]] * 2 + [ref.compared[2]] * 2, abs=1e-15)
    assert named(ref)["z"] == ["", "x", "m", "n", "xm", "xn"]


def test_spcr_counts_weights() -> None:
    rows = [{"x": x, "z": z, TARGET: y, WEIGHT: 0.5 + (x == "1")} for x, z, y in XOR]
    repeated = [row for row in rows for _ in range(int(row[WEIGHT] * 2))]
    half = rc.fit(rows, "xz", TARGET, "spcr", weight=WEIGHT)
    whole = rc.fit(repeated, "xz", TARGET, "spcr")
    for ref, table in ((half, rows), (whole, repeated)):
        total = sum(r[WEIGHT] if ref is half else 1 for r in table)
        right = sum(
            (r[WEIGHT] if ref is half else 1) * p[ref.classes.index(r[TARGET])]
            for r, p in zip(table, rc.probabilities(ref, table), strict=True)
        )
        assert max(ref.compared) == pytest.approx(float(right) / total)


COPIES = [(x, x, n, y) for x in "01" for n in "01" for y in "pq" for _ in "ab"]


def rising(a: float, n: int) -> float:
    """ln of Gamma(a + n) / Gamma(a)."""
    return math.log(math.prod(a + i for i in range(n)))


@pytest.mark.parametrize(
    ("score", "gain"),
    [
        # 16 rows, CMI = ln 2, 2 (2-1) (2-1) = 2 more cells
        ("bic", math.log(2) - math.log(16) / 16),
        ("aic", math.log(2) - 2 / 16),
        # 4 of 8 cells with 4 rows; twice 4 of 4 with 4; 2 of 2 with 8
        ("bayes", (4 * rising(1 / 8, 4) - 8 * rising(1 / 4, 4) + 2 * rising(1 / 2, 8)) / 16),
    ],
)
def test_gains_of_fan(score: str, gain: float) -> None:
    ref = refer(made("xzn", COPIES, [], learner="fan", score=score))
    assert rc.fan_gains(ref.model, score)[0, 1] == pytest.approx(gain, abs=1e-14)
    assert max(g for e, g in rc.fan_gains(ref.model, score).items() if e != (0, 1)) < 0
    assert named(ref) == {"x": [""], "z": ["x"], "n": [""]}


def test_fan_takes_tied_edges_by_the_order_and_hangs_trees_up_at_the_earliest() -> None:
    """Three copies: edges to the first alone."""
    rows = [(v, v, v, y) for v in "01" for y in "pq"] * 4
    assert named(refer(made("stu", rows, [], learner="fan"))) == {"s": [""], "t": ["s"], "u": ["s"]}
    gains = {(0, 1): 0.5, (0, 2): 0.0, (1, 2): 0.5, (0, 3): -1.0, (1, 3): 1e-12, (2, 3): -0.0}
    assert rc.fan_parents((2, 0, 3, 1), gains) == {2: (), 1: (2,), 0: (1,), 3: (1,)}
    gains[1, 3] = 0.0
    assert rc.fan_parents((3, 0, 1, 2), gains) == {3: (), 0: (), 1: (0,), 2: (1,)}


def forests(edges: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All sets of edges without a cycle."""
    for size in range(len(edges) + 1):
        for chosen in combinations(edges, size):
            tree = {i: i for edge in edges for i in edge}
            for i, j in chosen:
                if tree[i] == tree[j]:
                    break
                tree = {k: tree[j] if t == tree[i] else t for k, t in tree.items()}
            else:
                yield chosen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("score", ["bic", "aic", "bayes"])
def test_no_forest_scores_higher_than_fan(seed: int, score: str) -> None:
    rng = random.Random(seed)
    rows = [(a, rng.choice((a, "2")), *rng.choices("01", k=2), rng.choice("pq")) for a in "01" * 12]
    rows = [(a, b, c, rng.choice((b, d)), y) for a, b, c, d, y in rows]
    ref = refer(made("abcd", rows, [], learner="fan", score=score))
    gains = rc.fan_gains(ref.model, score)
    got = sum(gains[min(i, *pa), max(i, *pa)] for i, ((pa, _),) in ref.terms.items() if pa)
    assert got == pytest.approx(max(sum(gains[e] for e in forest) for forest in forests([*gains])))


# ---- a collection is the sum over its networks


@pytest.mark.parametrize(
    ("options", "networks"),
    [
        ({"learner": "fanc", "order": "mi"}, 24),
        ({"learner": "spc"}, 1 * 2 * 4 * 6),
        ({"learner": "tc", "estimate": "m"}, 1 * 2 * 4 * 7),
        (
            {
                "learner": "collection",
                "parents": {
                    "a": [["b", "c"], {"parents": [], "weight": 2.5}],
                    "b": [["c"], {"parents": ["d"], "weight": 0.1}, ["d", "c"]],
                },
            },
            6,
        ),
    ],
)
def test_a_collection_is_the_sum_over_its_networks(options: dict[str, Any], networks: int) -> None:
    rng = random.Random(5)
    rows = [(*rng.choices("012", k=4), rng.choice("pqr")) for _ in range(40)]
    new = [rng.choices("0123", k=4) for _ in range(3)]
    # Where no term is left out.
    case = made("abcd", rows, new, unseen="smoothed", **options)
    ref = refer(case)
    assert math.prod(len(terms) for terms in ref.terms.values()) == networks
    assert rc.probabilities(ref, case.new) == sum_of_networks(ref, case.new)


# ---- what earlier learners do


@examples(40)
@given(collections(EARLIER))
def test_defaults_of_earlier_learners_are_those_of_reference_py(case: Case) -> None:
    plain = {name: v for name, v in case.options.items() if name not in ("estimate", "missing")}
    one = reference.fit(case.train, case.attributes, TARGET, **plain)
    other = refer(replace(case, options=plain))
    wanted = reference.probabilities(one, case.new)
    assert rc.probabilities(other, case.new) == wanted
    judged = [r for r in case.new if r[TARGET] in one.classes and r.get(WEIGHT, 1) > 0]
    if judged:
        losses = reference.evaluate(one, case.new, plain.get("weight"))
        with by_collections():
            assert reference.evaluate(other, case.new, plain.get("weight")) == losses


def test_near_values_are_not_clear_and_ties_are() -> None:
    assert are_clear([0.1 + 0.2, 0.3, 0.3, 1.0, 0.0])
    assert not are_clear([0.3, 0.3 + 1e-11])
    assert are_clear([0.3, 0.3 + 2e-13])  # rounded, a tie for both
    assert not are_clear([0.3 + 5e-13, 0.3 + 5e-13])
