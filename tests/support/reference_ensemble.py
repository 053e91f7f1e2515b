"""Ensembles of selective KDB by brute force: members as models of `reference`, means of them.

The orders are given: that they are drawn as they should be is tested apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import reference
from reference import Judged, Model, Row

Floats = list[list[float]]


def member(ref: Model, order: Sequence[int], kmax: int, select: str, loss: str) -> Model:
    """The KDB of an order, cut back to what leave-one-out selects."""
    whole = replace(ref, order=tuple(order), parents=reference.kdb_parents(order, ref.cmi, kmax))
    k, n = reference.choose(reference.loocv_surface(whole, kmax, loss), select, loss)
    parents = {i: parents[:k] for i, parents in whole.parents.items()}
    return replace(whole, order=whole.order[:n], parents=parents)


def averaged(found: Sequence[Sequence[float]], mean: str) -> list[float]:
    """The mean of what several members say of the classes of one row."""
    classes = range(len(found[0]))
    if mean == "arithmetic":
        sums = [math.fsum(p[y] for p in found) for y in classes]
    else:
        sums = [math.prod(p[y] ** (1 / len(found)) for p in found) for y in classes]
    return [s / math.fsum(sums) for s in sums]


def probabilities(members: Sequence[Model], rows: Sequence[Row], mean: str) -> Floats:
    by_member = [reference.probabilities(model, rows) for model in members]
    return [
        averaged([[float(q) for q in p[at]] for p in by_member], mean) for at in range(len(rows))
    ]


def left_out(model: Model) -> list[Judged]:
    """Every row by a model without it."""
    backoff = "parents" if model.backoff == "parents-both" else "cell"
    found = []
    for codes, y, weight, out in reference.left_out_rows(model):
        n = reference.tally(model, (codes, y), out)
        joint = reference.prior(model, n)
        for i in model.order:
            factors = reference.factor(model, n, i, codes, len(model.parents[i]), backoff)
            joint = [p * f for p, f in zip(joint, factors, strict=True)]
        found.append((y, reference.normalised(joint), weight))
    return found


def loss_of(members: Sequence[Model], mean: str, loss: str) -> float:
    """The leave-one-out loss of an ensemble."""
    judged = [left_out(model) for model in members]
    rows = []
    for same in zip(*judged, strict=True):
        (y, _, weight), *_ = same
        rows.append((y, averaged([[float(q) for q in p] for _, p, _ in same], mean), weight))
    return reference.losses(rows)[loss]  # type: ignore[arg-type]
