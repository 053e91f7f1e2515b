"""How well scores order the rows, whatever the threshold: AUC, and area over precision-recall."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlbn.engines import DuckDBEngine
from sqlbn.scoring.ranking import PRECISION_UNIT, ranked_classes, ranking_sql

RANKINGS = ("auc", "aoprc")


@dataclass(frozen=True)
class Ranking:
    """The figures of rows of this weight; without weight there are none, and both are NaN.

    `auc` is the probability that a row of a class has a higher P(class) than one of another class
    (ties count half), `aoprc` is 1 - average precision. They are those of the positive class, and
    without one the plain mean over the classes that some of the rows have and some have not.
    """

    weight: float = 0.0
    auc: float = math.nan
    aoprc: float = math.nan


def pooled_rankings(parts: Sequence[Ranking]) -> Ranking:
    """The mean of the parts that have figures, by their weight: scores of two models are not of
    one scale, so their rows are not ordered together."""
    known = [part for part in parts if part.weight]
    if len(known) <= 1:
        return known[0] if known else Ranking()
    weight = math.fsum(part.weight for part in known)
    return Ranking(
        weight,
        math.fsum(part.weight * part.auc for part in known) / weight,
        math.fsum(part.weight * part.aoprc for part in known) / weight,
    )


@contextmanager
def kept(engine: DuckDBEngine, sql: str) -> Iterator[str]:
    """The rows of a query, to be read once a class: a scratch file, for there may be many."""
    found = engine.lake.keep(sql, "judged", engine.memory_bytes)
    try:
        yield found.relation
    finally:
        engine.lake.forget(found)


def rank(
    engine: DuckDBEngine,
    relation: str,
    n_classes: int,
    weight: float,
    weight_unit: int,
    positive: int | None = None,
) -> Ranking:
    """The figures of rows that `rankable_sql` has given; `weight` is that of all of them."""
    aucs, aoprcs = [], []
    total = int(weight * weight_unit)
    for code in ranked_classes(n_classes, positive):
        own, mixed, precision = engine.lake.row(
            ranking_sql(n_classes, code, relation, weight_unit, engine.lake.dialect)
        )
        if own and (other := total - own):
            # Whole numbers of any size: exact up to the division.
            aucs.append((2 * own * other - mixed) / (2 * own * other))
            aoprcs.append((own * PRECISION_UNIT - precision) / (own * PRECISION_UNIT))
    if not aucs:
        return Ranking()
    return Ranking(weight, math.fsum(aucs) / len(aucs), math.fsum(aoprcs) / len(aoprcs))
