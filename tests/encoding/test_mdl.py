"""Fayyad-Irani discretisation on arrays of counts, against brute force."""

import numpy as np
import pytest
import reference_modl as reference

from sqlbn.encoding.discretise.mdl import mdl_partition


def random_cells(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n, n_classes = rng.integers(1, 30), rng.integers(1, 5)
    shares = rng.dirichlet(np.full(n_classes, 0.6), rng.integers(1, 5))
    order = np.sort(rng.integers(0, len(shares), n))
    return np.array([rng.multinomial(rng.integers(1, 20), shares[g]) for g in order])


@pytest.mark.parametrize("seed", range(200))
def test_bounds_are_those_of_trying_every_cut(seed: int) -> None:
    cells = random_cells(seed)
    expected = reference.mdl_bounds([tuple(c) for c in cells.tolist()])
    assert mdl_partition(cells).tolist() == expected


def test_a_clean_break_is_found_at_its_place() -> None:
    cells = [[10, 0], [10, 0], [0, 10], [0, 10]]
    assert mdl_partition(cells).tolist() == [2]


@pytest.mark.parametrize(
    "cells", [[[5, 5]], [[3], [4]], [[0, 4], [0, 9]], np.zeros((3, 2)), np.zeros((0, 2))]
)
def test_nothing_to_cut(cells: object) -> None:
    assert mdl_partition(cells).tolist() == []


def test_of_equal_cuts_the_lowest() -> None:
    # Both ends of the middle cell leave the same entropy.
    cells = [[40, 0], [20, 20], [0, 40]]
    assert 1 in mdl_partition(cells).tolist()
    rare = [[9, 0], [1, 1], [0, 9]]
    assert mdl_partition(rare).tolist()[:1] == [1]


def test_values_and_classes_without_rows_change_nothing() -> None:
    cells = random_cells(3)
    padded = np.zeros((2 * len(cells), cells.shape[1] + 1), dtype=int)
    padded[::2, 1:] = cells
    assert (mdl_partition(padded) == 2 * mdl_partition(cells) - 1).all()


def test_scale_of_fractional_weights_counts() -> None:
    cells = np.array([[3, 1], [1, 3]])
    assert mdl_partition(cells * 0.5).tolist() == []
    assert mdl_partition(cells * 50.5).tolist() == [1]


def test_a_billion_rows() -> None:
    cells = np.array([[500_000_000, 0], [250_000, 250_000], [0, 500_000_000]])
    assert mdl_partition(cells).tolist() == [1, 2]


def test_pure_noise_is_not_cut() -> None:
    cut = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cut += len(mdl_partition(np.eye(2, dtype=int)[rng.integers(0, 2, 500)])) > 0
    assert cut <= 5
