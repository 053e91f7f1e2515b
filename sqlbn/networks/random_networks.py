"""Random naive Bayes, TAN and BAN networks, and rows drawn from a network, chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator, Philox, SeedSequence
from numpy.typing import NDArray

from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError, opt
from sqlbn.networks.network import Network, Variable

OF_NETWORKS, OF_ROWS = range(2)


def branch(seed: int, purpose: int) -> SeedSequence:
    """What a purpose draws from: a network's rows have nothing to do with how it was made."""
    if seed < 0:
        raise OptionError("give 0 or more", seed=seed)
    return SeedSequence(seed, spawn_key=(purpose,))


# Rows of a chunk, which is also a row group: a size that DuckDB reads well. Part of what a seed
# means: another number is other data.
CHUNK = 2**17
_DRAW, _NOISE, _STATE, _MISSING = range(4)

Floats = NDArray[np.float64]
Codes = NDArray[Any]


@dataclass(frozen=True)
class Disturbance:
    """Cells to spoil: with probability `noise` any state, with probability `missing` none."""

    noise: float = 0.0
    missing: float = 0.0
    spared: str | None = None

    def __post_init__(self) -> None:
        for name in ("noise", "missing"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise OptionError("give a probability from 0 to 1", **{name: share})


class Sampler:
    """Chunks of rows of a network and a seed; any chunk, in any order, from any thread."""

    def __init__(self, network: Network, seed: int, disturbance: Disturbance | None = None) -> None:
        self._network = network
        self._disturbance = disturbance or Disturbance()
        spared = self._disturbance.spared
        self._spared = None if spared is None else network.place(spared)
        self._key = branch(seed, OF_ROWS).generate_state(2, np.uint64)
        self._columns = [_Column(network, i) for i in range(len(network))]
        self._states = [pa.array(v.states, pa.string()) for v in network]
        self.schema = pa.schema(
            [
                pa.field(v.name, pa.dictionary(pa.from_numpy_dtype(c.code_type), pa.string()))
                for v, c in zip(network, self._columns, strict=True)
            ]
        )

    def chunk(self, number: int, rows: int = CHUNK) -> pa.RecordBatch:
        """The first rows of a chunk."""
        codes: list[Codes] = [np.empty(0)] * len(self._columns)
        for place in self._network.order:
            uniform = self._stream(_DRAW, number, place).random(rows)
            parents = [codes[p] for p in self._network.parents[place]]
            codes[place] = self._columns[place].draw(uniform, parents)
        # Only now: what is drawn does not depend on the noise in its parents.
        arrays = [self._spoiled(number, place, codes[place]) for place in range(len(codes))]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _stream(self, purpose: int, chunk: int, column: int) -> Generator:
        # The generator itself counts in the first of its counter's four words.
        return Generator(Philox(key=self._key, counter=[0, column, chunk, purpose]))

    def _spoiled(self, chunk: int, place: int, codes: Codes) -> pa.DictionaryArray:
        """The codes with noise and missing values, as texts."""
        spoil = self._disturbance
        states, mask = self._states[place], None
        if place != self._spared and spoil.noise > 0:
            hit = _hits(self._stream(_NOISE, chunk, place), spoil.noise, len(codes))
            codes[hit] = self._stream(_STATE, chunk, place).random(len(hit)) * len(states)
        if place != self._spared and spoil.missing > 0:
            mask = np.zeros(len(codes), dtype=bool)
            mask[_hits(self._stream(_MISSING, chunk, place), spoil.missing, len(codes))] = True
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=mask), states, safe=False)


def _hits(stream: Generator, probability: float, rows: int) -> NDArray[np.intp]:
    """Rows that something happens to, each with this probability.

    The gaps between them are drawn (they are geometric): few numbers where it happens seldom.
    """
    block = int(CHUNK * probability) + 100
    found, last = [np.empty(0)], -1.0
    with np.errstate(all="ignore"):  # at 1 the logarithm is infinite, near 0 the gaps are
        scale = np.log1p(-probability)
        while last < rows:
            gaps = np.floor(np.log1p(-stream.random(block)) / scale) + 1
            found.append(last + gaps.cumsum())
            last = found[-1][-1]
    places = np.concatenate(found)
    return places[places < rows].astype(np.intp)


class _Column:
    """How a variable is drawn: by a binary search in the cumulated row of its parents' states."""

    def __init__(self, network: Network, place: int) -> None:
        variable = network.variables[place]
        states = len(variable.states)
        self.code_type = np.min_scalar_type(-states)  # signed: that is what Arrow prefers
        width = 1 << (states - 1).bit_length()
        self._steps = [width >> i for i in range(1, width.bit_length())]
        self._thresholds = _thresholds(variable, width)
        # Packed keys: small integers are faster to compute with.
        self._key_type = np.min_scalar_type(self._thresholds.size)
        self._strides: list[int] = []
        stride = width
        for size in reversed(variable.table.shape[:-1]):
            self._strides.insert(0, stride)
            stride *= size

    def draw(self, uniform: Floats, parents: list[Codes]) -> Codes:
        """States of rows, from uniform numbers and the parents' states."""
        key = np.zeros(len(uniform), dtype=self._key_type)
        for codes, stride in zip(parents, self._strides, strict=True):
            key += codes.astype(self._key_type) * self._key_type.type(stride)
        start = key.astype(np.intp)
        cell = start
        for step in self._steps:
            probe = cell + (step - 1) if step > 1 else cell
            cell = cell + (uniform >= self._thresholds.take(probe)) * step
        return (cell - start).astype(self.code_type)


def _thresholds(variable: Variable, width: int) -> Floats:
    """For each row `width` numbers: state s is passed by what is at least the s-th of them."""
    rows = variable.table.reshape(-1, len(variable.states))
    padded = np.ones((len(rows), width))
    # Not above 1 by rounding, and exactly 1 from the last possible state on: no random number,
    # which is below 1, passes it.
    rest = rows[:, ::-1].cumsum(axis=1)[:, ::-1]
    cumulated = np.minimum(rows.cumsum(axis=1), 1.0)
    padded[:, : rows.shape[1] - 1] = np.where(rest[:, 1:] > 0, cumulated[:, :-1], 1.0)
    return padded.ravel()


KINDS = ("nb", "tan", "ban")
CLASS = "class"


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
            raise OptionError(f"choose one of {', '.join(KINDS)}", random=self.kind)
        for name, least in (("attributes", 1), ("values", 2), ("classes", 2)):
            number = getattr(self, name)
            if number < least:
                raise OptionError(f"give at least {least}", **{name: number})
        _check_cells("x1", self.values * self.classes)
        cells = self.attributes * self.values * self.classes
        if cells > Limits.random_cells or (
            self.kind == "ban" and self._pairs > Limits.random_cells
        ):
            raise OptionError(
                f"{self.attributes:,} attributes of {self.values:,} states "
                f"and {self.classes:,} classes are more than can be drawn; take fewer",
                random=self.kind,
            )
        if self.edges is not None and self.kind != "ban":
            raise OptionError(
                f"{opt('edges')} is for {opt('random', 'ban')}; {self.kind} has a fixed number"
            )
        most = self.attributes + self._pairs
        if self.edges is not None and not self.attributes <= self.edges <= most:
            raise OptionError(
                f"{self.attributes} attributes have from {self.attributes} "
                f"(the class to each) to {most} edges (each pair too)",
                edges=self.edges,
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
    if cells > Limits.random_table_cells:
        raise OptionError(
            f"{name} would have {cells:,} probabilities, more than {Limits.random_table_cells:,}; "
            f"take fewer {opt('values')} or {opt('classes')}"
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
        if model.classes * model.values ** (len(parents[child]) + 2) <= Limits.random_table_cells:
            parents[child].append(parent)
            left -= 1
        if left == 0:
            return parents
    found = model.attributes + model.arcs_between - left
    raise OptionError(
        f"only {found} fit if no table may have more than "
        f"{Limits.random_table_cells:,} probabilities; "
        f"take fewer {opt('values')} or {opt('classes')}",
        edges=found + left,
    )


def with_irrelevant(network: Network, number: int, values: int) -> Network:
    """The network with attributes noise1, noise2, … independent of all others."""
    if number < 0:
        raise OptionError("give 0 or more", irrelevant=number)
    if values < 2:
        raise OptionError("give at least 2", values=values)
    if number * values > Limits.random_cells:
        raise OptionError(
            f"{opt('irrelevant', number)} of {opt('values', values)}: more than can be drawn; "
            "take fewer"
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
