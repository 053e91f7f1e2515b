"""Choosing among nested models by a surface of losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sqlbn.structure.information import DECIMALS

Select = Literal["both", "attributes", "k"]


@dataclass(frozen=True)
class Choice:
    """How many parents, and how many of the attributes in MI order."""

    k: int
    n_attributes: int


def choose(
    surface: npt.NDArray[np.float64], ks: list[int], select: Select, larger_is_better: bool = False
) -> Choice:
    """The cell with the smallest loss; ties: fewer attributes, then fewer parents.

    Losses are compared after rounding: the last bits of a parallel sum must not decide.
    """
    d = surface.shape[1] - 1
    rounded = np.round(-surface if larger_is_better else surface, DECIMALS)
    counts = [d] if select == "k" else list(range(d + 1))
    best = min((float(rounded[at, n]), n, k) for at, k in enumerate(ks) for n in counts)
    return Choice(k=best[2], n_attributes=best[1])
