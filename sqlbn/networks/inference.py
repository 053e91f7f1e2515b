"""P(A, B, … | evidence) by variable elimination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines.limits import Limits
from sqlbn.errors import (
    NetworkError,
    OptionError,
    command,
    opt,
)
from sqlbn.networks.network import Network, repeated

Array = npt.NDArray[Any]

# An array of numpy has no more axes than this.
_MOST_AXES = 32


@dataclass(frozen=True)
class _Factor:
    """A table over some variables, an axis each."""

    variables: tuple[int, ...]
    table: Array


def posterior(
    network: Network,
    of: Sequence[str],
    given: Mapping[str, str] | None = None,
    most_cells: int = Limits.inference_cells,
) -> Array:
    """P(of | given) as an array with an axis for each variable of `of`, in that order.

    >>> from sqlbn.networks import Variable
    >>> rain = Variable("rain", ("yes", "no"), (), [0.2, 0.8])
    >>> wet = Variable("wet", ("yes", "no"), ("rain",), [[0.9, 0.1], [0.2, 0.8]])
    >>> posterior(Network((rain, wet)), ["rain"], {"wet": "yes"}).round(4).tolist()
    [0.5294, 0.4706]
    """
    wanted = _wanted(network, of)
    evidence = _evidence(network, given or {})
    known = [network.names[v] for v in wanted if v in evidence]
    if known:
        raise OptionError(f"{known[0]!r} is asked for and given too; leave one of them out")
    relevant = _ancestors(network, [*wanted, *evidence])
    factors = [_reduced(network, v, evidence) for v in sorted(relevant)]
    hidden = relevant - set(wanted) - evidence.keys()
    for variable in _elimination_order(network, factors, hidden):
        factors = _eliminated(network, factors, variable, most_cells)
    joint = _product(network, factors, tuple(wanted), most_cells)
    total = float(joint.sum())
    if not total > 0:
        shown = ", ".join(f"{name}={state}" for name, state in (given or {}).items())
        raise NetworkError(f"the evidence {shown} has probability 0; nothing follows from it")
    found: Array = joint / total
    return found


def _wanted(network: Network, of: Sequence[str]) -> list[int]:
    if not of:
        raise OptionError(f"say which variable is asked for: {opt('of')}")
    twice = repeated(of)
    if twice is not None:
        raise OptionError(f"{twice!r} is asked for twice; once is enough")
    return [network.place(name) for name in of]


def _evidence(network: Network, given: Mapping[str, str]) -> dict[int, int]:
    """Variables and the states they are in, by number."""
    found = {}
    for name, state in given.items():
        states = network[name].states
        if state not in states:
            listed = ", ".join(map(repr, states[:10])) + (", …" if len(states) > 10 else "")
            raise NetworkError(f"{name!r} has no state {state!r}; it has {listed}")
        found[network.place(name)] = states.index(state)
    return found


def _ancestors(network: Network, of: Iterable[int]) -> set[int]:
    """These variables and all above them; what is below sums to 1 and says nothing."""
    found: set[int] = set()
    left = list(of)
    while left:
        variable = left.pop()
        if variable not in found:
            found.add(variable)
            left += network.parents[variable]
    return found


def _reduced(network: Network, place: int, evidence: Mapping[int, int]) -> _Factor:
    """A variable's table where what is known has its one state."""
    axes = (*network.parents[place], place)
    index = tuple(evidence.get(v, slice(None)) for v in axes)
    return _Factor(
        tuple(v for v in axes if v not in evidence), network.variables[place].table[index]
    )


def _elimination_order(
    network: Network, factors: Sequence[_Factor], hidden: Iterable[int]
) -> list[int]:
    """Next is always the variable whose neighbours lack the fewest links among each other.

    Of equal ones that with the smallest table, then the first.
    """
    links: dict[int, set[int]] = {v: set() for f in factors for v in f.variables}
    for factor in factors:
        for v in factor.variables:
            links[v] |= {*factor.variables} - {v}
    left, order = set(hidden), []

    def cost(v: int) -> tuple[int, int, int]:
        around = links[v]
        missing = sum(len(around - links[u]) - 1 for u in around) // 2
        return missing, _cells(network, (v, *around)), v

    while left:
        best = min(left, key=cost)
        for u in links[best]:
            links[u] = (links[u] | links[best]) - {u, best}
        del links[best]
        left.remove(best)
        order.append(best)
    return order


def _eliminated(
    network: Network, factors: Sequence[_Factor], variable: int, most_cells: int
) -> list[_Factor]:
    """Factors without a variable: those that have it multiplied, and the variable summed out."""
    touched = [f for f in factors if variable in f.variables]
    rest = [f for f in factors if variable not in f.variables]
    axes = tuple(sorted({v for f in touched for v in f.variables} - {variable}))
    joined = _product(network, touched, (*axes, variable), most_cells)
    return [*rest, _Factor(axes, joined.sum(axis=-1))]


def _product(
    network: Network, factors: Sequence[_Factor], axes: tuple[int, ...], most_cells: int
) -> Array:
    """The product of factors as a table over `axes`."""
    cells = _cells(network, axes)
    if cells > most_cells or len(axes) > _MOST_AXES:
        raise NetworkError(
            f"the query needs a table of {len(axes)} variables with {cells:,} numbers, which is "
            "too large; ask for fewer variables at once, give more evidence, or draw rows with "
            f"{command('network sample')} and count"
        )
    result = np.ones([len(network.variables[v].states) for v in axes])
    for factor in factors:
        order = sorted(range(len(factor.variables)), key=lambda a: axes.index(factor.variables[a]))
        turned = np.transpose(factor.table, order)
        result *= turned[tuple(slice(None) if v in factor.variables else None for v in axes)]
        top = result.max(initial=0.0)
        if top > 0:  # the scale is lost at the end anyway; much evidence would round to 0
            result /= top
    return result


def _cells(network: Network, variables: Iterable[int]) -> int:
    return prod(len(network.variables[v].states) for v in variables)
