"""The physical forms of a computation over rows, what each costs, and which is the quickest.

*wide*: a join a lookup table, planned in a time that grows with the joins and with every column
that they carry. *long*: rows times keys and one join, whose plan does not grow, but every key is a
row of its own. *arrays*: codes of rows and counts in memory, class by class, nothing planned. The
constants are limits, measured by `tests/benchmarks/forms.py` and `loo_forms.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlbn.engines.limits import Limits, LooCosts

Form = Literal["wide", "long", "arrays"]
# What people are told of them.
FORM_NAMES: Mapping[Form, str] = {
    "wide": "a join for every attribute",
    "long": "one join of rows times attributes",
    "arrays": "in arrays",
}


@dataclass(frozen=True)
class FormCost:
    """Seconds of one core to plan a query, and to run it for one row.

    One that is `serial` is run by one thread whatever there are.
    """

    plan: float
    row: float
    serial: bool = False

    def seconds(self, rows: float, threads: int = 1) -> float:
        """Those of so many rows, which threads share."""
        return self.plan + rows * self.row / (1 if self.serial else threads)


def quickest(costs: Mapping[Form, FormCost], rows: float, threads: int = 1) -> Form:
    """The form that takes the least time for so many rows; the first named of equal ones."""
    return min(costs, key=lambda form: costs[form].seconds(rows, threads))


# -- scoring queries -----------------------------------------------------------------------------


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


# -- leave-one-out of one k', every prefix of the attributes in it ---------------------------------


def wide_loo(attributes: int, classes: int, joins_at_once: int, costs: LooCosts) -> FormCost:
    """By a join an attribute, so many of them in one query."""
    batches = -(-attributes // joins_at_once) or 1
    joins = attributes / batches
    start, value, value_join = costs.wide_plan
    cell, estimate = costs.wide_row
    plan = start + joins * classes * (value + value_join * joins)
    return FormCost(batches * plan, attributes * (cell + estimate * classes))


def long_loo(attributes: int, classes: int, costs: LooCosts) -> FormCost:
    """By one join with a table of all factors."""
    start, key, value = costs.long_plan
    cell, estimate = costs.long_row
    plan = start + key * attributes + value * classes
    return FormCost(plan, attributes * (cell + estimate * classes))


def array_loo(attributes: int, classes: int, costs: LooCosts) -> FormCost:
    """In arrays."""
    start, level = costs.array_plan
    cell, estimate = costs.array_row
    run = attributes * (cell + estimate * classes)
    return FormCost(start + level * attributes, run, serial=True)
