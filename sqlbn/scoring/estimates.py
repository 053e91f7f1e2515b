"""Smoothed probabilities from arrays of counts, with back-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.scoring.smoothing import Backoff, silent_codes

Array = npt.NDArray[Any]


def log_prior(class_counts: Sequence[float], m: float) -> list[float]:
    """ln P(y), m-estimate."""
    counts = np.asarray(class_counts, dtype=float)
    prior = (counts + m / len(counts)) / (counts.sum() + m)
    return [float(p) for p in np.log(prior)]


def log_factor(counts: Array, m: float, backoff: Backoff, gone: Sequence[int | None] = ()) -> Array:
    """ln P(x | parents, y) for every combination of codes, unseen ones included.

    Axes of `counts`: value, parents in their order, class. In the result every axis but the last
    has one slot more, for unseen values. Back-off walks the parents in their order:
    `cell` stops where the value was not seen with the parents' values, `parents` where these were
    not seen together; `none` is without. `gone` has for each axis but the last the code that is
    no value, which may need yet another slot: it is not counted, and where x is it (without
    back-off: where any is) the logarithm is 0.
    """
    if backoff == "none":
        estimate = term_estimate(counts, m, gone)
        bare: Array = np.log(np.where(estimate > 0, estimate, 1.0))
        return bare
    gone = gone or [None] * (counts.ndim - 1)
    n_values = _n_values(counts, gone)
    padded = _padded(counts, gone)
    if not n_values:
        return np.zeros_like(padded)
    result = None
    for level in range(counts.ndim - 1):
        cells = padded.sum(axis=tuple(range(1 + level, padded.ndim - 1)))
        _silence(cells, gone[: level + 1])
        parents = cells.sum(axis=0, keepdims=True)
        estimate = (cells + m / n_values) / (parents + m)
        if result is None:
            result = estimate
        else:
            seen = cells if backoff == "cell" else parents
            usable = seen.sum(axis=-1, keepdims=True) > 0
            result = np.where(usable, estimate, result[..., None, :])
    assert result is not None
    _silence(result, gone[:1], 1.0)
    logs: Array = np.log(result)
    return logs


def term_estimate(counts: Array, m: float, gone: Sequence[int | None] = ()) -> Array:
    """P(x | parents, y) without back-off, axes as in `log_factor`; 0 where a value is missing."""
    gone = gone or [None] * (counts.ndim - 1)
    n_values = _n_values(counts, gone)
    cells = _padded(counts, gone)
    if not n_values:
        return np.zeros_like(cells)
    _silence(cells, gone)
    parents = cells.sum(axis=0, keepdims=True)
    found: Array = (cells + m / n_values) / (parents + m)
    _silence(found, gone)
    return found


def _n_values(counts: Array, gone: Sequence[int | None]) -> int:
    n_codes: int = counts.shape[0]
    return n_codes - (gone[0] is not None and gone[0] < n_codes)


def _padded(counts: Array, gone: Sequence[int | None]) -> Array:
    """A copy with slots for what was not counted on every axis but that of the class."""
    slots = [max(n, code or 0) + 1 for n, code in zip(counts.shape[:-1], gone, strict=True)]
    found = np.zeros((*slots, counts.shape[-1]))
    found[tuple(slice(n) for n in counts.shape)] = counts
    return found


def _silence(values: Array, gone: Sequence[int | None], by: float = 0.0) -> None:
    """Overwrite what has a code that is no value."""
    for axis, code in enumerate(gone):
        for silent in silent_codes(code):
            values[(slice(None),) * axis + (silent,)] = by
