"""Seconds of default fits of small data, and where they go.

python tests/benchmarks/small.py [--sets N | --sets NAME,NAME] [--threads T] [--data FOLDER]

The N (40) sets of the fewest rows in ../shared/data beside the repository (--data: elsewhere), and
digits of 64 pixels that are drawn here, 5,000 rows of 10 classes. One process fits one after the
other into a store each, after a warm-up. `CPU` is that of all threads: what is left to compare
where other programs have the cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlbn
from sqlbn.engines.progress import Progress

# The target of a set is its last column, or the first: which is none of the attributes is told by
# these names.
TARGETS = (
    "Class", "class", "target", "num", "type", "y", "religion", "decision", "still_alive",
    "Survival_status", "surgical_lesion", "Class_attribute", "Severity", "Selector", "survived",
    "contact-lenses", "Contraceptive_method_used", "X-class_flares_production_by_this_region",
    "label", "phoneme", "CARAVAN", "eyeDetection", "CLASS", "Cover_Type", "delay15",
    "default_payment_next_month",
)  # fmt: skip
# What the passes of a fit are told as; the rest is looking at columns and reading rows.
PASSES = {
    "encodings": "trials",
    "codebooks": "cut",
    "encode": "encode",
    "structure": "count",
    "parameters": "count",
    "weights": "weights",
    "cut back": "count",
    "mean": "weights",
    "factors": "tables",
    "store": "save",
}
SHOWN = ("look", *dict.fromkeys(PASSES.values()))
GOAL, LIMIT, DIGITS_GOAL = 2.0, 5.0, 3.0


def digits(rows: int = 5000, classes: int = 10, side: int = 8) -> pa.Table:
    """Blurred strokes on a field of pixels from 0 to 16: of each class a few ways to write it."""
    rng = np.random.default_rng(5)
    at = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
    ways = rng.uniform(1, side - 2, (classes, 3, 6, 2))
    y, way = rng.integers(classes, size=rows), rng.integers(3, size=rows)
    strokes = ways[y, way] + rng.normal(0, 0.25, (rows, 6, 2)) + rng.normal(0, 0.2, (rows, 1, 2))
    apart = np.square(at[None, :, None, :] - strokes[:, None]).sum(-1).min(-1)
    ink = 16 * np.exp(-apart / 1.2) * rng.uniform(0.8, 1.2, (rows, side * side))
    pixels = np.clip(np.round(ink + rng.normal(0, 0.6, ink.shape)), 0, 16).astype(np.int32)
    columns = {f"p{i}": pixels[:, i] for i in range(side * side)}
    return pa.table({**columns, "class": [f"d{label}" for label in y.tolist()]})


class Set(NamedTuple):
    """Data with their target."""

    name: str
    path: Path
    target: str
    rows: int
    columns: int


def target_of(path: Path) -> str | None:
    """The class among the columns of a file; None where there is none."""
    names = pq.read_schema(path).names
    return next((name for name in (names[-1], names[0]) if name in TARGETS), None)


def smallest(folder: Path) -> list[Set]:
    """The sets of a folder that have a class, those of few rows first."""
    found = []
    for path in folder.glob("*.parquet"):
        target, meta = target_of(path), pq.read_metadata(path)
        if target is not None:
            found.append(Set(path.stem, path, target, meta.num_rows, meta.num_columns - 1))
    return sorted(found, key=lambda each: (each.rows, each.name))


class Fit(NamedTuple):
    """Seconds on the wall, of all threads, and by part of the fit."""

    wall: float
    cpu: float
    parts: dict[str, float]


def fitted(case: Set, folder: Path, threads: int) -> Fit:
    """A default fit into a store of its own."""
    progress = Progress()
    started = time.perf_counter(), time.process_time()
    sqlbn.fit(
        case.path,
        case.target,
        store=folder / f"{case.name}.duckdb",
        name="m",
        threads=threads,
        progress=progress,
    ).close()
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    parts = dict.fromkeys(SHOWN, 0.0)
    for name, seconds in progress.seconds.items():
        parts[PASSES.get(name, "look")] += seconds
    parts["look"] += wall - sum(parts.values())
    return Fit(wall, cpu, parts)


def chosen(asked: str, sets: list[Set]) -> list[Set]:
    """So many of the first, or those of some names."""
    if asked.isdigit():
        return sets[: int(asked)]
    return [each for each in sets if each.name in asked.split(",")]


def measure(cases: list[Set], folder: Path, threads: int) -> list[Fit]:
    """A line each."""
    print(f"{'set':24}{'rows':>7}{'cols':>5}{'wall':>7}{'CPU':>7}", end="")
    print("".join(f"{name:>8}" for name in SHOWN))
    found = []
    for case in cases:
        fit = fitted(case, folder, threads)
        found.append(fit)
        print(f"{case.name:24}{case.rows:7,}{case.columns:5}{fit.wall:7.2f}{fit.cpu:7.2f}", end="")
        print("".join(f"{fit.parts[name]:8.2f}" for name in SHOWN), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="40", help="how many, or their names")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawn = Set("digits", folder / "digits.parquet", "class", 5000, 64)
        pq.write_table(digits(), drawn.path)
        sets = [drawn, *smallest(asked.data)]
        sqlbn.fit(digits(300), "class", threads=asked.threads).close()  # imports, first statements
        cases = chosen(asked.sets, sets[1:] if asked.sets.isdigit() else sets)
        found = measure(cases, folder, asked.threads)
        slow = sum(fit.wall > GOAL for fit in found)
        print(f"{len(found)} sets: {slow} above {GOAL:g} s,", end=" ")
        print(f"{sum(fit.wall > LIMIT for fit in found)} above {LIMIT:g} s")
        if asked.sets.isdigit():
            (fit,) = measure([drawn], folder, asked.threads)
            print(f"digits: {'ok' if fit.wall <= DIGITS_GOAL else 'MISSED'} ({DIGITS_GOAL:g} s)")


if __name__ == "__main__":
    main()
