"""Parent sets of a collection: the terms whose sum stands for an attribute, given an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlbn.errors import OptionError, opt


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
