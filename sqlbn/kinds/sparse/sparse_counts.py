"""Counts of the values of every feature, and what they tell: probabilities and information.

Only present cells are counted; how often a feature is absent follows by subtraction. Codes are
those of columns: values from 0 on, then absence, where some training row lacks the feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SourceError
from sqlbn.kinds.estimates import Array, Smoothing
from sqlbn.structure.information import Information, rounded


@dataclass(frozen=True)
class SparseCounts:
    """Of every feature, by place, a run of rows in `cells`: one a value, the last one absence.

    The columns of `cells` are the classes. `n_values` are the values of each feature.
    """

    class_counts: Array
    n_values: Array
    cells: Array

    @classmethod
    def read(cls, workspace: Workspace, class_counts: Sequence[float]) -> SparseCounts:
        """Those in the workspace's `feature_counts`."""
        n_values = workspace.session.arrays(
            render("sparse/numbers_of_values", counts=workspace.table("feature_counts"))
        )["n_values"]
        found = workspace.session.arrays(
            workspace.select("feature_counts", "place", "code", "class", "n")
        )
        return cls.of(
            np.asarray(class_counts, float),
            n_values.astype(np.int64),
            *(np.asarray(found[name]) for name in ("place", "code", "class", "n")),
        )

    @classmethod
    def of(
        cls, classes: Array, n_values: Array, place: Array, code: Array, y: Array, n: Array
    ) -> SparseCounts:
        """From the counts of present cells."""
        starts = _starts(n_values)
        cells = np.zeros((int(n_values.sum()) + len(n_values), len(classes)))
        cells[starts[place] + code, y] = n
        absent = starts + n_values
        if len(starts):
            cells[absent] = classes - np.add.reduceat(cells, starts, axis=0)
        return cls(classes, n_values, cells)

    def check(self) -> None:
        """An error where a feature is in more rows than there are."""
        if (self.cells < 0).any():
            raise SourceError(
                "these rows were not all in the model: some feature is in more rows than are left; "
                "nothing changed"
            )

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.n_values)

    @cached_property
    def starts(self) -> Array:
        """The row of each feature's first value."""
        return _starts(self.n_values)

    @property
    def absent(self) -> Array:
        """The row of each feature's absence."""
        found: Array = self.starts + self.n_values
        return found

    @cached_property
    def has_absent(self) -> Array:
        """Of each feature whether some row lacks it."""
        found: Array = self.cells[self.absent].sum(axis=1) > 0
        return found

    @property
    def n_codes(self) -> Array:
        """Codes of each feature, with that of absence where there is one."""
        found: Array = self.n_values + self.has_absent
        return found

    @property
    def present(self) -> Array:
        """Rows that have each feature."""
        found: Array = self.class_counts.sum() - self.cells[self.absent].sum(axis=1)
        return found

    def of_feature(self, place: int) -> Array:
        """The counts of one feature: a row a code, a column a class."""
        first = int(self.starts[place])
        found: Array = self.cells[first : first + int(self.n_codes[place])]
        return found

    @cached_property
    def mi(self) -> Array:
        """The information of each feature about the class, in nats."""
        if not self.d:
            return np.zeros(0)
        total = self.class_counts.sum()
        with_class = np.add.reduceat(_n_log_n(self.cells).sum(axis=1), self.starts)
        alone = np.add.reduceat(_n_log_n(self.cells.sum(axis=1)), self.starts)
        of_class = _n_log_n(self.class_counts).sum()
        found = (with_class - alone - of_class + _n_log_n(total)) / total
        return np.maximum(rounded(found), 0.0)

    @property
    def order(self) -> Array:
        """Features by information, highest first; ties by place."""
        return np.asarray(Information(self.mi, None).order, np.int64)

    def logs(self, smoothing: Smoothing) -> tuple[Array, Array]:
        """ln P(value | y) in the rows of `cells`, and of each feature that of an unseen value.

        The row of absence is 0 where it says nothing of the class.
        """
        values = self.n_values + (0 if smoothing.ignores else self.has_absent)
        m = values.astype(float) if smoothing.estimate == "laplace" else smoothing.m
        share = np.divide(m, values, out=np.zeros(self.d), where=values > 0)
        m = np.broadcast_to(np.asarray(m, float), share.shape)
        totals = np.broadcast_to(self.class_counts, (self.d, len(self.class_counts)))
        if smoothing.ignores:
            totals = totals - self.cells[self.absent]
        below = np.log(totals + m[:, None])
        feature = np.repeat(np.arange(self.d), self.n_values + 1)
        with np.errstate(divide="ignore"):
            logs = np.log(self.cells + share[feature][:, None]) - below[feature]
            unseen = np.log(share)[:, None] - below
        if smoothing.is_neutral:
            unseen = np.zeros_like(unseen)
            # Intervals that no row is in any more, after rows were taken out.
            logs[self.cells.sum(axis=1) == 0] = 0.0
        logs[self.absent] = np.where(self.has_absent[:, None], logs[self.absent], unseen)
        if smoothing.ignores:
            logs[self.absent] = 0.0
        return logs, unseen


def _starts(n_values: Array) -> Array:
    found: Array = np.cumsum(n_values + 1) - (n_values + 1)
    return found


def _n_log_n(n: Array) -> Array:
    found: Array = n * np.log(np.maximum(n, 1.0))
    return found
