"""Ensembles of selective KDB by brute force: members as models of `reference`, means of them.

Orders and parents are given: that they are drawn as they should be is tested apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import reference
from reference import Judged, Model, Row

Floats = list[list[float]]


def drawn(ref: Model, order: Sequence[int], links: Mapping[tuple[int, int], float]) -> Model:
    """The reference with the order of a member and its CMI; other attributes are not its own."""
    return replace(ref, order=tuple(order), cmi={**ref.cmi, **links})


def member(ref: Model, kmax: int, select: str, loss: str) -> Model:
    """The KDB of an order, cut back to what leave-one-out selects."""
    whole = replace(ref, parents=reference.kdb_parents(ref.order, ref.cmi, kmax))
    k, n = reference.choose(reference.loocv_surface(whole, kmax, loss), select, loss)
    parents = {i: parents[:k] for i, parents in whole.parents.items()}
    return replace(whole, order=whole.order[:n], parents=parents)


def pooled(members: Sequence[Model], rows: Sequence[Row], shifts: Sequence[float]) -> Floats:
    """The product of all members, each level of each of them with its own exponent."""
    tallies, answer = [reference.tally(model) for model in members], []
    for row in rows:
        first = reference.prior(members[0], tallies[0])
        logs = [math.log(p) + s for p, s in zip(first, shifts, strict=True)]
        for model, n in zip(members, tallies, strict=True):
            codes = model.codes(row)
            assert model.weights is not None
            for i, weights in model.weights.items():
                for level, weight in enumerate(weights):
                    said = reference.factor(model, n, i, codes, level, "cell")
                    logs = [a + weight * math.log(p) for a, p in zip(logs, said, strict=True)]
        scores = [math.exp(a - max(logs)) for a in logs]
        answer.append([score / math.fsum(scores) for score in scores])
    return answer


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
    # Row by row: members cut differently, so that rows that are equal to one are not to another.
    for codes, y, weight in model.rows:
        out = weight if model.weight_kind == "importance" else 1.0
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
