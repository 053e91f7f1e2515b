"""The pictures: leave-one-out curves, learning curves, streams, class profiles of variables."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.engines.output_files import check_folder
from sqlbn.errors import OptionError, opt
from sqlbn.text import printable

if TYPE_CHECKING:
    from sqlbn.evaluation.cross_validation import Point
    from sqlbn.evaluation.univariate import Preparation
    from sqlbn.updates.stream import StreamBatch

LABELS = {
    "rmse": "RMSE of the true class",
    "zero_one": "0-1 loss",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "mcc": "Matthews correlation",
    "accuracy": "accuracy",
    "rmse_all": "RMSE over all classes",
    "macro_f1": "macro F1",
    "auc": "AUC",
    "aoprc": "area over the precision-recall curve",
}
# A part narrower than this share of the rows has no room for its name.
_NAMED_WIDTH = 0.05
_MOST_CLASSES_NAMED = 16


def check_plot(path: str | Path | None) -> None:
    """Fail before the work where a picture is wanted that cannot be drawn."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".svg", ".png"):
        raise OptionError("the name must end in .svg or .png", plot=path)
    if importlib.util.find_spec("matplotlib") is None:
        raise OptionError(f"{opt('plot')} needs matplotlib: pip install matplotlib")
    check_folder(Path(path), "plot")


def check_pictures(folder: str | Path | None) -> None:
    """The same for a folder of pictures, which is made where there is none."""
    if folder is None:
        return
    if not str(folder):
        raise OptionError("name a folder", plot=folder)
    if Path(folder).exists() and not Path(folder).is_dir():
        raise OptionError("that is a file; name a folder", plot=folder)
    check_plot(Path(folder).parent / "ranks.svg" if not Path(folder).exists() else None)


def label_of(text: str) -> str:
    """A text that a picture shows as it is: dollars would begin a formula, `_` hides a label."""
    shown = printable(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def axes_of(path: Path) -> tuple[Any, Any]:
    """A figure and its axes."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_loocv(
    path: str | Path,
    surface: Sequence[dict[str, Any]],
    loss: str,
    chosen: tuple[int, int],
    title: str,
    letter: str = "k",
) -> None:
    """Loss over the number of attributes, one line a k (`letter`), the chosen model marked."""
    figure, axes = axes_of(Path(path))
    rows = [r for r in surface if r["loss"] == loss]
    for k in sorted({r["k"] for r in rows}):
        line = sorted((r["n_attributes"], r["value"]) for r in rows if r["k"] == k)
        axes.plot(*zip(*line, strict=True), label=f"{letter} = {k}", linewidth=1.6)
    best = [r["value"] for r in rows if (r["k"], r["n_attributes"]) == chosen]
    label = f"chosen: {letter} = {chosen[0]}, {chosen[1]} attributes, {best[0]:.4f}"
    axes.plot([chosen[1]], best, "o", color="black", markersize=9, fillstyle="none", label=label)
    axes.set(
        xlabel="attributes, in order of mutual information with the class", title=label_of(title)
    )
    axes.set_ylabel(f"leave-one-out {LABELS[loss]}")
    save(figure, axes, path)


def plot_curves(path: str | Path, points: Sequence[Point], loss: str, title: str) -> None:
    """Loss over the size of the training set, one line a learner, bars of one deviation."""
    figure, axes = axes_of(Path(path))
    names = list(dict.fromkeys(p.learner for p in points))
    for place, learner in enumerate(names):
        # A little apart, so that bars of one size can be told from each other.
        shift = 1.02 ** (place - (len(names) - 1) / 2)
        line = sorted((p for p in points if p.learner == learner), key=lambda p: p.size)
        axes.errorbar(
            [p.size * shift for p in line],
            [p.mean(loss) for p in line],
            yerr=[p.deviation(loss) for p in line],
            label=label_of(learner),
            marker="o",
            markersize=4,
            capsize=3,
            linewidth=1.6,
        )
    axes.set(xscale="log", xlabel="training rows", ylabel=LABELS[loss], title=label_of(title))
    sizes = sorted({p.size for p in points})
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    save(figure, axes, path)


def plot_stream(path: str | Path, batches: Sequence[StreamBatch], loss: str, title: str) -> None:
    """Loss of every batch of a stream, of the recent ones with their band, and of all so far."""
    figure, axes = axes_of(Path(path))
    at = [b.rows_before for b in batches]
    axes.plot(at, [b.loss for b in batches], ".", color="0.7", markersize=4, label="batch")
    axes.plot(at, [b.recent for b in batches], linewidth=1.6, label="recent batches")
    if any(b.high is not None for b in batches):  # gaps where it is not known stay gaps
        high = [math.nan if b.high is None else b.high for b in batches]
        axes.plot(at, high, ":", color="C2", linewidth=1.6, label="limit of the recent loss")
    axes.plot(at, [b.running for b in batches], color="black", linewidth=1.2, label="all so far")
    for place, batch in enumerate(b for b in batches if b.drift):
        label = "drift" if place == 0 else None
        axes.axvline(batch.rows_before, color="C3", linewidth=1.2, alpha=0.6, label=label)
    axes.set(xlabel="rows learned from", ylabel=LABELS[loss], title=label_of(title))
    save(figure, axes, path)


def plot_profiles(path: str | Path, found: Preparation, names: Sequence[str], title: str) -> None:
    """A panel a variable: the classes' shares in each part, which is as wide as it has rows."""
    check_plot(path)
    from matplotlib.figure import Figure

    columns = min(3, max(1, len(names)))
    lines = max(1, math.ceil(len(names) / columns))
    figure = Figure(figsize=(4.6 * columns, 3.2 * lines + 0.9), dpi=120, layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    classes = found.classes["class"].to_pylist()
    levels = {r["attribute"]: r["level"] for r in found.variables.to_pylist()}
    for axes, name in zip(grid.flat, names, strict=False):
        _draw_profile(axes, found.profile_of(name), classes)
        axes.set_title(f"{label_of(name)}: level {levels[name]:.4f}", fontsize=10)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_visible(False)
    shown = classes[:_MOST_CLASSES_NAMED]
    handles = [_patch(_colour(j, len(classes)), label_of(c)) for j, c in enumerate(shown)]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False)
    figure.suptitle(label_of(title), fontsize=11)
    write(figure, path)


def _draw_profile(axes: Any, parts: Sequence[dict[str, Any]], classes: Sequence[str]) -> None:
    """Stacked shares side by side; parts that are wide enough are named below."""
    total = sum(p["rows"] for p in parts) or 1
    widths = [p["rows"] / total for p in parts]
    starts = list(accumulate(widths, initial=0.0))[:-1]
    bottoms = [0.0] * len(parts)
    for j, name in enumerate(classes):
        shares = [p["shares"][name] for p in parts]
        axes.bar(starts, shares, widths, bottoms, align="edge", color=_colour(j, len(classes)))
        bottoms = [low + share for low, share in zip(bottoms, shares, strict=True)]
    named = []
    for part, start, width in zip(parts, starts, widths, strict=True):
        if width >= _NAMED_WIDTH:
            axes.axvline(start, color="white", linewidth=0.8)
            label = printable(part["part"]) if part["part"] is not None else "missing"
            short = label if len(label) < 19 else f"{label[:17]}…"
            named.append((start + width / 2, label_of(short)))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_xticks([x for x, _ in named], [text for _, text in named], rotation=30, ha="right")
    axes.tick_params(labelsize=7, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _colour(number: int, of: int) -> Any:
    from matplotlib import colormaps

    return colormaps["tab10"](number) if of <= 10 else colormaps["viridis"](number / (of - 1))


def _patch(colour: Any, label: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=colour, label=label)


def save(figure: Any, axes: Any, path: str | Path) -> None:
    """Write the picture with its legend."""
    axes.legend(frameon=False)
    write(figure, path)


def write(figure: Any, path: str | Path) -> None:
    """Write the file; the same picture gives the same bytes."""
    from matplotlib import rc_context

    is_svg = Path(path).suffix.lower() == ".svg"
    with rc_context({"svg.hashsalt": "sqlbn", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if is_svg else {})
