"""Parent sets of collections: those of the architectures, and those that a user gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, cast

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
    assert info.beyond is not None
    return [round(math.fsum(row), DECIMALS) for row in info.beyond.tolist()]


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


@dataclass(frozen=True)
class Term:
    """One parent set of an attribute; parents in the order of the schema."""

    child: int
    parents: tuple[int, ...]
    weight: float = 1.0

    @property
    def family(self) -> tuple[int, ...]:
        """The child and its parents, in the order of the schema."""
        return tuple(sorted((self.child, *self.parents)))


def _candidates(order: Sequence[int], place: int, first: int | None) -> list[int]:
    """The attributes that may be parents of the one at a place; of the `first` ones at most."""
    return list(order[: place if first is None else min(place, first)])


def fanc_terms(order: Sequence[int], first: int | None = None) -> list[Term]:
    """No parent, and every earlier attribute alone."""
    return [
        term
        for place, i in enumerate(order)
        for term in (Term(i, ()), *(Term(i, (j,)) for j in _candidates(order, place, first)))
    ]


def tc_terms(order: Sequence[int], first: int | None = None) -> list[Term]:
    """No parent, every earlier attribute, and every pair of them."""
    return [
        Term(i, tuple(sorted(parents)))
        for place, i in enumerate(order)
        for size in range(3)
        for parents in combinations(_candidates(order, place, first), size)
    ]


def spc_terms(order: Sequence[int], first: int | None = None) -> list[Term]:
    """Every earlier attribute, with and without the super parent, which is the first in order."""
    terms: list[Term] = []
    for place, i in enumerate(order):
        terms.append(Term(i, ()))
        parents = _candidates(order, place, first)
        terms += [Term(i, (j,)) for j in parents]
        terms += [Term(i, tuple(sorted((order[0], j)))) for j in parents[1:]]
    return terms


def families_of(terms: Iterable[Term]) -> list[tuple[int, ...]]:
    """The sets of attributes that terms are made of, smaller ones first."""
    return sorted({term.family for term in terms}, key=lambda f: (len(f), f))


def check_acyclic(terms: Iterable[Term], names: Sequence[str]) -> None:
    """An error that names the attributes where parents depend on their children."""
    parents: dict[int, set[int]] = {}
    for term in terms:
        parents.setdefault(term.child, set()).update(term.parents)
    left = {child: set(found) for child, found in parents.items()}
    # Whoever has no parent left is no part of a cycle; what remains is, or leads into one.
    while True:
        free = [i for i, found in left.items() if not found & left.keys()]
        if not free:
            break
        for i in free:
            del left[i]
    if left:
        at = min(left)
        path = [at]
        while True:
            at = min(left[at] & left.keys())
            if at in path:
                break
            path.append(at)
        cycle = [*path[path.index(at) :], at]
        told = " depends on ".join(repr(names[i]) for i in cycle)
        raise OptionError(f"{opt('parents')} has a cycle: {told}")


_SHAPE = (
    'write a list of parent sets, such as [[], ["sex"], {parents = ["sex", "race"], weight = 2.0}]'
)


@dataclass(frozen=True)
class GivenSet:
    """Parents by name, and the weight of their term."""

    parents: tuple[str, ...]
    weight: float = 1.0

    @property
    def plain(self) -> list[str] | dict[str, Any]:
        """As the user writes it."""
        if self.weight == 1.0:
            return list(self.parents)
        return {"parents": list(self.parents), "weight": self.weight}


Given = dict[str, tuple[GivenSet, ...]]


def read_given(parents: Any) -> Given:
    """The parent sets of each attribute that is named; their shape is checked."""
    if not isinstance(parents, Mapping):
        raise OptionError(f"{opt('parents')} must name attributes with their parent sets: {_SHAPE}")
    found: Given = {}
    for name, sets in parents.items():
        if not isinstance(name, str) or isinstance(sets, (str, Mapping)) or not _is_list(sets):
            raise OptionError(f"{opt('parents')} of {name!r}: {_SHAPE}")
        found[name] = tuple(_read_set(name, entry) for entry in sets)
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _read_set(child: str, entry: Any) -> GivenSet:
    weight: Any = 1.0
    if isinstance(entry, Mapping):
        unknown = entry.keys() - {"parents", "weight"}
        if unknown or "parents" not in entry:
            what = f"{sorted(map(str, unknown))[0]!r} is unknown" if unknown else "no parents"
            raise OptionError(f"{opt('parents')} of {child!r}, {what}: {_SHAPE}")
        entry, weight = entry["parents"], entry.get("weight", 1.0)
    if not _is_list(entry) or not all(isinstance(name, str) for name in entry):
        raise OptionError(f"{opt('parents')} of {child!r}: {_SHAPE}")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)):
        raise OptionError(
            f"{opt('parents')} of {child!r}, weight {weight!r}: give a number above 0"
        )
    if not 0 < weight < math.inf:
        raise OptionError(f"{opt('parents')} of {child!r}, weight {weight}: give a number above 0")
    return GivenSet(tuple(entry), float(weight))


def given_terms(given: Given, names: Sequence[str]) -> list[Term]:
    """The terms of all attributes in the order of the schema; names, doubles and cycles checked."""
    sets: dict[int, tuple[GivenSet, ...]] = {}
    for name, listed in given.items():
        child = position_of(name, names, "parents")
        if child in sets:
            raise OptionError(f"{opt('parents')} names {names[child]!r} twice")
        sets[child] = listed
    terms: list[Term] = []
    for child, name in enumerate(names):
        seen: set[tuple[int, ...]] = set()
        for one in sets.get(child, (GivenSet(()),)):
            where = f"{opt('parents')} of {name!r}"
            positions = [position_of(p, names, where) for p in one.parents]
            parents = tuple(sorted(set(positions)))
            if child in parents:
                raise OptionError(f"{where}: it cannot be its own parent")
            if len(parents) < len(positions):
                raise OptionError(f"{where}: {list(one.parents)} names a parent twice")
            if parents in seen:
                raise OptionError(f"{where}: the set {list(one.parents)} is there twice")
            seen.add(parents)
            terms.append(Term(child, parents, one.weight))
    check_acyclic(terms, names)
    return terms


def check_super_parent(name: str, names: Sequence[str]) -> None:
    """An error where the super-parent that is named is no attribute."""
    if name != AUTO:
        position_of(name, names, "superparent")
