"""Counting: the covering plan, sums out of a block, packed keys, sums of n ln n."""

from __future__ import annotations

import math
import random
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sqlbn.counts.code_arrays import is_held, suits_arrays
from sqlbn.counts.counter import (
    counted_blocks,
    entropies,
    marginals,
    n_log_n,
    plan,
)
from sqlbn.counts.cover import (
    Block,
    Family,
    cells_of,
    cover,
)
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import (
    key_type,
    packed_keys,
    packed_sql,
    strides,
    unpacked_sql,
)
from sqlbn.engines.relations import Encoded
from sqlbn.engines.settings import Settings
from sqlbn.errors import OptionError
from sqlbn.structure.information import single_families


def mixed_families(seed: int) -> tuple[list[Family], list[int]]:
    rng = random.Random(seed)
    cards = [rng.choice([1, 2, 3, 5, 40, 1000, 90_000]) for _ in range(14)]
    families = [tuple(rng.sample(range(14), rng.randint(1, 5))) for _ in range(60)]
    return families, cards


def wanted(families: list[Family]) -> set[Family]:
    return {tuple(sorted(f)) for f in families}


def check_cover(blocks: list[Block], families: list[Family], cards: list[int], most: int) -> None:
    """Every family in exactly one block, inside its variables; no dense block too large."""
    found = [f for block in blocks for f in block.families]
    assert sorted(found) == sorted(wanted(families))
    for block in blocks:
        assert block.cells == cells_of(block.variables, cards)
        assert all(set(f) <= set(block.variables) for f in block.families)
        assert block.dense == (block.cells <= most)
        if not block.dense:
            assert block.families == (block.variables,)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_cover_holds_all_families_of_one_size(size: int) -> None:
    families = list(combinations(range(12), size))
    cards = [3 + v % 4 for v in range(12)]
    blocks = cover(families, cards, 5000)
    check_cover(blocks, families, cards, 5000)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_block_holds_many_families(size: int) -> None:
    families = list(combinations(range(12), size))
    assert len(cover(families, [4] * 12, 5000)) < len(families) / 3


def test_single_attributes_with_the_class_share_scans() -> None:
    blocks = cover(single_families(30), [5] * 30 + [2])
    assert len(blocks) <= 6


@pytest.mark.parametrize("seed", range(20))
def test_a_cover_holds_families_of_mixed_sizes(seed: int) -> None:
    families, cards = mixed_families(seed)
    check_cover(cover(families, cards), families, cards, Limits.block_cells)


def test_pairs_with_the_class_of_the_yardstick_take_few_scans() -> None:
    d = 54
    families = [(i, j, d) for i in range(d) for j in range(i + 1, d)]
    blocks = cover(families, [5] * d + [7])
    assert len(blocks) < 150  # 1,431 pairs
    check_cover(blocks, families, [5] * d + [7], Limits.block_cells)


@pytest.mark.parametrize("seed", range(5))
def test_a_cover_is_deterministic(seed: int) -> None:
    families, cards = mixed_families(seed)
    assert cover(families, cards) == cover(list(families), list(cards))


def test_a_block_of_tiny_variables_stays_narrow() -> None:
    blocks = cover(list(combinations(range(40), 2)), [1] * 40, max_variables=12)
    assert max(len(b.variables) for b in blocks) == 12


def test_repeated_and_turned_families_are_counted_once() -> None:
    (block,) = cover([(1, 0), (0, 1), (1, 0)], [2, 2])
    assert block.families == ((0, 1),)


def test_no_families_need_no_block() -> None:
    assert cover([], [2, 3]) == []


@pytest.mark.parametrize("seed", range(10))
def test_marginals_equal_direct_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = (2, 3, 5, 8, 9)
    counts = rng.integers(0, 9, size=(2, 3, 4, 5, 2))
    families = [
        tuple(int(v) for v in rng.permutation(variables)[: rng.integers(1, 5)]) for _ in range(9)
    ]
    families = list(dict.fromkeys(families))
    found = dict(marginals(counts, variables, families))
    assert set(found) == set(families)
    for family, table in found.items():
        out = tuple(a for a, v in enumerate(variables) if v not in family)
        kept = [v for v in variables if v in family]
        direct = np.transpose(counts.sum(axis=out), [kept.index(v) for v in family])
        np.testing.assert_array_equal(table, direct)


@pytest.mark.parametrize(
    "radices", [[5], [5, 3], [2, 1, 7, 300], [70_000, 70_000], [2**31, 2**31, 2**31]]
)
def test_a_packed_key_gives_its_codes_back(radices: list[int]) -> None:
    rng = random.Random(1)
    rows = [[rng.randrange(r) for r in radices] for _ in range(50)] + [[r - 1 for r in radices]]
    columns = [f"c{i}" for i in range(len(radices))]
    values = ", ".join(str(tuple(row)).replace(",)", ")") for row in rows)
    codes = ", ".join(
        unpacked_sql("k", s, r) for s, r in zip(strides(radices), radices, strict=True)
    )
    sql = (
        f"SELECT {codes} FROM (SELECT {packed_sql(columns, radices)} AS k "
        f"FROM (VALUES {values}) AS v({', '.join(columns)}))"
    )
    assert [list(map(int, row)) for row in duckdb.sql(sql).fetchall()] == rows


@pytest.mark.parametrize("seed", range(12))
def test_keys_in_arrays_are_those_of_queries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.choice([1, 2, 5, 16, 17, 255, 256, 257, 70_000], int(rng.integers(1, 6)))
    radices = [int(radix) for radix in drawn]
    columns = [
        np.append(rng.integers(0, r, 50), r - 1).astype(
            rng.choice([np.min_scalar_type(r), np.int64])
        )
        for r in radices
    ]
    expected = sum(
        column.astype(object) * stride
        for column, stride in zip(columns, strides(radices), strict=True)
    )
    if cells_of(range(len(radices)), radices) <= 2**63:
        assert packed_keys(columns, radices).tolist() == list(expected)


def test_key_types_grow_with_the_cells() -> None:
    assert [key_type(2**b) for b in (1, 32, 33, 63, 64, 126)] == [
        "UINTEGER", "UINTEGER", "BIGINT", "BIGINT", "HUGEINT", "HUGEINT",
    ]  # fmt: skip
    with pytest.raises(OptionError, match=r"more than 2\^126 possible cells"):
        key_type(2**126 + 1)


def test_the_key_of_no_column_is_zero() -> None:
    assert duckdb.sql(f"SELECT {packed_sql([], [])}").fetchall() == [(0,)]


def test_n_log_n_is_the_sum_and_does_not_depend_on_order() -> None:
    counts = np.random.default_rng(3).integers(0, 1000, 5000)
    direct = math.fsum(n * math.log(n) for n in counts.tolist() if n)
    assert n_log_n(counts) == pytest.approx(direct, rel=1e-14)
    assert n_log_n(counts) == n_log_n(counts[::-1]) == n_log_n(np.sort(counts))
    assert n_log_n(np.array([0, 0])) == 0.0


def test_n_log_n_of_a_spectrum_equals_that_of_its_counts() -> None:
    assert n_log_n(np.array([2, 5]), np.array([3, 1])) == n_log_n(np.array([5, 2, 2, 0, 2]))


def test_dense_and_sparse_blocks_give_the_same_sums() -> None:
    rng = np.random.default_rng(5)
    cards = (4, 6, 9, 3)
    codes = {f"x{i}": rng.integers(0, cards[i], 2000).astype(np.uint8) for i in range(3)}
    table = pa.table({**codes, "y": rng.integers(0, 3, 2000).astype(np.uint8)})
    families = [(0,), (3,), (0, 3), (0, 1, 3), (1, 2, 3)]
    with Session() as engine:
        encoded = Encoded(engine.register(table), cards, 2000, weighted=False)
        dense = entropies(engine, encoded, plan(families, encoded))
        sparse = entropies(engine, encoded, cover(families, cards, max_cells=1))
    assert dense == sparse
    assert set(dense) == set(families)


# Of 8,000 rows: held, in several groups; in several passes, as codes of 40 kB do not fit.
@pytest.mark.parametrize("room", [10**6, 12_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_in_arrays_are_those_of_queries(room: int, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    cards, rows = (4, 6, 9, 300, 3), 8000
    codes = {
        name: rng.integers(0, card, rows).astype(np.min_scalar_type(card))
        for name, card in zip(("x0", "x1", "x2", "x3", "y"), cards, strict=True)
    }
    weights = {"w": rng.integers(0, 9, rows) / 4} if weighted else {}
    families = [(0, 4), (1, 2, 4), (0, 1, 4), (3, 4), (2, 4)]
    blocks = cover(families, cards, max_cells=1000)
    with Session() as plain:
        memory = plain.memory_bytes
    limits = Limits(
        array_share=(room + 0.5) / memory,
        array_counted_rows=1500,
        array_key_rows=100,
        batch_rows=1000,
        array_read_seconds=0.0,
        array_block_seconds=0.0,
        array_row_seconds=0.0,
        array_key_seconds=0.0,
    )
    found = []
    for case in (limits, Limits(array_share=0.0)):
        with Session(Settings(limits=case)) as engine:
            relation = engine.register(pa.table({**codes, **weights}))
            encoded = Encoded(relation, cards, rows, weighted=weighted, limits=case)
            assert suits_arrays(engine, encoded, blocks) == (case is limits)
            assert is_held(engine, encoded, range(5)) == (case is limits and room == 10**6)
            counted = counted_blocks(engine, blocks, encoded)
            found.append({block: counts.tolist() for block, counts, _ in counted})
    assert found[0] == found[1]
    assert list(found[0]) == blocks


def test_few_rows_get_small_blocks() -> None:
    encoded = Encoded("codes", (5,) * 20 + (2,), rows=10, weighted=False)
    blocks = plan(list(combinations(range(20), 2)), encoded)
    assert max(b.cells for b in blocks) <= 1 << 13
