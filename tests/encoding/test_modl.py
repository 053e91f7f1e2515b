"""MODL discretisation and value grouping on arrays of counts, against brute force."""

import math

import numpy as np
import pytest
import reference_modl as reference

from sqlbn.encoding.discretise.log_factorials import (
    log_binomial,
    log_factorial,
    log_gamma,
    log_partitions,
)
from sqlbn.encoding.discretise.modl import cuts_at, elementary_cells, modl_partition
from sqlbn.encoding.discretise.modl_groups import cheapest_groups, exact_groups, modl_groups
from sqlbn.encoding.discretise.ordered import (
    OrderedCells,
    cheapest_runs,
    distinct_neighbours,
    exact_runs,
    merged_down,
    post_optimised,
)

Cells2d = np.ndarray


def as_tuples(cells: Cells2d) -> list[tuple[int, ...]]:
    return [tuple(c) for c in cells.tolist()]


def ordered_cells(seed: int, most: int = 12) -> Cells2d:
    """A few levels of class shares, in a row or mixed, with few or many rows."""
    rng = np.random.default_rng(seed)
    n, n_classes = rng.integers(1, most + 1), rng.integers(1, 5)
    shares = rng.dirichlet(np.full(n_classes, 0.6), rng.integers(1, 5))
    level = rng.integers(0, len(shares), n)
    level = np.sort(level) if seed % 2 else level
    rows = rng.choice([1, 3, 20, 100])
    return np.array([rng.multinomial(rng.integers(1, rows + 1), shares[g]) for g in level])


def wave(n: int, n_classes: int, rows: int, seed: int) -> Cells2d:
    rng = np.random.default_rng(seed)
    at = np.arange(n)[:, None] / n
    shares = np.abs(np.sin(at * rng.integers(1, 25, n_classes))) + 0.1
    return rng.multinomial(rows, shares / shares.sum(axis=1, keepdims=True))


def interval_prior(rows: int):  # type: ignore[no-untyped-def]
    return lambda runs: log_binomial(rows + runs - 1, runs - 1)


# ---- logarithms


def test_log_factorials_whole_fractional_and_large() -> None:
    whole = np.array([0, 1, 2, 15, 16, 17, 63, 64, 1000, 10**6, 2**21 - 1, 2**21, 10**9])
    expected = np.array([math.lgamma(n + 1) for n in whole.tolist()])
    assert np.allclose(log_factorial(whole), expected, rtol=1e-13, atol=1e-14)
    some = np.concatenate((np.linspace(0.001, 40, 997), 10.0 ** np.arange(2, 13)))
    expected = np.array([math.lgamma(x) for x in some.tolist()])
    assert np.allclose(log_gamma(some), expected, rtol=1e-13, atol=3e-14)


@pytest.mark.parametrize(("n", "k"), [(5, 2), (30, 0), (30, 30), (10**9, 3), (10**6, 10**5)])
def test_log_binomials(n: int, k: int) -> None:
    assert math.isclose(log_binomial(n, k), math.log(math.comb(n, k)), rel_tol=1e-12, abs_tol=1e-13)


@pytest.mark.parametrize("values", [1, 2, 3, 7, 25, 60, 200])
def test_numbers_of_set_partitions(values: int) -> None:
    expected = [math.log(reference.partitions_up_to(values, k)) for k in range(1, values + 1)]
    found = log_partitions(values, values)
    assert found[0] == 0
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_numbers_of_set_partitions_at_scale() -> None:
    found = log_partitions(100_000, 3000)
    assert (np.diff(found) > 0).all()
    assert math.isclose(found[1], 99_999 * math.log(2), rel_tol=1e-13)
    # B(V, 3) = (3^V + 3) / 6
    assert math.isclose(found[2], math.log((3**100_000 + 3) // 6), rel_tol=1e-13)


# ---- intervals


@pytest.mark.parametrize("seed", range(300))
def test_intervals_are_the_optimum_of_all_partitions(seed: int) -> None:
    cells = ordered_cells(seed)
    found = modl_partition(cells)
    tuples = as_tuples(cells)
    assert math.isclose(found.cost, reference.best_intervals_cost(tuples), abs_tol=1e-9)
    direct = reference.intervals_cost(reference.runs(tuples, found.bounds.tolist()))
    assert math.isclose(found.cost, direct, abs_tol=1e-9)
    assert math.isclose(found.null_cost, reference.intervals_cost([reference.added(tuples)]))
    assert found.level == (0.0 if len(found.bounds) == 0 else 1 - found.cost / found.null_cost)


@pytest.mark.parametrize("seed", range(100))
def test_missing_rows_are_an_interval_of_their_own(seed: int) -> None:
    cells = ordered_cells(seed, most=9)
    rng = np.random.default_rng(seed)
    missing = rng.integers(0, rng.choice([2, 30]), cells.shape[1])
    found = modl_partition(cells, missing)
    given = tuple(missing.tolist()) if missing.any() else None
    expected = reference.best_intervals_cost(as_tuples(cells), given)
    assert math.isclose(found.cost, expected, abs_tol=1e-9)


def test_only_the_absence_of_a_value_may_be_informative() -> None:
    found = modl_partition([[50, 1], [50, 1]], [0, 60])
    assert found.bounds.tolist() == []
    assert found.informative
    assert found.level > 0.5


@pytest.mark.parametrize("seed", range(60))
def test_post_optimisation_alone_is_mostly_optimal_and_never_worse(seed: int) -> None:
    cells = ordered_cells(seed)
    prior = interval_prior(int(cells.sum()))
    own = OrderedCells(cells)
    start = np.arange(len(cells) + 1)
    bounds, cost = post_optimised(own, start, prior)
    assert cost <= own.partition_cost(start) + float(prior(np.array([len(cells)]))[0]) + 1e-9
    _, best = exact_runs(own, prior)
    assert best - 1e-9 <= cost <= best + 6
    assert math.isclose(
        cost, own.partition_cost(bounds) + float(prior(np.array([len(bounds) - 1]))[0])
    )


@pytest.mark.parametrize(
    ("n", "n_classes", "rows"), [(700, 2, 1), (1500, 2, 10), (1500, 5, 3), (900, 12, 4)]
)
def test_large_inputs_beat_the_greedy_merge(n: int, n_classes: int, rows: int) -> None:
    for seed in range(2):
        cells = wave(n, n_classes, rows, seed)
        found = modl_partition(cells)
        assert found.informative
        assert found.cost < reference.greedy_intervals_cost(as_tuples(cells))
        direct = reference.intervals_cost(reference.runs(as_tuples(cells), found.bounds.tolist()))
        assert math.isclose(found.cost, direct, rel_tol=1e-10)


def test_reduced_search_is_close_to_the_optimum() -> None:
    for seed in range(3):
        cells = wave(1100, 3, 4, seed)
        own, prior = OrderedCells(cells), interval_prior(int(cells.sum()))
        _, exact = exact_runs(own, prior)
        _, found = cheapest_runs(own, prior)
        assert exact - 1e-6 <= found <= exact + 3


def test_more_intervals_than_the_exact_search_has_cells() -> None:
    rng = np.random.default_rng(0)
    level = np.arange(14_000) // 20
    cells = rng.multinomial(60, np.array([[0.9, 0.1], [0.1, 0.9]])[level % 2])
    assert modl_partition(cells).bounds.tolist() == list(range(20, 14_000, 20))


def test_merging_down_keeps_to_its_number() -> None:
    own = OrderedCells(wave(800, 3, 2, 0))
    bounds, _ = merged_down(own, 100, interval_prior(1600))
    assert len(bounds) == 101
    assert (bounds[0], bounds[-1]) == (0, 800)
    assert (np.diff(bounds) > 0).all()


@pytest.mark.parametrize("n", [300, 2000])
def test_noise_is_one_interval(n: int) -> None:
    informative = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        informative += modl_partition(np.eye(3, dtype=int)[rng.integers(0, 3, n)]).informative
    assert informative <= 3


def test_equal_neighbours_may_be_merged_first() -> None:
    for seed in range(40):
        cells = ordered_cells(seed)
        doubled = np.repeat(cells, 3, axis=0) * np.tile([1, 2, 1], len(cells))[:, None]
        found, expected = modl_partition(doubled), modl_partition(cells * 4)
        assert found.bounds.tolist() == (3 * expected.bounds).tolist()
        assert math.isclose(found.cost, expected.cost)


def test_proportional_neighbours_and_empty_cells_are_one_run() -> None:
    cells = np.array([[0, 0], [1, 2], [0, 0], [3, 6], [2, 1], [0, 0], [5, 0], [1, 0]])
    assert distinct_neighbours(cells).tolist() == [0, 4, 5, 8]


def test_classes_and_values_without_rows() -> None:
    cells = np.array([[30, 0, 0], [0, 0, 0], [0, 30, 0]])
    found = modl_partition(cells)
    assert found.bounds.tolist() == [1]
    expected = reference.intervals_cost([(30, 0, 0), (0, 30, 0)])
    assert math.isclose(found.cost, expected)


@pytest.mark.parametrize(
    "cells", [[[5, 7]], [[3], [4], [9]], np.zeros((4, 2)), np.zeros((0, 3)), [[1]]]
)
def test_nothing_to_tell(cells: object) -> None:
    found = modl_partition(cells)
    assert found.bounds.tolist() == []
    assert not found.informative
    assert found.level == 0


def test_only_missing_rows() -> None:
    assert not modl_partition(np.zeros((0, 2)), [3, 4]).informative


def test_fractional_weights() -> None:
    cells = ordered_cells(11)
    assert modl_partition(cells * 1.0).cost == modl_partition(cells).cost
    light, heavy = modl_partition(cells * 0.25), modl_partition(cells * 64.5)
    assert len(light.bounds) <= len(heavy.bounds)
    near = modl_partition(cells + 1e-7)
    assert math.isclose(near.cost, modl_partition(cells).cost, rel_tol=1e-5)


def test_a_billion_rows() -> None:
    cells = np.array([[3, 1], [1, 3], [2, 2], [1, 1]]) * 130_000_000
    found = modl_partition(cells)
    assert found.bounds.tolist() == [1, 2]

    def cost(cell: np.ndarray) -> float:
        return math.lgamma(cell.sum() + 2) - sum(math.lgamma(n + 1) for n in cell.tolist())

    rows = int(cells.sum())
    prior = math.log(rows) + math.log(math.comb(rows + 2, 2))
    parts = cost(cells[0]) + cost(cells[1]) + cost(cells[2] + cells[3])
    assert math.isclose(found.cost, prior + parts, rel_tol=1e-12)


def test_cuts_are_the_largest_values_below() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0])
    found = modl_partition([[20, 0], [20, 0], [0, 20], [0, 20]])
    assert cuts_at(values, found.bounds) == (2.0,)
    assert cuts_at(np.exp(values), found.bounds) == (float(np.exp(2.0)),)


def test_elementary_cells() -> None:
    few = elementary_cells(np.ones((5, 2)), most=5)
    assert few.tolist() == [0, 1, 2, 3, 4, 5]
    assert elementary_cells(np.ones((12, 1)), most=4).tolist() == [0, 3, 6, 9, 12]
    heavy = np.array([1, 1, 90, 1, 1, 1, 1, 1, 1, 1, 1])[:, None]
    bounds = elementary_cells(heavy, most=4)
    assert len(bounds) - 1 <= 4
    assert (bounds[0], bounds[-1]) == (0, 11)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (250_000, 2))
    bounds = elementary_cells(counts)
    assert len(bounds) - 1 <= 100_000
    assert np.add.reduceat(counts, bounds[:-1]).sum() == counts.sum()
    assert np.add.reduceat(counts, bounds[:-1]).sum(axis=1).max() < 20


# ---- groups


def unordered_cells(seed: int, most: int = 7) -> Cells2d:
    rng = np.random.default_rng(seed)
    n, n_classes = rng.integers(1, most + 1), rng.integers(1, 6)
    shares = rng.dirichlet(np.full(n_classes, 0.6), rng.integers(1, 4))
    level = rng.integers(0, len(shares), n)
    rows = rng.choice([2, 10, 60])
    return np.array([rng.multinomial(rng.integers(1, rows + 1), shares[g]) for g in level])


@pytest.mark.parametrize("seed", range(200))
def test_groups_are_the_optimum_of_all_set_partitions(seed: int) -> None:
    cells = unordered_cells(seed)
    found = modl_groups(cells)
    tuples = as_tuples(cells)
    assert math.isclose(found.cost, reference.best_groups_cost(tuples), abs_tol=1e-9)
    direct = reference.groups_cost(reference.grouped(tuples, found.group.tolist()), len(cells))
    assert math.isclose(found.cost, direct, abs_tol=1e-9)
    first = [found.group.tolist().index(g) for g in range(found.group.max() + 1)]
    assert first == sorted(first)


@pytest.mark.parametrize("seed", range(60))
def test_the_search_for_groups_finds_the_optimum_where_it_is_known(seed: int) -> None:
    cells = np.unique(unordered_cells(seed + 1000, most=10), axis=0)
    if cells.shape[1] < 3 or len(cells) < 3:
        cells = np.array([[5, 1, 0], [1, 5, 0], [0, 1, 5], [2, 2, 2]])
    priors = log_partitions(len(cells), len(cells))
    _, best = exact_groups(cells, priors)
    _, found = cheapest_groups(cells, priors)
    assert math.isclose(found, best, abs_tol=1e-9)


@pytest.mark.parametrize(("n", "n_classes"), [(400, 3), (3000, 4), (3000, 2)])
def test_planted_groups_are_found_or_bettered(n: int, n_classes: int) -> None:
    rng = np.random.default_rng(n)
    shares = rng.dirichlet(np.ones(n_classes), 4)
    level = rng.integers(0, 4, n)
    cells = rng.multinomial(rng.integers(1, 80, n), shares[level])
    found = modl_groups(cells)
    prior = math.log(n) + log_partitions(n, 4)[3]
    planted = prior + sum(
        reference.run_cost(tuple(cells[level == g].sum(axis=0).tolist())) for g in range(4)
    )
    assert found.cost < planted
    groups = [cells[found.group == g].sum(axis=0) for g in range(found.group.max() + 1)]
    direct = math.log(n) + log_partitions(n, len(groups))[-1]
    direct += sum(reference.run_cost(tuple(g.tolist())) for g in groups)
    assert math.isclose(found.cost, direct, rel_tol=1e-10)


def test_groups_do_not_depend_on_the_order_of_values() -> None:
    for n in (6, 60, 1500):
        rng = np.random.default_rng(n)
        shares = rng.dirichlet(np.ones(3), 3)
        cells = rng.multinomial(40, shares[rng.integers(0, 3, n)])
        shuffled = rng.permutation(n)
        found, again = modl_groups(cells), modl_groups(cells[shuffled])
        assert math.isclose(found.cost, again.cost, rel_tol=1e-12)
        pairs = set(zip(found.group[shuffled].tolist(), again.group.tolist(), strict=True))
        assert len(pairs) == found.group.max() + 1


def test_noise_is_one_group() -> None:
    informative = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        informative += modl_groups(rng.multinomial(10, [0.5, 0.3, 0.2], 50)).informative
    assert informative <= 3


@pytest.mark.parametrize(
    "cells", [[[5, 7]], [[3], [4], [9]], np.zeros((4, 2)), np.zeros((0, 3)), [[1]]]
)
def test_nothing_to_group(cells: object) -> None:
    found = modl_groups(cells)
    assert set(found.group.tolist()) <= {0}
    assert not found.informative
    assert found.level == 0


def test_a_value_without_rows_joins_the_largest_group() -> None:
    found = modl_groups([[90, 0, 0], [0, 0, 0], [0, 40, 1], [0, 0, 0]])
    assert found.group.tolist() == [0, 0, 1, 0]


def test_groups_of_fractional_and_large_weights() -> None:
    cells = unordered_cells(4)
    assert modl_groups(cells * 1.0).cost == modl_groups(cells).cost
    assert modl_groups(cells * 0.5).cost < modl_groups(cells).cost
    big = np.array([[3, 1, 0], [1, 3, 0], [3, 1, 0], [0, 1, 3]]) * 200_000_000
    assert modl_groups(big).group.tolist() == [0, 1, 0, 2]
    assert modl_groups(big * 0.7).group.tolist() == [0, 1, 0, 2]


def test_a_hundred_thousand_categories() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(5), 3)
    rows = np.maximum(1, 200_000 // (1 + np.arange(100_000)))
    level = rng.integers(0, 3, 100_000)
    found = modl_groups(rng.multinomial(rows, shares[level]))
    assert found.informative
    # The frequent values, whose class counts tell their level, are in the right groups.
    frequent = set(zip(level[:100].tolist(), found.group[:100].tolist(), strict=True))
    assert len(frequent) == 3
