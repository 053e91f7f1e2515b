"""Pass 1: what attributes tell of the class, alone and in pairs; and parents by a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sqlbn.counts.code_arrays import read_codes
from sqlbn.counts.counter import GammaSums, entropies, n_log_n, plan
from sqlbn.counts.cover import Family
from sqlbn.counts.margins import (
    are_storable,
    count_margins,
    margin_subsets,
    plan_margins,
)
from sqlbn.counts.pair_products import n_tiles, pair_sums, suits_products
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.kinds.kind import Job
from sqlbn.search.blocks import Samples
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, Measures, latest_cmi
from sqlbn.structure.information import Information, information
from sqlbn.structure.shape import information_for, score_gains

# From measures, an order of the attributes and a rule to a structure.
Decider = Callable[[Measures, Sequence[int], Rule], Decided]


def count_information(job: Job, groups: Sequence[Sequence[int]] = ()) -> Information:
    """Pass 1: MI and CMI; the margins that they come from stay in the workspace.

    Where the structure is found from a sample, or the pairs are too many to be stored, the margins
    are those of single attributes. With `groups` only pairs within one of them are counted, and
    not stored.
    """
    workspace, encoded, prepared = job.workspace, job.encoded, job.prepared
    progress, needs, sample = job.progress, job.learner.needs, job.structure_sample
    pairs = needs.pairs
    stored = (
        not groups
        and (sample is None or sample >= encoded.rows)
        and are_storable(encoded, margin_subsets(encoded, pairs))
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
        info = _information_of_rows(job, title, groups or [range(encoded.n_attributes)])
    margins.describe("margin_families")
    return info


def is_countable(job: Job) -> bool:
    """Whether MI and CMI of all rows are all that the structure needs."""
    sample = job.structure_sample
    return job.learner.needs.score is None and (sample is None or sample >= job.encoded.rows)


def information_in_arrays(job: Job) -> Information:
    """The same of few rows, where planning queries takes longer than counting; nothing is kept."""
    encoded, session, needs = job.encoded, job.workspace.session, job.learner.needs
    d, cards = encoded.n_attributes, encoded.cards
    codes, w = read_codes(session, encoded, range(d))
    total = float(w.sum()) if encoded.weighted else float(encoded.rows)
    if needs.pairs and suits_products(session, encoded, d * (d - 1) // 2):
        weights = w if encoded.weighted else None
        by_products = pair_sums(
            codes, weights, cards, needs.bare_pairs, encoded.limits, session.threads
        )
        return information(by_products, d, total)
    columns = [column.astype(np.int64) for column in codes]
    sums: dict[Family, float] = {}
    for family in needs.families(d):
        keys = columns[family[0]]
        for v in family[1:]:
            keys = keys * cards[v] + columns[v]
        if math.prod(cards[v] for v in family) > encoded.limits.block_cells:
            keys = np.unique(keys, return_inverse=True)[1]
        counts = np.bincount(keys, w if encoded.weighted else None)
        sums[family] = n_log_n(counts[counts > 0])
    return information(sums, d, total)


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


def _information_of_rows(job: Job, title: str, groups: Sequence[Sequence[int]]) -> Information:
    """MI and CMI of the rows, or of a sample of them, from counts that are not kept."""
    session, encoded, needs = job.workspace.session, job.encoded, job.learner.needs
    rows = sampled(session, encoded, job.structure_sample)
    gammas = GammaSums(rows.cards) if needs.score == "bayes" else None
    n_pairs = _n_pairs(_together(groups, rows.n_attributes))
    try:
        if gammas is None and suits_products(session, rows, n_pairs):
            sums = _sums_by_products(job, rows, title, groups)
        else:
            sums = _sums_by_queries(job, rows, title, groups, gammas)
        total = float(session.row_engine.row(select_sql(rows.relation, rows.total_sql))[0])
        info = information(sums, rows.n_attributes, total)
        if needs.score is None:
            return info
        scored = gammas.sums if gammas is not None else sums
        return replace(info, gains=score_gains(needs.score, scored, rows.cards, total))
    finally:
        if rows is not encoded:
            discard(session, rows)


def _sums_by_products(
    job: Job, rows: Encoded, title: str, groups: Sequence[Sequence[int]]
) -> Mapping[Family, float]:
    """Sums of n ln n of what is wanted, without a query a block of pairs."""
    d, progress = rows.n_attributes, job.progress
    with progress.stage("structure", title, rows.rows, n_tiles(rows.cards, rows.limits)):
        codes, w = read_codes(job.workspace.session, rows, range(d))
        sums = pair_sums(
            codes,
            w if rows.weighted else None,
            rows.cards,
            job.learner.needs.bare_pairs,
            rows.limits,
            job.workspace.session.threads,
            progress.advance,
        )
    together = _together(groups, d)
    return sums if _n_pairs(together) == d * (d - 1) // 2 else sums.within(together)


def _sums_by_queries(
    job: Job,
    rows: Encoded,
    title: str,
    groups: Sequence[Sequence[int]],
    gammas: GammaSums | None,
) -> Mapping[Family, float]:
    """The same from a covering plan of queries; `gammas` are added to."""
    d, progress = rows.n_attributes, job.progress
    together = _together(groups, d)
    families = job.learner.needs.families(d)
    wanted = [f for f in families if len(f) < 2 or f[1] == d or together[f[:2]]]
    blocks = plan(wanted, rows)
    watched = (gammas.add,) if gammas is not None else ()
    with progress.stage("structure", title, rows.rows, len(blocks)):
        return entropies(job.workspace.session, rows, blocks, progress.advance, *watched)


def _together(groups: Sequence[Sequence[int]], d: int) -> npt.NDArray[np.bool_]:
    """Which attributes are in a group with which."""
    found = np.zeros((d, d), bool)
    for group in groups:
        found[np.ix_(group, group)] = True
    return found


def _n_pairs(together: npt.NDArray[np.bool_]) -> int:
    """How many pairs of attributes are in one group."""
    return int(np.count_nonzero(np.triu(together, 1)))
