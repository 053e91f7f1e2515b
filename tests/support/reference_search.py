"""Searches for networks by brute force: scores from rows, hill climbing on the whole network.

Plain Python from the formulas of the text-books. Variables are places 0, 1, … in rows of codes;
`fixed` are parents of every variable that never change (the class).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlbn.networks import Network

Row = tuple[int, ...]
Parents = tuple[frozenset[int], ...]
# A later change must be better by more.
MARGIN = 1e-9


# ---- scores of one variable with its parents


def local_score(
    score: str,
    rows: Sequence[Row],
    cards: Sequence[int],
    child: int,
    parents: Sequence[int],
    ess: float = 1.0,
) -> float:
    configurations = math.prod(cards[p] for p in parents)
    states = cards[child]
    cells = Counter((tuple(row[p] for p in parents), row[child]) for row in rows)
    totals = Counter(tuple(row[p] for p in parents) for row in rows)
    if score == "bic":
        likelihood = sum(n * math.log(n / totals[above]) for (above, _), n in cells.items())
        return likelihood - 0.5 * math.log(len(rows)) * configurations * (states - 1)
    prior = 1.0 if score == "k2" else ess / (configurations * states)
    found = 0.0
    for above, total in totals.items():
        found += math.lgamma(states * prior) - math.lgamma(states * prior + total)
        for state in range(states):
            found += math.lgamma(prior + cells[above, state]) - math.lgamma(prior)
    return found


# ---- hill climbing


@dataclass
class Climb:
    """What hill climbing did: its steps (action, child, other, score gained) and the end."""

    parents: Parents
    steps: list[tuple[str, int, int, float]] = field(default_factory=list)


@dataclass
class Climber:
    """Tries every change on the score of the whole network, from the network without arcs."""

    rows: Sequence[Row]
    cards: Sequence[int]
    variables: int
    fixed: tuple[int, ...] = ()
    score: str = "bdeu"
    ess: float = 1.0
    max_parameters: int = 10_000
    max_parents: int | None = None
    max_changes: int = 2

    def climb(self) -> Climb:
        done = Climb(tuple(frozenset() for _ in range(self.variables)))
        changed: Counter[frozenset[int]] = Counter()
        while True:
            now = self.whole(done.parents)
            best, winner = now, None
            for action, child, other, parents in self.changes(done.parents, changed):
                found = self.whole(parents)
                if found > best + MARGIN:
                    best, winner = found, (action, child, other, parents)
            if winner is None:
                return done
            action, child, other, done.parents = winner
            changed[frozenset((child, other))] += 1
            done.steps.append((action, child, other, best - now))

    def whole(self, parents: Parents) -> float:
        return sum(
            local_score(
                self.score, self.rows, self.cards, v, (*self.fixed, *sorted(above)), self.ess
            )
            for v, above in enumerate(parents)
        )

    def changes(
        self, parents: Parents, changed: Counter[frozenset[int]]
    ) -> Iterator[tuple[str, int, int, Parents]]:
        for child in range(self.variables):
            for other in range(self.variables):
                if other == child or changed[frozenset((child, other))] >= self.max_changes:
                    continue
                for action, new in neighbours(parents, child, other):
                    touched = {"add": child, "reverse": other}.get(action)
                    if is_acyclic(new) and (touched is None or self.allowed(new, touched)):
                        yield action, child, other, new

    def allowed(self, parents: Parents, child: int) -> bool:
        if self.max_parents is not None and len(parents[child]) > self.max_parents:
            return False
        return self.parameters(parents, child) <= self.max_parameters

    def parameters(self, parents: Parents, child: int) -> int:
        above = math.prod(self.cards[p] for p in (*self.fixed, *parents[child]))
        return above * (self.cards[child] - 1)


def neighbours(parents: Parents, child: int, other: int) -> Iterator[tuple[str, Parents]]:
    """The networks that a change of the arc other -> child makes, cyclic ones too."""
    if other not in parents[child]:
        yield "add", _put(parents, {child: parents[child] | {other}})
        return
    less = parents[child] - {other}
    yield "delete", _put(parents, {child: less})
    yield "reverse", _put(parents, {child: less, other: parents[other] | {child}})


def _put(parents: Parents, new: dict[int, frozenset[int]]) -> Parents:
    return tuple(frozenset(new.get(v, above)) for v, above in enumerate(parents))


def is_acyclic(parents: Sequence[Any]) -> bool:
    """Take away variables without parents until none is left."""
    left = {v: set(above) for v, above in enumerate(parents)}
    while left:
        roots = [v for v, above in left.items() if not above & left.keys()]
        if not roots:
            return False
        for v in roots:
            del left[v]
    return True


# ---- gains per row


def log_likelihoods(rows: Sequence[Row], child: int, parents: Sequence[int]) -> list[float]:
    """ln of the share of each row's value among the rows with its parents' values."""
    cells = Counter((tuple(row[p] for p in parents), row[child]) for row in rows)
    totals = Counter(tuple(row[p] for p in parents) for row in rows)
    shares = []
    for row in rows:
        above = tuple(row[p] for p in parents)
        shares.append(math.log(cells[above, row[child]] / totals[above]))
    return shares


@dataclass
class Truth:
    """What infinite rows of a network would say, by enumeration of its joint distribution."""

    network: Network
    joint: Any = field(init=False)
    _entropies: dict[tuple[int, ...], float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        d = len(self.network)
        self.joint = np.ones([len(v.states) for v in self.network])
        for place, (variable, above) in enumerate(
            zip(self.network, self.network.parents, strict=True)
        ):
            axes = [*above, place]
            table = np.transpose(variable.table, np.argsort(axes))
            shape = [self.joint.shape[v] if v in axes else 1 for v in range(d)]
            self.joint *= table.reshape(shape)

    def entropy(self, places: Sequence[int]) -> float:
        key = tuple(sorted(places))
        if key not in self._entropies:
            p = self.joint.sum(axis=tuple(v for v in range(self.joint.ndim) if v not in key))
            p = p[p > 0]
            self._entropies[key] = -float((p * np.log(p)).sum())
        return self._entropies[key]

    def mean(self, child: int, parents: Sequence[int]) -> float:
        """E[ln P(child | parents)]."""
        return self.entropy(parents) - self.entropy((*parents, child))

    def gain(self, before: Parents, after: Parents) -> float:
        """Expected log-likelihood per row that another network's tables would bring."""
        return sum(
            self.mean(v, tuple(new)) - self.mean(v, tuple(old))
            for v, (old, new) in enumerate(zip(before, after, strict=True))
            if old != new
        )


# ---- logs of searches


def replay(
    names: Sequence[str], decisions: Sequence[Mapping[str, Any]]
) -> tuple[list[Parents], Parents]:
    """The network before each decision, and the one at the end; a step that cannot be fails."""
    place = {name: i for i, name in enumerate(names)}
    now: Parents = tuple(frozenset() for _ in names)
    before = []
    for decision in decisions:
        before.append(now)
        if decision["action"] == "none":
            continue
        child, other = place[decision["variable"]], place[decision["parent"]]
        now = dict(neighbours(now, child, other))[decision["action"]]
        assert is_acyclic(now), decision
    return before, now
