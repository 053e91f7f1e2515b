"""Orders of the attributes: parents come earlier than those that depend on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, cast

from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import checked
from sqlbn.structure.information import DECIMALS, Information

Order = Literal["schema", "mi", "gain"]
AUTO = "auto"


def checked_order(name: str) -> Order:
    """The order of that name, or an error that lists them."""
    return cast(Order, checked("order", name))


def needs_pairs(order: Order) -> bool:
    """Whether an order is known only after pairs of attributes were counted."""
    return order == "gain"


def ordered(info: Information, by: Order) -> list[int]:
    """The attributes in an order; ties by schema."""
    if by == "schema":
        return list(range(len(info.mi)))
    if by == "mi":
        return info.order
    gains = gain_sums(info)
    return sorted(range(len(gains)), key=lambda i: (-gains[i], i))


def gain_sums(info: Information) -> list[float]:
    """What each attribute adds to what another one says of the class, summed over all others.

    That is I(X_i, X_j; Y) - I(X_j; Y) = I(X_i; Y | X_j). The sum that paper 2's conclusion
    suggests, of I(X_i; (Y, X_j)) less what X_j alone tells of X_i, is MI_i + CMI_ij: large for two
    copies of a column, also of noise, which say nothing of the class.
    """
    assert info.told is not None
    return [round(math.fsum(row), DECIMALS) for row in info.told.tolist()]


def best_super_parent(info: Information) -> int:
    """The attribute with the highest sum of gains; ties by schema."""
    gains = gain_sums(info)
    return min(range(len(gains)), key=lambda i: (-gains[i], i))


def behind(first: int, order: Sequence[int]) -> list[int]:
    """One attribute first, the others as they were."""
    return [first, *(i for i in order if i != first)]


def position_of(name: str, names: Sequence[str], option: str) -> int:
    """The attribute of that name, in any case where that is clear, or an error."""
    if name in names:
        return list(names).index(name)
    alike = [at for at, known in enumerate(names) if known.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    listed = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    raise OptionError(f"{opt(option)}: there is no attribute {name!r}; there is {listed or 'none'}")


def check_super_parent(name: str, names: Sequence[str]) -> None:
    """An error where the super-parent that is named is no attribute."""
    if name != AUTO:
        position_of(name, names, "superparent")
