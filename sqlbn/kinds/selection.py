"""What selections by leave-one-out share: the surface of losses, its table, the choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines.sql import literal
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.kind import Selection
from sqlbn.kinds.losses import Loss
from sqlbn.structure.shape import Choice, choose

Surfaces = dict[Loss, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class NestedLosses:
    """The leave-one-out losses of all nested models, by k' and number of attributes.

    `population` are the rows that were left out in turn; those that a value rests on are fewer
    where a race was lost, in an array `rows` (None: they all rest on all). `race` is what the meta
    table says of it.
    """

    surfaces: Surfaces
    ks: Sequence[int]
    population: int
    rows: npt.NDArray[np.int64] | None = None
    race: Mapping[str, Any] | None = None

    @property
    def exact(self) -> npt.NDArray[np.bool_] | None:
        """Which values rest on all rows; None: they all do."""
        return None if self.rows is None else self.rows == self.population

    def cells(self) -> Iterator[tuple[int, int, Loss, float, int]]:
        """k', number of attributes, name and value of a loss, the rows that it rests on."""
        for loss, values in self.surfaces.items():
            for at, k in enumerate(self.ks[: len(values)]):
                for n in range(values.shape[1]):
                    rows = self.population if self.rows is None else int(self.rows[at, n])
                    yield k, n, loss, float(values[at, n]), rows


def best_of(
    surfaces: Surfaces, selection: Selection, exact: npt.NDArray[np.bool_] | None = None
) -> Choice:
    """The nested model with the smallest loss, of those whose losses are `exact`."""
    surface, is_larger_better = surfaces[selection.loss], selection.loss == "mcc"
    if exact is not None:
        surface = np.where(exact, surface, -np.inf if is_larger_better else np.inf)
    ks = list(selection.ks[: len(surface)])
    return choose(surface, ks, selection.select, is_larger_better)


def best_with_loss(
    surfaces: Surfaces, selection: Selection, exact: npt.NDArray[np.bool_] | None = None
) -> tuple[Choice, float]:
    """The same with its loss."""
    best = best_of(surfaces, selection, exact)
    place = selection.ks.index(best.k), best.n_attributes
    return best, float(surfaces[selection.loss][place])


def write_loocv(workspace: Workspace, found: Mapping[str | None, NestedLosses]) -> None:
    """The workspace's `loocv`: the whole surface of each smoothing, one row a cell and loss."""
    rows = [
        (k, n, loss, value, smoothing, used)
        for smoothing, nested in found.items()
        for k, n, loss, value, used in nested.cells()
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
