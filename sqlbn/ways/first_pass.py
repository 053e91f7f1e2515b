"""Pass 1: what attributes tell of the class, alone and in pairs; and parents by a bound."""

from __future__ import annotations

from dataclasses import replace

from sqlbn.counts.counter import entropies, plan
from sqlbn.counts.margins import (
    are_storable,
    count_margins,
    margin_subsets,
    plan_margins,
)
from sqlbn.encode.encoded import Encoded, discard, sampled
from sqlbn.engines import DuckDBEngine
from sqlbn.learners.fit_options import FitOptions
from sqlbn.progress import Progress
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, latest_cmi
from sqlbn.search.measures import Measures
from sqlbn.search.samples import Samples
from sqlbn.structure.forest import GammaSums, score_gains
from sqlbn.structure.information import Information, information
from sqlbn.ways.job import Job


def count_information(job: Job) -> Information:
    """Pass 1: MI and CMI; the margins that they come from stay in the draft.

    Where the structure is found from a sample, or the pairs are too many to be stored, the margins
    are those of single attributes.
    """
    draft, encoded, prepared = job.draft, job.encoded, job.prepared
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
            margins, info = count_margins(
                draft,
                encoded,
                pairs,
                prepared.class_counts,
                learner.score,
                progress.advance,
                learner.orders_by_gain,
            )
    else:
        margins, _ = count_margins(draft, encoded, False, prepared.class_counts)
        info = _information_of_rows(draft.engine, encoded, options, progress, title)
    margins.describe("margin_families")
    return info


def decide_structure(job: Job, rule: Rule) -> tuple[Decided, Information]:
    """Pass 1 by decisions: the parents that a bound is sure of, from samples that grow.

    Single attributes are counted in all rows, as the model tells of them, and so their order is
    that of all rows; CMI is that of the largest sample a pair was counted in.
    """
    draft, encoded, progress = job.draft, job.encoded, job.progress
    decide = job.options.make_learner().decider
    assert decide is not None
    samples = Samples(draft.engine, encoded, rule.block)
    d = encoded.n_attributes
    try:
        with progress.stage("structure", "pass 1: deciding on parents", encoded.rows):
            margins, info = count_margins(draft, encoded, False, job.prepared.class_counts)
            margins.describe("margin_families")
            measures = Measures(draft.engine, encoded, samples, progress.advance)
            decided = decide(measures, info.order, rule)
            return decided, replace(info, cmi=latest_cmi(measures, d))
    finally:
        samples.discard()


def _information_of_rows(
    engine: DuckDBEngine, encoded: Encoded, options: FitOptions, progress: Progress, title: str
) -> Information:
    """MI and CMI of the rows, or of a sample of them, from counts that are not kept."""
    d, learner = encoded.n_attributes, options.make_learner()
    rows = sampled(engine, encoded, options.structure_sample)
    blocks = plan(learner.families(d), rows)
    gammas = GammaSums(rows.cards) if learner.score == "bayes" else None
    try:
        with progress.stage("structure", title, rows.rows, len(blocks)):
            watched = (gammas.add,) if gammas is not None else ()
            sums = entropies(engine, rows, blocks, progress.advance, *watched)
            total = float(engine.lake.row(f"SELECT {rows.total_sql} FROM {rows.relation}")[0])
            info = information(sums, d, total)
            if learner.score is None:
                return info
            scored = gammas.sums if gammas is not None else sums
            return replace(info, gains=score_gains(learner.score, scored, rows.cards, total))
    finally:
        if rows is not encoded:
            discard(engine, rows)
