"""What leave-one-out of one k' costs in each form: the constants `loo_costs` of the limits.

    python tests/benchmarks/loo_forms.py [--engine spark] [--k 1] [--shapes 4000x64x10 …]

Drawn tables (rows x attributes of 5 values x classes), one k', every prefix, RMSE. Seconds are CPU
seconds of one thread, on Spark those of `local[1]` and its process, the second time. The constants
printed at the end are those, none negative, whose errors are smallest in proportion.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.kinds.product import refinements

FORMS = ("wide", "long", "arrays")
SHAPES = (
    *("200x16x2", "200x16x10", "200x64x2", "200x64x10", "200x120x4", "4000x64x10", "4000x16x30"),
    *("50000x20x3", "50000x54x7", "200000x10x2", "200000x20x7"),
)
Array = npt.NDArray[Any]


def drawn(rows: int, attributes: int, classes: int) -> pa.Table:
    rng = np.random.default_rng(7)
    y = rng.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    columns: dict[str, Any] = {}
    for i in range(attributes):
        own = rng.random(rows) < 0.2
        columns[f"x{i}"] = np.where(own, (y * (i + 1)) % 5, rng.integers(0, 5, rows))
    return pa.table({**columns, "y": y})


def cpu_seconds() -> float:
    """Of this process and of the Java processes that it started."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    total = used.ru_utime + used.ru_stime
    children = Path("/proc/self/task").glob("*/children")
    waiting = [int(pid) for path in children for pid in path.read_text().split()]
    while waiting:
        pid = waiting.pop()
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / 100
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            waiting += map(int, path.read_text().split())
    return total


def measured(table: pa.Table, k: int, form: str, engine: dict[str, Any]) -> float:
    """CPU seconds of pass 3 in a form."""
    spent, nested = list[float](), refinements.nested_losses

    def timed(*arguments: Any, **more: Any) -> Any:
        start = cpu_seconds()
        found = nested(*arguments, **more)
        spent.append(cpu_seconds() - start)
        return found

    options = {"kmax": k, "select": "attributes", "race": "off", **engine}
    refinements.nested_losses = timed
    try:
        sqlbn.fit(table, "y", "skdb", limits=Limits(loo_form=form), **options).close()
    finally:
        refinements.nested_losses = nested
    return spent[0]


def features(form: str, rows: int, d: int, c: int, joins_at_once: int) -> list[float]:
    """What the constants of a form are multiplied by: see `kinds/forms.py`."""
    run = [rows * d, rows * d * c]
    if form == "wide":
        batches = -(-d // joins_at_once)
        return [batches, d * c, d * c * d / batches, *run]
    return [1, d, c, *run] if form == "long" else [1, d, *run]


def constants(lines: Array, seconds: Array) -> Array:
    """Least squares of relative errors; what would be negative is 0."""
    scaled, used = lines / seconds[:, None], np.ones(lines.shape[1], bool)
    while True:
        found = np.zeros(lines.shape[1])
        size = np.abs(scaled[:, used]).max(axis=0)
        solved = np.linalg.lstsq(scaled[:, used] / size, np.ones(len(seconds)), rcond=None)[0]
        found[used] = solved / size
        if (found >= 0).all():
            return found
        used &= found > 0


def told(form: str, found: Array) -> str:
    name = "array" if form == "arrays" else form
    plan, run = found[:-2], found[-2:]
    listed = [", ".join(f"{x:.1e}" for x in part) for part in (plan, run)]
    return f"{name}_plan=({listed[0]}),\n{name}_row=({listed[1]}),"


def on_spark() -> Callable[[], dict[str, Any]]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "3g").getOrCreate()
    return lambda: {"engine": "spark", "session": session}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--k", type=int, default=1)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--forms", nargs="+", default=FORMS)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    is_spark = asked.engine == "spark"
    engine = on_spark() if is_spark else lambda: {"threads": 1}
    joins = Limits().spark_joins_at_once if is_spark else Limits().joins_at_once
    lines: dict[str, list[list[float]]] = {form: [] for form in asked.forms}
    seconds: dict[str, list[float]] = {form: [] for form in asked.forms}
    for shape in asked.shapes:
        rows, d, c = map(int, shape.split("x"))
        table, listed = drawn(rows, d, c), list[str]()
        for form in asked.forms:
            spent = min(measured(table, asked.k, form, engine()) for _ in range(1 + is_spark))
            lines[form].append(features(form, rows, d, c, joins))
            seconds[form].append(spent)
            listed.append(f"{form} {spent:7.3f}")
        print(f"{shape:14} {'  '.join(listed)}  {time.strftime('%H:%M:%S')}", flush=True)
    for form in asked.forms:
        print(told(form, constants(np.array(lines[form]), np.array(seconds[form]))))


if __name__ == "__main__":
    main()
