"""Weights of levels: where the likelihood is highest, whatever the number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sqlbn.kinds.product.level_weights import LeftOutRows, fit_shape

PULL = 2.0


def rows(n: int, levels: int, classes: int, seed: int) -> LeftOutRows:
    """Random ratios to each row's class, of which the first levels say something of it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    logs = rng.normal(size=(levels, n, classes))
    for level in range(levels // 2):
        logs[level, np.arange(n), y] += 0.5
    logs -= logs[:, np.arange(n), y][:, :, None]
    depths = np.arange(levels) % 3
    places = np.arange(levels) // 3
    last = np.append(places[1:] != places[:-1], True)
    start = np.log(rng.dirichlet(np.ones(classes)))[None].repeat(n, 0)
    start -= start[np.arange(n), y][:, None]
    weights = rng.integers(1, 4, n).astype(float)
    return LeftOutRows(
        logs.astype(np.float32), start, y, weights, places, depths, last.astype(float)
    )


def value(found: LeftOutRows, weights: np.ndarray, shifts: np.ndarray) -> float:
    """The negative log-likelihood with its pull, row by row."""
    total = PULL / 2 * float(((weights - found.centre) ** 2).sum() + (shifts[1:] ** 2).sum())
    for i, y in enumerate(found.y):
        scores = found.start[i] + shifts - shifts[y]
        scores = scores + np.tensordot(weights, found.logs[:, i].astype(float), axes=1)
        total += found.w[i] * (np.log(np.exp(scores - scores.max()).sum()) + scores.max())
    return total


@pytest.mark.parametrize(("n", "levels", "classes"), [(60, 6, 2), (80, 7, 3), (30, 12, 2)])
def test_nothing_near_is_better(n: int, levels: int, classes: int) -> None:
    found = rows(n, levels, classes, seed=n)
    weights, shifts = fit_shape(found, PULL)
    assert (weights >= 0).all() and shifts[0] == 0.0 and (weights == 0).any()
    best, near = value(found, weights, shifts), np.random.default_rng(1)
    tolerance = 1e-4 * n
    for _ in range(40):
        for step in (0.3, 0.03):
            other = np.maximum(weights + step * near.normal(size=levels), 0.0)
            moved = shifts + step * np.append(0.0, near.normal(size=classes - 1))
            assert value(found, other, moved) > best - tolerance
    for level in range(levels):  # one after the other, on either side
        for step in (-0.05, 0.05):
            other = weights.copy()
            other[level] = max(0.0, other[level] + step)
            assert value(found, other, shifts) > best - tolerance


def test_threads_do_not_matter() -> None:
    found = rows(9000, 12, 3, seed=5)
    one, two = (fit_shape(replace(found, threads=threads), PULL) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_fewer_parents_leave_the_last_level_in_the_place_of_the_chain() -> None:
    found = rows(20, 8, 2, seed=3)  # chains of 3, 3 and 2 levels
    cut = found.up_to(1)
    assert cut.places.tolist() == [0, 0, 1, 1, 2, 2]
    assert cut.centre.tolist() == [0, 1, 0, 1, 0, 1]
    assert np.array_equal(cut.logs, found.logs[[0, 1, 3, 4, 6, 7]])
    assert found.up_to(2) is found
    assert found.within(5 * 8 * 2).logs.shape == (8, 5, 2)
