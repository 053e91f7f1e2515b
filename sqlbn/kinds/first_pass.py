"""Pass 1: what attributes tell of the class, alone and in pairs; and parents by a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.counts.counter import GammaSums, entropies, plan
from sqlbn.counts.margins import (
    are_storable,
    count_margins,
    margin_subsets,
    plan_margins,
)
from sqlbn.encoding.encoded import Encoded, discard, sampled
from sqlbn.encoding.preparing import Prepared
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.losses import Loss
from sqlbn.learners.fit_options import FitOptions
from sqlbn.search.blocks import Samples
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, Measures, latest_cmi
from sqlbn.structure.information import Information, information
from sqlbn.structure.shape import Shape, information_for, score_gains


def _no_judge(loss: Loss) -> float:
    raise AssertionError("a learner without leave-one-out")


@dataclass(frozen=True)
class Job:
    """What a way of fitting works on; `shape` is that of a model to follow, if there is one.

    Of a trial only the loss matters.
    """

    workspace: Workspace
    encoded: Encoded
    prepared: Prepared
    options: FitOptions
    progress: Progress
    shape: Shape | None
    is_trial: bool = False


@dataclass(frozen=True)
class Fitted:
    """What a fit chose, for the meta table, and its loss by leave-one-out while rows are there."""

    chosen: dict[str, Any]
    judge: Callable[[Loss], float] = _no_judge


def count_information(job: Job) -> Information:
    """Pass 1: MI and CMI; the margins that they come from stay in the draft.

    Where the structure is found from a sample, or the pairs are too many to be stored, the margins
    are those of single attributes.
    """
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    options, progress = job.options, job.progress
    learner = options.make_learner()
    pairs = learner.uses_pairs
    sample = options.structure_sample
    stored = (sample is None or sample >= encoded.rows) and are_storable(
        encoded, margin_subsets(encoded, pairs)
    )
    blocks = plan_margins(encoded, pairs and stored)
    title = "pass 1: counting for structure"
    if stored or not pairs:
        with progress.stage("structure", title, encoded.rows, len(blocks)):
            margins, sums = count_margins(
                workspace,
                encoded,
                pairs,
                prepared.class_counts,
                learner.score == "bayes",
                progress.advance,
                learner.orders_by_gain,
            )
            info = information_for(sums, learner.score)
    else:
        margins, _ = count_margins(workspace, encoded, False, prepared.class_counts)
        info = _information_of_rows(workspace.session, encoded, options, progress, title)
    margins.describe("margin_families")
    return info


def decide_structure(job: Job, rule: Rule) -> tuple[Decided, Information]:
    """Pass 1 by decisions: the parents that a bound is sure of, from samples that grow.

    Single attributes are counted in all rows, as the model tells of them, and so their order is
    that of all rows; CMI is that of the largest sample a pair was counted in.
    """
    workspace, encoded, progress = job.workspace, job.encoded, job.progress
    decide = job.options.make_learner().decider
    assert decide is not None
    samples = Samples(workspace.session, encoded, rule.block)
    d = encoded.n_attributes
    try:
        with progress.stage("structure", "pass 1: deciding on parents", encoded.rows):
            margins, sums = count_margins(workspace, encoded, False, job.prepared.class_counts)
            info = information_for(sums)
            margins.describe("margin_families")
            measures = Measures(workspace.session, encoded, samples, progress.advance)
            decided = decide(measures, info.order, rule)
            return decided, replace(info, cmi=latest_cmi(measures, d))
    finally:
        samples.discard()


def _information_of_rows(
    session: Session, encoded: Encoded, options: FitOptions, progress: Progress, title: str
) -> Information:
    """MI and CMI of the rows, or of a sample of them, from counts that are not kept."""
    d, learner = encoded.n_attributes, options.make_learner()
    rows = sampled(session, encoded, options.structure_sample)
    blocks = plan(learner.families(d), rows)
    gammas = GammaSums(rows.cards) if learner.score == "bayes" else None
    try:
        with progress.stage("structure", title, rows.rows, len(blocks)):
            watched = (gammas.add,) if gammas is not None else ()
            sums = entropies(session, rows, blocks, progress.advance, *watched)
            total = float(
                session.row_engine.row(f"SELECT {rows.total_sql} FROM {rows.relation}")[0]
            )
            info = information(sums, d, total)
            if learner.score is None:
                return info
            scored = gammas.sums if gammas is not None else sums
            return replace(info, gains=score_gains(learner.score, scored, rows.cards, total))
    finally:
        if rows is not encoded:
            discard(session, rows)
