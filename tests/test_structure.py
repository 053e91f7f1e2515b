"""Structure from hand-made information: orders, parents, trees and their ties."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sqlbn.structure.information import Information, information, pair_families, single_families
from sqlbn.structure.parents import Structure, k_dependence, no_parents, spanning_tree


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
