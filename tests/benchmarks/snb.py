"""Seconds of `sqlbn prepare` and `sqlbn fit -l snb` beside Khiops on the same files.

    python tests/benchmarks/snb.py [--sets adult,covtype] [--large]

Whole processes of ours, two threads each. Khiops (`pip install khiops`, where it is installed)
prepares and learns in one go, without trees and pairs; only its fit is counted, not the start of
Python nor the reading of Parquet. adult is in examples/, covtype in ../shared/data; --large adds
1 M rows x 50 attributes drawn from a random network. (Those of ../shared/yardstick tell nothing
on their own: all would be left out, and nothing searched.)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from measure import SHARED, TOP, run, sqlbn

SETS = {
    "adult": (TOP / "examples" / "adult.parquet", "class"),
    "covtype": (SHARED / "data" / "covtype.parquet", "Cover_Type"),
}
LARGE = "--rows 1000000 --random ban --attributes 45 --irrelevant 5 --values 5 --classes 7"


def print_line(name: str, data: Path, target: str, folder: Path) -> None:
    """Seconds of prepare, of a stored fit, and of Khiops; peak memory of the fit."""
    prepare = sqlbn(f"prepare {data} --target {target} --json")
    fit = sqlbn(f"fit {data} --target {target} -l snb --name {name} --store {folder}/snb.duckdb")
    theirs = "-"
    if find_spec("khiops") is not None:
        done = run(sys.executable, TOP / "examples" / "peers.py", data, target)
        theirs = f"{done.json['seconds']:.2f}"
    print(
        f"{name:12} {prepare.seconds:10.2f} {fit.seconds:10.2f} {theirs:>10} {fit.peak_mb:10.0f}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--large", action="store_true", help="also 1 M rows x 50 attributes")
    options = parser.parse_args()
    if find_spec("khiops") is None:
        print("khiops is not installed: pip install khiops", file=sys.stderr)
    print(f"{'set':12} {'prepare s':>10} {'fit s':>10} {'khiops s':>10} {'fit MB':>10}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in options.sets.split(","):
            print_line(name, *SETS[name], folder)
        if options.large:
            data = folder / "large.parquet"
            sqlbn(f"sample {LARGE} --noise 0.5 --out {data}")
            print_line("1Mx50", data, "class", folder)


if __name__ == "__main__":
    main()
