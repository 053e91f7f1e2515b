"""What selections by leave-one-out share: the surface of losses, its table, the choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sqlbn.engines.sql import literal
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.kind import Selection
from sqlbn.kinds.losses import Loss
from sqlbn.structure.shape import Choice, choose

Surfaces = dict[Loss, npt.NDArray[np.float64]]


def best_of(surfaces: Surfaces, selection: Selection) -> Choice:
    """The nested model with the smallest loss."""
    surface = surfaces[selection.loss]
    ks = list(selection.ks[: len(surface)])
    return choose(surface, ks, selection.select, selection.loss == "mcc")


def best_with_loss(surfaces: Surfaces, selection: Selection) -> tuple[Choice, float]:
    """The same with its loss."""
    best = best_of(surfaces, selection)
    place = selection.ks.index(best.k), best.n_attributes
    return best, float(surfaces[selection.loss][place])


def write_loocv(
    workspace: Workspace, found: Mapping[str | None, Surfaces], ks: Sequence[int]
) -> None:
    """The workspace's `loocv`: the whole surface of each smoothing, one row a cell and loss."""
    rows = [
        (k, n, loss, float(values[at, n]), smoothing)
        for smoothing, surfaces in found.items()
        for loss, values in surfaces.items()
        for at, k in enumerate(ks[: len(values)])
        for n in range(values.shape[1])
    ]
    workspace.fill("loocv", rows)


def chosen_loss(workspace: Workspace, loss: Loss, k: int, n_attributes: int) -> float:
    """The loss of the model that was chosen; others may have a smaller one where not all could be.

    With `select` k all attributes are kept, though fewer may do better.
    """
    cell = f"loss = {literal(loss)} AND k = {k} AND n_attributes = {n_attributes}"
    return float(workspace.read("loocv", "value", where=cell)[0][0])


def seconds_of(work: Callable[[], None]) -> float:
    """How long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
