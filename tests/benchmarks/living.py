"""What a change costs beside a fit: 1 % new rows added, and taken out again.

    python tests/benchmarks/living.py [--rows 1e6 1e7] [--attributes 20]

Whole processes, in one run. Needs ../shared/yardstick, which makes the data.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measure import YARDSTICK, make_data, sqlbn

LEARNERS = ("nb", "tan", "kdb --k 2", "a1de", "fanc")


def measure(folder: Path, rows: float, attributes: int, learner: str) -> None:
    """One line: seconds of a fit, of an update and a forget, their shares of the fit."""
    data = make_data(folder / f"l-{int(rows)}-{attributes}.parquet", rows, attributes)
    part = make_data(folder / f"l-{int(rows / 100)}-{attributes}.parquet", rows / 100, attributes)
    store = f"--store {folder}/living.duckdb"
    fit = sqlbn(f"fit {data} --target y -l {learner} --name m {store} --replace").seconds
    update = sqlbn(f"update m {part} {store}").seconds
    forget = sqlbn(f"forget m {part} {store}").seconds
    print(
        f"{int(rows):12,} {learner:10} {fit:8.2f} {update:8.2f} {forget:8.2f} "
        f"{update / fit:8.1%} {forget / fit:8.1%}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--attributes", type=int, default=20)
    options = parser.parse_args()
    if not YARDSTICK.is_dir():
        raise SystemExit("../shared/yardstick is not here: it makes the data")
    print(
        f"{'rows':>12} {'learner':10} {'fit s':>8} {'update s':>8} {'forget s':>8}   share of fit"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for rows in options.rows:
            for learner in LEARNERS:
                measure(Path(scratch), rows, options.attributes, learner)


if __name__ == "__main__":
    main()
