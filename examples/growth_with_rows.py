"""How supervised intervals and selective naive Bayes grow with the rows: Figures 4 and 5 again.

    python examples/growth_with_rows.py FILE [--target COLUMN] [--most ROWS]

A third of the rows of a Parquet file is held out; of the others the first 100, 1,000, … in a fixed
random order, and all, are the training rows. A line each: the mean number of intervals of the
numeric attributes (1 where they tell nothing), the number of attributes with a weight above 0, the
AUC of the test rows (more than two classes: the mean of each against the rest), the seconds.

The paper: Boullé, "A Parameter-Free Classification Method for Large Scale Learning", JMLR 2009
(there one variable's intervals are drawn and the data set is another).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from peers import THREADS, Halves, Scored, auc, probabilities_of

import sqlbn


def sizes(rows: int, most: int) -> list[int]:
    """Powers of ten from 100 on, then all rows."""
    powers = [10**e for e in range(2, 10)]
    return [n for n in powers if n < min(rows, most + 1)] + ([rows] if rows <= most else [])


def print_line(halves: Halves) -> None:
    """Fit snb to the training rows, and print what became of it."""
    started = time.perf_counter()
    with sqlbn.fit(
        halves.train, halves.target, "snb", numeric=halves.numbers, threads=THREADS
    ) as model:
        taken = time.perf_counter() - started
        parts = {row["attribute"]: row["parts"] for row in model.variables.to_pylist()}
        selected = sum((row["weight"] or 0.0) > 0 for row in model.attributes.to_pylist())
        scored = Scored(*probabilities_of(model, halves.test), taken)
    intervals = np.mean([parts.get(name, 1) for name in halves.numbers])
    print(
        f"{len(halves.train):12,} {intervals:10.1f} {selected:5}/{len(halves.attributes):<4} "
        f"{auc(scored, halves.truth):8.4f} {taken:8.1f}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", help="the last column without it")
    parser.add_argument("--most", type=float, default=1e12, help="no more training rows than this")
    options = parser.parse_args()
    halves = Halves.of(options.file, options.target)
    order = np.random.default_rng(1).permutation(len(halves.train))
    print(f"{'rows':>12} {'intervals':>10} {'selected':>10} {'AUC':>8} {'seconds':>8}")
    for size in sizes(len(order), int(options.most)):
        print_line(replace(halves, train=halves.train.take(np.sort(order[:size]))))


if __name__ == "__main__":
    main()
