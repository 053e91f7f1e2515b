"""Networks by brute force in plain Python: every row enumerated, every probability multiplied.

`random_network` makes hostile ones: a single state, probabilities of 0, children declared first.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from sqlbn.networks import Network, Variable

# Names that need quoting, and states that look like something else.
NAMES = ("select", "two words", 'quo"te', "it's", "größe", "y", "x0", "n")
STATES = ("yes", "", "NULL", "it's", "1", "true", "ä", "?")


def random_network(rng: random.Random, variables: int, parents: int = 3) -> Network:
    names = rng.sample(NAMES, variables)
    states = {n: rng.sample(STATES, rng.randint(1, 3)) for n in names}
    made = []
    for place, name in enumerate(names):
        above = rng.sample(names[:place], rng.randint(0, min(parents, place)))
        made.append(Variable(name, states[name], above, _table(rng, states, [*above, name])))
    return Network(tuple(rng.sample(made, len(made))))


def _table(rng: random.Random, states: Mapping[str, Sequence[str]], names: list[str]) -> Any:
    if len(names) > 1:
        return [_table(rng, states, names[1:]) for _ in states[names[0]]]
    weights = [rng.choice((0, 1, 1, 2, 5)) for _ in states[names[0]]]
    weights[rng.randrange(len(weights))] += 1
    return [w / sum(weights) for w in weights]


def probability(network: Network, row: Mapping[str, Any]) -> float:
    """P(row); 0 where a value is no state."""
    if any(row[v.name] not in v.states for v in network):
        return 0.0
    at = {v.name: v.states.index(row[v.name]) for v in network}
    return math.prod(
        float(v.table[(*(at[name] for name in v.parents), at[v.name])]) for v in network
    )


def all_rows(network: Network) -> Iterator[dict[str, str]]:
    for states in product(*(v.states for v in network)):
        yield dict(zip(network.names, states, strict=True))


def posterior(
    network: Network, of: Sequence[str], given: Mapping[str, str]
) -> dict[tuple[str, ...], float] | None:
    """P(of | given) by the states of `of`; None where the evidence is impossible."""
    sums = dict.fromkeys(product(*(network[n].states for n in of)), 0.0)
    for row in all_rows(network):
        if all(row[name] == state for name, state in given.items()):
            sums[tuple(row[n] for n in of)] += probability(network, row)
    total = sum(sums.values())
    return {states: p / total for states, p in sums.items()} if total > 0 else None


def log_likelihood(network: Network, rows: Sequence[Mapping[str, Any]]) -> tuple[float, int]:
    """The mean of ln P over the rows that are possible, and the number of the others."""
    found = [probability(network, row) for row in rows]
    possible = [math.log(p) for p in found if p > 0]
    mean = math.fsum(possible) / len(possible) if possible else math.nan
    return mean, len(found) - len(possible)
