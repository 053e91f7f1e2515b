"""How counts become probabilities: which estimate, which back-off, what a missing value counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlbn.errors import OptionError

Backoff = Literal["cell", "parents", "parents-both", "none"]
BACKOFFS: dict[Backoff, str] = {
    "cell": "where the value was never seen with theirs, in leave-one-out as in prediction",
    "parents": "in prediction only where their values were never seen together, but in "
    "leave-one-out as cell: what is selected is selected for another rule than the one that "
    "predicts (the program of the method's authors)",
    "parents-both": "where their values were never seen together, in leave-one-out as in "
    "prediction",
}
Estimate = Literal["m", "laplace"]
Missing = Literal["value", "ignore"]


@dataclass(frozen=True)
class Smoothing:
    """The rules that turn counts into probabilities.

    `backoff` parents is the papers' program: rows are left out by the rule of cells, new ones are
    scored by that of parents; parents-both has the latter in both.
    `estimate` laplace is the m-estimate whose m is the number of values. With `missing` ignore a
    missing value is none: it is not counted, and what contains it at prediction is left out.
    """

    m: float = 1.0
    backoff: Backoff = "cell"
    estimate: Estimate = "m"
    missing: Missing = "value"

    @staticmethod
    def of_meta(meta: Mapping[str, str]) -> Smoothing:
        """The rules that a model's meta table tells; older models have m-estimates."""
        return Smoothing(
            float(meta["m"]),
            checked("backoff", meta.get("backoff", "cell"), get_args(Backoff)),  # type: ignore[arg-type]
            checked_estimate(meta.get("estimate", "m")),
            checked_missing(meta.get("missing", "value")),
        )

    @property
    def ignores(self) -> bool:
        """Whether missing values are left out."""
        return self.missing == "ignore"

    @property
    def left_out_by_parents(self) -> bool:
        """Whether leave-one-out backs off only where the parents' values do not occur together."""
        return self.backoff == "parents-both"

    def m_of(self, n_values: int) -> float:
        """The m of a variable with so many values."""
        return float(n_values) if self.estimate == "laplace" else self.m

    def share_of(self, n_values: int) -> float:
        """What is added to the count of each of so many values; 0 where there is none."""
        return self.m_of(n_values) / n_values if n_values else 0.0

    def gone(self, n_codes: int, missing: int | None) -> int | None:
        """The code that counts as no value; None where every code is a value.

        `n_codes` and `missing` are those of training. Where that had no missing value, new rows
        may still have one: it gets a code behind that of unseen values.
        """
        if not self.ignores:
            return None
        return missing if missing is not None else n_codes + 1

    def slots(self, n_codes: int, missing: int | None) -> int:
        """Codes that new rows may have."""
        return max(n_codes, self.gone(n_codes, missing) or 0) + 1

    def n_values(self, n_codes: int, missing: int | None) -> int:
        """How many of an attribute's codes are values."""
        return n_codes - (self.ignores and missing is not None)


def silent_codes(gone: int | None) -> list[int]:
    """The codes that say nothing of an attribute: that of missing values where these are ignored.

    Where the missing code is the first, training had no value at all, and
    whatever comes at prediction is left out.

    >>> silent_codes(None), silent_codes(3), silent_codes(0)
    ([], [3], [0, 1])
    """
    return [] if gone is None else [0, 1] if gone == 0 else [gone]


def checked_backoff(name: str) -> Backoff:
    """The rule of back-off of that name, or an error that lists them; `none` is not a choice."""
    return cast(Backoff, checked("backoff", name, tuple(BACKOFFS)))


def checked_estimate(name: str) -> Estimate:
    """The estimate of that name, or an error that lists them."""
    return cast(Estimate, checked("estimate", name, get_args(Estimate)))


def checked_missing(name: str) -> Missing:
    """The policy of that name, or an error that lists them."""
    return cast(Missing, checked("missing", name, get_args(Missing)))


def checked(option: str, name: str, known: tuple[str, ...]) -> str:
    """One of the known names, or an error that lists them."""
    if name not in known:
        listed = ", ".join(known[:-1])
        raise OptionError(f"--{option} {name}: choose {listed} or {known[-1]}")
    return name
