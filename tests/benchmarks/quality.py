"""How well sqlbn predicts beside boosted trees and a forest, on held-out rows of the same splits.

    python tests/benchmarks/quality.py                                   # all sets, seed 1
    python tests/benchmarks/quality.py --sets adult,letter,rows.parquet:class --seeds 1,2,3
    python tests/benchmarks/quality.py --ours quick --ours 'mdl:learner=skdb,discretise=mdl'
    python tests/benchmarks/quality.py --table --plot quality.svg        # of the results so far

Ours are the three efforts of `sqlbn fit`, or what --ours names with options of `sqlbn.fit`. Peers,
with their defaults, are LightGBM, HistGradientBoosting (HGB) and a random forest of 100 trees:
`pip install lightgbm scikit-learn pandas`; what is not installed is left out. The sets are in
../shared/data beside the repository (--data: elsewhere). Every cell (set, seed, contestant) has a
process of its own (quality_cell.py) and its line in --results as soon as it is done: a second start
does what is missing, what failed, and what took too long where --seconds is more now.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from measure import SHARED
from quality_cell import PEERS

from sqlbn.lab.comparators import COMPARATORS

TARGETS = {
    "adult": "class",
    "letter": "class",
    "pendigits": "class",
    "satellite": "class",
    "connect-4": "class",
    "credit-default": "default_payment_next_month",
    "phoneme": "Class",
    "banknote": "class",
    "waveform-5000": "class",
    "eeg-eye-state": "eyeDetection",
    "covtype": "Cover_Type",
    "poker-hand-standin": "CLASS",
    "nettalk-window7": "phoneme",
    "chess": "class",
    "sick": "Class",
    "abalone": "class",
    "titanic": "survived",
    "mushroom": "class",
}
OURS: dict[str, dict[str, Any]] = {
    "quick": {"effort": "quick"},
    "normal": {"effort": "normal"},
    "best": {"effort": "best"},
}
# Below this RMSE of the best peer a ratio compares one near-certainty with another: it is shown,
# and the means are also given without such sets.
NEARLY_SOLVED = 0.01
FIGURES = ("rmse", "log_loss", "error", "auc", "fit_seconds", "predict_seconds")
Key = tuple[str, int | None, int, str]
Cell = dict[str, Any]


# -- what is asked for ------------------------------------------------------------------------


def contestant(text: str) -> tuple[str, dict[str, Any]]:
    """`quick`, or `label:learner=skdb,discretise=mdl`."""
    label, _, options = text.partition(":")
    if not options and label in OURS:
        return label, OURS[label]
    pairs = [pair.partition("=") for pair in options.split(",")]
    if label in PEERS or not all(name and value for name, _, value in pairs):
        known = ", ".join(OURS)
        raise SystemExit(f"--ours {text}: give {known} or label:option=value,option=value")
    return label, {name.strip(): _value(value.strip()) for name, _, value in pairs}


def _value(text: str) -> Any:
    """A number, true or false where the text is one."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def data_set(text: str, folder: Path) -> tuple[str, Path, str]:
    """Name, file and target of a set of the list, or of `path.parquet:target`."""
    if text in TARGETS:
        return text, folder / f"{text}.parquet", TARGETS[text]
    path, _, target = text.rpartition(":")
    if not path or not target:
        raise SystemExit(f"--sets {text}: give path.parquet:target or one of {', '.join(TARGETS)}")
    return f"{Path(path).stem}:{target}", Path(path), target


def cells(options: argparse.Namespace) -> list[Cell]:
    """All that the options ask for, set by set; a line for what is not here."""
    contestants = dict(map(contestant, options.ours or OURS))
    for peer in filter(None, options.peers.split(",")):
        if peer not in PEERS:
            raise SystemExit(f"--peers {peer}: the peers are {', '.join(PEERS)}")
        package = COMPARATORS[PEERS[peer]].package
        lacking = [p for p in (package, "pandas") if find_spec(p) is None]
        if lacking:
            print(f"{peer} is left out: {lacking[0]} is not installed", file=sys.stderr)
            continue
        contestants[peer] = {}
    found = []
    for name, path, target in (data_set(s, options.data) for s in options.sets.split(",")):
        if not path.is_file():
            print(f"{name} is left out: there is no {path}", file=sys.stderr)
            continue
        place = {"set": name, "path": str(path), "target": target, "rows": options.rows}
        found += [
            {**place, "seed": int(seed), "by": by, "options": how, "threads": options.threads}
            for seed in options.seeds.split(",")
            for by, how in contestants.items()
        ]
    return found


# -- running ----------------------------------------------------------------------------------


def key_of(cell: Cell) -> Key:
    """What a result is known by."""
    return cell["set"], cell["rows"], cell["seed"], cell["by"]


def read_results(path: Path) -> dict[Key, Cell]:
    """The last line of every cell; one that was cut off while it was written is not counted."""
    found = {}
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            cell = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[key_of(cell)] = cell
    return found


def is_done(cell: Cell, before: Cell | None, options: argparse.Namespace) -> bool:
    """Whether there is a result of the same options that another start would not better."""
    if before is None or before["options"] != cell["options"] or "error" in before:
        return before is not None and _too_long(before, cell, options.seconds)
    return cell["by"] not in options.again.split(",")


def _too_long(before: Cell, cell: Cell, seconds: float) -> bool:
    return before["options"] == cell["options"] and before.get("limit", 0) >= seconds


def measured(cell: Cell, seconds: float) -> Cell:
    """The cell with its figures, or with what went wrong."""
    command = [sys.executable, str(Path(__file__).with_name("quality_cell.py")), json.dumps(cell)]
    # Threads of OpenMP that wait by spinning take minutes for seconds beside other programs.
    openmp = {"OMP_NUM_THREADS": str(cell["threads"]), "OMP_WAIT_POLICY": "PASSIVE"}
    environment = {**os.environ, **openmp}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return {**cell, "error": f"longer than {seconds:g} s", "limit": seconds}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {**cell, "error": last}
    return {**cell, "figures": json.loads(done.stdout.strip().splitlines()[-1])}


def run_cells(wanted: Sequence[Cell], options: argparse.Namespace) -> None:
    """Measure what is missing, a line each in the file and on the screen."""
    before = read_results(options.results)
    missing = [c for c in wanted if not is_done(c, before.get(key_of(c)), options)]
    print(
        f"{len(wanted)} cells, {len(missing)} to measure; results in {options.results}", flush=True
    )
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for i, cell in enumerate(missing, 1):
        result = measured(cell, options.seconds)
        with options.results.open("a") as file:
            # A line that was cut off must not spoil this one.
            file.write(("" if _ends_line(options.results) else "\n") + json.dumps(result) + "\n")
        print(f"[{i}/{len(missing)}] {_told(result)}", flush=True)


def _ends_line(path: Path) -> bool:
    return path.stat().st_size == 0 or path.read_bytes().endswith(b"\n")


def _told(cell: Cell) -> str:
    begin = f"{cell['set']}, seed {cell['seed']}, {cell['by']}: "
    if "error" in cell:
        return begin + cell["error"]
    f = cell["figures"]
    return (
        f"{begin}RMSE {f['rmse']:.4f}, log loss {f['log_loss']:.4f}, 0-1 {f['error']:.4f}, "
        f"AUC {f['auc']:.4f}, fit {f['fit_seconds']:.1f} s, predict {f['predict_seconds']:.1f} s"
    )


# -- telling ----------------------------------------------------------------------------------


def geometric_mean(values: Iterable[float]) -> float:
    """0 where one value is 0, nan where there is none."""
    found = list(values)
    if not found or min(found) <= 0:
        return 0.0 if found else math.nan
    return math.exp(sum(map(math.log, found)) / len(found))


@dataclass
class Summary:
    """Figures by set, contestant and seed; ratios go by the seeds that both have."""

    figures: dict[tuple[str, str], dict[int, dict[str, float]]]
    errors: dict[tuple[str, str], str]
    sets: list[str]
    contestants: list[str]

    @classmethod
    def of(cls, wanted: Sequence[Cell], results: dict[Key, Cell]) -> Summary:
        figures: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
        errors = {}
        for cell in wanted:
            result = results.get(key_of(cell))
            if result is None or result["options"] != cell["options"]:
                continue
            place = cell["set"], cell["by"]
            if "error" in result:
                errors[place] = result["error"]
            else:
                figures.setdefault(place, {})[cell["seed"]] = result["figures"]
        known = {*figures, *errors}
        sets = [s for s in dict.fromkeys(c["set"] for c in wanted) if any(k[0] == s for k in known)]
        by = [b for b in dict.fromkeys(c["by"] for c in wanted) if any(k[1] == b for k in known)]
        return cls(figures, errors, sets, by)

    @property
    def ours(self) -> list[str]:
        return [c for c in self.contestants if c not in PEERS]

    def mean(self, name: str, by: str, figure: str) -> float:
        """Over seeds; nan where there is no result."""
        found = [f[figure] for f in self.figures.get((name, by), {}).values()]
        return sum(found) / len(found) if found else math.nan

    def best_peer(self, name: str, figure: str = "rmse") -> str | None:
        """The peer with the lowest mean of a figure on a set."""
        peers = [p for p in PEERS if (name, p) in self.figures]
        return min(peers, key=lambda p: self.mean(name, p, figure), default=None)

    def ratio(self, name: str, by: str, other: str | None, figure: str) -> float:
        """Geometric mean over the seeds that both have."""
        ours = self.figures.get((name, by), {})
        theirs = self.figures.get((name, other or ""), {})
        both = sorted(ours.keys() & theirs.keys())
        if any(theirs[s][figure] == 0 for s in both):
            return 1.0 if all(ours[s][figure] == 0 for s in both) else math.inf
        return geometric_mean(ours[s][figure] / theirs[s][figure] for s in both)

    def to_best(self, name: str, by: str, figure: str = "rmse") -> float:
        """A figure over that of the peer that has the lowest."""
        return self.ratio(name, by, self.best_peer(name, figure), figure)


def markdown(summary: Summary, figure: str) -> str:
    """Sets as rows, contestants as columns, means of ratios below."""
    head = ["set", *summary.contestants]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    lines += [
        [name, *(_entry(summary, name, by, figure) for by in summary.contestants)]
        for name in summary.sets
    ]
    lines += _means(summary)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _entry(summary: Summary, name: str, by: str, figure: str) -> str:
    """The figure and its ratio to the best peer's; AUC and 0-1 can be 0 or 1: without a ratio."""
    mean = summary.mean(name, by, figure)
    if math.isnan(mean):
        return "failed" if (name, by) in summary.errors else "-"
    shown = f"{mean:.1f}" if figure.endswith("seconds") else f"{mean:.4f}"
    if figure in ("auc", "error"):
        return shown
    ratio = summary.to_best(name, by, figure)
    return shown if math.isnan(ratio) else f"{shown} ({ratio:.2f})"


def _means(summary: Summary) -> list[list[str]]:
    """The last rows: each over the sets that the contestant and a peer have."""
    peers = {s: summary.best_peer(s) for s in summary.sets}
    open_sets = [s for s in peers if peers[s] and summary.mean(s, peers[s], "rmse") > NEARLY_SOLVED]
    first = summary.ours[0] if summary.ours else None

    def row(what: str, sets: Sequence[str], value: Callable[[str, str], float]) -> list[str]:
        found = [[r for s in sets if not math.isnan(r := value(s, b))] for b in summary.contestants]
        return [what, *(f"{geometric_mean(f):.3f} ({len(f)})" if f else "-" for f in found)]

    def worst(by: str) -> str:
        found = [(r, s) for s in summary.sets if not math.isnan(r := summary.to_best(s, by))]
        return "{:.2f} ({})".format(*max(found)) if found else "-"

    rows = []
    for what, figure in (("RMSE", "rmse"), ("log loss", "log_loss")):
        title = f"**{what} / best peer's** (sets)"
        rows.append(row(title, summary.sets, lambda s, b, f=figure: summary.to_best(s, b, f)))
        if len(open_sets) < len(summary.sets):
            title = f"… where the best peer's RMSE is above {NEARLY_SOLVED:g}"
            rows.append(row(title, open_sets, lambda s, b, f=figure: summary.to_best(s, b, f)))
    rows.append(["worst RMSE ratio (set)", *map(worst, summary.contestants)])
    for what, figure in (("fit", "fit_seconds"), ("predict", "predict_seconds")):
        title = f"{what} seconds / those of the peer with the best RMSE"
        rows.append(
            row(title, summary.sets, lambda s, b, f=figure: summary.ratio(s, b, peers[s], f))
        )
    if first is not None:
        title = f"fit seconds / those of {first}"
        rows.append(
            row(title, summary.sets, lambda s, b: summary.ratio(s, b, first, "fit_seconds"))
        )
    return rows


def plot(summary: Summary, out: Path) -> None:
    """A dot a contestant: ratio of the RMSE to the best peer's, sets as rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    left, right = 0.5, 4.0  # beyond: at the edge, with its figure
    ticks = [0.5, 0.7, 0.9, 1, 1.1, 1.3, 1.6, 2, 3, 4]
    last = summary.ours[-1] if summary.ours else summary.contestants[0]
    order = sorted(summary.sets, key=lambda s: _sortable(summary.to_best(s, last)), reverse=True)
    figure, axes = plt.subplots(figsize=(8.5, 1.6 + 0.32 * len(order)), layout="constrained")
    axes.axvline(1, color="0.35", linewidth=1, zorder=1)
    colours = plt.get_cmap("viridis")
    greys = iter("vs^")
    for i, by in enumerate(summary.contestants):
        ratios = [summary.to_best(s, by) for s in order]
        shown = [min(max(r, left), right) for r in ratios]
        if by in PEERS:
            style = {"marker": next(greys), "color": "0.62", "s": 26, "zorder": 2}
        else:
            share = i / max(1, len(summary.ours) - 1)
            style = {"marker": "o", "color": colours(0.85 - 0.75 * share), "s": 44, "zorder": 3 + i}
        axes.scatter(shown, range(len(order)), label=by, clip_on=False, **style)
    for y, name in enumerate(order):
        beyond = [b for b in summary.contestants if summary.to_best(name, b) > right]
        text = ", ".join(f"{b} {summary.to_best(name, b):.3g}" for b in beyond)
        if text:
            axes.annotate(
                text, (right, y), (-8, 0), textcoords="offset points", ha="right", va="center",
                fontsize=7,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_yticks(range(len(order)), order)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.grid(color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("RMSE of the true class on held-out rows / best peer's (left is better)")
    figure.legend(loc="outside upper center", ncols=len(summary.contestants), frameon=False)
    figure.savefig(out, dpi=150)


def _sortable(ratio: float) -> float:
    return -math.inf if math.isnan(ratio) else ratio


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", default=",".join(TARGETS), help="names, or path.parquet:target")
    add("--seeds", default="1", help="of the splits, such as 1,2,3")
    add("--ours", action="append", help="an effort, or label:option=value,… (several times)")
    add("--peers", default=",".join(PEERS))
    add("--rows", type=int, help="a random part of the rows, by seed")
    add("--seconds", type=float, default=1800, help="most for one cell, start and data included")
    add("--threads", type=int, default=2)
    add("--data", type=Path, default=SHARED / "data", help="the folder of the sets")
    add(
        "--results",
        type=Path,
        default=Path(tempfile.gettempdir()) / "sqlbn-quality.jsonl",
        help="JSON lines, [default: %(default)s]",
    )
    add("--again", default="", help="contestants to measure again, such as normal,best")
    add("--table", action="store_true", help="only tell what is in the results")
    add("--figure", choices=FIGURES, default="rmse", help="what the table shows")
    add("--plot", type=Path, help="a picture, .svg or .png")
    return parser.parse_args()


def main() -> None:
    """Measure, then tell."""
    options = arguments()
    wanted = cells(options)
    if not wanted:
        raise SystemExit("nothing to measure")
    if not options.table:
        run_cells(wanted, options)
    summary = Summary.of(wanted, read_results(options.results))
    if not summary.contestants:
        raise SystemExit(f"{options.results} has no result of these sets and contestants")
    print(f"\n{markdown(summary, options.figure)}")
    for (name, by), error in summary.errors.items():
        print(f"\n{name}, {by}: {error}")
    if options.plot:
        plot(summary, options.plot)
        print(f"\n{options.plot} written")


if __name__ == "__main__":
    main()
