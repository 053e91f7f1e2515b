"""The pictures of a bench: critical differences, two learners over sets, error and time, bias."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from sqlbn.engines.sql import literal, select_sql
from sqlbn.lab.comparing import Losses, compared_losses
from sqlbn.lab.plan import Plan
from sqlbn.lab.results_file import Results
from sqlbn.lab.statistics import critical_difference, groups_alike, has_scipy, mean_ranks
from sqlbn.report.plots import LABELS, axes_of, label_of, save, write

# Of so many learners every two are drawn against each other; of more the first against each.
_MOST_PAIRED = 4
_SIZES = {"small": "C0", "medium": "C1", "large": "C2"}


def draw(results: Results, plan: Plan, folder: Path) -> list[Path]:
    """Every picture that there are results for, and the files."""
    folder.mkdir(exist_ok=True)
    found: list[Path] = []
    names = [c.name for c in plan.learners]
    for measure in plan.measures:
        losses = compared_losses(results, plan, measure)
        sets = losses.sets()
        if not sets or len(names) < 2:
            continue
        ranks = mean_ranks([[losses.signed(s, c) for c in names] for s in sets])
        title = f"mean ranks by {LABELS[measure]}, {len(sets)} data sets"
        if has_scipy():
            found.append(folder / f"ranks-{measure}.svg")
            plot_ranks(found[-1], names, ranks, critical_difference(len(names), len(sets)), title)
        every = (
            combinations(names, 2)
            if len(names) <= _MOST_PAIRED
            else ((names[0], c) for c in names[1:])
        )
        for one, other in every:
            found.append(folder / f"{_file_name(f'{one}-{other}')}-{measure}.svg")
            plot_pair(found[-1], losses, one, other, f"{other} beside {one}")
        base = next((c.name for c in plan.learners if c.learner == "nb"), names[0])
        found.append(folder / f"cost-{measure}.svg")
        plot_cost(
            found[-1], losses, compared_losses(results, plan, "fit_seconds"), base, "error and time"
        )
    for loss, method in (("zero_one", "Kohavi-Wolpert"), ("zero_one", "Webb"), ("squared", "mean")):
        where = f"loss = {literal(loss)} AND method = {literal(method)}"
        listed = "learner, avg(error), avg(bias), avg(variance)"
        rows = results.rows(
            select_sql(results.name("decompositions"), listed, where=where, group="learner")
        )
        if rows:
            rows.sort(key=lambda row: names.index(row[0]) if row[0] in names else len(names))
            found.append(folder / f"bias-{_file_name(f'{loss}-{method}')}.svg")
            plot_decomposition(found[-1], rows, f"bias and variance, {loss}, {method}")
    return found


def _file_name(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-").lower()


def plot_ranks(
    path: Path, names: Sequence[str], ranks: Sequence[float], difference: float, title: str
) -> None:
    """A line of mean ranks; bars join learners that differ by less than the critical difference."""
    from matplotlib.figure import Figure

    order = sorted(range(len(names)), key=ranks.__getitem__)
    groups = groups_alike(ranks, difference)
    half = math.ceil(len(names) / 2)
    height = 1.5 + 0.28 * half + 0.16 * len(groups)
    figure = Figure(figsize=(8, height), dpi=120, layout="constrained")
    axes = figure.subplots()
    top, low, high = 0.0, 1, max(2, len(names))
    margin = 0.55 * (high - low) + 0.6
    axes.set(xlim=(low - margin, high + margin), ylim=(-height + 1.2, top + 1.1))
    axes.axis("off")
    axes.plot([low, high], [top, top], color="black", linewidth=1.2)
    for rank in range(low, high + 1):
        axes.plot([rank, rank], [top, top + 0.12], color="black", linewidth=1)
        axes.text(rank, top + 0.2, str(rank), ha="center", fontsize=9)
    below = top - 0.25 - 0.16 * len(groups)
    for place, learner in enumerate(order):
        left = place < half
        line = below - 0.28 * (place if left else len(order) - 1 - place)
        edge = low - 0.15 if left else high + 0.15
        axes.plot(
            [ranks[learner], ranks[learner], edge], [top, line, line], color="0.3", linewidth=1
        )
        text = f"{label_of(names[learner])}  {ranks[learner]:.2f}"
        axes.text(
            edge,
            line,
            f"{text} " if left else f" {text}",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
        )
    for place, group in enumerate(groups):
        line = top - 0.16 * (place + 1)
        ends = [ranks[group[0]] - 0.03, ranks[group[-1]] + 0.03]
        axes.plot(ends, [line, line], color="black", linewidth=3.5, solid_capstyle="butt")
    axes.plot([low, low + difference], [top + 0.62] * 2, "|-", color="black", linewidth=1.2)
    axes.text(
        low + difference / 2,
        top + 0.7,
        f"critical difference {difference:.2f}",
        ha="center",
        fontsize=9,
    )
    axes.set_title(label_of(title), fontsize=11)
    write(figure, path)


def plot_pair(path: Path, losses: Losses, one: str, other: str, title: str) -> None:
    """A point a data set, one learner across, another up; below the line the latter is better."""
    figure, axes = axes_of(path)
    values: list[float] = []
    for size, colour in _SIZES.items():
        points = [(losses.mean(s, one), losses.mean(s, other)) for s in losses.sets(size)]
        # A logarithm has no place for 0.
        points = [(max(x, 1e-5), max(y, 1e-5)) for x, y in points]
        if points:
            axes.plot(*zip(*points, strict=True), "o", color=colour, markersize=5, label=size)
        values += [value for point in points for value in point]
    ends = [min(values) / 1.15, max(values) * 1.15]
    axes.plot(ends, ends, color="0.5", linewidth=1)
    what = LABELS.get(losses.measure, losses.measure)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=label_of(title))
    axes.set(xlabel=label_of(f"{what}, {one}"), ylabel=label_of(f"{what}, {other}"))
    axes.set_aspect("equal")
    save(figure, axes, path)


def plot_cost(path: Path, losses: Losses, seconds: Losses, base: str, title: str) -> None:
    """Error over the time of a fit, geometric means over data sets of the ratios to one learner."""
    figure, axes = axes_of(path)
    for learner in losses.learners:
        x, y = (_ratio(found, learner, base) for found in (seconds, losses))
        axes.plot([x], [y], "o", markersize=6)
        axes.annotate(
            label_of(learner), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=9
        )
    what = LABELS.get(losses.measure, losses.measure)
    axes.set(xscale="log", title=label_of(title))
    axes.set(xlabel=label_of(f"seconds of a fit, over those of {base}"))
    axes.set(ylabel=label_of(f"{what}, over that of {base}"))
    write(figure, path)


def _ratio(losses: Losses, learner: str, base: str) -> float:
    """The geometric mean over data sets; those where either is 0 are left out."""
    pairs = [(losses.mean(s, learner), losses.mean(s, base)) for s in losses.sets()]
    logs = [math.log(a / b) for a, b in pairs if a > 0 and b > 0]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def plot_decomposition(path: Path, rows: Sequence[tuple[Any, ...]], title: str) -> None:
    """Bars of bias with variance on top, a learner each: (learner, error, bias, variance)."""
    figure, axes = axes_of(path)
    names = [label_of(row[0]) for row in rows]
    axes.bar(names, [row[2] for row in rows], 0.6, label="bias", color="C0")
    axes.bar(
        names, [row[3] for row in rows], 0.6, [row[2] for row in rows], label="variance", color="C1"
    )
    axes.set(ylabel="loss, mean over data sets", title=label_of(title))
    axes.tick_params(axis="x", labelrotation=30)
    save(figure, axes, path)
