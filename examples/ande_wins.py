"""Win/draw/loss of naive Bayes and the AnDE variants against each other, beside the paper's.

    python examples/ande_wins.py FOLDER [--json FILE] [--most-lookups 5e9] [--learners nb,a1de,…]
        [--target SET=COLUMN]… [--skip SET]…

FOLDER holds Parquet files, the class in the last column of each unless --target says so. Two-fold
cross-validation; numbers are cut into 5 intervals of equal frequency (the paper used MDL cuts, 20
repeats, other sets: the same direction is to be expected, not the same counts). Sets for which A2DE
would look up more than --most-lookups probabilities (rows x pairs of attributes x attributes) are
left out, and named.

The paper: Zaidi and Webb, "Fast and Effective Single Pass Bayesian Learning", PAKDD 2013.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import duckdb

import sqlbn

LEARNERS = (
    "nb",
    "a1de",
    "a1de-s",
    "a1de-w",
    "a1de-sw",
    "a2de",
    "a2de-s",
    "a2de-w",
    "a2de-sw",
)
LARGE = 10_000
# Tables 4 and 5 of the paper, row by row: the learner against all before it in LEARNERS.
PAPER = {
    ("zero_one", "all"): """53/4/14
        51/4/16 27/31/13
        50/2/19 35/8/28 29/8/34
        48/3/20 38/6/27 32/10/29 20/42/9
        54/3/14 50/4/17 48/4/19 45/8/18 41/10/20
        49/3/19 46/3/22 45/4/22 44/5/22 43/5/23 23/34/14
        48/2/21 46/3/22 45/4/22 47/6/18 46/6/19 36/8/27 35/9/27
        47/2/22 45/2/24 42/3/26 45/7/19 44/6/21 37/9/25 36/11/24 21/34/16""",
    ("zero_one", "large"): """12/0/0
        12/0/0 7/4/1
        12/0/0 9/2/1 7/1/4
        12/0/0 10/1/1 8/2/2 5/6/1
        12/0/0 12/0/0 12/0/0 12/0/0 11/0/1
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 7/5/0
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 9/1/2 5/1/6
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 9/1/2 8/1/3 6/6/0""",
    ("rmse", "all"): """59/2/10
        59/2/10 32/32/7
        58/1/12 39/5/27 29/5/37
        59/1/11 44/4/23 35/4/32 24/42/5
        59/2/10 49/3/19 41/4/26 50/1/20 47/1/23
        57/2/12 47/1/23 45/2/24 48/3/20 47/3/21 28/30/13
        53/2/16 44/1/26 44/1/26 46/4/21 45/3/23 41/8/22 28/10/33
        54/1/16 44/1/26 44/1/26 46/3/22 46/3/22 41/6/24 35/11/25 25/34/12""",
    ("rmse", "large"): """12/0/0
        12/0/0 7/4/1
        12/0/0 8/2/2 6/1/5
        12/0/0 9/1/2 6/1/5 5/6/1
        12/0/0 12/0/0 12/0/0 12/0/0 11/0/1
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 7/4/1
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 9/1/2 4/0/8
        12/0/0 12/0/0 12/0/0 12/0/0 12/0/0 10/0/2 8/1/3 7/4/1""",
}
Losses = dict[str, dict[str, float]]  # learner -> measure -> loss


def shape(path: Path) -> tuple[str, int, int]:
    """The class, the number of rows and of attributes."""
    with duckdb.connect() as con:
        columns = [
            row[0] for row in con.execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()
        ]
        rows = con.execute("SELECT count(*) FROM read_parquet(?)", [str(path)]).fetchall()[0][0]
    return columns[-1], rows, len(columns) - 1


def lookups(rows: int, d: int) -> float:
    """Probabilities that A2DE looks up to score all rows."""
    return rows * d * (d - 1) / 2 * d


def losses_of(path: Path, target: str, learners: list[str]) -> Losses:
    """Two-fold losses of every learner; all meet the same folds."""
    found = {}
    for learner in learners:
        started = time.perf_counter()
        result = sqlbn.evaluate(str(path), target, learner, folds=2).losses
        found[learner] = {measure: result[measure] for measure in ("zero_one", "rmse")}
        taken = time.perf_counter() - started
        print(
            f"  {learner:8} rmse {result['rmse']:.4f}  {taken:.1f} s", file=sys.stderr, flush=True
        )
    return found


def wins(sets: list[Losses], measure: str, ours: str, other: str) -> str:
    """How often one learner has less, equal and more loss than another."""
    apart = [s[other][measure] - s[ours][measure] for s in sets]
    won, lost = sum(a > 1e-9 for a in apart), sum(a < -1e-9 for a in apart)
    return f"{won}/{len(sets) - won - lost}/{lost}"


def print_table(sets: list[Losses], measure: str, which: str, learners: list[str]) -> None:
    """Our counts, and under each the paper's."""
    print(f"\n{measure}, {which} sets ({len(sets)}; under ours the paper's): row wins/draws/losses")
    print(" " * 10 + "".join(f"{name:>10}" for name in learners[:-1]))
    paper = [line.split() for line in PAPER[measure, which].splitlines()]
    for at, learner in enumerate(learners[1:], 1):
        cells = "".join(f"{wins(sets, measure, learner, o):>10}" for o in learners[:at])
        print(f"{learner:10}{cells}")
        theirs = paper[LEARNERS.index(learner) - 1]
        print(" " * 10 + "".join(f"{theirs[LEARNERS.index(o)]:>10}" for o in learners[:at]))


def main() -> None:
    """Evaluate, then print four tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="keep losses here; sets found there are not run")
    parser.add_argument("--most-lookups", type=float, default=5e9)
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--target", action="append", default=[], metavar="SET=COLUMN")
    parser.add_argument("--skip", action="append", default=[], metavar="SET")
    options = parser.parse_args()
    targets = dict(given.split("=", 1) for given in options.target)
    learners = [name for name in LEARNERS if name in options.learners.split(",")]
    known: dict[str, Losses] = {}
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text())
    sizes: dict[str, int] = {}
    for path in sorted(options.folder.glob("*.parquet"), key=lambda p: p.stat().st_size):
        target, rows, d = shape(path)
        target = targets.get(path.stem, target)
        if path.stem in options.skip:
            continue
        if lookups(rows, d) > options.most_lookups:
            print(f"{path.stem}: left out, {rows:,} rows x {d} attributes", file=sys.stderr)
            continue
        sizes[path.stem] = rows
        if set(learners) <= known.get(path.stem, {}).keys():
            continue
        print(f"{path.stem}: {rows:,} rows, {d} attributes", file=sys.stderr, flush=True)
        known[path.stem] = losses_of(path, target, learners)
        if options.json is not None:
            options.json.write_text(json.dumps(known, indent=1))
    for measure in ("zero_one", "rmse"):
        print_table([known[n] for n in sizes], measure, "all", learners)
        large = [known[n] for n, rows in sizes.items() if rows > LARGE]
        print_table(large, measure, "large", learners)


if __name__ == "__main__":
    main()
