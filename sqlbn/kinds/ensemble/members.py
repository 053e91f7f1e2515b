"""The members of an ensemble: their attributes, orders and parents as they are drawn, their tables.

The families of all members lie in one table of counts: that of attribute i of member m has the
number m * d + i.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.data.sampling import drawing
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import Chain
from sqlbn.kinds.kind import StructureLearner
from sqlbn.kinds.selection import NestedLosses
from sqlbn.structure.information import Information, Matrix
from sqlbn.structure.shape import Shape, Structure

# -- drawing -------------------------------------------------------------------------------------


def member_attributes(books: Sequence[Codebook], n_members: int) -> list[tuple[int, ...]]:
    """The attributes of each member: every column once, in cuts of its own where there are any."""
    ways: dict[str, list[int]] = {}
    for i, book in enumerate(books):
        ways.setdefault(book.column, []).append(i)
    return [
        tuple(found[member if member < len(found) else 0] for found in ways.values())
        for member in range(n_members)
    ]


def drawn_order(mi: Matrix, order: Sequence[int], member: int, seed: int) -> tuple[int, ...]:
    """An order of the attributes, drawn without replacement in proportion to their MI.

    The first member has the given order, that of MI. Attributes without MI come last, as they lie.
    """
    if member == 0:
        return tuple(order)
    noise = drawing(seed, member).gumbel(size=len(mi))
    informative = [i for i in order if mi[i] > 0]
    drawn = sorted(informative, key=lambda i: (-(np.log(mi[i]) + noise[i]), i))
    return (*drawn, *(i for i in order if mi[i] <= 0))


def drawn_links(cmi: Matrix, member: int, seed: int, spread: float) -> Matrix:
    """CMI by which parents are found: of further members each times a random factor."""
    if member == 0 or not spread:
        return cmi
    noise = np.triu(drawing(seed, member, 1).gumbel(size=cmi.shape), 1)
    found: Matrix = cmi * np.exp(spread * (noise + noise.T))
    return found


def drawn_structures(
    learner: StructureLearner,
    info: Information,
    attributes: Sequence[Sequence[int]],
    seed: int,
    spread: float,
) -> list[Structure]:
    """The parents that the learner finds among the attributes of each member."""
    return [
        _drawn_structure(learner, info, own, member, seed, spread)
        for member, own in enumerate(attributes)
    ]


def _drawn_structure(
    learner: StructureLearner,
    info: Information,
    own: Sequence[int],
    member: int,
    seed: int,
    spread: float,
) -> Structure:
    at = np.asarray(own, dtype=np.intp)
    mi, cmi = info.mi[at], info.cmi[np.ix_(at, at)] if info.cmi is not None else None
    part = Information(mi, cmi, names=tuple(info.names[i] for i in own))
    drawn = drawn_order(mi, part.order, member, seed)
    links = drawn_links(cmi, member, seed, spread) if cmi is not None else None
    found = learner.structure(replace(part, cmi=links, drawn=drawn))
    parents: list[tuple[int, ...]] = [()] * len(info.mi)
    for i, above in zip(own, found.parents, strict=True):
        parents[i] = tuple(own[j] for j in above)
    return Structure(tuple(own[i] for i in found.order), tuple(parents))


# -- shapes and counts ---------------------------------------------------------------------------


def ensemble_shape(
    info: Information, members: Sequence[Shape], shifts: Mapping[str, float] | None = None
) -> Shape:
    """The shape of an ensemble: attributes by MI, those that some member uses, the members."""
    d = len(info.mi)
    used = sorted({i for member in members for i in member.selected})
    structure = Structure(tuple(info.order), ((),) * d)
    return Shape(structure, tuple(used), members=tuple(members), shifts=shifts or {})


def _n_attributes(shape: Shape) -> int:
    """Of the whole ensemble."""
    return len(shape.structure.parents)


def member_families(members: Sequence[Shape]) -> dict[int, Family]:
    """The families of all members, by their numbers."""
    return {
        member * _n_attributes(shape) + i: family
        for member, shape in enumerate(members)
        for i, family in shape.families.items()
    }


def parts_of(counts: FamilyCounts, members: Sequence[Shape]) -> Iterator[FamilyCounts]:
    """The counts of every member."""
    for member, shape in enumerate(members):
        yield counts.part(shape.families, member * _n_attributes(shape))


# -- tables --------------------------------------------------------------------------------------


def write_members(
    workspace: Workspace,
    books: Sequence[Codebook],
    members: Sequence[Shape],
    chains: Sequence[Mapping[int, Chain]],
) -> None:
    """The workspace's `members`, `member_attributes` and `member_levels`."""
    workspace.fill("members", [(m, s.k, len(s.selected)) for m, s in enumerate(members)])
    workspace.fill(
        "member_attributes",
        [
            (m, books[i].name, rank, i in shape.selected, _parents(shape, books, i))
            for m, shape in enumerate(members)
            for rank, i in enumerate(shape.structure.order)
        ],
    )
    workspace.fill(
        "member_levels",
        [
            (m, books[i].name, *level)
            for m, shape in enumerate(members)
            for i, family in shape.families.items()
            for level in _levels(chains[m][i], len(family))
        ],
    )


def _levels(chain: Chain, n: int) -> Iterator[tuple[int, float | None, float]]:
    """Number, strength and weight of the levels of a chain."""
    weights = chain.weights if chain.weights is not None else (*(0.0,) * (n - 1), 1.0)
    strengths = (None, *chain.strengths) if chain.strengths else (None,) * n
    yield from zip(range(n), strengths, weights, strict=True)


def _parents(shape: Shape, books: Sequence[Codebook], attribute: int) -> list[str]:
    return [books[j].name for j in shape.structure.parents[attribute]]


def write_member_loocv(workspace: Workspace, losses: Sequence[NestedLosses | None]) -> None:
    """The workspace's `member_loocv`: the losses of all nested models of every member."""
    workspace.fill(
        "member_loocv",
        [
            (member, *cell)
            for member, nested in enumerate(losses)
            if nested is not None
            for cell in nested.cells()
        ],
    )


def read_members(workspace: Workspace, names: Sequence[str]) -> tuple[Shape, ...]:
    """The shapes of the members of a stored model, their weights included."""
    at = {name: i for i, name in enumerate(names)}
    ks = [row[0] for row in workspace.read("members", "k", order=["member"])]
    orders: list[list[int]] = [[] for _ in ks]
    selected: list[list[int]] = [[] for _ in ks]
    parents: list[list[tuple[int, ...]]] = [[()] * len(at) for _ in ks]
    columns = ("member", "attribute", "selected", "parents")
    for m, name, used, above in workspace.read(
        "member_attributes", *columns, order=("member", "rank")
    ):
        orders[m].append(at[name])
        parents[m][at[name]] = tuple(at[parent] for parent in above)
        if used:
            selected[m].append(at[name])
    if any(len(set(order)) != len(order) for order in orders):
        raise ValueError("member_attributes: an attribute twice in a member")
    weights = read_member_levels(workspace, names, "weight")
    d = len(at)
    return tuple(
        Shape(
            Structure(tuple(order), tuple(above)),
            tuple(sorted(used)),
            None if k is None else int(k),
            weights=tuple(weights.get(m * d + i, ()) for i in range(d)),
        )
        for m, (order, above, used, k) in enumerate(zip(orders, parents, selected, ks, strict=True))
    )


def read_member_levels(
    workspace: Workspace, names: Sequence[str], column: str
) -> dict[int, tuple[Any, ...]]:
    """What is said of the levels of all chains, by the numbers of the families."""
    at, found = {name: i for i, name in enumerate(names)}, dict[int, list[Any]]()
    ordered = ("member", "attribute", "level")
    for m, name, value in workspace.read(
        "member_levels", "member", "attribute", column, order=ordered
    ):
        if value is not None:
            found.setdefault(m * len(at) + at[name], []).append(float(value))
    return {place: tuple(values) for place, values in found.items()}
