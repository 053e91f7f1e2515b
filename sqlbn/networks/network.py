"""A Bayesian network of discrete variables, checked once and never changed. No files, no rows."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqlbn.errors import NetworkError

# Files give probabilities to a few digits: so far from 1 may a row's sum be before it is divided.
ROUNDING = 0.01
# A row so close to 1 stays as it is, so that what was written is what is read.
_EXACT = 1e-12
UNNAMED = "unknown"


@dataclass(frozen=True, init=False, eq=False)
class Variable:
    """A name, its states, its parents, and `table[parents' states..., state]`, which is read-only.

    >>> rain = Variable("rain", ("yes", "no"), (), [0.2, 0.8])
    >>> wet = Variable("wet", ("yes", "no"), ("rain",), [[0.9, 0.1], [0.2, 0.8]])
    >>> wet.table[1, 0]
    np.float64(0.2)
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: NDArray[np.float64] = field(repr=False)

    def __init__(
        self, name: str, states: Iterable[str], parents: Iterable[str], table: ArrayLike
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", tuple(states))
        object.__setattr__(self, "parents", tuple(parents))
        self._check_names()
        object.__setattr__(self, "table", self._checked(np.array(table, dtype=np.float64)))

    def _check_names(self) -> None:
        if not self.name:
            raise NetworkError("a variable has an empty name; give it one")
        if not self.states:
            raise NetworkError(f"the variable {self.name!r} has no states")
        for kind, names in (("state", self.states), ("parent", self.parents)):
            twice = repeated(names)
            if twice is not None:
                raise NetworkError(f"the variable {self.name!r} has the {kind} {twice!r} twice")
        for text in (self.name, *self.states):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise NetworkError(f"the name {text!r} cannot be written as UTF-8") from error

    def _checked(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The table with rows that sum to 1."""
        if table.ndim != len(self.parents) + 1 or table.shape[-1] != len(self.states):
            raise NetworkError(
                f"the table of {self.name!r} has the shape {table.shape}: it should have a "
                f"dimension for each of {len(self.parents)} parents and then {len(self.states)} "
                "states"
            )
        if not np.isfinite(table).all() or (table < 0).any():
            raise NetworkError(f"the table of {self.name!r} holds a value that is no probability")
        sums = table.sum(axis=-1, keepdims=True)
        off = np.abs(sums - 1)
        if off.max(initial=0.0) > ROUNDING:
            raise NetworkError(
                f"a row of the table of {self.name!r} sums to {sums.flat[off.argmax()]:.6g}, not 1"
            )
        table = np.where(off > _EXACT, table / sums, table) + 0.0  # no negative zeros
        table.setflags(write=False)
        return table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        return self._words == other._words and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash(self._words)

    @property
    def _words(self) -> tuple[Any, ...]:
        return (self.name, self.states, self.parents)


@dataclass(frozen=True)
class Network:
    """Variables in the order of their declaration.

    `parents[i]` are the places of variable i's parents, `order` has every parent before its
    children.

    >>> rain = Variable("rain", ("yes", "no"), (), [0.2, 0.8])
    >>> wet = Variable("wet", ("yes", "no"), ("rain",), [[0.9, 0.1], [0.2, 0.8]])
    >>> Network((wet, rain)).arcs
    (('rain', 'wet'),)
    >>> Network((wet, rain)).order
    (1, 0)
    """

    variables: tuple[Variable, ...]
    name: str = UNNAMED
    parents: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    order: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        if not self.variables:
            raise NetworkError("a network needs at least one variable")
        twice = repeated(self.names)
        if twice is not None:
            raise NetworkError(f"the network has two variables {twice!r}; rename one")
        object.__setattr__(self, "_places", {name: i for i, name in enumerate(self.names)})
        object.__setattr__(self, "parents", tuple(self._parents_of(v) for v in self.variables))
        object.__setattr__(self, "order", self._topological_order())

    def _parents_of(self, child: Variable) -> tuple[int, ...]:
        for name in child.parents:
            if name not in self._places:
                raise NetworkError(f"{child.name!r} has a parent {name!r} that is not declared")
        found = tuple(self._places[name] for name in child.parents)
        wanted = tuple(len(self.variables[p].states) for p in found)
        if child.table.shape[:-1] != wanted:
            raise NetworkError(
                f"the table of {child.name!r} has the shape {child.table.shape}: its parents "
                f"{', '.join(map(repr, child.parents))} have {wanted} states"
            )
        return found

    def _topological_order(self) -> tuple[int, ...]:
        """Parents first; of those that could come next the one declared first."""
        children: list[list[int]] = [[] for _ in self.variables]
        missing = [len(above) for above in self.parents]
        for child, above in enumerate(self.parents):
            for parent in above:
                children[parent].append(child)
        ready = [i for i, number in enumerate(missing) if number == 0]
        order: list[int] = []
        while ready:
            order.append(heapq.heappop(ready))
            for child in children[order[-1]]:
                missing[child] -= 1
                if missing[child] == 0:
                    heapq.heappush(ready, child)
        if len(order) < len(self.variables):
            raise NetworkError(f"the network has a cycle: {self._cycle(set(order))}")
        return tuple(order)

    def _cycle(self, acyclic: set[int]) -> str:
        """One cycle: walking up from a variable without a place in the order must meet itself."""
        at = next(i for i in range(len(self.variables)) if i not in acyclic)
        walk: list[int] = []
        while at not in walk:
            walk.append(at)
            at = next(p for p in self.parents[at] if p not in acyclic)
        circle = [at, *reversed(walk[walk.index(at) :])]
        return " -> ".join(repr(self.names[i]) for i in circle)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names."""
        return tuple(v.name for v in self.variables)

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """Parent and child, by child in the order of declaration."""
        return tuple((parent, v.name) for v in self.variables for parent in v.parents)

    def place(self, name: str) -> int:
        """Where a variable stands; an unknown name is an error."""
        if name not in self._places:
            raise NetworkError(f"the network has no variable {name!r}; it has {_few(self.names)}")
        return self._places[name]

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.place(name)]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __repr__(self) -> str:
        size = f"{len(self.variables)} variables, {len(self.arcs)} arcs"
        return f"<sqlbn network {self.name!r}: {size}>"


def repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice.

    >>> repeated(["a", "b", "a"])
    'a'
    """
    return next((name for name, number in Counter(names).items() if number > 1), None)


def _few(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
