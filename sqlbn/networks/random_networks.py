"""Random naive Bayes, TAN and BAN networks, as in the paper on voting collections, section 4.2."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sqlbn.errors import OptionError
from sqlbn.networks.network import Network, Variable
from sqlbn.networks.row_sampling import OF_NETWORKS, branch

KINDS = ("nb", "tan", "ban")
CLASS = "class"
# Numbers a table of probabilities may have: all 18 parents of 19 binary attributes are possible.
MOST_CELLS = 2**20
# Numbers that all tables, or pairs of attributes that an edge may join, may have.
MOST_NUMBERS = 2**24


@dataclass(frozen=True)
class RandomModel:
    """What to make: a class and attributes x1, x2, … that all depend on it.

    `edges` counts those from the class too. The paper's models are the defaults: 19 binary
    attributes; nb has 19 edges, tan 37, ban 50 (for other numbers of attributes: in proportion).
    """

    kind: str
    attributes: int = 19
    values: int = 2
    classes: int = 2
    edges: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise OptionError(f"--random {self.kind}: choose one of {', '.join(KINDS)}")
        for name, least in (("attributes", 1), ("values", 2), ("classes", 2)):
            number = getattr(self, name)
            if number < least:
                raise OptionError(f"--{name} {number}: give at least {least}")
        _check_cells("x1", self.values * self.classes)
        cells = self.attributes * self.values * self.classes
        if cells > MOST_NUMBERS or (self.kind == "ban" and self._pairs > MOST_NUMBERS):
            raise OptionError(
                f"--random {self.kind}: {self.attributes:,} attributes of {self.values:,} states "
                f"and {self.classes:,} classes are more than can be drawn; take fewer"
            )
        if self.edges is not None and self.kind != "ban":
            raise OptionError(f"--edges is for --random ban; {self.kind} has a fixed number")
        most = self.attributes + self._pairs
        if self.edges is not None and not self.attributes <= self.edges <= most:
            raise OptionError(
                f"--edges {self.edges}: {self.attributes} attributes have from {self.attributes} "
                f"(the class to each) to {most} edges (each pair too)"
            )

    @property
    def _pairs(self) -> int:
        return self.attributes * (self.attributes - 1) // 2

    @property
    def arcs_between(self) -> int:
        """Edges between two attributes."""
        if self.kind == "nb":
            return 0
        if self.kind == "tan":
            return self.attributes - 1
        if self.edges is not None:
            return self.edges - self.attributes
        # The paper's BAN: 31 edges between 19 attributes.
        return min(self._pairs, round(self.attributes * 31 / 19))


def random_network(model: RandomModel, seed: int) -> Network:
    """The network of a seed.

    >>> len(random_network(RandomModel("ban"), seed=1).arcs)
    50
    """
    rng = np.random.default_rng(branch(seed, OF_NETWORKS))
    parents = _tree(model, rng) if model.kind == "tan" else _arcs(model, rng)
    classes = [f"c{i + 1}" for i in range(model.classes)]
    values = [f"v{i + 1}" for i in range(model.values)]
    variables = [Variable(CLASS, classes, (), _table(rng, (model.classes,)))]
    for i, above in enumerate(parents):
        shape = (model.classes, *[model.values] * (len(above) + 1))
        _check_cells(f"x{i + 1}", prod(shape))
        names = (CLASS, *(f"x{p + 1}" for p in sorted(above)))
        variables.append(Variable(f"x{i + 1}", values, names, _table(rng, shape)))
    return Network(tuple(variables), f"{model.kind}_{seed}")


def _check_cells(name: str, cells: int) -> None:
    if cells > MOST_CELLS:
        raise OptionError(
            f"{name} would have {cells:,} probabilities, more than {MOST_CELLS:,}; "
            "take fewer --values or --classes"
        )


def _table(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Rows drawn uniformly from all that sum to 1: exponential variates, divided by their sum."""
    drawn = rng.standard_exponential(shape)
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _tree(model: RandomModel, rng: Generator) -> list[list[int]]:
    """Parents in a tree drawn uniformly from all: where a random walk first came from."""
    parents: list[list[int]] = [[] for _ in range(model.attributes)]
    at = int(rng.integers(model.attributes))
    reached = {at}
    while len(reached) < model.attributes:
        before, at = at, int(rng.integers(model.attributes))
        if at not in reached:
            reached.add(at)
            parents[at] = [before]
    return parents


def _arcs(model: RandomModel, rng: Generator) -> list[list[int]]:
    """Parents by pairs drawn without replacement, pointing along a random order."""
    parents: list[list[int]] = [[] for _ in range(model.attributes)]
    if model.arcs_between == 0:
        return parents
    order = rng.permutation(model.attributes).tolist()
    pairs = list(combinations(order, 2))
    left = model.arcs_between
    for pair in rng.permutation(len(pairs)):
        parent, child = pairs[pair]
        if model.classes * model.values ** (len(parents[child]) + 2) <= MOST_CELLS:
            parents[child].append(parent)
            left -= 1
        if left == 0:
            return parents
    found = model.attributes + model.arcs_between - left
    raise OptionError(
        f"--edges {found + left}: only {found} fit if no table may have more than "
        f"{MOST_CELLS:,} probabilities; take fewer --values or --classes"
    )


def with_irrelevant(network: Network, number: int, values: int) -> Network:
    """The network with attributes noise1, noise2, … that depend on nothing and tell nothing."""
    if number < 0:
        raise OptionError(f"--irrelevant {number}: give 0 or more")
    if values < 2:
        raise OptionError(f"--values {values}: give at least 2")
    if number * values > MOST_NUMBERS:
        raise OptionError(
            f"--irrelevant {number} of --values {values}: more than can be drawn; take fewer"
        )
    # The engine takes `Noise1` and `noise1` for one column.
    taken = {name.lower() for name in network.names}
    states = [f"v{i + 1}" for i in range(values)]
    added: list[Variable] = []
    place = 0
    while len(added) < number:
        place += 1
        if f"noise{place}" not in taken:
            added.append(Variable(f"noise{place}", states, (), np.full(values, 1 / values)))
    return Network((*network.variables, *added), network.name)
