"""Smoothed probabilities from arrays of counts, with back-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sqlbn.options.catalogue import checked

Backoff = Literal["cell", "parents", "parents-both", "none"]
Estimate = Literal["m", "laplace"]
Missing = Literal["value", "ignore"]
Unseen = Literal["neutral", "smoothed"]


@dataclass(frozen=True)
class Smoothing:
    """The rules that turn counts into probabilities.

    `backoff` parents is the papers' program: rows are left out by the rule of cells, new ones are
    scored by that of parents; parents-both has the latter in both.
    `estimate` laplace is the m-estimate whose m is the number of values. With `missing` ignore a
    missing value is none: it is not counted, and what contains it at prediction is left out. With
    `unseen` neutral a value that no training row has is left out too: it says nothing of the
    class. Smoothed, it is a value with a count of 0, which multiplies the odds of a rare class.
    """

    m: float = 1.0
    backoff: Backoff = "cell"
    estimate: Estimate = "m"
    missing: Missing = "value"
    unseen: Unseen = "neutral"

    @staticmethod
    def of_meta(meta: Mapping[str, str]) -> Smoothing:
        """The rules that a model's meta table tells; older models have m-estimates, smoothed."""
        return Smoothing(
            float(meta["m"]),
            _stored_backoff(meta.get("backoff", "cell")),
            checked_estimate(meta.get("estimate", "m")),
            checked_missing(meta.get("missing", "value")),
            checked_unseen(meta.get("unseen", "smoothed")),
        )

    @property
    def ignores(self) -> bool:
        """Whether missing values are left out."""
        return self.missing == "ignore"

    @property
    def left_out_by_parents(self) -> bool:
        """Whether leave-one-out backs off only where the parents' values do not occur together."""
        return self.backoff == "parents-both"

    @property
    def is_neutral(self) -> bool:
        """Whether a value that no training row has says nothing of the class."""
        return self.unseen == "neutral"

    @property
    def has_loo(self) -> bool:
        """Whether a product of such estimates has a leave-one-out form."""
        return self.estimate == "m" and not self.ignores and self.backoff != "none"

    def m_of(self, n_values: int) -> float:
        """The m of a variable with so many values."""
        return float(n_values) if self.estimate == "laplace" else self.m

    def share_of(self, n_values: int) -> float:
        """What is added to the count of each of so many values; 0 where there is none."""
        return self.m_of(n_values) / n_values if n_values else 0.0

    def missing_code(self, n_codes: int, missing: int | None) -> int | None:
        """The code of missing values; None where they are unseen values like others.

        `n_codes` and `missing` are those of training. Where that had no missing value and only
        missing values are to be left out, they get a code behind that of unseen values.
        """
        if missing is None and self.ignores and not self.is_neutral:
            return n_codes + 1
        return missing

    def ignored_codes(self, n_codes: int, missing: int | None) -> tuple[int, ...]:
        """The codes that say nothing of the class, in ascending order.

        >>> Smoothing().ignored_codes(3, 2), Smoothing(missing="ignore").ignored_codes(3, 2)
        ((3,), (2, 3))
        >>> smoothed = Smoothing(missing="ignore", unseen="smoothed")
        >>> smoothed.ignored_codes(3, 2), smoothed.ignored_codes(3, None)
        ((2,), (4,))

        Where the missing code is the first, training had no value at all, and whatever comes at
        prediction is left out.

        >>> smoothed.ignored_codes(1, 0)
        (0, 1)
        """
        code = self.missing_code(n_codes, missing) if self.ignores else None
        unseen = {n_codes} if self.is_neutral or code == 0 else set[int]()
        return tuple(sorted(unseen if code is None else unseen | {code}))

    def slots(self, n_codes: int, missing: int | None) -> int:
        """Codes that new rows may have."""
        return max(n_codes, self.missing_code(n_codes, missing) or 0) + 1

    def n_values(self, n_codes: int, missing: int | None) -> int:
        """How many of an attribute's codes are values."""
        return n_codes - (self.ignores and missing is not None)


def checked_backoff(name: str) -> Backoff:
    """The rule of back-off of that name, or an error that lists them; `none` is not a choice."""
    return cast(Backoff, checked("backoff", name))


def checked_estimate(name: str) -> Estimate:
    """The estimate of that name, or an error that lists them."""
    return cast(Estimate, checked("estimate", name))


def checked_missing(name: str) -> Missing:
    """The policy of that name, or an error that lists them."""
    return cast(Missing, checked("missing", name))


def checked_unseen(name: str) -> Unseen:
    """The rule of that name, or an error that lists them."""
    return cast(Unseen, checked("unseen", name))


def _stored_backoff(name: str) -> Backoff:
    """That of a model, which may have none."""
    return "none" if name == "none" else checked_backoff(name)


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
