"""Queries for how well scores order the rows: one class against all others."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.dialects import DUCKDB, Dialect
from sqlbn.quoting import literal
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.query import TIE
from sqlbn.statement_size import added
from sqlbn.templates import render

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
        "judged_odds",
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
        "ranking",
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
