"""Discretisation and grouping that look at the target, on arrays of (value, class) counts.

No SQL here: the caller counts rows by value and class. What a variable is worth is its `level`.
"""

from sqlbn.encoding.discretise.mdl import mdl_partition
from sqlbn.encoding.discretise.modl import (
    Intervals,
    cuts_at,
    elementary_cells,
    modl_partition,
)
from sqlbn.encoding.discretise.modl_groups import Groups, modl_groups

__all__ = [
    "Groups",
    "Intervals",
    "cuts_at",
    "elementary_cells",
    "mdl_partition",
    "modl_groups",
    "modl_partition",
]
