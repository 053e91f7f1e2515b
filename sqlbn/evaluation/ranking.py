"""How well scores order the rows, whatever the threshold: AUC, and area over precision-recall."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import added
from sqlbn.engines.sql import NAMES, literal, render
from sqlbn.kinds.compiler import TIE

# Precisions are added up as whole numbers of these parts, so that the order does not matter.
PRECISION_UNIT = 2**60


def ranked_classes(n_classes: int, positive: int | None = None) -> Sequence[int]:
    """The classes to rank rows by: the positive one, else all; of two the second."""
    if n_classes < 2 or positive is None:
        return range(n_classes) if n_classes > 2 else range(1, n_classes)
    return [positive]


def rankable_sql(n_classes: int, judged: str, dialect: Dialect = DUCKDB) -> str:
    """The rows of `judged_sql` with what `ranking_sql` needs."""
    if n_classes <= 2:
        return judged
    return render(
        "evaluate/judged_odds",
        names=NAMES,
        judged=judged,
        kept=dialect.without([NAMES.second]),
        top=dialect.greatest([f"{NAMES.score}{j}" for j in range(n_classes)]),
        others=added([_below_sql(j) for j in range(n_classes)]),
        classes=range(n_classes),
    )


def _below_sql(code: int) -> str:
    """What a class adds to the sum of all but the best."""
    below = f"exp({NAMES.score}{code} - {NAMES.second})"
    return f"CASE {NAMES.best} WHEN {code} THEN 0 ELSE {below} END"


def ranking_sql(
    n_classes: int, code: int, relation: str, weight_unit: int, dialect: Dialect = DUCKDB
) -> str:
    """Sums over the rows of `rankable_sql` that AUC and average precision of a class are made of.

    All weights are multiples of 1 / `weight_unit`.
    """
    return render(
        "evaluate/ranking",
        names=NAMES,
        odds=_odds_sql(n_classes, code),
        code=code,
        n_classes=n_classes,
        relation=relation,
        next_odds=dialect.lead("odds", "above", "odds DESC"),
        tie=literal(TIE),
        weight_unit=weight_unit,
        precision_unit=literal(float(PRECISION_UNIT)),
    )


def _odds_sql(n_classes: int, code: int) -> str:
    """The logarithm of P(class) / P(not the class).

    It orders like P(class), which has no room for what is nearer to 1 than 1e-16 (naive Bayes with
    hundreds of attributes: most rows).
    """
    if n_classes == 2:
        return f"{NAMES.score}{code} - {NAMES.score}{1 - code}"
    below = f"{NAMES.score}{code} - {NAMES.highest}"
    # All but the class itself, in units of the best one: at least 1, so the difference is safe.
    others = f"1 + exp({NAMES.rest} - {NAMES.highest}) - exp({below})"
    best = f"{NAMES.highest} - {NAMES.rest}"
    return f"CASE WHEN {NAMES.best} = {code} THEN {best} ELSE {below} - ln({others}) END"


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
def kept(session: Session, sql: str) -> Iterator[str]:
    """The rows of a query, to be read once a class: a scratch file, for there may be many."""
    found = session.row_engine.persist(sql, "judged", session.memory_bytes)
    try:
        yield found.relation
    finally:
        session.row_engine.unpersist(found)


def rank(
    session: Session,
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
        own, mixed, precision = session.row_engine.row(
            ranking_sql(n_classes, code, relation, weight_unit, session.row_engine.dialect)
        )
        if own and (other := total - own):
            # Whole numbers of any size: exact up to the division.
            aucs.append((2 * own * other - mixed) / (2 * own * other))
            aoprcs.append((own * PRECISION_UNIT - precision) / (own * PRECISION_UNIT))
    if not aucs:
        return Ranking()
    return Ranking(weight, math.fsum(aucs) / len(aucs), math.fsum(aoprcs) / len(aoprcs))
