"""The members of an ensemble: their orders as they are drawn, their shapes, their tables.

The families of all members lie in one table of counts: that of attribute i of member m has the
number m * d + i.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.kind import StructureLearner
from sqlbn.kinds.selection import Surfaces
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Shape, Structure


def drawn_order(info: Information, member: int, seed: int) -> tuple[int, ...]:
    """An order of the attributes, drawn without replacement in proportion to their MI.

    The first member has the order of MI itself. Attributes without MI come last, as they lie.
    """
    if member == 0:
        return tuple(info.order)
    noise = np.random.default_rng([seed, member]).gumbel(size=len(info.mi))
    informative = [i for i in info.order if info.mi[i] > 0]
    drawn = sorted(informative, key=lambda i: (-(np.log(info.mi[i]) + noise[i]), i))
    return (*drawn, *(i for i in info.order if info.mi[i] <= 0))


def drawn_structures(
    learner: StructureLearner, info: Information, n_members: int, seed: int
) -> list[Structure]:
    """The parents that the learner finds in the order of each member."""
    return [
        learner.structure(replace(info, drawn=drawn_order(info, member, seed)))
        for member in range(n_members)
    ]


def ensemble_shape(info: Information, members: Sequence[Shape]) -> Shape:
    """The shape of an ensemble: attributes by MI, those that some member uses, the members."""
    d = len(info.mi)
    used = sorted({i for member in members for i in member.selected})
    return Shape(Structure(tuple(info.order), ((),) * d), tuple(used), members=tuple(members))


def member_families(members: Sequence[Shape]) -> dict[int, Family]:
    """The families of all members, by their numbers."""
    return {
        member * len(shape.structure.order) + i: family
        for member, shape in enumerate(members)
        for i, family in shape.families.items()
    }


def parts_of(counts: FamilyCounts, members: Sequence[Shape]) -> Iterator[FamilyCounts]:
    """The counts of every member."""
    for member, shape in enumerate(members):
        yield counts.part(shape.families, member * len(shape.structure.order))


def write_members(
    workspace: Workspace, books: Sequence[Codebook], members: Sequence[Shape]
) -> None:
    """The workspace's `members` and `member_attributes`."""
    workspace.fill("members", [(m, s.k, len(s.selected)) for m, s in enumerate(members)])
    workspace.fill(
        "member_attributes",
        [
            (m, books[i].name, rank, i in shape.selected, _parents(shape, books, i))
            for m, shape in enumerate(members)
            for rank, i in enumerate(shape.structure.order)
        ],
    )


def _parents(shape: Shape, books: Sequence[Codebook], attribute: int) -> list[str]:
    return [books[j].name for j in shape.structure.parents[attribute]]


def write_member_loocv(
    workspace: Workspace, surfaces: Sequence[Surfaces], ks: Sequence[int]
) -> None:
    """The workspace's `member_loocv`: the losses of all nested models of every member."""
    workspace.fill(
        "member_loocv",
        [
            (member, k, n, loss, float(values[at, n]))
            for member, surface in enumerate(surfaces)
            for loss, values in surface.items()
            for at, k in enumerate(ks[: len(values)])
            for n in range(values.shape[1])
        ],
    )


def read_members(workspace: Workspace, names: Sequence[str]) -> tuple[Shape, ...]:
    """The shapes of the members of a stored model."""
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
    if any(sorted(order) != list(range(len(at))) for order in orders):
        raise ValueError("member_attributes: not every attribute once for each member")
    return tuple(
        Shape(Structure(tuple(order), tuple(p)), tuple(sorted(s)), None if k is None else int(k))
        for order, p, s, k in zip(orders, parents, selected, ks, strict=True)
    )
