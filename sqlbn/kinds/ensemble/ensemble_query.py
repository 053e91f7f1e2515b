"""The SQL of an arithmetic mean: the joins of one member after the other, and their mean.

A geometric mean is a product, whose tables have the weights of the members in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlbn.engines.dialects import Dialect
from sqlbn.engines.limits import Limits, added
from sqlbn.engines.sql import NAMES, literal, render
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.losses import LEAST_PROBABILITY
from sqlbn.kinds.product.product_kind import ProductScoring
from sqlbn.kinds.product.product_query import product_scores


@dataclass(frozen=True)
class MemberScoring(ProductScoring):
    """One member: a product that leaves all codes but `spent` ones to the members after it."""

    spent: tuple[int, ...] = ()

    def used(self, scorer: Scorer) -> list[int]:
        return list(self.spent)


def ensemble_scores(
    scorer: Scorer,
    coded: str,
    members: Sequence[Sequence[int]],
    reorder: Limits | None,
) -> str:
    """Rows whose codes a query gives, with log scores; `members` are the numbers of factors."""
    if scorer.long is not None:
        return product_scores(scorer, coded, reorder)
    n, codes = len(scorer.class_names), scorer.used
    known = {factor.number: factor for factor in scorer.factors}
    for place, numbers in enumerate(members):
        spent = tuple(codes) if place == len(members) - 1 else ()
        sums = _sums(n) if place else []
        own = [*(f"{NAMES.code}{v}" for v in codes), *sums] if scorer.carried is not None else []
        step = replace(
            scorer,
            factors=tuple(known[number] for number in numbers),
            scoring=MemberScoring(spent),
            own=tuple(own),
        )
        scored = product_scores(step, coded, _as_one_query(scorer, reorder))
        gone = {f"{NAMES.code}{v}" for v in spent}
        kept = [name for name in step.kept if name not in gone]
        coded = folded_sums(scored, n, place == 0, kept, scorer.dialect)
    return mean_scores(coded, n, len(members), scorer.kept, scorer.dialect)


def _as_one_query(scorer: Scorer, reorder: Limits | None) -> Limits | None:
    """The limits for a part of a query whose joins, all together, are too many to be reordered."""
    if reorder is None:
        return None
    joins, looked_up = len(scorer.factors), len(scorer.factors) * len(scorer.class_names)
    many = joins > reorder.inner_joins or looked_up > reorder.scoring_lookups
    return replace(reorder, inner_joins=-1) if many else reorder


def _sums(n_classes: int) -> list[str]:
    return [f"{NAMES.sum}{j}" for j in range(n_classes)]


def folded_sums(
    scored: str, n_classes: int, is_first: bool, kept: Sequence[str], dialect: Dialect
) -> str:
    """Rows with the scores of one member, with its probabilities in the sums over members."""
    scores = [f"{NAMES.score}{j}" for j in range(n_classes)]
    weights = [f"{NAMES.weight}{j}" for j in range(n_classes)]
    made = [f"{weight} / {NAMES.total}" for weight in weights]
    before = [] if is_first else _sums(n_classes)
    spent = [*scores, *weights, *before, NAMES.top, NAMES.total]
    return render(
        "score/member",
        names=NAMES,
        scored=scored,
        kept=dialect.without(spent, among=kept),
        top=dialect.greatest(scores),
        weights=[dialect.exp(f"{score} - {NAMES.top}") for score in scores],
        total=added(weights),
        sums=[f"{a} + {b}" for a, b in zip(before, made, strict=True)] if before else made,
        fence=dialect.fence,
    )


def mean_scores(
    summed: str, n_classes: int, n_members: int, kept: Sequence[str], dialect: Dialect
) -> str:
    """Rows with sums over all members, with the logarithms of the mean as scores."""
    sums, least = _sums(n_classes), literal(LEAST_PROBABILITY)
    shares = [f"{total} / {n_members}" for total in sums]
    scores = [f"ln({dialect.greatest([share, least])})" for share in shares]
    return render(
        "score/mean",
        names=NAMES,
        summed=summed,
        kept=dialect.without(sums, among=kept),
        scores=scores,
    )
