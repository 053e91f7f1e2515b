"""How numbers are cut and what it does to `skdb`: leave-one-out and test RMSE side by side.

    python examples/discretisation.py FOLDER [--sets a,b,…] [--cuts ef:5,ef:10,mdl,modl,auto]
        [--kmax 5] [--json FILE] [--target SET=COLUMN]…

FOLDER holds Parquet files, the class in the last column of each unless --target says so. Two
thirds of the rows train, the rest test. A line a way of cutting: the leave-one-out RMSE by which
skdb chose, the RMSE and log loss of the test rows, the seconds of the fit. LightGBM and Khiops,
where they are installed, are beside them (they have no leave-one-out). Numbers are numbers for
all, however few they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from peers import (
    THREADS,
    Halves,
    Scored,
    by_khiops,
    by_lightgbm,
    installed,
    log_loss,
    paths_of,
    probabilities_of,
    rmse,
)

import sqlbn

CUTS = "ef:5,ef:10,ef:20,ef:50,mdl,modl,auto"
PEERS: dict[str, Callable[[Halves], Scored]] = {"lightgbm": by_lightgbm, "khiops": by_khiops}
Line = dict[str, Any]


def of_cut(halves: Halves, cut: str, kmax: int) -> Line:
    """The losses of skdb with one way of cutting."""
    method, _, bins = cut.partition(":")
    options = {"bins": int(bins)} if bins else {"discretise": method}
    started = time.perf_counter()
    with sqlbn.fit(
        halves.train,
        halves.target,
        "skdb",
        kmax=kmax,
        numeric=halves.numbers,
        threads=THREADS,
        **options,
    ) as model:
        taken = time.perf_counter() - started
        surface = model.loocv
        assert surface is not None
        chosen = min(row["value"] for row in surface.to_pylist() if row["loss"] == "rmse")
        scored = Scored(*probabilities_of(model, halves.test), taken)
    return line_of(cut, halves, scored, chosen)


def line_of(name: str, halves: Halves, scored: Scored, leave_one_out: float | None = None) -> Line:
    """The figures of one line."""
    return {
        "set": halves.name,
        "cuts": name,
        "leave_one_out": leave_one_out,
        "rmse": rmse(scored, halves.truth),
        "log_loss": log_loss(scored, halves.truth),
        "seconds": scored.seconds,
    }


def lines_of(halves: Halves, cuts: list[str], kmax: int, peers: list[str]) -> Iterator[Line]:
    """All lines of a set, as they are found."""
    for cut in cuts:
        yield of_cut(halves, cut, kmax)
    for name in peers:
        yield line_of(name, halves, PEERS[name](halves))


def print_line(line: Line) -> None:
    """One row of the table."""
    chosen = line["leave_one_out"]
    known = "-" if chosen is None else f"{chosen:.4f}"
    print(
        f"{line['set']:16} {line['cuts']:10} {known:>8} {line['rmse']:9.4f} "
        f"{line['log_loss']:9.4f} {line['seconds']:8.1f}",
        flush=True,
    )


def main() -> None:
    """Print the table, set by set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", help="names without .parquet, comma-separated; all without it")
    parser.add_argument("--cuts", default=CUTS)
    parser.add_argument("--kmax", type=int, default=5)
    parser.add_argument("--json", type=Path, help="keep all figures here")
    parser.add_argument("--target", action="append", default=[], metavar="SET=COLUMN")
    options = parser.parse_args()
    targets = dict(given.split("=", 1) for given in options.target)
    peers = [name for name in PEERS if installed(name)]
    lines: list[Line] = []
    print(f"{'set':16} {'cuts':10} {'loocv':>8} {'test rmse':>9} {'log loss':>9} {'seconds':>8}")
    for path in paths_of(options.folder, options.sets):
        halves = Halves.of(path, targets.get(path.stem))
        for line in lines_of(halves, options.cuts.split(","), options.kmax, peers):
            print_line(line)
            lines.append(line)
            if options.json is not None:
                options.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
