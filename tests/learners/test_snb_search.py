"""The search of selective naive Bayes: losses of subsets and Algorithm 2 against plain Python."""

from __future__ import annotations

import functools
import math
import random
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples
from reference_snb import Data, Found, Reference, search

from sqlbn.engines.limits import Limits
from sqlbn.errors import OutOfMemoryError
from sqlbn.kinds.product.attribute_weights import SubsetRows, rotatable
from sqlbn.kinds.product.row_chunks import ChunkFile, RowChunks, in_chunks
from sqlbn.structure.variable_selection import (
    Selected,
    n_starts,
    prior_cost,
    select_variables,
)

# -- losses of subsets ------------------------------------------------------------------------


def coded(rng: random.Random, n_classes: int, weighted: bool, rows: int | None = None) -> Data:
    """Random codes, some of which go with the class; a class may have no row."""
    rows = rng.randint(1, 40) if rows is None else rows
    classes = [rng.randrange(n_classes) for _ in range(rows)]
    cards = [rng.randint(2, 4) for _ in range(rng.randint(1, 5))]
    near = [rng.random() for _ in cards]
    table = [
        [
            y % n if rng.random() < share else rng.randrange(n)
            for n, share in zip(cards, near, strict=True)
        ]
        for y in classes
    ]
    parts = (0.25, 0.5, 1.0, 2.0, 3.75) if weighted else (1.0,)
    weights = rng.choices(parts, k=rows)
    return Data(table, classes, weights, cards, n_classes, Fraction(rng.choice((1, 2, 0.5))))


def subset_rows(
    data: Data, threads: int = 1, block: int = Limits.weights_block_rows, room: float = math.inf
) -> SubsetRows:
    """The same rows as arrays, the tables by the exact formula."""
    ref, y, codes = Reference(data), np.array(data.classes), np.array(data.rows)
    width = 2 * data.n_classes - 1

    def logs(table: Sequence[Any]) -> Any:
        return np.log(np.array(table))

    columns = {"y": y, "w": np.array(data.weights)}
    columns |= {f"c{p}": (codes[:, p] * width + y).astype(np.uint16) for p in range(len(codes[0]))}
    folder = Path(tempfile.mkdtemp())
    chunks = RowChunks(
        in_chunks(iter([columns]), block),
        len(data.cards),
        data.n_classes - 1,
        room,
        lambda: ChunkFile(folder / "chunks", None),
    )
    stored = min(len(chunks.chunks), 3) if room else len(chunks.chunks)
    assert chunks.n_stored in ((0,) if room == math.inf else range(stored, len(chunks.chunks) + 1))
    tables = [rotatable(logs(table)) for table in ref.tables]
    return SubsetRows(rotatable(logs(ref.prior)), tables, chunks, threads)


def walk(data: Data, rows: SubsetRows, seed: int) -> list[float]:
    """Some variables come and go, not all of them for good: the losses on the way."""
    rng = random.Random(seed)
    found = [rows.clear()]
    for _ in range(12):
        found.append(rows.toggled(rng.randrange(len(data.cards))))
        if rng.random() < 0.6:
            rows.accept()
        if rng.random() < 0.1:
            found.append(rows.clear())
    return found


def reference_walk(data: Data, seed: int) -> list[float]:
    rng, ref = random.Random(seed), Reference(data)
    loss = functools.cache(lambda subset: ref.loss(sorted(subset)))
    inside = frozenset[int]()
    found = [loss(inside)]
    for _ in range(12):
        tried = inside ^ {rng.randrange(len(data.cards))}
        found.append(loss(tried))
        if rng.random() < 0.6:
            inside = tried
        if rng.random() < 0.1:
            inside = frozenset()
            found.append(loss(inside))
    return found


@examples(30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_losses_of_subsets_are_those_of_the_formula(
    seed: int, n_classes: int, weighted: bool
) -> None:
    data = coded(random.Random(seed), n_classes, weighted)
    rows = subset_rows(data)
    assert walk(data, rows, seed) == pytest.approx(reference_walk(data, seed), abs=1e-10)
    rows.close()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_and_chunks_do_not_change_a_bit(n_classes: int) -> None:
    for seed in range(5):
        data = coded(random.Random(seed), n_classes, True, rows=29)
        every = [
            subset_rows(data, threads, block=3, room=room)
            for threads, room in ((1, math.inf), (2, math.inf), (5, math.inf), (2, 0), (1, 500))
        ]
        first, *others = [walk(data, rows, seed) for rows in every]
        assert all(other == first for other in others)
        assert first == pytest.approx(reference_walk(data, seed), abs=1e-10)
        for rows in every:
            rows.close()


def test_a_hopeless_row_costs_much_and_is_still_a_number() -> None:
    """Four hundred variables that all speak for the other class."""
    log_odds = rotatable(np.log(np.array([[0.999, 0.001], [0.001, 0.999]])))
    place = np.array([3], np.uint16)  # code 1, class 0
    columns = {"y": np.array([0]), "w": np.array([1.0]), **{f"c{v}": place for v in range(400)}}
    chunks = RowChunks(iter([columns]), 400, 1, math.inf, pytest.fail)
    rows = SubsetRows(rotatable(np.log(np.array([0.5, 0.5]))), [log_odds] * 400, chunks, 1)
    assert rows.clear() == pytest.approx(math.log(2))
    for variable in range(400):
        loss = rows.toggled(variable)
        rows.accept()
    assert 600 < loss < math.inf
    for variable in range(400):
        loss = rows.toggled(variable)
        rows.accept()
    assert loss == pytest.approx(math.log(2), abs=1e-9)
    rows.close()


def test_a_file_of_chunks_keeps_to_the_disk_it_may_use(tmp_path: Path) -> None:
    file = ChunkFile(tmp_path / "chunks", 100)
    kept = file.append(np.arange(12.0).reshape(3, 4))
    assert file.read(kept).tolist() == np.arange(12.0).reshape(3, 4).tolist()
    with pytest.raises(OutOfMemoryError, match="more disk than disk_limit allows"):
        file.append(np.zeros(1))
    file.write(kept, np.ones((3, 4)))
    assert file.read(kept).sum() == 12
    file.close()
    assert not list(tmp_path.iterdir())


# -- the search -------------------------------------------------------------------------------


def searched(data: Data, seed: int, **options: Any) -> Selected:
    rows = subset_rows(data, **options)
    found = select_variables(rows, len(data.cards), data.total, seed)
    rows.close()
    return found


def same_search(found: Selected, wanted: Found, data: Data) -> None:
    assert found.best == wanted.best
    assert found.cost == pytest.approx(wanted.cost, abs=1e-9)
    assert found.null_cost == pytest.approx(Reference(data).cost([]), abs=1e-6)
    assert found.evaluations == len(wanted.evaluated)
    assert found.weights == pytest.approx(wanted.weights, abs=1e-9)
    assert found.cost <= found.null_cost
    assert all(0 <= w <= 1 for w in found.weights)


@examples(25)
@given(st.integers(0, 2**32), st.integers(2, 4), st.booleans())
def test_the_search_is_that_of_the_paper(seed: int, n_classes: int, weighted: bool) -> None:
    data = coded(random.Random(seed), n_classes, weighted)
    same_search(searched(data, seed), search(data, seed), data)


@examples(10)
@given(st.integers(0, 2**32))
def test_also_in_chunks_on_disk(seed: int) -> None:
    data = coded(random.Random(seed), 3, False)
    same_search(searched(data, seed, block=2, room=0), search(data, seed), data)


def test_a_prior_counts_subsets_with_repetition() -> None:
    for k in range(1, 8):
        for n in range(k + 1):
            wanted = math.log(k + 1) + math.log(math.comb(k + n - 1, n))
            assert prior_cost(k, n) == pytest.approx(wanted, abs=1e-12)
    assert prior_cost(3000, 1500) < prior_cost(3000, 1501)


@pytest.mark.parametrize(
    ("n_variables", "total", "starts"), [(1, 1, 1), (1, 0.5, 1), (4, 256, 10), (3, 100, 9)]
)
def test_starts(n_variables: int, total: float, starts: int) -> None:
    assert n_starts(n_variables, total) == starts
