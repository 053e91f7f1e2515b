"""Which partition a column gets: the methods of discretisation and what each finds.

A new method is an entry in `INTERVALS` (cut points supervised by the class) or, like `ef`, a road
of its own in books.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlbn.encode.supervised.mdl import mdl_partition
from sqlbn.encode.supervised.modl import cuts_at, modl_partition
from sqlbn.encode.value_classes import ValueClasses
from sqlbn.errors import OptionError, opt
from sqlbn.options.lists import as_list, names_in

METHODS = ("ef", "mdl", "modl")
# The best of several, by leave-one-out.
AUTO = "auto"
ENCODINGS = "ef:5,ef:10,ef:20,ef:50,mdl,modl"
DEFAULT_BINS = 5


@dataclass(frozen=True)
class Discretisation:
    """How columns become parts: by equal frequency, or supervised by the class."""

    method: str = "ef"
    bins: int = DEFAULT_BINS

    @property
    def intervals(self) -> Callable[[ValueClasses], Sequence[int]] | None:
        """The supervised search for cut points; None for equal frequency."""
        return INTERVALS.get(self.method)

    def options(self) -> dict[str, Any]:
        """What the meta table tells of it."""
        return {"discretise": self.method} | ({"bins": self.bins} if self.method == "ef" else {})

    def __str__(self) -> str:
        return f"ef:{self.bins}" if self.method == "ef" else self.method

    @property
    def groups_values(self) -> bool:
        """Whether categories are put into groups."""
        return self.method == "modl"


def candidates(given: str | Sequence[str] = ()) -> list[Discretisation]:
    """The encodings that are tried, written as in `ef:20,modl`; without any, the usual ones.

    >>> candidates("ef:20,modl")
    [Discretisation(method='ef', bins=20), Discretisation(method='modl', bins=5)]
    """
    found = []
    for word in names_in(as_list(given or ENCODINGS)):
        method, _, bins = word.strip().partition(":")
        if method not in METHODS or (bins and (method != "ef" or not bins.isdigit())):
            raise OptionError(f"write for example {ENCODINGS}", encodings=word.strip())
        if bins and int(bins) < 2:
            raise OptionError("give at least 2 intervals", encodings=word.strip())
        found.append(Discretisation(method, int(bins) if bins else DEFAULT_BINS))
    return list(dict.fromkeys(found))


def checked_method(method: str, bins: int | None) -> str:
    """The method where it is known and goes with the number of bins."""
    if method not in (*METHODS, AUTO):
        raise OptionError(f"choose {', '.join((*METHODS, AUTO))}", discretise=method)
    if bins is not None and method != "ef":
        raise OptionError(
            f"{opt('bins')} requires {opt('discretise', 'ef')}; {method} finds their number itself"
        )
    return method


def _modl(cells: ValueClasses) -> Sequence[int]:
    found: list[int] = modl_partition(cells.counts, cells.missing).bounds.tolist()
    return found


def _mdl(cells: ValueClasses) -> Sequence[int]:
    found: list[int] = mdl_partition(cells.counts).tolist() if cells.some_present else []
    return found


INTERVALS: dict[str, Callable[[ValueClasses], Sequence[int]]] = {"mdl": _mdl, "modl": _modl}


def cut_points(cells: ValueClasses, bounds: Sequence[int]) -> tuple[float, ...]:
    """The cut points of intervals that begin at the cells in `bounds`."""
    return cuts_at(cells.uppers, np.array(bounds, dtype=np.intp))
