"""KDB and TAN by a bound: information at growing samples, and the parents it decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import dense_tables, n_log_n, plan
from sqlbn.counts.cover import Family
from sqlbn.engines import Session
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.search.blocks import Samples
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import UNSEEN_FACTOR, Contest, ContestResult, Estimates
from sqlbn.search.decisions import ArcChange, Decision, Log
from sqlbn.structure.information import Matrix, joint_mi, pair_cmi, pair_families, single_families
from sqlbn.structure.shape import Structure

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Measured:
    """What two variables tell of each other, and how much a row's value may vary.

    `observed` is the value as a fit on all rows has it, rounded; `bias` what the rows that filled
    the cells flatter it by (Miller and Madow).
    """

    observed: float
    deviation: float
    spread: float
    bias: float


@dataclass(frozen=True)
class FilledCells:
    """The filled cells of a family, and for each the counts of its margins.

    The first two variables are those compared; the margins are with what is given (the class, or
    nothing), of which the last is alone.
    """

    n: Array
    first: Array
    second: Array
    given: Array
    filled: tuple[int, int, int]

    @staticmethod
    def of_array(counts: Array) -> tuple[FilledCells, tuple[Array, ...]]:
        """Those of an array first x second x given, and where in it they are."""
        places = np.nonzero(counts)
        x, z, g = places
        first, second, given = counts.sum(axis=1), counts.sum(axis=0), counts.sum(axis=(0, 1))
        filled = (
            int(np.count_nonzero(first)),
            int(np.count_nonzero(second)),
            int(np.count_nonzero(given)),
        )
        return FilledCells(counts[places], first[x, g], second[z, g], given[g], filled), places

    @staticmethod
    def of_codes(n: Array, x: Array, z: Array, g: Array) -> FilledCells:
        """Those of a table that is too large for an array, cell by cell."""
        margins, filled = [], []
        for codes in ((x, g), (z, g), (g,)):
            _, at = np.unique(np.stack(codes), axis=1, return_inverse=True)
            sums = np.bincount(at.reshape(-1), weights=n)
            margins.append(sums[at.reshape(-1)])
            filled.append(len(sums))
        return FilledCells(n, margins[0], margins[1], margins[2], (filled[0], filled[1], filled[2]))

    @property
    def values(self) -> Array:
        """What a row of each cell adds to the mean."""
        n, first, second, given = (
            np.log(part.astype(float)) for part in (self.n, self.first, self.second, self.given)
        )
        found: Array = n + given - (first + second)
        return found

    def measured(self, observed: float) -> Measured:
        """Deviation, range and bias around an observed value."""
        n, values, total = self.n.astype(float), self.values, float(self.n.sum())
        mean = float(n @ values) / total
        variance = float(n @ (values - mean) ** 2) / total
        # One more row may be of a kind that was never seen: without it, what is too rare for the
        # sample would pass for known.
        variance += math.log(total) ** 2 / total if total > 1 else 1.0
        smallest = min(float((n / self.first).min()), float((n / self.second).min()))
        free = len(n) - self.filled[0] - self.filled[1] + self.filled[2]
        return Measured(
            observed,
            math.sqrt(variance),
            2 * math.log(UNSEEN_FACTOR / smallest),
            max(0, free) / (2 * total),
        )


class _Level:
    """What was counted at one sample."""

    def __init__(self, rows: Encoded) -> None:
        self.rows, limits = rows, rows.limits
        self.sums: dict[Family, float] = {}
        self.measured: dict[Family, Measured] = {}
        self.tables: dict[Family, Array] = {}
        self.standard: dict[Family, Array] = {}
        self.singles: dict[Family, tuple[FilledCells, tuple[Array, ...] | None]] = {}
        self._room = limits.paired_cells
        self.most_standard = limits.paired_cells // limits.paired_rows

    def keep(
        self, family: Family, shape: Sequence[int], places: tuple[Array, ...], values: Array
    ) -> None:
        """Remember the values of a family's cells while there is room."""
        cells = math.prod(shape)
        if cells <= self._room:
            self._room -= cells
            self.tables[family] = np.zeros(shape)
            self.tables[family][places] = values


class Measures:
    """MI and CMI of families (i, class) and (i, j, class), counted at a level when needed there."""

    def __init__(
        self,
        session: Session,
        encoded: Encoded,
        samples: Samples,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self._session, self._samples, self._advance = session, samples, advance
        self._class, self._d = encoded.class_variable, encoded.n_attributes
        self._levels: dict[int, _Level] = {}
        self._latest: dict[Family, tuple[int, float]] = {}
        self.rows_read = 0

    def rows(self, level: int) -> int:
        """Rows of a level."""
        return self._at(level).rows.rows

    def is_all(self, level: int) -> bool:
        """Whether a level has all rows."""
        return self._samples.is_all(level)

    def next_level(self, level: int, rows: float) -> int:
        """The first level behind one that has so many rows, or all."""
        level += 1
        while not self.is_all(level) and self._samples.size(level) < rows:
            level += 1
        return level

    def _at(self, level: int) -> _Level:
        if level not in self._levels:
            self._levels[level] = _Level(self._samples.at(level))
        return self._levels[level]

    # -- counting ------------------------------------------------------------------------------

    def need(self, level: int, families: Iterable[Family]) -> None:
        """Count these at a level, but for those that were."""
        at = self._at(level)
        missing = [f for f in dict.fromkeys(families) if f not in at.measured]
        if not missing:
            return
        self.rows_read += at.rows.rows
        if not at.sums:
            # Margins come before what needs them.
            self._count(at, single_families(self._d))
            for attribute in range(self._d):
                self._tell_single(at, (attribute, self._class))
        self._count(at, [f for f in missing if f not in at.measured])
        for family in missing:
            found = (level, at.measured[family].observed)
            self._latest[family] = max(found, self._latest.get(family, found))
        self._advance()

    def _count(self, at: _Level, families: Sequence[Family]) -> None:
        blocks = plan(families, at.rows) if families else []
        for family, counts in dense_tables(self._session, at.rows, blocks):
            at.sums[family] = n_log_n(counts)
            if len(family) == 2:
                at.singles[family] = FilledCells.of_array(counts[:, :, None])
            elif len(family) == 3:
                cells, places = FilledCells.of_array(counts)
                self._tell(at, family, cells)
                at.keep(family, counts.shape, places, cells.values)
        for block in blocks:
            if not block.dense:
                self._count_cells(at, block.families[0])

    def _count_cells(self, at: _Level, family: Family) -> None:
        """A family whose table is too large for an array; a sample fills few of its cells."""
        rows = at.rows
        names = [rows.column(v) for v in family]
        found = self._session.row_engine.arrays(
            render(
                "count/observed_cells",
                codes=", ".join(names),
                total=rows.total_sql,
                relation=rows.relation,
            )
        )
        at.sums[family] = n_log_n(found["n"])
        codes = [found[name].astype(np.int64) for name in names]
        if len(family) == 2:
            nothing = np.zeros_like(codes[0])
            at.singles[family] = FilledCells.of_codes(found["n"], codes[0], codes[1], nothing), None
        elif len(family) == 3:
            self._tell(at, family, FilledCells.of_codes(found["n"], codes[0], codes[1], codes[2]))

    def _tell(self, at: _Level, family: Family, cells: FilledCells) -> None:
        (i, j, y), sums = family, at.sums
        total = float(at.rows.rows)
        cmi = pair_cmi(sums[family], sums[i, y], sums[j, y], sums[(y,)], total)
        at.measured[family] = cells.measured(cmi)

    def _tell_single(self, at: _Level, family: Family) -> None:
        (i, y), sums = family, at.sums
        cells, places = at.singles.pop(family)
        mi = joint_mi(sums[family], sums[(i,)], sums[(y,)], float(at.rows.rows))
        at.measured[family] = cells.measured(mi)
        if places is not None:
            shape = (at.rows.cards[i], at.rows.cards[y], 1)
            at.keep(family, shape, places, cells.values)

    def latest(self, family: Family) -> float:
        """The value by the largest sample that a family was counted in."""
        return self._latest[family][1]

    # -- what was counted ----------------------------------------------------------------------

    def estimates(self, level: int, families: Sequence[Family]) -> Estimates:
        """What a level says of candidates; nothing of those that were not counted there."""
        at, nothing = self._at(level), Measured(0.0, 0.0, 0.0, 0.0)
        found = [at.measured.get(f, nothing) for f in families]
        observed = np.array([t.observed for t in found])
        return Estimates(
            means=observed,
            deviations=np.array([t.deviation for t in found]),
            observed=observed,
            slack=np.array([t.bias for t in found]),
            ranges=np.array([t.spread for t in found]),
            correlation=lambda one, others: self._correlation(at, families, one, others),
        )

    def _correlation(
        self, at: _Level, families: Sequence[Family], one: int, others: Array
    ) -> Array:
        """How the values of a row go together; the worst where that is not known."""
        found = np.full(len(others), -1.0)
        if families[one] not in at.tables:
            return found
        mine = self._standardised(at, families[one])
        # Few rows tell it: three standard errors are left for what they did not show.
        off = 3 / math.sqrt(len(mine))
        for place, other in enumerate(others.tolist()):
            if families[other] in at.tables:
                found[place] = float(mine @ self._standardised(at, families[other])) - off
        return found.clip(-1.0, 1.0)

    def _standardised(self, at: _Level, family: Family) -> Array:
        """A family's values of some rows, of mean 0 and length 1."""
        if family in at.standard:
            return at.standard[family]
        codes = [self._paired[v] for v in family]
        if len(family) == 2:
            codes.append(np.zeros_like(codes[0]))
        values = at.tables[family][tuple(codes)]
        centred = values - values.mean()
        length = math.sqrt(float(centred @ centred))
        found: Array = centred / length if length > 1e-12 else np.zeros_like(centred)
        if len(at.standard) < at.most_standard:
            at.standard[family] = found
        return found

    @cached_property
    def _paired(self) -> list[Array]:
        """The codes of some random rows, variable by variable."""
        some = self._samples.first(self._session.limits.paired_rows)
        names = [some.column(v) for v in range(len(some.cards))]
        found = self._session.row_engine.arrays(select_sql(some.relation, ", ".join(names)))
        return [found[name] for name in names]


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
        """The workspace's table of decisions."""
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

    def look(self, measures: Measures) -> ContestResult | None:
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
                    Decision.of(ArcChange("add", i, parent), verdict, measures.rows_read)
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
            decisions.append(Decision.of(ArcChange("add", new, old), verdict, measures.rows_read))
        parents[new] = (old,)
        inside.append(new)
    return Decided(Structure(tuple(order), tuple(parents)), tuple(decisions))


def latest_cmi(measures: Measures, d: int) -> Matrix:
    """CMI of every pair by the largest sample that it was counted in."""
    found = np.zeros((d, d))
    for i, j, y in pair_families(d):
        found[i, j] = found[j, i] = measures.latest((i, j, y))
    return found
