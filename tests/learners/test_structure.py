"""Structure from hand-made information: orders, parents, trees and their ties."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sqlbn.counts.counter import GammaSums
from sqlbn.errors import OptionError
from sqlbn.structure.information import (
    Information,
    information,
    pair_families,
    single_families,
)
from sqlbn.structure.parent_sets import (
    Term,
    best_super_parent,
    check_acyclic,
    fanc_terms,
    gain_sums,
    ordered,
    position_of,
    spc_terms,
    tc_terms,
)
from sqlbn.structure.shape import (
    Structure,
    forest,
    k_dependence,
    no_parents,
    score_gains,
    spanning_tree,
    star,
)


def info(mi: list[float], links: dict[tuple[int, int], float] | None = None) -> Information:
    """Information with these CMIs; pairs not named have none."""
    cmi = np.zeros((len(mi), len(mi)))
    for (i, j), value in (links or {}).items():
        cmi[i, j] = cmi[j, i] = value
    return Information(np.array(mi), cmi)


LADDER = info(
    [0.1, 0.4, 0.3, 0.2],
    {(0, 1): 0.5, (0, 2): 0.2, (0, 3): 0.9, (1, 2): 0.3, (1, 3): 0.1, (2, 3): 0.6},
)
FLAT = info([0.5, 0.5, 0.5])


def test_attributes_come_by_mutual_information() -> None:
    assert LADDER.order == [1, 2, 3, 0]


def test_equal_mutual_information_keeps_the_order_of_the_schema() -> None:
    assert FLAT.order == [0, 1, 2]


@pytest.mark.parametrize(
    ("k", "parents"),
    [
        (0, ((), (), (), ())),
        (1, ((3,), (), (1,), (2,))),
        (2, ((3, 1), (), (1,), (2, 1))),
        (3, ((3, 1, 2), (), (1,), (2, 1))),
        (9, ((3, 1, 2), (), (1,), (2, 1))),
    ],
)
def test_kdb_takes_the_strongest_earlier_attributes(
    k: int, parents: tuple[tuple[int, ...], ...]
) -> None:
    assert k_dependence(LADDER, k) == Structure((1, 2, 3, 0), parents)


def test_equal_links_go_to_the_parent_earlier_in_mi_order() -> None:
    tied = info([0.1, 0.2, 0.3], {(0, 1): 0.7, (0, 2): 0.7})
    assert k_dependence(tied, 1).parents[0] == (2,)
    assert k_dependence(tied, 2).parents[0] == (2, 1)
    assert k_dependence(FLAT, 2).parents == ((), (0,), (0, 1))


def test_kdb_without_pairs_is_naive_bayes() -> None:
    singles = Information(np.array([0.1, 0.2]), None)
    assert k_dependence(singles, 2) == no_parents(singles) == Structure((1, 0), ((), ()))
    assert spanning_tree(singles) == no_parents(singles)


def test_a_tree_grows_along_the_strongest_links() -> None:
    # From 1: to 0 (0.5), from there to 3 (0.9), from there to 2 (0.6).
    assert spanning_tree(LADDER) == Structure((1, 2, 3, 0), ((1,), (), (3,), (0,)))


def test_ties_of_a_tree_go_to_the_child_then_the_parent_earlier_in_mi_order() -> None:
    assert spanning_tree(FLAT).parents == ((), (0,), (0,))
    square = info([0.4, 0.3, 0.2, 0.1], {(0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 3): 1})
    assert spanning_tree(square).parents == ((), (0,), (0,), (1,))


def test_a_tree_of_one_or_no_attribute() -> None:
    assert spanning_tree(info([0.3])).parents == ((),)
    assert spanning_tree(info([])).parents == ()


def test_a_family_is_the_attribute_its_parents_and_the_class() -> None:
    assert k_dependence(LADDER, 2).family(3, 4) == (3, 2, 1, 4)


def test_information_of_a_copy_of_the_class() -> None:
    """One attribute equal to a fair class, one independent of both: ln 2, 0 and no CMI."""
    d, n = 2, 8
    counts = {
        (0,): [4, 4], (1,): [4, 4], (0, 2): [4, 4], (1, 2): [2] * 4, (2,): [4, 4],
        (0, 1, 2): [2] * 4,
    }  # fmt: skip
    assert set(counts) == {*single_families(d), *pair_families(d)}
    sums = {f: math.fsum(c * math.log(c) for c in found) for f, found in counts.items()}
    found = information(sums, d, n)
    assert found.mi.tolist() == [round(math.log(2), 12), 0.0]
    assert found.cmi is not None
    assert found.cmi.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_rounding_noise_is_no_information() -> None:
    sums = {(0,): 1.0, (0, 1): 1.0 - 1e-15, (1,): 0.0}
    found = information(sums, 1, 1.0)
    assert math.copysign(1.0, found.mi[0]) == 1.0
    assert found.mi[0] == 0.0


# ---- orders


def test_gains_are_sums_of_information() -> None:
    told = np.array([[0, 0.1, 0.2, 0], [0.5, 0, 0.5, 0.1], [0.2, 0.2, 0, 0.2], [0.9, 0, 0.3, 0]])
    gaining = replace(LADDER, beyond=told)
    assert gain_sums(gaining) == [0.3, 1.1, 0.6, 1.2]
    assert ordered(gaining, "gain") == [3, 1, 2, 0]
    assert ordered(gaining, "mi") == [1, 2, 3, 0]
    assert ordered(gaining, "schema") == [0, 1, 2, 3]
    assert best_super_parent(gaining) == 3


def test_equal_gains_keep_the_order_of_the_schema() -> None:
    flat = replace(FLAT, beyond=np.full((3, 3), 0.5))
    assert ordered(flat, "gain") == [0, 1, 2]
    assert best_super_parent(flat) == 0


def test_names_are_found_in_any_case_where_that_is_clear() -> None:
    assert position_of("Age", ["sex", "age"], "--superparent") == 1
    assert position_of("Age", ["age", "Age"], "--superparent") == 1
    with pytest.raises(OptionError, match="'AGE'"):
        position_of("AGE", ["age", "Age"], "--superparent")


# ---- forests


def gains(links: dict[tuple[int, int], float], d: int) -> np.ndarray:
    found = np.full((d, d), -1.0)
    for (i, j), value in links.items():
        found[i, j] = found[j, i] = value
    return found


def test_a_forest_takes_links_that_gain_and_hangs_trees_up_at_their_first() -> None:
    links = gains({(0, 1): 0.5, (1, 2): 0.4, (0, 2): 0.3, (3, 4): 0.1}, 6)
    found = forest(links, [2, 4, 5, 3, 1, 0])
    assert found.parents == ((1,), (2,), (), (4,), (), ())
    assert found.order == (2, 4, 5, 3, 1, 0)


def test_equal_links_go_to_the_earlier_end_then_to_the_earlier_other() -> None:
    links = gains({(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5}, 3)
    assert forest(links, [0, 1, 2]).parents == ((), (0,), (0,))
    assert forest(links, [2, 0, 1]).parents == ((2,), (2,), ())
    assert forest(links, [1, 2, 0]).parents == ((1,), (), (1,))


def test_links_that_gain_nothing_are_not_taken() -> None:
    assert forest(gains({(0, 1): 0.0}, 2), [0, 1]).parents == ((), ())


def test_a_star() -> None:
    assert star(1, [0, 1, 2]) == Structure((1, 0, 2), ((1,), (), (1,)))


def test_scores_of_links() -> None:
    """Two equal binary attributes and a class of one value: 4 cells, two of them filled."""
    tables = {
        (0, 1, 2): np.array([3, 0, 0, 5]),
        (0, 2): np.array([3, 5]),
        (1, 2): np.array([3, 5]),
        (2,): np.array([8]),
    }
    cards, t = (2, 2, 1), 8.0
    gammas = GammaSums(cards)
    for family, counts in tables.items():
        gammas.add(family, counts, None)
    sums = {f: math.fsum(n * math.log(n) for n in c if n) for f, c in tables.items()}
    link = 8 * math.log(8) - 3 * math.log(3) - 5 * math.log(5)
    assert score_gains("aic", sums, cards, t)[0, 1] == pytest.approx((link - 1) / t)
    assert score_gains("bic", sums, cards, t)[0, 1] == pytest.approx((link - math.log(8) / 2) / t)

    def score(counts: list[int], cells: int) -> float:
        return sum(math.lgamma(n + 1 / cells) - math.lgamma(1 / cells) for n in counts)

    bayes = score([3, 5], 4) - 2 * score([3, 5], 2) + score([8], 1)
    assert score_gains("bayes", gammas.sums, cards, t)[0, 1] == pytest.approx(bayes / t)


# ---- parent sets


def sets(terms: list[Term]) -> dict[int, list[tuple[int, ...]]]:
    return {i: [t.parents for t in terms if t.child == i] for i in {t.child for t in terms}}


def test_parent_sets_of_the_architectures() -> None:
    order = [2, 0, 1]
    assert sets(fanc_terms(order)) == {2: [()], 0: [(), (2,)], 1: [(), (2,), (0,)]}
    assert sets(tc_terms(order)) == {2: [()], 0: [(), (2,)], 1: [(), (2,), (0,), (0, 2)]}
    assert sets(spc_terms([2, 0, 1, 3])) == {
        2: [()],
        0: [(), (2,)],
        1: [(), (2,), (0,), (0, 2)],
        3: [(), (2,), (0,), (1,), (0, 2), (1, 2)],
    }


def test_parents_from_the_first() -> None:
    order = [3, 2, 1, 0]
    assert sets(fanc_terms(order, 1))[0] == [(), (3,)]
    assert sets(tc_terms(order, 2))[0] == [(), (3,), (2,), (2, 3)]
    assert sets(spc_terms(order, 2))[0] == [(), (3,), (2,), (2, 3)]
    assert sets(spc_terms(order, 1))[0] == [(), (3,)]
    assert fanc_terms(order, 9) == fanc_terms(order)


def test_a_cycle_is_named_without_what_leads_into_it() -> None:
    terms = [Term(0, (1,)), Term(1, (2,)), Term(2, (1,)), Term(3, ())]
    with pytest.raises(OptionError, match="cycle: 'b' depends on 'c' depends on 'b'"):
        check_acyclic(terms, "abcd")
    check_acyclic([Term(0, (1, 2)), Term(1, (2,)), Term(2, ())], "abc")
