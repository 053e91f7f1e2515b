"""Ratios of sqlbn to plain DuckDB scripts, in one run on one machine.

    python tests/benchmarks/run.py            # about 5 minutes
    python tests/benchmarks/run.py --large    # also 20 M rows under a memory limit of 1 GB

Needs ../shared/yardstick beside the repository; says so and does what it can without.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measure import PROGRAM, TOP, YARDSTICK, Run, Table, make_data, run, sqlbn

COPY = (
    "import duckdb, sys; duckdb.execute('SET threads = 2'); "
    "duckdb.execute(f\"COPY (SELECT *, 1 AS one FROM '{sys.argv[1]}') TO '{sys.argv[2]}'\")"
)

FIRST_ROWS = (
    "import duckdb, sys; "
    "duckdb.execute(f\"COPY (FROM '{sys.argv[1]}' LIMIT 1000) TO '{sys.argv[2]}'\")"
)


def fastest(runs: list[Run]) -> Run:
    """The run that other programs disturbed least."""
    return min(runs, key=lambda r: r.seconds)


def fit_line(data: Path, store: Path, options: str) -> str:
    """A fit of the yardstick's data."""
    return f"fit {data} --target y --store {store} --replace {options}"


def counting(table: Table, data: Path, store: Path, repeats: int) -> None:
    """KDB with k = 5 and selective KDB against the yardstick, runs interleaved."""
    theirs, ours, totals, wholes, plain = [], [], [], [], []
    for _ in range(repeats):
        yardstick = run(sys.executable, YARDSTICK / "skdb.py", data, "--kmax", "5")
        theirs.append(yardstick.json["seconds"])
        totals.append(yardstick.json["total"])
        fit = sqlbn(fit_line(data, store, "--learner kdb --k 5 --name kdb --json"))
        ours.append({**fit.json["seconds"]})
        # Stored, and with the start of Python, which the yardstick's own clock leaves out.
        skdb = fit_line(data, store, "--learner skdb --kmax 5 --name skdb")
        wholes.append(sqlbn(skdb).seconds)
        plain.append(sqlbn(f"{skdb} --race off").seconds)
    one = min(f["structure"] for f in ours)
    two = min(f["parameters"] + f["factors"] for f in ours)
    their_one = min(f["pass 1"] for f in theirs)
    their_two = min(f["pass 2"] for f in theirs)
    table.row("pass 1, all pairs (s)", one, their_one, 1.2)
    table.row("passes 1 and 2, k = 5 (s)", one + two, their_one + their_two, 1.3)
    table.row("whole skdb fit, kmax 5, stored (s)", min(wholes), min(totals), 0.4)
    table.row("the same with --race off (s)", min(plain), min(totals), 0.8)


def scoring(table: Table, data: Path, store: Path, repeats: int) -> None:
    """Predictions of naive Bayes and KDB to Parquet against a bare copy of the same columns."""
    learners = {"nb": "nb", "kdb3": "kdb --k 3"}
    for name, learner in learners.items():
        sqlbn(fit_line(data, store, f"--learner {learner} --name {name}"))
    out = store.with_name("scored.parquet")
    copies: list[Run] = []
    scores: dict[str, list[Run]] = {name: [] for name in learners}
    for _ in range(repeats):
        copies.append(run(sys.executable, "-c", COPY, data, out))
        for name, found in scores.items():
            found.append(sqlbn(f"predict {name} {data} --store {store} --out {out}"))
    theirs = fastest(copies).seconds
    for name, found in scores.items():
        what = f"predict {name} to Parquet / plain copy, processes (s)"
        table.row(what, fastest(found).seconds, theirs, 1.5)


def averaging(table: Table, data: Path, store: Path, repeats: int) -> None:
    """A1DE against KDB's first pass and naive Bayes, A2DE of 20 attributes against its pairs."""
    kdb, a1de, pairs, triples = [], [], [], []
    twenty = " ".join(f"--columns x{i}" for i in range(20))
    for _ in range(repeats):
        for options, found in (
            ("--learner kdb --k 1 --name kdb", kdb),
            ("--learner a1de --name a1de", a1de),
            (f"--learner a1de --name pairs {twenty}", pairs),
            (f"--learner a2de --name triples {twenty}", triples),
        ):
            found.append(sqlbn(fit_line(data, store, f"{options} --json")).json["seconds"])
    passes = [
        ("counting pairs, a1de / kdb (s)", ("structure",)),
        ("a1de fit / kdb up to pass 1 (s)", ("profile", "codebooks", "encode", "structure")),
    ]
    for what, names in passes:
        theirs = min(sum(f[n] for n in names) for f in kdb)
        extra = ("factors",) if len(names) > 1 else ()
        table.row(what, min(sum(f[n] for n in (*names, *extra)) for f in a1de), theirs, 1.1)
    # 4 x (triples / pairs) / 3
    target = 4 * (1140 / 190) / 3
    ours = min(f["structure"] + f["factors"] for f in triples)
    theirs = min(f["structure"] for f in pairs)
    table.row("a2de / its pairs, 20 attributes: count, make tables (s)", ours, theirs, target)
    out = store.with_name("scored.parquet")
    nb, averaged = [], []
    for _ in range(repeats):
        nb.append(sqlbn(f"predict nb {data} --store {store} --out {out}"))
        averaged.append(sqlbn(f"predict a1de {data} --store {store} --out {out}"))
    ours, theirs = fastest(averaged).seconds, fastest(nb).seconds
    table.row("predict a1de / predict nb, processes (s)", ours, theirs, 8.0)


def large(table: Table, small: Path, folder: Path, store: Path) -> None:
    """20 M rows under a limit of 1 GB: peak memory, and time a row against the 1 M run."""
    options = "--learner kdb --k 5 --name kdb"
    at_1m = fastest([sqlbn(fit_line(small, store, options)) for _ in range(2)]).seconds
    data = make_data(folder / "y20m.parquet", 2e7)
    fit = sqlbn(fit_line(data, store, f"{options} --memory-limit 1GB"))
    table.row("20 M rows, 1 GB: peak resident memory (MB)", fit.peak_mb, None, 1600)
    table.row("20 M rows, 1 GB: s a million rows / at 1 M", fit.seconds / 20, at_1m, 1.3)


def startup(table: Table, store: Path) -> None:
    """What a newcomer waits for, and what every command takes besides its work."""
    imports = fastest([run(sys.executable, "-c", "import sqlbn") for _ in range(5)])
    table.row("import sqlbn (s)", imports.seconds, None, 0.4)
    version = fastest([run(PROGRAM, "--version") for _ in range(5)])
    table.row("sqlbn --version (s)", version.seconds, None, 0.3)
    line = f"fit {TOP}/examples/adult.parquet --target class --store {store} --replace"
    fit = fastest([sqlbn(line) for _ in range(3)])
    table.row("sqlbn fit on the example (s)", fit.seconds, None, 3.0)
    skdb = fastest([sqlbn(f"{line} --learner skdb --name skdb") for _ in range(3)])
    table.row("the same with --learner skdb (s)", skdb.seconds, None, 1.5)
    rows = store.with_name("rows.parquet")
    run(sys.executable, "-c", FIRST_ROWS, TOP / "examples" / "adult.parquet", rows)
    again = f"update skdb {rows} --store {store} --again"
    update = fastest([sqlbn(again) for _ in range(5)])
    table.row("sqlbn update of that model by 1,000 rows (s)", update.seconds, None, 0.5)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keep the data here instead of a new folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        table, store = Table(), folder / "benchmark.duckdb"
        startup(table, store)
        if not YARDSTICK.is_dir():
            print("../shared/yardstick is not here: no comparison with it")
            return
        data = make_data(folder / "y1m.parquet", 1e6)
        counting(table, data, store, options.repeats)
        scoring(table, data, store, options.repeats + 1)
        averaging(table, data, store, options.repeats)
        if options.large:
            large(table, data, folder, store)


if __name__ == "__main__":
    main()
