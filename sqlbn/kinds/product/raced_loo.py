"""The race before pass 3: nested models that are surely worse than the best so far are out.

Rows come in growing parts of a random order. The losses of a part's rows come from the stored
counts, in arrays: a query a k' would be planned for longer than a part takes. What is left is
evaluated on all rows (product_loo.py), so the race never says how good a model is, only which ones
need not be asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import read_codes
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import random_part
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.engines.threads import ahead
from sqlbn.errors import opt
from sqlbn.kinds.estimates import Chain, Smoothing
from sqlbn.kinds.kind import Selection
from sqlbn.kinds.losses import MOST, Loss, finished
from sqlbn.kinds.product.array_loo import RowBlock, RowShares, prior_logs
from sqlbn.kinds.product.counted_levels import cells_of_rows, levels_of_rows
from sqlbn.kinds.product.seen_chain import CountedCells, SeenChain, present_keys
from sqlbn.kinds.row_sums import dot
from sqlbn.search.contest import UNSEEN_FACTOR
from sqlbn.search.race import ModelRace, RaceRule

Array = npt.NDArray[Any]
T = TypeVar("T")
# A nested model: k', and how many of the first attributes.
Cell = tuple[int, int]


@dataclass(frozen=True)
class Rules:
    """What nested models have in common: see LeaveOneOut."""

    counts: FamilyCounts
    order: Sequence[int]
    class_counts: Sequence[float]
    smoothing: Smoothing
    losses: Sequence[Loss]
    chains: Mapping[int, Chain]

    def depth(self, place: int) -> int:
        """The parents of the attribute at a place in the order."""
        return self.counts.depth(self.order[place])


@dataclass
class Raced:
    """What a race left: `left` are the models to evaluate on all rows, by k'.

    The values of the others rest on as many rows as `rows` says, in arrays (k', attributes).
    `same` are cells that are the same model as another. `parts` are the rows of each part.
    """

    ks: Sequence[int]
    left: Mapping[int, Sequence[int]]
    values: Mapping[Loss, Array]
    rows: Array
    same: Mapping[Cell, Cell]
    parts: list[int] = field(default_factory=list)
    n_models: int = 0
    saved: int = 0

    @property
    def n_left(self) -> int:
        """How many models are left."""
        return sum(map(len, self.left.values()))

    @property
    def noted(self) -> dict[str, Any]:
        """For the model's meta table."""
        return {
            "parts": self.parts,
            "models": self.n_models,
            "left": self.n_left,
            "rows_saved": self.saved,
        }

    def told(self, population: int) -> str:
        """The same in a line for people."""
        ks = ", ".join(str(k) for k, ns in self.left.items() if ns)
        plural = "s" if self.n_left > 1 else ""
        return (
            f"race: {sum(self.parts):,} of {population:,} rows leave {self.n_left:,} of "
            f"{self.n_models:,} models (k = {ks}), which {'are' if plural else 'is'} evaluated on "
            "all rows"
        )

    def completed(self, exact: Mapping[Loss, Array], population: int) -> dict[Loss, Array]:
        """The surface: exact values where models were left, those of a part of the rows elsewhere.

        The number of rows becomes that of all where it is exact.
        """
        found = {loss: values.copy() for loss, values in self.values.items()}
        at = {k: place for place, k in enumerate(self.ks)}
        for k, sizes in self.left.items():
            for n in sizes:
                self.rows[at[k], n] = population
                for loss, values in exact.items():
                    found[loss][at[k], n] = values[at[k], n]
        for (k, n), (other, _) in self.same.items():
            self.rows[at[k], n] = self.rows[at[other], n]
            for values in found.values():
                values[at[k], n] = values[at[other], n]
        return found


def all_races(races: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the meta table says of the races of several models: everything added up."""
    numbers = ("models", "left", "rows_saved")
    parts = [size for race in races for size in race["parts"]]
    return {"parts": parts, **{name: sum(race[name] for race in races) for name in numbers}}


def cannot_race(
    selection: Selection, rows: Encoded, counts: FamilyCounts, rule: RaceRule
) -> str | None:
    """Why nested models do not race, for people; '' where there is nothing to say, None: they do.

    Few rows are evaluated as fast as they race, which matters to nobody who did not ask for more.
    """
    limits = counts.limits
    least = limits.race_least_parts * limits.race_rows
    if rows.rows < least:
        few = f"no race of fewer than {least:,} rows: {opt('tau')} changes nothing"
        return few if rule.tau else ""
    if selection.loss not in MOST:
        return f"no race: {selection.loss} is no mean of rows; all models are evaluated on all rows"
    if not counts.workspace.session.row_engine.numbers_rows and rows.number is None:
        return "no race: the rows have no numbers to be drawn by"
    room = limits.race_share * counts.workspace.session.memory_bytes
    if chain_bytes(counts) > room:
        return "no race: the counts of a family take too much memory"
    return None


def chain_bytes(counts: FamilyCounts) -> int:
    """What the levels of the largest chain take."""
    most = 0
    for position in counts.families:
        levels = range(counts.depth(position) + 1)
        cells = sum(min(counts.cells(position, level), counts.encoded.rows) for level in levels)
        most = max(most, 2 * 8 * counts.n_classes * cells)
    return most * max(1, counts.workspace.session.threads)


def race(rules: Rules, rows: Encoded, selection: Selection, rule: RaceRule) -> Raced:
    """Race the nested models of a selection over some rows, while that is worth its rows."""
    return NestedRace(rules, rows, selection, rule).run()


class NestedRace:
    """One race; models that are the same by their structure are one candidate."""

    def __init__(self, rules: Rules, rows: Encoded, selection: Selection, rule: RaceRule) -> None:
        self._rules, self._rows, self._selection = rules, rows, selection
        self._limits, self._session = rows.limits, rules.counts.workspace.session
        self._ks, d = list(selection.ks), len(rules.order)
        self._same = same_models(rules, self._ks)
        cells = [(k, n) for n in range(d + 1) for k in self._ks if (k, n) not in self._same]
        # In the order in which ties are broken: fewer attributes, then the smaller k'.
        self._candidates = [c for c in cells if selection.select != "k" or c[1] == d]
        self._others = [c for c in cells if selection.select == "k" and c[1] < d]
        room = self._limits.race_values // max(1, len(self._candidates))
        self._first = max(1, min(rows.rows, self._limits.race_rows, room))
        looks = max(1, (rows.rows // self._first).bit_length())
        self._race = ModelRace(len(self._candidates), rows.rows, rule, looks)
        shape = len(self._ks), d + 1
        self._sums = {loss: np.zeros(shape) for loss in rules.losses}
        self._weights, self._n = np.zeros(shape), np.zeros(shape, np.int64)
        self._worst, self._drawn, self._cells = 0.0, 0, 0
        self._parts: list[int] = []
        self._heaviest = 1.0
        if rows.weighted:
            found = self._session.row_engine.row(select_sql(rows.relation, "max(w)"))
            self._heaviest = float(found[0])

    def run(self) -> Raced:
        """All parts."""
        size = self._first
        self._part(size, self._others)
        while (size := self._next_size(size)) > 0:
            self._part(size)
        return self._found()

    @property
    def _alive(self) -> list[Cell]:
        return [self._candidates[i] for i in self._race.alive]

    def _part(self, size: int, others: Sequence[Cell] = ()) -> None:
        """The losses of one more part, and who is out."""
        start, self._drawn = self._drawn, self._drawn + size
        drawn = random_part(self._session, self._rows, start, self._drawn)
        part = PartRows.of(self._rules, self._rows, drawn)
        alive = self._alive
        place = {cell: i for i, cell in enumerate(alive)}
        lines = np.empty((len(alive), part.n))
        for cell, losses in part.losses([*alive, *others]):
            at = self._ks.index(cell[0]), cell[1]
            for loss, values in losses.items():
                self._sums[loss][at] += dot(values, part.weights)
            self._weights[at] += part.weights.sum()
            self._n[at] += part.n
            if cell in place:
                lines[place[cell]] = losses[self._selection.loss]
        self._cells = part.n_cells
        # A row that no part has shown may be worse than any, as far as a loss can be.
        worst = UNSEEN_FACTOR * float(lines.max(initial=0.0))
        self._worst = max(self._worst, min(worst, MOST[self._selection.loss]))
        self._parts.append(part.n)
        is_root = self._selection.loss == "rmse"
        self._race.look(lines * part.weights, self._worst * self._heaviest, is_root)

    # -- what a further part is worth ------------------------------------------------------------

    def _next_size(self, last: int) -> int:
        """How many rows come next, by what the rows so far let expect of them; 0: no more."""
        alive, done, n = self._alive, self._drawn, self._rows.rows
        best, least = 0, float(n * _work(alive))
        size = 2 * last
        while done + size <= n // 2 and (done + size) * len(alive) <= self._limits.race_values:
            left = self._race.would_leave(done + size)
            after = n * _work([cell for cell, is_left in zip(alive, left, strict=True) if is_left])
            cost = self._limits.race_dearer * size * _work(alive) + after
            cost += self._limits.race_cell * self._cells
            if cost < least:
                best, least = size, cost
            size *= 2
        return best

    def _found(self) -> Raced:
        alive, ks = self._alive, self._ks
        left: dict[int, list[int]] = {k: [n for j, n in alive if j == k] for k in ks}
        weights = np.where(self._weights > 0, self._weights, 1.0)
        values = {
            loss: np.array(
                [
                    [finished(loss, *pair) for pair in zip(*line, strict=True)]
                    for line in zip(sums, weights, strict=True)
                ]
            )
            for loss, sums in self._sums.items()
        }
        passes = sum(1 for ns in left.values() if ns)
        spent = sum(self._parts) * len(ks)
        return Raced(
            ks,
            left,
            values,
            self._n,
            self._same,
            self._parts,
            len(self._candidates),
            max(0, self._rows.rows * (len(ks) - passes) - spent),
        )


def _work(cells: Iterable[Cell]) -> int:
    """What a row takes to evaluate these models: a join an attribute, and a loss each.

    Both take about the same (54 attributes, 7 classes, k' = 3, 1 M rows: 2.5 and 2.2 s of a core).
    """
    longest, losses = dict[int, int](), 0
    for k, n in cells:
        longest[k] = max(longest.get(k, 0), n + 1)
        losses += 1
    return sum(longest.values()) + losses


def same_models(rules: Rules, ks: Sequence[int]) -> dict[Cell, Cell]:
    """Nested models of a k' that none of their attributes has parents for: that of a smaller k'."""
    found: dict[Cell, Cell] = {}
    deepest = 0
    for n in range(len(rules.order) + 1):
        deepest = max(deepest, rules.depth(n - 1)) if n else 0
        enough = next((k for k in ks if k >= deepest), None)
        if enough is not None:
            found |= {(k, n): (enough, n) for k in ks if k > enough}
    return found


@dataclass
class PartRows:
    """Some of the counted rows, to be left out in turn; `n_cells` were looked through for them."""

    rules: Rules
    codes: Sequence[Array]
    block: RowBlock
    n_cells: int = 0

    @staticmethod
    def of(rules: Rules, rows: Encoded, drawn: str) -> PartRows:
        """Those of a relation."""
        session = rules.counts.workspace.session
        used = range(rows.n_attributes)
        codes, w = read_codes(session, replace(rows, relation=drawn), used)
        y = codes[-1].astype(np.int64)
        weights = w if rows.weighted else None
        return PartRows(rules, codes, RowBlock.of(range(len(y)), y, weights, rows.importance))

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.block.y)

    @property
    def weights(self) -> Array:
        """Of every row."""
        return np.ones(self.n) if self.block.w is None else self.block.w

    def losses(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, dict[Loss, Array]]]:
        """What each row adds to every loss of some nested models."""
        losses = self.rules.losses
        return self.told(cells, lambda shares: {loss: shares.losses(loss) for loss in losses})

    def told(self, cells: Sequence[Cell], of: Callable[[RowShares], T]) -> Iterator[tuple[Cell, T]]:
        """What rows say of their classes under some nested models, looked at by a function."""
        rules, sizes = self.rules, dict[int, set[int]]()
        for k, n in cells:
            sizes.setdefault(k, set()).add(n)
        start = prior_logs(np.asarray(rules.class_counts, float), rules.smoothing, self.block)
        logs = {k: start.copy() for k in sizes}
        threads = max(1, rules.counts.workspace.session.threads)
        last = max(n for _, n in cells)
        levels = ahead(threads, self._level_jobs(last, max(sizes)))
        for place in range(last + 1):
            found = next(levels) if place else None
            ks = [k for k, ns in sizes.items() if max(ns) >= place]
            asked = [k for k in ks if place in sizes[k]]
            jobs = [partial(self._moved, logs[k], found, k, of if k in asked else None) for k in ks]
            for k, looked in zip(ks, ahead(threads, jobs), strict=True):
                if k in asked:
                    yield (k, place), cast(T, looked)

    def _moved(
        self, logs: Array, told: Told | None, k: int, of: Callable[[RowShares], T] | None
    ) -> T | None:
        """One attribute more: its level is added to the logarithms, and they are looked at."""
        if told is not None:
            level = told.levels[min(k, len(told.levels) - 1)]
            logs += level if told.of_row is None else level[told.of_row]
        return of(RowShares(logs, self.block.y)) if of is not None else None

    def _level_jobs(self, last: int, most: int) -> Iterator[Callable[[], Told]]:
        """For each attribute what its levels say of the rows; counts are read in this thread."""
        counts = self.rules.counts
        for position in self.rules.order[:last]:
            cells = SeenChain.cells_of(counts, position)
            self.n_cells += len(cells.n)
            yield partial(self._levels, position, cells, most)

    def _levels(self, position: int, cells: CountedCells, most: int) -> Told:
        family = self.rules.counts.families[position][: most + 1]
        chain = cells.chain(self.rules.smoothing, n_levels=len(family))
        strengths = self.rules.chains[position].strengths
        codes, block, of_row = {v: self.codes[v] for v in family}, self.block, None
        cards = self.rules.counts.encoded.cards
        if math.prod(cards[v] for v in (*family, -1)) < self.n and not isinstance(
            block.out, np.ndarray
        ):
            # Rows of one cell and class are told the same: of few cells each is looked at once.
            keys = block.y
            for v in family:
                keys = keys * cards[v] + codes[v]
            places, of_row = present_keys(keys)[1:]
            codes = {v: column[places] for v, column in codes.items()}
            block = block.at(places)
        found = cells_of_rows(chain, family, codes)
        told = levels_of_rows(chain, strengths, found, block)
        return Told([level.against_own(block) for level in told], of_row)


@dataclass(frozen=True)
class Told:
    """What the levels of an attribute say: of rows, or of distinct ones and which each row is."""

    levels: Sequence[Array]
    of_row: Array | None
