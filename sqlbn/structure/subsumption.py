"""Subsumption: which value of an attribute says that another attribute has a certain value.

Whoever is pregnant is female. A row with both values is scored without the more general one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def implications(
    special: Array,
    general: Array,
    together: Array,
    special_alone: Array,
    general_alone: Array,
    min_count: int,
    special_is_first: bool,
) -> Array:
    """Which cells of a pair say that the value of the first implies that of the second.

    `special` and `general` are the codes of each cell and `together` its count; the others are
    counts by code. Where both values cover the same rows, the attribute that comes first in the
    schema stays.
    """
    n_special, n_general = special_alone[special], general_alone[general]
    implied = (together == n_special) & (together > min_count)
    wider = n_general > n_special
    if special_is_first:
        wider |= n_general == n_special
    found: Array = np.asarray(implied & wider)
    return found
