"""sqlbn's `prepare` and `snb` beside Khiops' preparation and classifier, set by set.

    python examples/beside_khiops.py FOLDER [--sets a,b,…] [--json FILE] [--target SET=COLUMN]…

FOLDER holds Parquet files, the class in the last column of each unless --target says so. Both see
the same two thirds of the rows and are tested on the rest; numbers are numbers for both, all else
is categories. Khiops (`pip install khiops`) builds no trees and no pairs here. A line a set: how
many variables tell something about the class in both, only here, only there; the mean absolute
difference of their levels; the median number of parts of the variables informative in both; AUC,
log loss and seconds of the fit, ours/theirs. --json keeps these and every variable's parts and
levels.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from peers import THREADS, Halves, Scored, auc, by_khiops, by_sqlbn, installed, log_loss, paths_of

import sqlbn

Line = dict[str, Any]
HEAD = (
    f"{'set':16} {'rows':>7} {'both':>5} {'ours':>5} {'their':>5} {'|level|':>8} {'parts':>9} "
    f"{'AUC':>15} {'log loss':>15} {'seconds':>12}"
)


def ours(halves: Halves) -> Scored:
    """Fit, score, and the univariate report."""
    scored = by_sqlbn(halves, "snb")
    report = sqlbn.prepare(halves.train, halves.target, numeric=halves.numbers, threads=THREADS)
    for row in report.variables.to_pylist():
        scored.levels[row["attribute"]] = row["level"]
        scored.parts[row["attribute"]] = row["parts"]
    return scored


def variables_of(mine: Scored, theirs: Scored, names: list[str]) -> list[Line]:
    """Every variable as both see it; what a program left out tells nothing."""
    return [
        {
            "variable": name,
            "level": [mine.levels.get(name, 0.0), theirs.levels.get(name, 0.0)],
            "parts": [mine.parts.get(name, 1), theirs.parts.get(name, 1)],
        }
        for name in names
    ]


def compare(halves: Halves) -> Line:
    """All figures of a set."""
    mine, theirs = ours(halves), by_khiops(halves)
    variables = variables_of(mine, theirs, halves.attributes)
    levels = np.array([v["level"] for v in variables])
    parts = np.array([v["parts"] for v in variables])
    told = levels > 0
    both, truth = told.all(axis=1), halves.truth
    return {
        "set": halves.name,
        "rows": len(halves.train),
        "both": int(both.sum()),
        "only_ours": int((told[:, 0] & ~told[:, 1]).sum()),
        "only_theirs": int((told[:, 1] & ~told[:, 0]).sum()),
        "level_difference": float(np.abs(levels[:, 0] - levels[:, 1]).mean()),
        "parts": np.median(parts[both], axis=0).tolist() if both.any() else [1.0, 1.0],
        "auc": [auc(mine, truth), auc(theirs, truth)],
        "log_loss": [log_loss(mine, truth), log_loss(theirs, truth)],
        "seconds": [mine.seconds, theirs.seconds],
        "variables": variables,
    }


def print_line(line: Line) -> None:
    """One row of the table."""

    def pair(key: str, form: str) -> str:
        return "/".join(format(value, form) for value in line[key])

    print(
        f"{line['set']:16} {line['rows']:7} {line['both']:5} {line['only_ours']:5} "
        f"{line['only_theirs']:5} {line['level_difference']:8.4f} {pair('parts', 'g'):>9} "
        f"{pair('auc', '.4f'):>15} {pair('log_loss', '.4f'):>15} {pair('seconds', '.1f'):>12}",
        flush=True,
    )


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", help="names without .parquet, comma-separated; all without it")
    parser.add_argument("--json", type=Path, help="keep all figures here")
    parser.add_argument("--target", action="append", default=[], metavar="SET=COLUMN")
    options = parser.parse_args()
    if not installed("khiops"):
        raise SystemExit(1)
    targets = dict(given.split("=", 1) for given in options.target)
    lines: list[Line] = []
    started = time.perf_counter()
    print(HEAD)
    for path in paths_of(options.folder, options.sets):
        lines.append(compare(Halves.of(path, targets.get(path.stem))))
        print_line(lines[-1])
        if options.json is not None:
            options.json.write_text(json.dumps(lines, indent=1))
    print(f"{len(lines)} sets, {time.perf_counter() - started:.0f} s; ours/theirs")


if __name__ == "__main__":
    main()
