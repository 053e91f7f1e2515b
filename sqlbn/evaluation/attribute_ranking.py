"""The attributes most informative about the class, from as few rows as a bound allows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sqlbn.data import Source
from sqlbn.data.sampling import WORD, shuffle_sql, staged
from sqlbn.encoding.encoded import discard
from sqlbn.encoding.preparing import encode_rows, look, prepare
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.learners.fit_options import FitOptions
from sqlbn.search.blocks import Samples
from sqlbn.search.bounds import Rule
from sqlbn.search.contest import Contest, ContestResult
from sqlbn.search.dependence import Measures


@dataclass(frozen=True)
class Ranked:
    """One of the most informative attributes; `mi` is in nats, by the rows that decided."""

    rank: int
    attribute: str
    kind: str
    mi: float


@dataclass(frozen=True)
class Ranking:
    """The most informative attributes, and how sure it is that they are these.

    `rows` are those of the sample that decided, of `total_rows`, after so many `checks`;
    `rows_read` those of all samples.
    `margin` is by how much the last that is in was ahead of the best that is out, `error` what the
    bound allowed for it, `delta` the probability spent on it (None without a bound).
    """

    target: str
    attributes: tuple[Ranked, ...]
    candidates: int
    rows: int
    rows_read: int
    total_rows: int
    checks: int
    reason: str
    margin: float | None
    error: float | None
    delta: float | None

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def rank_attributes(
    session: Session,
    source: Source,
    options: FitOptions,
    top: int,
    rule: Rule | None,
    progress: Progress,
) -> Ranking:
    """The `top` attributes of a source; with a rule from as few rows as make sure of them."""
    rows = int(session.row_engine.row(source.select("count(*)"))[0])
    sample = _sample(session, source, rows, options, rule)
    if sample is not None and rule is not None:  # a decision, and perhaps once more by all rows
        rule = replace(rule, steps=2)
    found = _Round(session, options, rule, progress, rows)
    if sample is not None:
        ranking = found.run(sample, top, is_all=False)
        if ranking is not None:
            return ranking
    ranking = found.run(source, top, is_all=True)
    assert ranking is not None
    return ranking


def _sample(
    session: Session, source: Source, rows: int, options: FitOptions, rule: Rule | None
) -> Source | None:
    """The first random rows of the data; None where all are read at once."""
    blocks = session.limits.ranking_blocks
    if rule is None or source.row_key is None or 2 * blocks * rule.block >= rows:
        return None
    shuffle = shuffle_sql(source.row_key, session.settings.seed, session.row_engine.dialect)
    limit = math.ceil(WORD * blocks * rule.block / rows)
    drawn = source.with_numbers.filtered(f"{shuffle} < {limit}")
    return staged(session, drawn, options.columns_of(source))


class _Round:
    """A search among the rows of a source; a second one goes on where the first was not sure."""

    def __init__(
        self,
        session: Session,
        options: FitOptions,
        rule: Rule | None,
        progress: Progress,
        total_rows: int,
    ) -> None:
        self._session, self._options, self._rule = session, options, rule
        self._progress, self._total = progress, total_rows
        self._spent, self._rows_read = 0.0, 0

    def run(self, source: Source, top: int, is_all: bool) -> Ranking | None:
        """The ranking by these rows; None where more are needed to be sure."""
        session, progress = self._session, self._progress
        workspace = Workspace(session)
        options = self._options if is_all else self._options.of_used_columns()
        looked = look(session, source, options, progress)
        prepared = prepare(looked, workspace, options, progress)
        encoded = encode_rows(session, prepared, progress, numbered=self._rule is not None)
        # Without a bound all rows are the first sample.
        rule = self._rule or Rule("normal", tau=1.0, block=encoded.rows)
        samples = Samples(session, encoded, rule.block)
        try:
            with progress.stage("rank", "ranking the attributes", encoded.rows):
                measures = Measures(session, encoded, samples, progress.advance)
                contest = Contest(encoded.n_attributes, rule, top)
                verdict = _decide(measures, contest, is_all)
        finally:
            samples.discard()
            discard(session, encoded)
            workspace.drop()
        self._rows_read += measures.rows_read
        if verdict is None:
            self._spent += contest.delta_spent
            return None
        families = [(i, encoded.class_variable) for i in verdict.winners]
        told = {f[0]: measures.latest(f) for f in families}
        order = sorted(told, key=lambda i: (-told[i], i))
        books = prepared.books
        decided = math.isfinite(verdict.margin)
        return Ranking(
            target=prepared.training.target,
            attributes=tuple(
                Ranked(place, books[i].name, books[i].kind, told[i])
                for place, i in enumerate(order, start=1)
            ),
            candidates=len(books),
            rows=verdict.rows,
            rows_read=self._rows_read,
            total_rows=self._total,
            checks=verdict.checks,
            reason=verdict.reason if self._rule is not None else "exhausted",
            margin=verdict.margin if decided else None,
            error=verdict.error if decided and self._rule is not None else None,
            delta=self._spent + verdict.delta if self._rule is not None else None,
        )


def _decide(measures: Measures, contest: Contest, is_all: bool) -> ContestResult | None:
    """Look at larger and larger samples; None where the last leaves it open and is not all."""
    d = contest.n_candidates
    families = [(i, d) for i in range(d)]
    level = 0
    while True:
        measures.need(level, [families[i] for i in np.flatnonzero(contest.alive)])
        last = measures.is_all(level)
        estimates = measures.estimates(level, families)
        verdict = contest.check(measures.rows(level), estimates, exhausted=last and is_all)
        if verdict is not None or last:
            return verdict
        level = measures.next_level(level, contest.next_look)
