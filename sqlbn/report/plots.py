"""The pictures: leave-one-out curves and learning curves."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.errors import OptionError

if TYPE_CHECKING:
    from sqlbn.evaluation.curves import Point

_LABELS = {
    "rmse": "RMSE of the true class",
    "zero_one": "0-1 loss",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "mcc": "Matthews correlation",
    "accuracy": "accuracy",
}


def check_plot(path: str | Path | None) -> None:
    """Fail before the work where a picture is wanted that cannot be drawn."""
    if path is None:
        return
    if Path(path).suffix.lower() not in (".svg", ".png"):
        raise OptionError(f"--plot {path}: the name must end in .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise OptionError("--plot needs matplotlib: pip install matplotlib")


def _axes(path: Path) -> tuple[Any, Any]:
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
    figure, axes = _axes(Path(path))
    rows = [r for r in surface if r["loss"] == loss]
    for k in sorted({r["k"] for r in rows}):
        line = sorted((r["n_attributes"], r["value"]) for r in rows if r["k"] == k)
        axes.plot(*zip(*line, strict=True), label=f"{letter} = {k}", linewidth=1.6)
    best = [r["value"] for r in rows if (r["k"], r["n_attributes"]) == chosen]
    label = f"chosen: {letter} = {chosen[0]}, {chosen[1]} attributes, {best[0]:.4f}"
    axes.plot([chosen[1]], best, "o", color="black", markersize=9, fillstyle="none", label=label)
    axes.set(xlabel="attributes, in order of mutual information with the class", title=title)
    axes.set_ylabel(f"leave-one-out {_LABELS[loss]}")
    _save(figure, axes, path)


def plot_curves(path: str | Path, points: Sequence[Point], loss: str, title: str) -> None:
    """Loss over the size of the training set, one line a learner, bars of one deviation."""
    figure, axes = _axes(Path(path))
    for learner in dict.fromkeys(p.learner for p in points):
        line = sorted((p for p in points if p.learner == learner), key=lambda p: p.size)
        axes.errorbar(
            [p.size for p in line],
            [p.mean(loss) for p in line],
            yerr=[p.deviation(loss) for p in line],
            label=learner,
            marker="o",
            markersize=4,
            capsize=3,
            linewidth=1.6,
        )
    axes.set(xscale="log", xlabel="training rows", ylabel=_LABELS[loss], title=title)
    _save(figure, axes, path)


def _save(figure: Any, axes: Any, path: str | Path) -> None:
    """Write the file; the same picture gives the same bytes."""
    from matplotlib import rc_context

    axes.legend(frameon=False)
    is_svg = Path(path).suffix.lower() == ".svg"
    with rc_context({"svg.hashsalt": "sqlbn", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if is_svg else {})
