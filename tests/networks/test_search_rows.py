"""Counts that grow by blocks, and the order in which the blocks come."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_search as reference
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples
from reference_search import Row
from search_cases import Codes, code_tables, encoded

from sqlbn.engines.limits import Limits
from sqlbn.search.blocks import RowStream
from sqlbn.search.methods import entropy
from sqlbn.search.tallies import Move, Tally

# ---- tallies


def row_gains(rows: Sequence[Row], child: int, above: Sequence[int], move: Move) -> list[float]:
    """What every row gains by a move, with the shares of these rows."""
    after = [p for p in above if p != move.parent] if move.removes else [*above, move.parent]
    pairs = zip(
        reference.log_likelihoods(rows, child, after),
        reference.log_likelihoods(rows, child, above),
        strict=True,
    )
    return [new - old for new, old in pairs]


def free_cells(rows: Sequence[Row], child: int, above: Sequence[int], move: Move) -> int:
    """Cells that rows fell into: of the larger table's free parameters less the smaller one's."""

    def filled(*places: int) -> int:
        return len({tuple(row[v] for v in places) for row in rows})

    large = [*above] if move.removes else [*above, move.parent]
    small = [p for p in above if p != move.parent]
    more = filled(*large, child) - filled(*large)
    return max(0, more - (filled(*small, child) - filled(*small)))


def check_tally(tally: Tally, codes: Codes, rows: list[Row], above: Sequence[int]) -> None:
    n, child = len(rows), tally.child
    recent = np.array(rows[:7]).T
    found = tally.estimates(recent, rivals=5)
    assert tally.n == n
    assert len(found.means) == len(tally.moves) + 1
    for values in (found.means, found.deviations, found.observed, found.slack):
        assert values[-1] == 0.0
    all_gains = []
    for at, move in enumerate(tally.moves):
        gains = row_gains(rows, child, above, move)
        all_gains.append(gains)
        mean = sum(gains) / n
        deviation = math.sqrt(max(0.0, sum((g - mean) ** 2 for g in gains) / n))
        free, sign = free_cells(rows, child, above, move), -1 if move.removes else 1
        assert found.slack[at] == pytest.approx(free / (2 * n), abs=1e-12)
        assert found.means[at] == pytest.approx(mean - sign * free / (2 * n), abs=1e-10)
        assert found.deviations[at] == pytest.approx(deviation, abs=2e-7)
        luck = 0.0 if move.removes else math.log(5) / n
        penalty = free * math.log(n) / (2 * n) + luck
        assert found.observed[at] == pytest.approx(mean - sign * penalty, abs=1e-10)
        larger = above if move.removes else (*above, move.parent)
        least = min(map(math.exp, reference.log_likelihoods(rows, child, larger)))
        assert found.ranges is not None
        assert found.ranges[at] == pytest.approx(math.log(2 / least))
    if len(all_gains) > 1 and len(rows) >= 7:
        one, others = all_gains[0][:7], [g[:7] for g in all_gains[1:]]
        got = found.correlation(0, np.arange(1, len(all_gains)))
        for value, other in zip(got, others, strict=True):
            assert value == pytest.approx(correlation(one, other), abs=1e-6)


def correlation(one: list[float], other: list[float]) -> float:
    a, b = (np.array(v) - sum(v) / len(v) for v in (one, other))
    length = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / length if length > 1e-12 else 0.0


@examples(30)
@given(code_tables(rows=60, variables=5), st.integers(0, 2**64))
def test_tallies_are_what_the_rows_say(codes: Codes, seed: int) -> None:
    rng, block = random.Random(seed), codes.block
    child = rng.randrange(codes.variables)
    others = [v for v in range(codes.variables) if v != child]
    parents = rng.sample(others, rng.randint(0, min(2, len(others))))
    moves = [Move(p, removes=p in parents) for p in others]
    rng.shuffle(moves)
    above = (*codes.fixed, *parents)
    tally = Tally(child, parents, codes.fixed, moves, codes.cards)
    n = len(codes.rows)
    cuts = sorted({0, n, *(rng.randint(0, n) for _ in range(3))})
    for at, (low, high) in enumerate(pairwise(cuts)):
        tally.add(block[:, low:high])
        check_tally(tally, codes, codes.rows[:high], above)
        if at == 1:
            wanted = np.array([rng.random() < 0.7 for _ in tally.moves], bool)
            kept = [m for m, w in zip(tally.moves, wanted, strict=True) if w]
            tally.keep(wanted)
            assert tally.moves == kept
            check_tally(tally, codes, codes.rows[:high], above)
    # The oldest rows out again, as a window does.
    gone = rng.randint(0, n - 1)
    tally.add(block[:, :gone], sign=-1)
    check_tally(tally, codes, codes.rows[gone:], above)
    tally.add(block[:, :gone])
    check_tally(tally, codes, codes.rows, above)


@examples(10)
@given(code_tables())
def test_the_unit_of_tau_is_the_likelihood_without_arcs(codes: Codes) -> None:
    wanted = sum(
        -sum(reference.log_likelihoods(codes.rows, v, codes.fixed)) / len(codes.rows)
        for v in range(codes.variables)
    )
    got = entropy(codes.block, codes.cards, codes.fixed)
    assert got == pytest.approx(wanted, abs=1e-10)


# ---- the order of rows


def numbered(n: int) -> Codes:
    """Rows that all differ, by three columns."""
    rows = [(i % 50, i // 50 % 50, i // 2500, i % 3) for i in range(n)]
    return Codes(rows, (50, 50, n // 2500 + 1, 3))


def turns(
    codes: Codes, block: int, number: int, file: Path | None = None, **settings: Any
) -> list[list[list[Row]]]:
    """The blocks of some turns."""
    with encoded(codes, file, **settings) as (engine, table):
        stream, n = RowStream(engine, table, block), len(codes.rows)
        ahead = stream.first_block().T.tolist()
        found: list[list[list[Row]]] = []
        for turn in range(number):
            mine: list[list[Row]] = []
            while stream.position < (turn + 1) * n:
                mine.append([tuple(row) for row in stream.next_block().T.tolist()])
            assert stream.position == (turn + 1) * n
            found.append(mine)
        assert [tuple(row) for row in ahead] == found[0][0]
    return found


def small_scans(first: int, most: int | None) -> Limits:
    """Scans that bring few rows, as a table of billions would see them."""
    if most is None:
        return Limits(stream_rows=first)
    return Limits(stream_rows=first, stream_share=most * 4 / 2**30)


@pytest.mark.parametrize(
    ("n", "block", "first", "most"),
    [
        (1, 100, 1 << 20, None),
        (99, 100, 1 << 20, None),
        (1000, 100, 1 << 20, None),
        (2503, 400, 64, None),  # scans shorter than a block, the last block short
        (2503, 400, 300, 700),  # never all rows at a time
        (2500, 500, 1, 1),  # the least that can be held
        (700, 1000, 100, 100),  # a block longer than a turn
    ],
)
def test_every_row_comes_once_a_turn(n: int, block: int, first: int, most: int | None) -> None:
    codes = numbered(n)
    whole = [row for b in turns(codes, block, 1)[0] for row in b]
    found = turns(codes, block, 3, memory_limit="1GiB", limits=small_scans(first, most))
    for mine in found:
        assert [len(b) for b in mine] == [block] * (n // block) + [n % block] * (n % block > 0)
        assert Counter(row for b in mine for row in b) == Counter(codes.rows)
        assert [row for b in mine for row in b] == whole


def test_the_order_is_that_of_the_seed_alone(tmp_path: Path) -> None:
    codes = numbered(5000)
    wanted = turns(codes, 700, 2, threads=1, seed=3)
    assert turns(codes, 700, 2, threads=2, seed=3) == wanted
    assert turns(codes, 700, 2, tmp_path / "codes.parquet", threads=2, seed=3) == wanted
    small = {"memory_limit": "1GiB", "limits": small_scans(100, 900)}
    assert turns(codes, 700, 2, tmp_path / "again.parquet", threads=2, seed=3, **small) == wanted
    other = [row for b in turns(codes, 700, 1, seed=4)[0] for row in b]
    rows = [row for b in wanted[0] for row in b]
    assert rows != other
    assert rows != codes.rows
    # A block is a sample of all rows: its mean place is far from that of the first ones.
    block = [a + 50 * b + 2500 * c for a, b, c, _ in wanted[0][0]]
    assert abs(np.mean(block) - 2500) < 4 * 5000 / math.sqrt(12 * len(block))
