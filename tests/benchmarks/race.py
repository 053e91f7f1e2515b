"""The race of nested models in pass 3: is the choice the same without it, and what does it save?

    python tests/benchmarks/race.py                            # all sets of ../shared/data
    python tests/benchmarks/race.py --sets covtype,m1.parquet:y --losses rmse,log_loss
    python tests/benchmarks/race.py --at-most 65535 --plain    # those that do not race as a rule

Each set is fitted by skdb with --race off and on, in this process, one after the other. Seconds
are those of pass 3 (with the race) and of the whole fit, CPU seconds those of all cores, which a
busy machine disturbs less. `saved` is the share of rows times k' that were not evaluated. Sets
that are not there are skipped. Few rows do not race as a rule; here they are made to, for the
choice, and marked with *: their first part is a quarter of the rows, and further ones come where
they are not worth their time. mnist is fitted with one parent at most.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from measure import SHARED

import sqlbn
from sqlbn.engines.limits import Limits

DATA = SHARED / "data"
# With five parents these take hours.
CUT = {"mnist": {"kmax": 1}}


@dataclass(frozen=True)
class Fitted:
    """What a fit chose, and how long that took."""

    k: int
    n_attributes: int
    loss: float
    rows: int
    pass_3: float
    seconds: float
    cpu: float
    race: dict[str, Any] | None


def sets_of(text: str | None) -> Iterator[tuple[Path, str]]:
    """Files and targets: those that were asked for, or all of ../shared/data by its README."""
    readme = DATA / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
    cells = [[c.strip() for c in line.split("|")] for line in lines if ".parquet |" in line]
    known = {line[1].removesuffix(".parquet"): line[7] for line in cells}
    for name in text.split(",") if text else known:
        path, _, target = name.partition(":")
        file = Path(path) if target else DATA / f"{path}.parquet"
        target = target or known[path]
        if file.exists() and target != "-":
            yield file, target


def fitted(file: Path, target: str, race: str, options: dict[str, Any]) -> Fitted:
    """One fit."""
    started, cpu = time.perf_counter(), time.process_time()
    with sqlbn.fit(str(file), target, "skdb", race=race, quiet=True, **options) as model:
        taken, cpu = time.perf_counter() - started, time.process_time() - cpu
        meta, loss = model.meta, options["loss"]
        chosen = meta["selected_k"], meta["selected_attributes"]
        at = {
            (r["k"], r["n_attributes"]): r["value"]
            for r in model.loocv.to_pylist()
            if r["loss"] == loss
        }
        pass_3 = meta["seconds"].get("race", 0.0) + meta["seconds"]["loocv"]
        return Fitted(*chosen, at[chosen], meta["rows"], pass_3, taken, cpu, meta.get("race"))


def compare(file: Path, target: str, options: dict[str, Any], mark: str) -> bool:
    """A line of one set; whether the choice is the same."""
    options = {**options, **CUT.get(file.stem, {})}
    off, on = (fitted(file, target, race, options) for race in ("off", "on"))
    same = (off.k, off.n_attributes) == (on.k, on.n_attributes)
    race = on.race or {"parts": [], "models": 0, "left": 0, "rows_saved": 0}
    left = f"{race['left']} of {race['models']}" if on.race else "no race"
    saved = race["rows_saved"] / (off.rows * (options["kmax"] + 1))
    print(
        f"| {file.stem}{mark} | {options['loss']} | {off.rows:,} | {off.k}, {off.n_attributes} | "
        f"{'same' if same else f'OTHER: {on.k}, {on.n_attributes}, {on.loss - off.loss:+.2e}'} | "
        f"{left} | {sum(race['parts']):,} | {saved:.0%} | {off.pass_3:.1f} | {on.pass_3:.1f} | "
        f"{on.pass_3 / off.pass_3:.2f} | {off.seconds:.1f} | {on.seconds:.1f} | "
        f"{off.cpu:.1f} | {on.cpu:.1f} | {on.cpu / off.cpu:.2f} |",
        flush=True,
    )
    return same


def is_few(rows: int) -> bool:
    """Whether so many do not race as a rule."""
    return rows < Limits.race_least_parts * Limits.race_rows


def limits_of(rows: int, is_plain: bool) -> Limits:
    """As usual, or those by which so few rows race too."""
    if is_plain or not is_few(rows):
        return Limits()
    first = max(1, rows // 4)
    eager = Limits(race_rows=first, race_dearer=0.0, race_cell=0.0, race_least_parts=2)
    return replace(eager, loo_few_estimates=0)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets")
    parser.add_argument("--losses", default="rmse")
    parser.add_argument("--kmax", type=int, default=5)
    parser.add_argument("--at-least", type=int, default=0, help="rows")
    parser.add_argument("--at-most", type=int, default=10**9, help="rows")
    parser.add_argument("--plain", action="store_true", help="few rows do not race")
    options = parser.parse_args()
    print(
        "| set | loss | rows | k, attributes | with the race | left | rows of parts | saved | "
        "pass 3 off (s) | on | ratio | fit off (s) | on | CPU off (s) | on | ratio |\n"
        "| --- " + "| --- " * 15 + "|"
    )
    same = [
        compare(
            file,
            target,
            {"kmax": options.kmax, "loss": loss, "limits": limits_of(rows, options.plain)},
            "*" if is_few(rows) and not options.plain else "",
        )
        for file, target in sets_of(options.sets)
        if options.at_least <= (rows := pq.read_metadata(file).num_rows) <= options.at_most
        for loss in options.losses.split(",")
    ]
    print(f"\n{sum(same)} of {len(same)} choices are the same")


if __name__ == "__main__":
    main()
