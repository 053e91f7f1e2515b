"""The physical forms of a query over rows, what each costs, and which is the quickest.

*wide*: a join a lookup table, planned in a time that grows with the joins and with every column
that they carry. *long*: rows times keys and one join, whose plan does not grow, but every key is a
row of its own. The constants are limits, measured by `tests/benchmarks/forms.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlbn.engines.limits import Limits

Form = Literal["wide", "long"]


@dataclass(frozen=True)
class FormCost:
    """Seconds of one core to plan a query, and to run it for one row."""

    plan: float
    row: float

    def seconds(self, rows: float) -> float:
        """Those of so many rows."""
        return self.plan + rows * self.row


def quickest(costs: Mapping[Form, FormCost], rows: float) -> Form:
    """The form that takes the least time for so many rows; the first named of equal ones."""
    return min(costs, key=lambda form: costs[form].seconds(rows))


def wide_scoring(joins: int, classes: int, columns: int, limits: Limits) -> FormCost:
    """What a row's scores cost by a join a table; `columns` are those of the rows."""
    join, lookup, carried = limits.wide_plan_costs
    row, value = limits.wide_row_costs
    return FormCost(
        joins * (join + lookup * classes + carried * columns), joins * (row + value * classes)
    )


def long_scoring(keys: int, others: int, classes: int, columns: int, limits: Limits) -> FormCost:
    """What they cost by so many keys in one table, and joins with some `others`."""
    start, key, looked_up = limits.long_plan_costs
    row, value, kept = limits.long_row_costs
    more = wide_scoring(others, classes, columns, limits)
    return FormCost(
        start + key * keys + looked_up * classes + more.plan,
        keys * (row + value * classes) + kept * columns + more.row,
    )
