"""Scores, hill climbing and the graph under a search, against brute force."""

import random
from typing import Any

import pytest
import reference_search as reference
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples
from search_cases import Codes, code_tables, encoded, random_codes, sets_of

from sqlbn.search.decisions import (
    ArcChange,
    ArcLimits,
    Graph,
    Log,
    changes_of,
    new_parents,
)
from sqlbn.search.hill_climbing import LocalScores, hgc
from sqlbn.search.search_options import SearchOptions

SCORES: tuple[Any, ...] = ("bdeu", "k2", "bic")


def scored(codes: Codes, score: Any, ess: float, sets: list[Any]) -> list[float]:
    with encoded(codes) as (engine, table):
        scores = LocalScores(engine, table, codes.fixed, score, ess)
        scores.count(sets, lambda: None)
        return [scores(child, parents) for child, parents in sets]


@examples(20)
@given(code_tables(), st.sampled_from(SCORES), st.sampled_from((0.01, 1.0, 10.0)), st.integers())
def test_local_scores_are_those_of_the_rows(
    codes: Codes, score: str, ess: float, seed: int
) -> None:
    if score == "bic" and len(codes.rows) == 1:
        return  # ln 1 takes nothing off, ours ln 2: no parent gains by a single row either way
    sets = sets_of(random.Random(seed), codes, 8)
    for (child, parents), got in zip(sets, scored(codes, score, ess, sets), strict=True):
        above = (*codes.fixed, *parents)
        wanted = reference.local_score(score, codes.rows, codes.cards, child, above, ess)
        assert got == pytest.approx(wanted, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_large_and_sparse_families(score: str) -> None:
    """Millions of cells and few rows: what no row has must not count, nor be held."""
    rng = random.Random(5)
    cards = (300, 200, 150, 40, 2)
    rows = [tuple(rng.randrange(c) for c in cards) for _ in range(500)]
    codes, sets = Codes(rows, cards), [(0, (1, 2, 3)), (3, (0, 1)), (2, ())]
    for (child, parents), got in zip(sets, scored(codes, score, 1.0, sets), strict=True):
        wanted = reference.local_score(score, rows, cards, child, (*codes.fixed, *parents))
        assert got == pytest.approx(wanted, rel=1e-10)


def climbed(codes: Codes, score: Any, options: SearchOptions) -> tuple[Graph, Log]:
    graph, log = Graph(codes.variables), Log()
    with encoded(codes) as (engine, table):
        scores = LocalScores(engine, table, codes.fixed, score, options.equivalent_size)
        limits = options.limits(codes.cards, codes.cards[-1])
        hgc(scores, len(codes.rows), limits, log, graph, lambda: None)
    return graph, log


@examples(40)
@given(code_tables(rows=60, variables=5), st.sampled_from(SCORES), st.integers(0, 2**32))
def test_hill_climbing_takes_the_steps_of_brute_force(codes: Codes, score: str, seed: int) -> None:
    rng = random.Random(seed)
    options = SearchOptions(
        score=score,
        ess=rng.choice((None, 0.1, 10.0)) if score == "bdeu" else None,
        max_parents=rng.choice((None, None, 0, 1, 2)),
        max_parameters=rng.choice((10_000, 10_000, 4, 1)),
        max_changes=rng.choice((1, 2, 3)),
    )
    climber = reference.Climber(
        codes.rows, codes.cards, codes.variables, codes.fixed, score, options.equivalent_size,
        options.max_parameters, options.max_parents, options.max_changes,
    )  # fmt: skip
    wanted = climber.climb()
    graph, log = climbed(codes, score, options)
    steps = [(d.change.action, d.change.child, d.change.parent) for d in log.decisions]
    assert steps == [step[:3] for step in wanted.steps]
    assert [frozenset(p) for p in graph.parents] == list(wanted.parents)
    assert log.rows_read == len(codes.rows) * (len(steps) + 1)
    for step, decision in enumerate(log.decisions):
        gain = wanted.steps[step][3] / len(codes.rows)
        assert -1e-9 <= decision.margin <= gain + 1e-9


def test_a_tie_goes_to_the_first_change() -> None:
    """Three copies of one column: of all arcs the same score, 1 -> 0 is named first."""
    rows = [(v, v, v, 0) for v in (0, 1, 0, 1, 1, 0, 1, 0)]
    _, log = climbed(Codes(rows, (2, 2, 2, 1)), "bic", SearchOptions())
    steps = [(d.change.action, d.change.child, d.change.parent) for d in log.decisions]
    assert steps == [("add", 0, 1), ("add", 1, 2)]


# ---- the graph


def reachable(parents: list[tuple[int, ...]], child: int) -> set[int]:
    """A variable and all that it comes from."""
    found, left = {child}, [child]
    while left:
        for parent in parents[left.pop()]:
            if parent not in found:
                found.add(parent)
                left.append(parent)
    return found


@examples(30)
@given(st.integers(1, 7), st.integers(0, 2**64))
def test_graph_knows_its_cycles(d: int, seed: int) -> None:
    rng = random.Random(seed)
    graph, limits = Graph(d), ArcLimits([2] * d, 1, 10**6, None, 10**6)
    for _ in range(25):
        now = [frozenset(p) for p in graph.parents]
        assert reference.is_acyclic(now)
        above = [reachable(graph.parents, v) for v in range(d)]
        for child in range(d):
            closed = [child in above[v] for v in range(d)]
            assert graph.closed_parents(child).tolist() == closed
            assert [graph.makes_cycle(child, v) for v in range(d)] == closed
        wanted = []
        for child in range(d):
            for other in range(d):
                if other == child:
                    continue
                for action, new in reference.neighbours(tuple(now), child, other):
                    legal = reference.is_acyclic(new)
                    if action == "reverse":
                        assert graph.can_reverse(child, other) == legal
                    if legal:
                        wanted.append((action, child, other, new))
        changes = list(changes_of(graph, limits))
        assert [(c.action, c.child, c.parent) for c in changes] == [w[:3] for w in wanted]
        if not changes:
            return
        for change, (*_, new) in zip(changes, wanted, strict=True):
            touched = {v: new[v] for v in range(d) if new[v] != now[v]}
            told = new_parents(graph, change)
            assert {v: frozenset(p) for v, p in told.items()} == touched
        # More arcs come than go, so that the graph fills up.
        adds = [c for c in changes if c.action == "add"]
        graph.apply(rng.choice(adds if adds and rng.random() < 0.6 else changes))
        order = graph.order()
        assert sorted(order) == list(range(d))
        assert all(order.index(p) < order.index(v) for v in range(d) for p in graph.parents[v])
    graph.apply(ArcChange("none", 0))


def test_random_codes_are_hostile() -> None:
    """The tables above have what they promise: copies, constants, one row, one class."""
    seen = [random_codes(random.Random(seed), 30, 5) for seed in range(40)]
    columns = [list(zip(*codes.rows, strict=True))[:-1] for codes in seen]
    assert any(len(set(c)) < len(c) for c in columns)
    assert any(len(set(column)) == 1 for c in columns for column in c)
    assert {codes.cards[-1] for codes in seen} == {1, 2, 3}
