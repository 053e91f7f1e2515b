"""How much two variables tell of each other, as a mean over rows, at growing samples.

MI with the class is the mean of ln p(x, y) / (p(x) p(y)), CMI that of ln p(x, z | y) / (p(x | y)
p(z | y)). Each comes from the counts of one family, and so do its variance and its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import dense_tables, n_log_n, plan
from sqlbn.counts.cover import Family
from sqlbn.encode.encoded import Encoded
from sqlbn.engines import DuckDBEngine
from sqlbn.search.cells import Cells, Told
from sqlbn.search.contest import Estimates
from sqlbn.search.samples import Samples
from sqlbn.structure.information import joint_mi, pair_cmi, single_families

Array = npt.NDArray[Any]

# Rows by which it is seen how the values of two candidates go together.
_PAIRED_ROWS = 2000
# Cells of tables of values that are kept for that; 2^22 take 32 MB.
_KEPT_CELLS = 1 << 22


class _Level:
    """What was counted at one sample."""

    def __init__(self, rows: Encoded) -> None:
        self.rows = rows
        self.sums: dict[Family, float] = {}
        self.told: dict[Family, Told] = {}
        self.tables: dict[Family, Array] = {}
        self.standard: dict[Family, Array] = {}
        self.singles: dict[Family, tuple[Cells, tuple[Array, ...] | None]] = {}
        self._room = _KEPT_CELLS

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
        engine: DuckDBEngine,
        encoded: Encoded,
        samples: Samples,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine, self._samples, self._advance = engine, samples, advance
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
        missing = [f for f in dict.fromkeys(families) if f not in at.told]
        if not missing:
            return
        self.rows_read += at.rows.rows
        if not at.sums:
            # Margins come before what needs them.
            self._count(at, single_families(self._d))
            for attribute in range(self._d):
                self._tell_single(at, (attribute, self._class))
        self._count(at, [f for f in missing if f not in at.told])
        for family in missing:
            found = (level, at.told[family].observed)
            self._latest[family] = max(found, self._latest.get(family, found))
        self._advance()

    def _count(self, at: _Level, families: Sequence[Family]) -> None:
        blocks = plan(families, at.rows) if families else []
        for family, counts in dense_tables(self._engine, at.rows, blocks):
            at.sums[family] = n_log_n(counts)
            if len(family) == 2:
                at.singles[family] = Cells.of_array(counts[:, :, None])
            elif len(family) == 3:
                cells, places = Cells.of_array(counts)
                self._tell(at, family, cells)
                at.keep(family, counts.shape, places, cells.values)
        for block in blocks:
            if not block.dense:
                self._count_cells(at, block.families[0])

    def _count_cells(self, at: _Level, family: Family) -> None:
        """A family whose table is too large for an array; a sample fills few of its cells."""
        rows = at.rows
        names = [rows.column(v) for v in family]
        listed = ", ".join(names)
        found = self._engine.lake.arrays(
            f"SELECT {listed}, {rows.total_sql} AS n FROM {rows.relation} "
            f"GROUP BY {listed} ORDER BY {listed}"
        )
        at.sums[family] = n_log_n(found["n"])
        codes = [found[name].astype(np.int64) for name in names]
        if len(family) == 2:
            nothing = np.zeros_like(codes[0])
            at.singles[family] = Cells.of_codes(found["n"], codes[0], codes[1], nothing), None
        elif len(family) == 3:
            self._tell(at, family, Cells.of_codes(found["n"], codes[0], codes[1], codes[2]))

    def _tell(self, at: _Level, family: Family, cells: Cells) -> None:
        (i, j, y), sums = family, at.sums
        total = float(at.rows.rows)
        cmi = pair_cmi(sums[family], sums[i, y], sums[j, y], sums[(y,)], total)
        at.told[family] = cells.told(cmi)

    def _tell_single(self, at: _Level, family: Family) -> None:
        (i, y), sums = family, at.sums
        cells, places = at.singles.pop(family)
        mi = joint_mi(sums[family], sums[(i,)], sums[(y,)], float(at.rows.rows))
        at.told[family] = cells.told(mi)
        if places is not None:
            shape = (at.rows.cards[i], at.rows.cards[y], 1)
            at.keep(family, shape, places, cells.values)

    def latest(self, family: Family) -> float:
        """The value by the largest sample that a family was counted in."""
        return self._latest[family][1]

    # -- what was counted ----------------------------------------------------------------------

    def estimates(self, level: int, families: Sequence[Family]) -> Estimates:
        """What a level says of candidates; nothing of those that were not counted there."""
        at, nothing = self._at(level), Told(0.0, 0.0, 0.0, 0.0)
        told = [at.told.get(f, nothing) for f in families]
        observed = np.array([t.observed for t in told])
        return Estimates(
            means=observed,
            deviations=np.array([t.deviation for t in told]),
            observed=observed,
            slack=np.array([t.bias for t in told]),
            ranges=np.array([t.spread for t in told]),
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
        if len(at.standard) < _KEPT_CELLS // _PAIRED_ROWS:
            at.standard[family] = found
        return found

    @cached_property
    def _paired(self) -> list[Array]:
        """The codes of some random rows, variable by variable."""
        some = self._samples.first(_PAIRED_ROWS)
        names = [some.column(v) for v in range(len(some.cards))]
        found = self._engine.lake.arrays(f"SELECT {', '.join(names)} FROM {some.relation}")
        return [found[name] for name in names]
