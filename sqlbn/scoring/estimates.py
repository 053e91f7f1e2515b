"""Smoothed probabilities from arrays of counts, with back-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.scoring.smoothing import Backoff

Array = npt.NDArray[Any]


def log_prior(class_counts: Sequence[float], m: float) -> list[float]:
    """ln P(y), m-estimate."""
    counts = np.asarray(class_counts, dtype=float)
    prior = (counts + m / len(counts)) / (counts.sum() + m)
    return [float(p) for p in np.log(prior)]


def log_factor(
    counts: Array, m: float, backoff: Backoff, ignored: Sequence[Sequence[int]] = ()
) -> Array:
    """ln P(x | parents, y) for every combination of codes, unseen ones included.

    Axes of `counts`: value, parents in their order, class. In the result every axis but the last
    has one slot more, for unseen values. Back-off walks the parents in their order:
    `cell` stops where the value was not seen with the parents' values, `parents` where these were
    not seen together; `none` is without. `ignored` has for each axis but the last the codes that
    are no values, which may need yet another slot: they are not counted, and where x is one of
    them (without back-off: where any is) the logarithm is 0.
    """
    if backoff == "none":
        estimate = term_estimate(counts, m, ignored)
        bare: Array = np.log(np.where(estimate > 0, estimate, 1.0))
        return bare
    ignored = ignored or [()] * (counts.ndim - 1)
    n_values = _n_values(counts, ignored)
    padded = _padded(counts, ignored)
    if not n_values:
        return np.zeros_like(padded)
    result = None
    for level in range(counts.ndim - 1):
        cells = padded.sum(axis=tuple(range(1 + level, padded.ndim - 1)))
        _overwrite(cells, ignored[: level + 1], 0.0)
        parents = cells.sum(axis=0, keepdims=True)
        estimate = (cells + m / n_values) / (parents + m)
        if result is None:
            result = estimate
        else:
            seen = cells if backoff == "cell" else parents
            usable = seen.sum(axis=-1, keepdims=True) > 0
            result = np.where(usable, estimate, result[..., None, :])
    assert result is not None
    _overwrite(result, ignored[:1], 1.0)
    logs: Array = np.log(result)
    return logs


def term_estimate(counts: Array, m: float, ignored: Sequence[Sequence[int]] = ()) -> Array:
    """P(x | parents, y) without back-off, axes as in `log_factor`; 0 where a value is ignored."""
    ignored = ignored or [()] * (counts.ndim - 1)
    n_values = _n_values(counts, ignored)
    cells = _padded(counts, ignored)
    if not n_values:
        return np.zeros_like(cells)
    _overwrite(cells, ignored, 0.0)
    parents = cells.sum(axis=0, keepdims=True)
    found: Array = (cells + m / n_values) / (parents + m)
    _overwrite(found, ignored, 0.0)
    return found


def _n_values(counts: Array, ignored: Sequence[Sequence[int]]) -> int:
    n_codes: int = counts.shape[0]
    return n_codes - sum(code < n_codes for code in ignored[0])


def _padded(counts: Array, ignored: Sequence[Sequence[int]]) -> Array:
    """A copy with slots for what was not counted on every axis but that of the class."""
    slots = [max(n, *codes, 0) + 1 for n, codes in zip(counts.shape[:-1], ignored, strict=True)]
    found = np.zeros((*slots, counts.shape[-1]))
    found[tuple(slice(n) for n in counts.shape)] = counts
    return found


def _overwrite(values: Array, ignored: Sequence[Sequence[int]], by: float) -> None:
    """Set what has an ignored code."""
    for axis, codes in enumerate(ignored):
        values[(slice(None),) * axis + (list(codes),)] = by
