"""Pass 1: what attributes tell of the class, alone and in pairs; and parents by a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlbn.counts.counter import GammaSums, entropies, plan
from sqlbn.counts.margins import (
    are_storable,
    count_margins,
    margin_subsets,
    plan_margins,
)
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.sql import select_sql
from sqlbn.kinds.kind import Job
from sqlbn.search.blocks import Samples
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, Measures, latest_cmi
from sqlbn.structure.information import Information, information
from sqlbn.structure.shape import information_for, score_gains

# From measures, an order of the attributes and a rule to a structure.
Decider = Callable[[Measures, Sequence[int], Rule], Decided]


def count_information(job: Job) -> Information:
    """Pass 1: MI and CMI; the margins that they come from stay in the workspace.

    Where the structure is found from a sample, or the pairs are too many to be stored, the margins
    are those of single attributes.
    """
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    progress, needs, sample = job.progress, job.learner.needs, job.structure_sample
    pairs = needs.pairs
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
                needs.score == "bayes",
                progress.advance,
                needs.bare_pairs,
            )
            info = information_for(sums, needs.score)
    else:
        margins, _ = count_margins(workspace, encoded, False, prepared.class_counts)
        info = _information_of_rows(job, title)
    margins.describe("margin_families")
    return info


def decide_structure(job: Job, rule: Rule, decide: Decider) -> tuple[Decided, Information]:
    """Pass 1 by decisions: the parents that a bound is sure of, from samples that grow.

    Single attributes are counted in all rows, as the model tells of them, and so their order is
    that of all rows; CMI is that of the largest sample a pair was counted in.
    """
    workspace, encoded, progress = job.workspace, job.encoded, job.progress
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


def _information_of_rows(job: Job, title: str) -> Information:
    """MI and CMI of the rows, or of a sample of them, from counts that are not kept."""
    session, encoded, needs = job.workspace.session, job.encoded, job.learner.needs
    progress, d = job.progress, encoded.n_attributes
    rows = sampled(session, encoded, job.structure_sample)
    blocks = plan(needs.families(d), rows)
    gammas = GammaSums(rows.cards) if needs.score == "bayes" else None
    try:
        with progress.stage("structure", title, rows.rows, len(blocks)):
            watched = (gammas.add,) if gammas is not None else ()
            sums = entropies(session, rows, blocks, progress.advance, *watched)
            total = float(session.row_engine.row(select_sql(rows.relation, rows.total_sql))[0])
            info = information(sums, d, total)
            if needs.score is None:
                return info
            scored = gammas.sums if gammas is not None else sums
            return replace(info, gains=score_gains(needs.score, scored, rows.cards, total))
    finally:
        if rows is not encoded:
            discard(session, rows)
