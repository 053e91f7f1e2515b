"""The long form of a product: rows times factors, and one join with one table of all of them.

A join a factor is planned in a time that grows with the square of the joins. Here a row has a list
of keys, which are looked up in one table, and what is found is added up by row: the plan is the
same for any number of factors. Running it takes longer, as every key is a row of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import key_type
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import NAMES, relation_sql, render
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.product.factor_tables import Factor, chains_of


def lone_factors(factors: Sequence[Factor]) -> list[Factor]:
    """Factors that stand alone in their chain: their tables have a row for every key."""
    return [chain[0] for chain in chains_of(factors) if len(chain) == 1]


def suits_long_form(scorer: Scorer, limits: Limits) -> bool:
    """Whether one query is planned sooner without a join for every factor."""
    return scorer.scoring.has_long_form and len(lone_factors(scorer.factors)) > limits.long_factors


def joins_left(scorer: Scorer, limits: Limits) -> int:
    """How many joins one query has, in the form that suits it."""
    joins = len(scorer.factors)
    return (
        joins - len(lone_factors(scorer.factors)) + 1 if suits_long_form(scorer, limits) else joins
    )


def long_table_sql(scorer: Scorer) -> str:
    """The rows of one table that holds all lone factors, each behind the keys of the one before."""
    lone = lone_factors(scorer.factors)
    starts, keys = _starts(scorer, lone)
    return render(
        "store/long_table",
        key_type=key_type(keys),
        factors=[
            {"start": start, "table": relation_sql(scorer.prefix, factor.table)}
            for factor, start in zip(lone, starts, strict=True)
        ],
        classes=range(len(scorer.class_names)),
    )


def _starts(scorer: Scorer, factors: Sequence[Factor]) -> tuple[list[int], int]:
    """What is added to the keys of each factor, and how many keys there are."""
    starts, keys = list[int](), 0
    for factor in factors:
        starts.append(keys)
        keys += math.prod(scorer.books[v].slots for v in factor.variables)
    return starts, keys


def long_scores(
    scorer: Scorer, coded: str, kept: str, keys: Sequence[str], others: Sequence[dict[str, str]]
) -> str:
    """Rows with the log scores that lone factors, whose `keys` are given, add up to.

    `kept` are the rows' columns that stay, `others` the keys of further factors that are joined.
    Rows are told apart by `ROW`, which they have.
    """
    assert scorer.long is not None
    starts, n_keys = _starts(scorer, lone_factors(scorer.factors))
    priors = [scorer.dialect.double(prior) for prior in scorer.log_prior]
    return render(
        "score/long",
        names=NAMES,
        row=ROW,
        coded=coded,
        kept=kept,
        others=others,
        keys=[
            f"{start}::{key_type(n_keys)} + {key}" for start, key in zip(starts, keys, strict=True)
        ],
        table=scorer.long,
        sums=[f"{prior} + sum(t.l_{scorer.first_class + j})" for j, prior in enumerate(priors)],
    )
