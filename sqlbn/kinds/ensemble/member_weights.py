"""Weights of an ensemble: of the levels of all its members together, by rows left out.

A geometric mean of products is a product: ln P(y | x) = b_y + ln P(y) + sum over members m of
w_mil ln P(x_i | first l parents, y) - ln Z. First the w of each member are fitted by themselves, as
those of a product are: most become 0. What is left of all members is then fitted together, for
members say much of the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqlbn.counts.cover import Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.limits import Limits
from sqlbn.engines.relations import Encoded
from sqlbn.kinds.ensemble.members import parts_of
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Weighting
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.level_weights import (
    Drawn,
    LeftOutRows,
    WeightsChoice,
    choose_weights,
    chosen_weights,
    crossed_losses,
    fit_shape,
    left_out_rows,
    weighed_rows,
    weight_room,
)
from sqlbn.structure.shape import Shape, Structure


@dataclass(frozen=True)
class WeighedMember:
    """A member with weights of its own, and what its levels with a weight say of left-out rows."""

    shape: Shape
    rows: LeftOutRows
    # Of every level of every attribute whether it is among them.
    kept: Mapping[int, tuple[bool, ...]]


@dataclass(frozen=True)
class WeightFit:
    """The rows that the weights of every member are fitted on, and the loss that compares them."""

    drawn: Drawn
    class_counts: Sequence[float]
    loss: Loss
    n_members: int

    @staticmethod
    def of(
        counts: FamilyCounts,
        members: Sequence[Shape],
        class_counts: Sequence[float],
        loss: Loss,
        rows: Encoded,
    ) -> WeightFit:
        """On some of these rows, which are counted."""
        session = counts.workspace.session
        n_levels = max(sum(map(len, shape.families.values())) for shape in members)
        part = sampled(session, rows, weighed_rows(counts, n_levels))
        try:
            return WeightFit(Drawn.of(session, part), class_counts, loss, len(members))
        finally:
            if part is not rows:
                discard(session, part)

    def compared(
        self,
        part: FamilyCounts,
        shape: Shape,
        smoothings: Sequence[Smoothing],
        asked: Sequence[Weighting],
    ) -> dict[Smoothing, WeightsChoice]:
        """With each smoothing what gets weights, and with how many parents; of some rows."""
        depths = range(shape.depth + 1)
        if max(len(depths), len(smoothings), len(asked)) == 1:
            return {smoothings[0]: WeightsChoice(asked[0], shape.depth, {})}
        limits, n_classes = part.limits, len(self.class_counts)
        few = self.drawn.within(limits.weight_compared_values, _families(shape), n_classes)
        found = left_out_rows(part, _families(shape), self.class_counts, smoothings, few)
        return {
            smoothing: choose_weights(rows, asked, self.loss, limits.weight_pull, depths)
            for smoothing, rows in zip(smoothings, found, strict=True)
        }

    def member(
        self, part: FamilyCounts, shape: Shape, smoothing: Smoothing, choice: WeightsChoice
    ) -> WeighedMember:
        """A member whose levels, of so many parents, have weights of their own."""
        shape, how = shape.up_to(choice.depth), choice.weighting
        (left_out,) = left_out_rows(
            part, _families(shape), self.class_counts, [smoothing], self.drawn, how
        )
        found = chosen_weights(left_out, choice, part.limits)
        order = dict.fromkeys(left_out.places.tolist())
        kept = {i: tuple(w > 0 for w in found.weights[i]) for i in order}
        of_level = zip(left_out.places.tolist(), left_out.depths.tolist(), strict=True)
        used = np.array([kept[i][depth] for i, depth in of_level], dtype=bool)
        values = max(1, int(used.sum()) * len(self.class_counts))
        room = weight_room(part.workspace.session) // self.n_members // values
        rows = slice(0, max(1, min(len(left_out.y), room)))
        return WeighedMember(shape, left_out.part(rows, used), kept)


def _families(shape: Shape) -> dict[int, Family]:
    """Those of the selected attributes, in their order."""
    return {i: shape.families[i] for i in shape.structure.order if i in shape.selected}


def weigh_members(
    members: Sequence[WeighedMember], names: Sequence[str], loss: Loss, limits: Limits
) -> tuple[list[Shape], Mapping[str, float], dict[Loss, float]]:
    """Members with weights that were fitted together, what is added to classes, losses of others.

    Attributes and parents whose levels all have the weight 0 are left out.
    """
    together, pull = _together(members, limits)
    weights, shifts = fit_shape(together, pull)
    losses = _left_out_losses(together.within(limits.weight_fitted_values), loss, pull)
    given = iter(map(float, weights))
    shapes = [_weighted(member, given) for member in members]
    return shapes, dict(zip(names, map(float, shifts), strict=True)), losses


def members_losses(
    members: Sequence[WeighedMember], loss: Loss, limits: Limits
) -> dict[int, dict[Loss, float]]:
    """The losses of the first half of the members, of the half of these, … and of all.

    By the same rows, and so with fewer rows than the fit of few members will have.
    """
    sizes = [len(members)]
    while sizes[-1] // 2 >= limits.members_least:
        sizes.append(sizes[-1] // 2)
    if len(sizes) == 1:
        return {}
    rows = slice(0, len(_together(members, limits)[0].within(limits.weight_fitted_values).y))
    found = {}
    for n in sorted(sizes):
        some, pull = _together(members[:n], limits)
        found[n] = _left_out_losses(some.part(rows, np.ones(len(some.logs), bool)), loss, pull)
    return found


def _together(members: Sequence[WeighedMember], limits: Limits) -> tuple[LeftOutRows, float]:
    """What the levels of all members say, and how strongly their weights are pulled.

    As many weights as there are members stand for one of a product: each is pulled as strongly as
    all of these together.
    """
    n, rows = len(members), slice(0, min(len(member.rows.y) for member in members))
    every = [member.rows.part(rows, np.ones(len(member.rows.logs), bool)) for member in members]
    together = replace(
        every[0],
        logs=np.concatenate([part.logs for part in every]),
        places=np.concatenate([part.places for part in every]),
        depths=np.concatenate([part.depths for part in every]),
        centre=np.concatenate([part.centre for part in every]) / n,
    )
    return together, limits.weight_pull * n


def _left_out_losses(rows: LeftOutRows, loss: Loss, pull: float) -> dict[Loss, float]:
    """Of rows that the weights of all levels were not fitted on."""
    return crossed_losses(rows, np.ones(len(rows.logs), bool), "levels", loss, pull)


def _weighted(member: WeighedMember, given: Iterator[float]) -> Shape:
    """The shape of a member with the next of the weights, without what has none."""
    shape, found = member.shape, dict[int, tuple[float, ...]]()
    for i, kept in member.kept.items():
        found[i] = _without_end(tuple(next(given) if k else 0.0 for k in kept))
    parents = tuple(
        above[: len(found.get(i, ())) - 1] if found.get(i) else ()
        for i, above in enumerate(shape.structure.parents)
    )
    return replace(
        shape,
        structure=Structure(shape.structure.order, parents),
        selected=tuple(i for i in shape.selected if found[i]),
        weights=tuple(found.get(i, ()) for i in range(len(parents))),
    )


def _without_end(weights: tuple[float, ...]) -> tuple[float, ...]:
    """Without the last levels, where these have no weight."""
    n = max((level + 1 for level, weight in enumerate(weights) if weight), default=0)
    return weights[:n]


def _to_end(
    weights: Sequence[tuple[float, ...]], parents: Sequence[Sequence[int]]
) -> tuple[tuple[float, ...], ...]:
    """With the last levels of every chain, without a weight."""
    return tuple(
        (*own, *(0.0,) * (1 + len(above) - len(own)))
        for own, above in zip(weights, parents, strict=True)
    )


def reweighed(
    counts: FamilyCounts,
    shape: Shape,
    class_counts: Sequence[float],
    smoothing: Smoothing,
    asked: Sequence[Weighting],
    loss: Loss,
    encoded: Encoded,
) -> Shape:
    """An ensemble with weights that rows ask for, which are among the counted ones."""
    weight_fit = WeightFit.of(counts, shape.members, class_counts, loss, encoded)
    members = [
        weight_fit.member(part, own, smoothing, WeightsChoice(asked[0], own.depth, {}))
        for part, own in zip(parts_of(counts, shape.members), shape.members, strict=True)
    ]
    names = [str(row[0]) for row in counts.workspace.read("classes", "class", order=["code"])]
    shapes, shifts, _ = weigh_members(members, names, loss, counts.limits)
    # What has no weight now stays counted: rows to come may give it one again.
    members_now = [
        replace(own, weights=_to_end(now.weights or (), own.structure.parents))
        for now, own in zip(shapes, shape.members, strict=True)
    ]
    return replace(shape, members=tuple(members_now), shifts=shifts)
