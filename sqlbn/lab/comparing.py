"""Ranks and tests over the cells of a results file: the tables `ranks` and `comparisons`.

A data set counts where every learner has all its folds. Tests that need scipy are NULL without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sqlbn.engines.sql import identifier, render, select_sql
from sqlbn.evaluation.metrics import HIGHER_IS_BETTER
from sqlbn.lab.plan import Plan
from sqlbn.lab.results_file import Results
from sqlbn.lab.statistics import (
    corrected_t,
    critical_difference,
    friedman,
    has_scipy,
    holm,
    mean_ranks,
    rank_difference_p,
    tally,
    wilcoxon,
)

ALL = "all"
STRATA = (ALL, "small", "medium", "large")


@dataclass(frozen=True)
class Losses:
    """One measure of all learners on the data sets that all have; lower is better, by its sign."""

    measure: str
    learners: tuple[str, ...]
    strata: Mapping[str, str]
    by_fold: Mapping[str, Mapping[str, Sequence[float]]]

    @property
    def sign(self) -> float:
        """-1 for measures of which more is better."""
        return -1.0 if self.measure in HIGHER_IS_BETTER else 1.0

    def sets(self, stratum: str = ALL) -> list[str]:
        """The data sets of a size."""
        return [name for name in self.by_fold if stratum in (ALL, self.strata[name])]

    def mean(self, data_set: str, learner: str) -> float:
        """The mean over folds."""
        values = self.by_fold[data_set][learner]
        return math.fsum(values) / len(values)

    def signed(self, data_set: str, learner: str) -> float:
        """The same, so that lower is better."""
        return self.sign * self.mean(data_set, learner)


def compared_losses(results: Results, plan: Plan, measure: str) -> Losses:
    """A measure of the plan's learners, of sets without gaps."""
    learners = tuple(c.name for c in plan.learners)
    cells = plan.repeats * plan.folds
    found: dict[str, dict[str, list[float]]] = {}
    listed = f"data_set, learner, {identifier(measure)}"
    order = "data_set, learner, repeat, fold"
    within = f"repeat < {plan.repeats} AND fold < {plan.folds}"
    for name, learner, value in results.rows(
        select_sql(results.name("folds"), listed, where=within, order=order)
    ):
        if value is not None:
            found.setdefault(name, {}).setdefault(learner, []).append(value)
    strata = dict(
        results.rows(
            select_sql(
                results.name("runs"), "DISTINCT data_set, stratum", where="stratum IS NOT NULL"
            )
        )
    )
    whole = {
        s.name: found[s.name]
        for s in plan.sets
        if s.name in strata
        and all(len(found.get(s.name, {}).get(c, ())) == cells for c in learners)
    }
    return Losses(measure, learners, strata, whole)


def compare(results: Results, plan: Plan, decimals: int) -> None:
    """Fill `ranks`, `comparisons` and, of predictions over several repeats, `decompositions`."""
    ranks: list[Sequence[Any]] = []
    comparisons: list[Sequence[Any]] = []
    for measure in plan.measures:
        losses = compared_losses(results, plan, measure)
        for stratum in STRATA:
            if sets := losses.sets(stratum):
                ranks += _ranks(losses, stratum, sets)
                comparisons += _over_sets(losses, stratum, sets, decimals)
        comparisons += _over_folds(losses, plan)
    results.replace_all({"ranks": ranks, "comparisons": comparisons})
    if plan.predictions and plan.repeats > 1:
        results.fill(
            "decompositions", render("lab/decomposition", rows=results.name("predictions"))
        )


def _ranks(losses: Losses, stratum: str, sets: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Mean ranks, whether any differ (Friedman), and which differ from the best (Holm)."""
    learners, n, k = losses.learners, len(sets), len(losses.learners)
    mean = mean_ranks([[losses.signed(s, c) for c in learners] for s in sets])
    whole: list[Any] = [None] * 5
    adjusted: list[float | None] = [None] * k
    if k > 1:
        best = min(range(k), key=mean.__getitem__)
        others = [i for i in range(k) if i != best]
        found = holm([rank_difference_p(mean[i], mean[best], k, n) for i in others])
        for place, p in zip(others, found, strict=True):
            adjusted[place] = p
        if has_scipy():
            test = friedman(mean, n)
            whole = [
                critical_difference(k, n),
                test.chi_squared,
                test.chi_squared_p,
                test.f,
                test.f_p,
            ]
    for place, learner in enumerate(learners):
        value = math.fsum(losses.mean(s, learner) for s in sets) / n
        yield [losses.measure, stratum, learner, n, value, mean[place], adjusted[place], *whole]


def _over_sets(
    losses: Losses, stratum: str, sets: Sequence[str], decimals: int
) -> Iterator[Sequence[Any]]:
    """Wins, draws and losses of every two learners over data sets, draws as printed and exactly."""
    for one, other in combinations(losses.learners, 2):
        ours = [losses.signed(s, one) for s in sets]
        theirs = [losses.signed(s, other) for s in sets]
        p = wilcoxon(ours, theirs) if has_scipy() else None
        for draws_by, places in (("printed", decimals), ("exact", None)):
            found = tally(ours, theirs, places)
            counts = [found.wins, found.draws, found.losses, found.sign_p]
            yield [losses.measure, stratum, None, one, other, draws_by, *counts, p, None]


def _over_folds(losses: Losses, plan: Plan) -> Iterator[Sequence[Any]]:
    """The same on each data set, over its folds."""
    for name in losses.sets():
        for one, other in combinations(losses.learners, 2):
            ours, theirs = (
                [losses.sign * value for value in losses.by_fold[name][c]] for c in (one, other)
            )
            found = tally(ours, theirs)
            tests: list[float | None] = [None, None]
            if has_scipy():
                differences = [a - b for a, b in zip(ours, theirs, strict=True)]
                tests = [wilcoxon(ours, theirs), corrected_t(differences, 1 / (plan.folds - 1))]
            counts = [found.wins, found.draws, found.losses, found.sign_p]
            stratum = losses.strata[name]
            yield [losses.measure, stratum, name, one, other, "exact", *counts, *tests]
