"""Parent sets that a user gives: read from plain lists and mappings, checked against attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlbn.errors import OptionError, opt
from sqlbn.structure.orders import position_of
from sqlbn.structure.terms import Term, check_acyclic

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
