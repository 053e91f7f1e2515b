"""Smoothed log probabilities from arrays of counts, with back-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Backoff = Literal["cell", "parents"]
Array = npt.NDArray[Any]


def log_prior(class_counts: Sequence[float], m: float) -> list[float]:
    """ln P(y), m-estimate."""
    counts = np.asarray(class_counts, dtype=float)
    prior = (counts + m / len(counts)) / (counts.sum() + m)
    return [float(p) for p in np.log(prior)]


def log_factor(counts: Array, m: float, backoff: Backoff) -> Array:
    """ln P(x | parents, y) for every combination of codes, unseen ones included.

    Axes of `counts`: value, parents in their order, class. In the result every axis but the last
    has one slot more, for unseen values. Back-off walks the parents in their order:
    `cell` stops where the value was not seen with the parents' values, `parents` where these were
    not seen together.
    """
    n_values = counts.shape[0]
    padded = np.pad(counts.astype(float), [(0, 1)] * (counts.ndim - 1) + [(0, 0)])
    result = None
    for level in range(counts.ndim - 1):
        cells = padded.sum(axis=tuple(range(1 + level, padded.ndim - 1)))
        parents = cells.sum(axis=0, keepdims=True)
        estimate = (cells + m / n_values) / (parents + m)
        if result is None:
            result = estimate
        else:
            seen = cells if backoff == "cell" else parents
            usable = seen.sum(axis=-1, keepdims=True) > 0
            result = np.where(usable, estimate, result[..., None, :])
    assert result is not None
    logs: Array = np.log(result)
    return logs
