"""The parents of KDB and TAN from as few rows as the bound allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.engines.workspace import Workspace
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import Contest, Verdict
from sqlbn.search.decisions import Decision, Log
from sqlbn.search.graph import Change
from sqlbn.search.measures import Measures
from sqlbn.structure.information import Matrix, pair_families
from sqlbn.structure.shape import Structure


@dataclass(frozen=True)
class Decided:
    """A structure, and the decisions that led to it where there was something to decide."""

    structure: Structure
    decisions: tuple[Decision, ...]

    @property
    def delta_star(self) -> float:
        """Probability that any decision differs from that of endless data: what was spent."""
        return sum(d.delta for d in self.decisions)

    @property
    def rows(self) -> int:
        """Rows of the largest sample that a decision needed."""
        return max((d.rows for d in self.decisions), default=0)

    def write(self, workspace: Workspace, names: Sequence[str]) -> None:
        """The draft's table of decisions."""
        Log(list(self.decisions)).write(workspace, names)


class Race:
    """A decision under way: links between attributes, of which the strongest is wanted."""

    def __init__(self, links: Sequence[tuple[int, int]], class_variable: int, rule: Rule) -> None:
        self.links = list(links)
        self.families = [link_family(i, j, class_variable) for i, j in links]
        self.contest = Contest(len(links), rule)
        self.level = 0

    def wanted(self, measures: Measures, places: int) -> list[Family]:
        """What must be counted at the next level, and what the next places will ask for there."""
        alive = [self.families[at] for at in np.flatnonzero(self.contest.alive)]
        strongest = sorted(self.families, key=lambda f: -measures.latest(f))
        return [*alive, *strongest[: 2 * places]]

    def look(self, measures: Measures) -> Verdict | None:
        """The verdict of the present level; None where it goes on at the next."""
        level = self.level
        verdict = self.contest.check(
            measures.rows(level),
            measures.estimates(level, self.families),
            exhausted=measures.is_all(level),
        )
        self.level = measures.next_level(level, self.contest.next_look)
        return verdict


def link_family(i: int, j: int, class_variable: int) -> Family:
    """The family that tells of a link."""
    return (min(i, j), max(i, j), class_variable)


def decide_parents(k: int, measures: Measures, order: Sequence[int], rule: Rule) -> Decided:
    """KDB: for every attribute the k strongest links to earlier ones, strongest first.

    Each place is a decision of its own, because the order of the parents matters: back-off leaves
    out the weakest, and a selection keeps the first. All attributes are decided side by side; a
    decision starts at the first sample, where all is counted already.
    """
    d = len(order)
    steps = sum(min(k, place - 1) for place in range(2, d))
    rule = replace(rule, steps=max(1, steps))
    parents: list[list[int]] = [[] for _ in order]
    decisions: list[list[Decision]] = [[] for _ in order]
    places = {attribute: place for place, attribute in enumerate(order)}
    races: dict[int, Race] = {}

    def next_race(i: int) -> None:
        """Open the next place of an attribute; the last candidate needs no contest."""
        left = [j for j in order[: places[i]] if j not in parents[i]]
        races.pop(i, None)
        if len(left) == 1 and len(parents[i]) < k:
            parents[i].append(left[0])
        elif left and len(parents[i]) < k:
            races[i] = Race([(i, j) for j in left], d, rule)

    for i in order:
        next_race(i)
    measures.need(0, pair_families(d))
    while races:
        level = min(race.level for race in races.values())
        now = {i: race for i, race in races.items() if race.level == level}
        measures.need(level, [f for race in now.values() for f in race.wanted(measures, k)])
        for i, race in now.items():
            verdict = race.look(measures)
            if verdict is not None:
                parent = race.links[verdict.winners[0]][1]
                decisions[i].append(
                    Decision.of(Change("add", i, parent), verdict, measures.rows_read)
                )
                parents[i].append(parent)
                next_race(i)
    return Decided(
        Structure(tuple(order), tuple(map(tuple, parents))),
        tuple(decision for i in order for decision in decisions[i]),
    )


def decide_tree(measures: Measures, order: Sequence[int], rule: Rule) -> Decided:
    """TAN: the spanning tree grown from the first attribute, every link a decision."""
    d = len(order)
    rule = replace(rule, steps=max(1, d - 1))
    parents: list[tuple[int, ...]] = [()] * d
    inside, decisions = list(order[:1]), []
    measures.need(0, pair_families(d))
    while len(inside) < d:
        # In the order of the attributes, that ties go the way they do without a bound.
        outside = [i for i in order if i not in inside]
        links = [(new, old) for new in outside for old in order if old in inside]
        race, verdict = Race(links, d, rule), None
        if len(links) > 1:
            while verdict is None:
                # The links that are left come again in the next decision: all are counted at once.
                measures.need(race.level, pair_families(d))
                verdict = race.look(measures)
        new, old = links[verdict.winners[0] if verdict is not None else 0]
        if verdict is not None:
            decisions.append(Decision.of(Change("add", new, old), verdict, measures.rows_read))
        parents[new] = (old,)
        inside.append(new)
    return Decided(Structure(tuple(order), tuple(parents)), tuple(decisions))


def latest_cmi(measures: Measures, d: int) -> Matrix:
    """CMI of every pair by the largest sample that it was counted in."""
    found = np.zeros((d, d))
    for i, j, y in pair_families(d):
        found[i, j] = found[j, i] = measures.latest((i, j, y))
    return found
