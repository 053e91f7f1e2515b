"""Collections on large synthetic data: the experiment of section 4.2 of Bouckaert's paper.

    python examples/collections_on_streams.py --rows 1e7 --out curves.csv --plot curves.svg

Draws rows from a random naive Bayes, TAN and BAN network over a class and 19 binary attributes,
learns from the first 100, 1,000, … of them and measures accuracy on rows drawn apart; then again
with ten attributes that have nothing to do with the others. Prints a table, draws a picture.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlbn

SOURCES = ("nb", "tan", "ban")
LEARNERS = ("nb", "tan", "a1de", "fanc", "spc", "tc")
NOISE = 10


@dataclass(frozen=True)
class Point:
    """Accuracy of one learner on one source after so many rows."""

    source: str
    irrelevant: int
    rows: int
    learner: str
    accuracy: float
    fit_seconds: float


def measure(
    folder: Path, source: str, irrelevant: int, sizes: Sequence[int], test_rows: int, seed: int
) -> Iterator[Point]:
    """All learners on growing first parts of one source."""
    drawn = {"irrelevant": irrelevant} if irrelevant else {}
    train, test = folder / "train.parquet", folder / "test.parquet"
    network = sqlbn.sample(train, sizes[-1], random=source, seed=seed, **drawn)
    sqlbn.sample(test, test_rows, bif=network, seed=seed + 1)
    for rows in sizes:
        part = train
        if rows < sizes[-1]:  # rows that are drawn first do not depend on how many are drawn
            part = folder / "part.parquet"
            sqlbn.sample(part, rows, bif=network, seed=seed)
        for learner in LEARNERS:
            started = time.perf_counter()
            with sqlbn.fit(part, target="class", learner=learner) as model:
                seconds = time.perf_counter() - started
                accuracy = model.evaluate(test).losses["accuracy"]
            yield Point(source, irrelevant, rows, learner, accuracy, seconds)


def table(points: Sequence[Point]) -> str:
    """Accuracy by source and rows, one column a learner."""
    lines = [f"{'source':8} {'noise':>5} {'rows':>12} " + " ".join(f"{x:>8}" for x in LEARNERS)]
    found = {(p.source, p.irrelevant, p.rows, p.learner): p.accuracy for p in points}
    for source, noise, rows in dict.fromkeys((p.source, p.irrelevant, p.rows) for p in points):
        cells = " ".join(f"{found[source, noise, rows, x]:8.4f}" for x in LEARNERS)
        lines.append(f"{source:8} {noise:5} {rows:12,} {cells}")
    return "\n".join(lines)


def draw(points: Sequence[Point], path: Path) -> None:
    """Accuracy over rows, one panel a source; below, what ten irrelevant attributes cost."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), dpi=120, layout="constrained")
    panels = figure.subplots(2, 3, sharex=True)
    found = {(p.source, p.irrelevant, p.rows, p.learner): p.accuracy for p in points}
    sizes = sorted({p.rows for p in points})
    for column, source in enumerate(SOURCES):
        above, below = panels[0, column], panels[1, column]
        for learner in LEARNERS:
            plain = [found[source, 0, n, learner] for n in sizes]
            noisy = [found[source, NOISE, n, learner] for n in sizes]
            above.plot(sizes, plain, marker="o", markersize=3, label=learner)
            below.plot(
                sizes, [b - a for a, b in zip(plain, noisy, strict=True)], marker="o", markersize=3
            )
        above.set(title=f"{source} source", ylabel="accuracy" if column == 0 else "")
        below.set(xlabel="training rows", xscale="log")
        below.set_ylabel("change with 10 irrelevant attributes" if column == 0 else "")
        for axes in (above, below):
            axes.grid(alpha=0.3)
    panels[0, 0].legend(frameon=False)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "sqlbn"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="of the largest training set")
    parser.add_argument("--test-rows", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write every point to this CSV file")
    parser.add_argument("--plot", type=Path, help="draw the curves into this .svg or .png")
    options = parser.parse_args()
    sizes = [10**e for e in range(2, 10) if 10**e <= options.rows]
    points: list[Point] = []
    with tempfile.TemporaryDirectory() as scratch:
        for irrelevant in (0, NOISE):
            for source in SOURCES:
                for point in measure(
                    Path(scratch), source, irrelevant, sizes, int(options.test_rows), options.seed
                ):
                    points.append(point)
                    print(
                        f"{source} +{irrelevant} {point.rows:,} {point.learner}: "
                        f"{point.accuracy:.4f} ({point.fit_seconds:.1f} s)",
                        flush=True,
                    )
    print(table(points))
    if options.out is not None:
        with options.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(asdict(points[0])))
            writer.writeheader()
            writer.writerows(asdict(p) for p in points)
    if options.plot is not None:
        draw(points, options.plot)


if __name__ == "__main__":
    main()
