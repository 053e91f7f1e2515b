"""What the wide and the long form of a scoring query cost: the constants of `kinds/forms.py`.

    python tests/benchmarks/forms.py [--rows 1000 50000]

Models whose every attribute has a table of its own are applied in both forms; CPU seconds of one
thread, those of planning from few rows, those of running from what more rows add. Printed beside
what the limits expect, and by how much the choice was off.
"""

from __future__ import annotations

import argparse
import math
import resource
from typing import Any

import numpy as np
import pyarrow as pa

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.kinds.forms import long_scoring, quickest, wide_scoring

FREE = (0.0, 0.0, 0.0)
FORMS: dict[str, dict[str, Any]] = {
    "wide": {"form_worth_seconds": math.inf},
    "long": {"form_worth_seconds": 0.0, "long_plan_costs": FREE, "long_row_costs": FREE},
}
# Every attribute by itself: a table of it and the class, none fused.
TABLES: dict[str, Any] = {"fused_keys": 1}


def drawn(rows: int, attributes: int, classes: int) -> pa.Table:
    """Codes of six values, some of which tell of the class."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, classes, rows)
    columns = {
        f"a{i}": ((y * i + rng.integers(0, 9, rows)) % 6).astype(np.int64)
        for i in range(attributes)
    }
    return pa.table({**columns, "y": [f"c{code}" for code in y]})


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def seconds(form: str, attributes: int, classes: int, rows: list[int]) -> list[float]:
    """CPU seconds of a prediction of so many rows, each the least of two."""
    limits, found = Limits(**TABLES, **FORMS[form]), []
    columns = [f"a{i}" for i in range(attributes)]
    fitted = drawn(2000, attributes, classes)
    with sqlbn.fit(
        fitted, "y", "nb", columns=columns, categorical=columns, limits=limits, threads=1
    ) as model:
        for n in rows:
            new, taken = drawn(n, attributes, classes), []
            for _ in range(2):
                started = cpu()
                model.predict(new)
                taken.append(cpu() - started)
            found.append(min(taken))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs=2, default=[1000, 50_000])
    parser.add_argument("--attributes", type=int, nargs="+", default=[20, 60, 150])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    arguments = parser.parse_args()
    few, many = arguments.rows
    for attributes in arguments.attributes:
        for classes in arguments.classes:
            took = {form: seconds(form, attributes, classes, [few, many]) for form in FORMS}
            limits = Limits()
            costs = {
                "wide": wide_scoring(attributes, classes, attributes, limits),
                "long": long_scoring(attributes + 1, 0, classes, attributes, limits),
            }
            for form, (first, second) in took.items():
                row = (second - first) / (many - few)
                plan, expected = first - few * row, costs[form]
                print(
                    f"{attributes:4} attributes {classes:3} classes  {form}  "
                    f"plan {plan:6.3f} s ({expected.plan:6.3f})  "
                    f"row {row * 1e6:7.2f} us ({expected.row * 1e6:7.2f})",
                    flush=True,
                )
            for place, n in enumerate((few, many)):
                chosen = quickest(costs, n)
                best = min(FORMS, key=lambda form: took[form][place])
                lost = took[chosen][place] / took[best][place]
                print(f"{'':4} {n:,} rows: {chosen} chosen, {lost:.2f} of the best")


if __name__ == "__main__":
    main()
