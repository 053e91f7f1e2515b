"""Which lookup tables a model needs: fused ones, and chains of tables where back-off is sparse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["base", "cell", "parents", "child", "sparse", "group"]
# The roles of tables that have a row for every key.
COMPLETE = ("base", "child", "group")

# Log probabilities that a complete table may hold; past that, deep levels of back-off hold only
# the cells that were seen and are joined one after the other. Complete tables score faster (54
# attributes, k = 5, 1 M rows: 4.7 s against 13.9 s), but should not dwarf the data they come from.
_COMPLETE_MOST = 1 << 20
_COMPLETE_LEAST = 1 << 14
_COMPLETE_PER_ROW = 2
# Keys and values of a fused table. Measured, 54 attributes, 7 classes, 1 M rows: tables of 6^4
# keys 0.45 s, 6^3 0.67 s, 6^5 0.64 s, none fused 2.2 s.
FUSED_KEYS = 1 << 11
FUSED_VALUES = 1 << 15


@dataclass(frozen=True)
class Factor:
    """One lookup table: packed codes of `variables` → one log probability a class.

    A `base` has a row for every key. A chain belongs to one attribute: its base, and before it
    `cell` and `parents` tables of deeper levels of back-off that hold only what was seen.
    `members` are the attributes whose probabilities are multiplied into it.

    In an averaging model the key starts with the number of a super parent's value: a `child` has
    a row for every key, a `sparse` one only for what was seen. In a collection a `group` is a
    block of a table for one repeat of the turns (`level`); several blocks may share a number.
    """

    number: int
    role: Role
    variables: tuple[int, ...]
    members: tuple[int, ...]
    level: int

    @property
    def table(self) -> str:
        """The table's name in the model's schema."""
        return f"predict_factor_{self.number}"


def complete_values(rows: int) -> int:
    """How many values a complete table of a model of so many rows may hold."""
    return max(_COMPLETE_LEAST, min(_COMPLETE_MOST, _COMPLETE_PER_ROW * rows))


def complete_level(family: Sequence[int], slots: Sequence[int], n_classes: int, most: int) -> int:
    """The deepest level of back-off that a complete table of `most` values can hold.

    `family` is an attribute and its parents in order.
    """
    level, keys = 0, slots[family[0]]
    for parent in family[1:]:
        keys *= slots[parent]
        if keys * n_classes > most:
            break
        level += 1
    return level


def plan_factors(
    families: Sequence[tuple[int, ...]],
    slots: Sequence[int],
    n_classes: int,
    backoff: str,
    most: int,
) -> list[Factor]:
    """The lookup tables of a product of P(x | parents, y), one family an attribute.

    The tables of one chain, and the members of one fused table, stand together.
    """
    factors: list[Factor] = []
    fusible = []
    for family in families:
        level = complete_level(family, slots, n_classes, most)
        if level == len(family) - 1:
            fusible.append(family)
            continue
        member = (family[0],)
        factors.append(Factor(len(factors), "base", family[: level + 1], member, level))
        # Without back-off only the deepest level says anything.
        first = level + 1 if backoff != "none" else len(family) - 1
        for deeper in range(first, len(family)):
            factors.append(Factor(len(factors), "cell", family[: deeper + 1], member, deeper))
            if backoff != "cell":
                parents = family[1 : deeper + 1]
                factors.append(Factor(len(factors), "parents", parents, member, deeper))
    for group in fuse(fusible, slots, n_classes):
        union = sorted(set().union(*group))
        members = tuple(family[0] for family in group)
        factors.append(Factor(len(factors), "base", tuple(union), members, -1))
    return factors


def fuse(
    families: Sequence[tuple[int, ...]], slots: Sequence[int], n_classes: int
) -> list[list[tuple[int, ...]]]:
    """Groups of families whose joint key stays small; each group becomes one table."""
    most = max(1, min(FUSED_KEYS, FUSED_VALUES // n_classes))
    left = list(families)
    groups = []
    while left:
        group = [left.pop(0)]
        union = set(group[0])
        while left:
            keys = math.prod(slots[v] for v in union)
            growth = [math.prod(slots[v] for v in f if v not in union) for f in left]
            best = min(range(len(left)), key=growth.__getitem__)
            if keys * growth[best] > most:
                break
            union |= set(left[best])
            group.append(left.pop(best))
        groups.append(group)
    return groups
