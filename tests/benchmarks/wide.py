"""Seconds for very many classes and very many columns: fit into a store, and predict.

python tests/benchmarks/wide.py [--rows ROWS] [--data FOLDER] [--only WORD]

Made tables first, then the first rows of sets with many columns in ../shared/data beside the
repository (--data: elsewhere). Of these also the macro `predict` in plain SQL: of one row, which is
its plan, and of all that are predicted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import duckdb
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


class Set(NamedTuple):
    """A fit of the first rows (None: all) and attributes of a set."""

    name: str
    target: str
    learner: str
    k: int | None = None
    rows: int | None = None
    columns: int | None = None

    def __str__(self) -> str:
        k = f" --k {self.k}" if self.k is not None else ""
        return f"{self.learner}{k}, {self.name}"


SETS = (
    Set("mnist", "label", "nb", rows=10_000),
    Set("mnist", "label", "nb"),
    Set("mnist", "label", "kdb", 1, rows=10_000),
    Set("mnist", "label", "kdb", 1),
    Set("mnist", "label", "kdb", 1, rows=3000, columns=650),
    Set("arrhythmia", "class", "kdb", 1),
    Set("arrhythmia", "class", "skdb"),
    Set("audiology", "class", "kdb", 1),
    Set("audiology", "class", "skdb"),
)
PREDICTED = 1000


def made_tables(folder: Path, rows: int) -> None:
    """Fit and predict tables of many classes, and of many columns."""
    for learner, classes, columns in CASES:
        data, store = folder / "rows.parquet", folder / "m.duckdb"
        pq.write_table(made(rows, classes, columns), data)
        figures = []
        started = time.perf_counter(), time.process_time()
        with sqlbn.fit(data, "class", learner, store=store, name="m", replace=True):
            figures.append(taken(started))
        with sqlbn.load(store, "m") as model:
            started = time.perf_counter(), time.process_time()
            model.predict(data, out=folder / "scored.parquet")
            figures.append(taken(started))
        fit, predict = figures
        print(
            f"{learner}, {rows:,} rows, {classes:,} classes, {columns:,} columns: "
            f"fit {fit}, predict {predict}",
            flush=True,
        )


def a_set(folder: Path, data: Path, case: Set) -> None:
    """Fit the first rows of a set, and predict the last ones, in SQL as well."""
    table = pq.read_table(data / f"{case.name}.parquet")
    names = [name for name in table.column_names if name != case.target]
    table = table.select([*names[: case.columns], case.target])
    store = folder / f"{case.name}-{case.learner}-{case.rows}-{case.columns}.duckdb"
    train, new = folder / "train.parquet", folder / "new.parquet"
    pq.write_table(table.slice(0, case.rows), train)
    pq.write_table(table.slice(max(0, table.num_rows - PREDICTED)), new)
    options = {"k": case.k} if case.k is not None else {}
    started = time.perf_counter(), time.process_time()
    with sqlbn.fit(train, case.target, case.learner, store=store, name="m", **options) as model:
        told = f"{case}, {model.meta['rows']:,} rows x {len(names[: case.columns])}"
        print(f"{told}: fit {taken(started)}", end="", flush=True)
    with sqlbn.load(store, "m") as model:
        started = time.perf_counter(), time.process_time()
        wanted = model.predict(new)
        print(f", predict {wanted.num_rows:,} rows {taken(started)}", end="", flush=True)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{store}' AS s (READ_ONLY)")
        connection.execute(
            f"CREATE TABLE new AS FROM '{new}'; CREATE TABLE one AS FROM new LIMIT 1"
        )
        for rows in ("one", "new"):
            started = time.perf_counter(), time.process_time()
            try:
                connection.execute(f"CREATE TABLE p_{rows} AS FROM s.m.predict('{rows}')")
            except duckdb.Error as error:
                print(f"\n  no macro: {str(error).splitlines()[0]}")
                return
            print(f", macro of {rows} {taken(started)}", end="", flush=True)
        got = connection.sql("FROM p_new").to_arrow_table()
    columns = [name for name in got.column_names if name.startswith("p_") and name not in names]
    apart = max(float(np.abs(got[c].to_numpy() - wanted[c].to_numpy()).max()) for c in columns)
    print(f", apart {apart:.0e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000, help="of made tables")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--only", help="'made', or a word in the name of a case")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        if asked.only in (None, "made"):
            made_tables(Path(folder), asked.rows)
        for case in SETS if asked.data.is_dir() else ():
            if asked.only is None or asked.only in str(case):
                a_set(Path(folder), asked.data, case)


def taken(started: tuple[float, float]) -> str:
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    return f"{wall:.1f} s (CPU {cpu:.1f} s)"


if __name__ == "__main__":
    main()
