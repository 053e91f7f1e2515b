"""What a column tells about the class on its own: MODL's cost of its parts, and the level."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.encoding.codebook import Codebook, Kind
from sqlbn.encoding.discretise.log_factorials import log_binomial, log_factorial, log_partitions
from sqlbn.encoding.discretise.ordered import run_cost, whole_where_possible

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PartCounts:
    """Rows of the parts of a column by class, only where there are any, in the order of codes."""

    codes: Array
    classes: Array
    n: Array
    n_classes: int

    @staticmethod
    def of(counts: Array) -> PartCounts:
        """From an array (parts, classes)."""
        codes, classes = np.nonzero(counts)
        return PartCounts(codes, classes, counts[codes, classes], counts.shape[1])

    def by_class(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.classes, self.n, minlength=self.n_classes)

    def by_part(self, parts: int) -> Array:
        """Rows of each part."""
        return np.bincount(self.codes, self.n, minlength=parts)

    def cost(self, parts: int) -> float:
        """What the class distributions of all parts cost under the MODL criterion."""
        rows = whole_where_possible(self.by_part(parts)[None, :])[0]
        least = np.array([self.n_classes - 1])
        inside = whole_where_possible(self.n[None, :])[0]
        priors = log_factorial(rows + least[0]) - log_factorial(least)
        return float(priors.sum() - log_factorial(inside).sum())


@dataclass(frozen=True)
class Variable:
    """A column before the class: rows, parts, and what these cost.

    `elementary` is the number of cells that an optimisation started from, None where there was
    none. `used` is False where the column is left out because it tells nothing.
    """

    name: str
    kind: Kind
    present: float
    missing: float
    parts: int
    cost: float
    null_cost: float
    elementary: int | None = None
    used: bool = True

    @property
    def level(self) -> float:
        """1 - cost / null cost, from 0 (nothing) towards 1; 0 also where the parts cost more."""
        if not self.cost < self.null_cost:
            return 0.0
        return round(1.0 - self.cost / self.null_cost, 12)

    @property
    def row(self) -> tuple[Any, ...]:
        """As a row of the table `variables`."""
        return (
            self.name,
            self.kind,
            self.present,
            self.missing,
            self.parts,
            self.level,
            self.cost,
            self.null_cost,
            self.elementary,
            self.used,
        )

    def or_left_out(self) -> Variable:
        """One part, not used, where the parts tell nothing."""
        if self.level > 0:
            return self
        return replace(self, parts=1, cost=self.null_cost, used=False)


def variable_columns(n_type: str) -> str:
    """The columns of the table `variables`, where rows are counted in this type."""
    return (
        f"attribute VARCHAR, kind VARCHAR, n_rows_present {n_type}, n_missing {n_type}, "
        "parts UINTEGER, level DOUBLE, cost DOUBLE, null_cost DOUBLE, elementary UINTEGER, "
        "used BOOLEAN"
    )


def variable_of(
    book: Codebook,
    counts: PartCounts,
    n_categories: int,
    elementary: int | None = None,
    used: bool = True,
) -> Variable:
    """What the parts of a codebook tell; `n_categories` counts values, missing included."""
    parts = max(book.n_values, 1)
    total = counts.by_class()
    rows = float(total.sum())
    always = math.log(rows if book.kind == "numeric" else max(n_categories, 1))
    prior = (
        float(log_binomial(rows + parts - 1, parts - 1))
        if book.kind == "numeric"
        else float(log_partitions(n_categories, parts)[-1])
    )
    null = always + float(run_cost(whole_where_possible(total[None, :]).T)[0])
    # One part is the null model itself; the sum over parts may differ in its last digit.
    cost = null if parts == 1 else always + prior + counts.cost(parts)
    missing = 0.0 if book.missing is None else float(counts.by_part(parts)[book.missing])
    return Variable(
        book.name, book.kind, rows - missing, missing, parts, cost, null, elementary, used
    )
