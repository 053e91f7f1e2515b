"""Pairs of features and larger families, counted among the most informative ones.

All pairs of 100,000 features are too many to count; how many are, limits say, and what is left out
is told: such features have no parents, and are no one's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import render
from sqlbn.kinds.estimates import Array
from sqlbn.kinds.sparse.sparse_counts import SparseCounts
from sqlbn.sparse.sparse_cells import LabelledCells
from sqlbn.structure.information import Information, rounded


@dataclass(frozen=True)
class PairedFeatures:
    """The features whose pairs are counted: `places` in their order, `relation` with their coded
    cells (n, y, f, x, g). `pairs[a, b, y]` counts how often code a and code b meet; every feature
    has a run of codes from `starts`, absence last."""

    session: Session
    relation: str
    places: Array
    counts: SparseCounts
    starts: Array
    pairs: Array

    def of_pair(self, one: int, other: int) -> Array:
        """The counts of two features, by their numbers among these."""
        a, b = (int(self.starts[f]) for f in (one, other))
        n, m = (int(self.counts.n_codes[self.places[f]]) for f in (one, other))
        found: Array = self.pairs[a : a + n, b : b + m]
        return found

    @property
    def information(self) -> Information:
        """What each says of the class, and each two of each other, given it."""
        total, of_class = self.counts.class_counts.sum(), self.counts.class_counts
        singles = _singles(self.counts, self.places)
        with_class = np.add.reduceat(_n_log_n(singles).sum(axis=1), self.starts)
        joint = np.empty((len(self.places), len(self.places)))
        ends = np.append(self.starts[1:], len(singles))
        for f, (first, end) in enumerate(zip(self.starts, ends, strict=True)):
            summed = _n_log_n(self.pairs[first:end]).sum(axis=(0, 2))
            joint[f] = np.add.reduceat(summed, self.starts)
        both = with_class[:, None] + with_class[None, :]
        cmi = np.maximum(rounded((joint + _n_log_n(of_class).sum() - both) / total), 0.0)
        return Information(self.counts.mi[self.places], cmi)

    def of_sets(self, sets: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Array]:
        """The counts of sets of features: an axis for each, in order, then the classes."""
        wanted: set[tuple[int, ...]] = set()
        for members in sets:
            wanted |= {members[at:] for at in range(len(members))}
        found: dict[tuple[int, ...], Array] = {}
        for size in sorted({len(members) for members in wanted}):
            of_size = sorted(members for members in wanted if len(members) == size)
            if size == 1:
                found |= {m: self.counts.of_feature(int(self.places[m[0]])) for m in of_size}
            elif size == 2:
                found |= {m: self.of_pair(*m) for m in of_size}
            else:
                found |= self._counted(of_size, found)
        return found

    def _counted(
        self, sets: list[tuple[int, ...]], known: dict[tuple[int, ...], Array]
    ) -> dict[tuple[int, ...], Array]:
        """Sets of three and more: rows that have the first are counted, others subtracted."""
        size = len(sets[0])
        arrays = [
            np.zeros((*(int(self.counts.n_codes[self.places[f]]) for f in m), self._n_classes))
            for m in sets
        ]
        table = self.session.fresh_name("sets")
        columns = {"number": np.arange(len(sets), dtype=np.uint32)}
        columns |= {f"v{i}": np.array([m[i] for m in sets], np.uint32) for i in range(size)}
        self.session.create_table(table, columns)
        try:
            sql = render(
                "sparse/set_counts", sets=table, cells=self.relation, others=range(1, size)
            )
            for row in self.session.rows(sql):
                number, *codes, y, n = row
                cell = tuple(
                    int(self.counts.n_values[self.places[f]]) if code is None else code
                    for f, code in zip(sets[number], codes, strict=True)
                )
                arrays[number][(*cell, y)] = n
        finally:
            self.session.drop_table(table)
        for members, cells in zip(sets, arrays, strict=True):
            place = int(self.places[members[0]])
            if self.counts.has_absent[place]:
                cells[-1] = known[members[1:]] - cells[:-1].sum(axis=0)
        return dict(zip(sets, arrays, strict=True))

    @property
    def _n_classes(self) -> int:
        return len(self.counts.class_counts)


@contextmanager
def paired_features(
    cells: LabelledCells, counts: SparseCounts, progress: Progress
) -> Iterator[PairedFeatures]:
    """The most informative features with the counts of their pairs, while their cells are there."""
    session, n_classes = cells.workspace.session, len(counts.class_counts)
    places = _affordable(cells, counts, progress)
    with progress.stage("pairs", f"counting pairs of {len(places):,} features", cells.rows.rows):
        starts = np.cumsum(counts.n_values[places] + 1) - (counts.n_values[places] + 1)
        chosen = session.fresh_name("chosen")
        session.create_table(chosen, {"place": places.astype(np.uint32), "start": starts})
        match = cells.rules.match_sql("x")
        sql = render(
            "sparse/coded_cells",
            cells=cells.relation,
            chosen=chosen,
            match=match,
            values=cells.workspace.table("feature_values"),
        )
        kept = session.row_engine.persist(sql, "coded", session.memory_bytes)
        try:
            width = int((counts.n_values[places] + 1).sum())
            pairs = np.zeros((width, width, n_classes))
            for g, h, y, n in _met(session, kept.relation, cells.rows.rows):
                pairs[g, h, y] += n
                pairs[h, g, y] += n
            _fill_absent(pairs, _singles(counts, places), starts)
            yield PairedFeatures(session, kept.relation, places, counts, starts, pairs)
        finally:
            session.row_engine.unpersist(kept)
            session.drop_table(chosen)


def _met(session: Session, relation: str, rows: int) -> Iterator[tuple[Array, ...]]:
    """Pairs of codes, class and count, of a part of the rows at a time: joins stay small."""
    n_cells = int(session.row(render("sparse/number_of_cells", cells=relation))[0])
    parts = max(1, -(-n_cells // session.limits.sparse_part_cells))
    for part in range(parts):
        bounds = rows * part // parts, rows * (part + 1) // parts
        found = session.arrays(
            render("sparse/pair_counts", cells=relation, first=bounds[0], last=bounds[1])
        )
        yield tuple(np.asarray(found[name]) for name in ("g", "h", "y", "n"))


def _singles(counts: SparseCounts, places: Array) -> Array:
    """The counts of the features' codes, one run after the other."""
    rows = [np.arange(counts.starts[p], counts.starts[p] + counts.n_values[p] + 1) for p in places]
    found: Array = counts.cells[np.concatenate(rows)]
    return found


def _fill_absent(pairs: Array, singles: Array, starts: Array) -> None:
    """What is absent: all rows of the other code but those that have a value."""
    ends = np.append(starts[1:], len(singles))
    for first, end in zip(starts, ends, strict=True):
        pairs[end - 1] = singles - pairs[first : end - 1].sum(axis=0)
    for first, end in zip(starts, ends, strict=True):
        pairs[:, end - 1] = singles - pairs[:, first : end - 1].sum(axis=1)


def _n_log_n(n: Array) -> Array:
    found: Array = n * np.log(np.maximum(n, 1.0))
    return found


def _affordable(cells: LabelledCells, counts: SparseCounts, progress: Progress) -> Array:
    """The places of the most informative features that limits have room for, in ascending order."""
    limits, session = cells.workspace.session.limits, cells.workspace.session
    width = math.isqrt(limits.sparse_pair_cells // len(counts.class_counts))
    order = counts.order
    fits = np.cumsum(counts.n_values[order] + 1) <= width
    n, why = int(fits.sum()), f"their table would have more than {limits.sparse_pair_cells:,} cells"
    while n > 1:
        chosen = session.fresh_name("chosen")
        session.create_table(chosen, {"place": order[:n].astype(np.uint32)})
        load = session.row(render("sparse/pair_load", cells=cells.relation, chosen=chosen))[0] or 0
        session.drop_table(chosen)
        if load <= limits.sparse_pair_load:
            break
        why = f"{load:,} pairs of cells of {n:,} features are more than can be counted"
        n = max(1, n // 2)
    if n < counts.d:
        progress.note(
            f"pairs are counted of the {n:,} most informative of {counts.d:,} features: {why}; "
            "the others depend on the class alone"
        )
    return np.sort(order[:n])
