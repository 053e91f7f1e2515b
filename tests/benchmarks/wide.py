"""Seconds for very many classes and very many columns: fit into a store, and predict.

python tests/benchmarks/wide.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlbn

CASES = (
    ("nb", 1000, 20),
    ("skdb", 1000, 20),
    ("kdb", 1000, 20),
    ("nb", 2, 2000),
)


def made(rows: int, classes: int, columns: int) -> pa.Table:
    """Half of the values tell something of the class; texts and numbers take turns."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    found = {}
    for i in range(columns):
        value = np.where(rng.random(rows) < 0.5, y * (i + 3) % 8, rng.integers(0, 8, rows))
        found[f"c{i}"] = [f"v{v}" for v in value] if i % 2 else value + rng.random(rows)
    return pa.table({**found, "class": [f"k{v}" for v in y]})


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for learner, classes, columns in CASES:
            data, store = Path(folder) / "rows.parquet", Path(folder) / "m.duckdb"
            pq.write_table(made(rows, classes, columns), data)
            figures = []
            started = time.perf_counter(), time.process_time()
            with sqlbn.fit(data, "class", learner, store=store, name="m", replace=True):
                figures.append(taken(started))
            with sqlbn.load(store, "m") as model:
                started = time.perf_counter(), time.process_time()
                model.predict(data, out=Path(folder) / "scored.parquet")
                figures.append(taken(started))
            fit, predict = figures
            print(
                f"{learner}, {rows:,} rows, {classes:,} classes, {columns:,} columns: "
                f"fit {fit}, predict {predict}",
                flush=True,
            )


def taken(started: tuple[float, float]) -> str:
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    return f"{wall:.1f} s (CPU {cpu:.1f} s)"


if __name__ == "__main__":
    main()
