"""How cost grows: selective KDB with rows, attributes, classes, kmax; AnDE with attributes.

    python tests/benchmarks/growth.py [--most-rows 1e7] [--only skdb|ande|rows] [--memory-limit 1GB]

`--only rows` is the first table of selective KDB, from `--least-rows`; with 1e6, 5e7 and 1GB it is
the promise that the exponent of all sizes together is at most 1.05.

Needs ../shared/yardstick, which makes the data.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

from measure import YARDSTICK, make_data, sqlbn


def seconds(
    folder: Path, rows: float, attributes: int, classes: int, kmax: int, more: str = ""
) -> float:
    """One fit, the start of Python and the store included."""
    name = f"g-{int(rows)}-{attributes}-{classes}.parquet"
    data = make_data(folder / name, rows, attributes, 5, classes)
    line = f"fit {data} --target y --kmax {kmax} --store {folder}/growth.duckdb --replace"
    return sqlbn(f"{line} {more}").seconds


def fitted_exponent(sizes: list[float], taken: list[float]) -> float:
    """The slope of the line of least squares through logarithms of sizes and seconds."""
    x, y = ([math.log(v) for v in values] for values in (sizes, taken))
    mean = sum(x) / len(x)
    spread = sum((v - mean) ** 2 for v in x)
    return sum((v - mean) * w for v, w in zip(x, y, strict=True)) / spread


def grow(
    folder: Path, title: str, shapes: list[tuple[float, int, int, int]], at: int, more: str = ""
) -> None:
    """One table; `at` is the dimension that grows, the exponent that between neighbours."""
    print(f"\n{title:12} {'seconds':>9} {'exponent':>9}", flush=True)
    before: tuple[float, float] | None = None
    sizes, times = list[float](), list[float]()
    for shape in shapes:
        taken = seconds(folder, *shape, more)
        sizes.append(float(shape[at]))
        times.append(taken)
        slope = ""
        if before is not None:
            slope = f"{math.log(taken / before[1]) / math.log(shape[at] / before[0]):9.2f}"
        print(f"{int(shape[at]):12,} {taken:9.1f} {slope}", flush=True)
        before = (float(shape[at]), taken)
    if len(sizes) > 1:
        print(f"{'fitted':12} {'':9} {fitted_exponent(sizes, times):9.2f}", flush=True)


def average(folder: Path) -> None:
    """A1DE and A2DE with the number of attributes: fit, and predict of the same rows."""
    print(f"\n{'attributes':12} {'learner':8} {'fit s':>9} {'predict s':>10}", flush=True)
    for d in (10, 20, 30, 40):
        data = make_data(folder / f"g-20000-{d}-7.parquet", 2e4, d, 5, 7)
        for learner in ("a1de", "a2de"):
            store = f"--store {folder}/growth.duckdb"
            fit = sqlbn(f"fit {data} --target y -l {learner} --name m {store} --replace").seconds
            out = folder / "growth-scored.parquet"
            scored = sqlbn(f"predict m {data} {store} --out {out}").seconds
            print(f"{d:12,} {learner:8} {fit:9.1f} {scored:10.1f}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most-rows", type=float, default=1e7)
    parser.add_argument("--least-rows", type=float, default=1e5)
    parser.add_argument("--only", choices=["skdb", "ande", "rows"])
    parser.add_argument("--memory-limit")
    options = parser.parse_args()
    if not YARDSTICK.is_dir():
        raise SystemExit("../shared/yardstick is not here: it makes the data")
    steps = (1e5, 1e6, 3e6, 1e7, 2e7, 5e7)
    sizes = [n for n in steps if options.least_rows <= n <= options.most_rows]
    more = f"--memory-limit {options.memory_limit}" if options.memory_limit else ""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.only not in ("skdb", "rows"):
            average(folder)
        if options.only == "ande":
            return
        grow(folder, "rows", [(n, 20, 7, 3) for n in sizes], 0, more)
        if options.only == "rows":
            return
        grow(folder, "attributes", [(1e5, d, 7, 3) for d in (10, 20, 50, 100, 200)], 1)
        grow(folder, "classes", [(1e5, 20, c, 3) for c in (2, 5, 10, 20, 50)], 2)
        grow(folder, "kmax", [(1e5, 20, 7, k) for k in (1, 2, 3, 4, 5, 6)], 3)


if __name__ == "__main__":
    main()
