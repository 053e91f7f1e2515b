"""The SQL of a product's scores: one streaming query of joins, or several statements if large.

One query for all of a large product is planned in a time that grows faster than its joins and
classes (1,000 classes, 20 columns: minutes for 5,000 rows), and carries every column of the input
through every join (2,000 columns, 2 classes: 19 GB). In steps, some joins and some classes at a
time, a row is known by its number until it has its scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlbn.data import Source
from sqlbn.data.sampling import staged
from sqlbn.encoding.codebook import column_sql
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import ROW
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.sql import NAMES, render, select_sql
from sqlbn.kinds.compiler import Scorer, coded_rows
from sqlbn.kinds.product.factor_tables import Factor, chains_of
from sqlbn.kinds.product.long_form import long_scores, other_chains
from sqlbn.kinds.row_queries import BATCH, joined_batch


def product_scores(scorer: Scorer, coded: str, reorder: Limits | None = None) -> str:
    """Rows whose codes (and those of no other attributes) a query gives, with log scores."""
    codes = [f"{NAMES.code}{v}" for v in scorer.used]
    without = scorer.dialect.without(codes, among=scorer.kept)
    is_long = scorer.long is not None
    chains = other_chains(scorer) if is_long else chains_of(scorer.factors)
    keys = _keys(scorer, chains)
    if is_long:
        scored = long_scores(scorer, coded, without, keys, _key)
    else:
        starts = [scorer.dialect.double(prior) for prior in scorer.log_prior]
        scored = render(
            "score/keys", names=NAMES, coded=coded, kept=without, keys=keys, starts=starts
        )
    joins, looked_up = len(keys), len(keys) * len(scorer.class_names)
    outer = reorder is not None and (
        joins > reorder.inner_joins or looked_up > reorder.scoring_lookups
    )
    batch: list[list[Factor]] = []
    kept = [name for name in scorer.kept if name not in codes]
    columns = [*kept, *(key["alias"] for key in keys)]
    for place, chain in enumerate(chains):
        batch.append(chain)
        if sum(map(len, batch)) >= BATCH or place == len(chains) - 1:
            scored, columns = _score_batch(scorer, scored, columns, batch, outer)
            batch = []
    return scored


def _keys(scorer: Scorer, chains: Sequence[Sequence[Factor]]) -> list[dict[str, str]]:
    """The keys of the factors of some chains."""
    factors = sorted((f for chain in chains for f in chain), key=lambda f: f.number)
    return [{"sql": _key(scorer, f), "alias": f"{NAMES.key}{f.number}"} for f in factors]


def _key(scorer: Scorer, factor: Factor) -> str:
    key = packed_sql(
        [f"{NAMES.code}{v}" for v in factor.variables],
        [scorer.books[v].slots for v in factor.variables],
    )
    ignored = scorer.ignored(factor.members[0])
    if factor.role in ("parents", "discount") and ignored:
        # Of an ignored value the parents say nothing; no key, no join.
        listed = ", ".join(map(str, ignored))
        child = f"{NAMES.code}{factor.members[0]}"
        return f"CASE WHEN {child} NOT IN ({listed}) THEN {key} END"
    return key


def _score_batch(
    scorer: Scorer,
    scored: str,
    columns: Sequence[str],
    chains: Sequence[Sequence[Factor]],
    outer: bool,
) -> tuple[str, list[str]]:
    """Add what some chains of factors say: of each chain the deepest level that has the key.

    Discounts of the levels that do not have it are added.
    """
    n = len(scorer.class_names)
    sums = []
    for j in range(n):
        column = f"l_{scorer.first_class + j}"
        terms = [_chain_sql(chain, column) for chain in chains]
        sums.append(" + ".join([f"s.{NAMES.score}{j}", *terms]))
    factors = [f for chain in chains for f in chain]
    return joined_batch(scored, columns, factors, sums, scorer.prefix, outer, scorer.dialect)


def _chain_sql(chain: Sequence[Factor], column: str) -> str:
    """What a chain says: its first table that has the key, and the discounts before it."""
    levels: list[str] = []
    for factor in reversed(chain):
        value = f"f{factor.number}.{column}"
        if factor.role == "discount":
            rest = levels[0] if len(levels) == 1 else f"COALESCE({', '.join(levels)})"
            levels = [f"{rest} + COALESCE({value}, 0)"]
        else:
            levels.insert(0, value)
    return levels[0] if len(levels) == 1 else f"COALESCE({', '.join(levels)})"


# -- in steps -----------------------------------------------------------------------------------


def is_large(scorer: Scorer, limits: Limits) -> bool:
    """Whether a product in the wide form is scored in several statements."""
    joins = len(scorer.factors)
    looked_up = joins * len(scorer.class_names)
    large = joins > limits.scoring_joins or looked_up > limits.scoring_lookups
    return large and scorer.scoring.joins_factors and scorer.long is None


@contextmanager
def scored_in_steps(
    session: Session,
    scorer: Scorer,
    source: Source,
    items: Sequence[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> Iterator[str]:
    """A query for rows with their log scores, as long as it is needed.

    Rows have all columns of the source and in `ROW` their place, or `items` instead of columns.
    """
    row_engine, kept = session.row_engine, list[Persisted]()
    source = source if source.has_places else staged(session, source)
    rows = int(row_engine.row(source.select("count(*)"))[0])
    stages = scorer.scoring.stages(scorer)
    steps = _Steps(session, source, rows, progress or Progress())
    n_steps = sum(steps.number(stage) for stage in stages)
    try:
        with (
            steps.progress.stage("score", "scoring in steps", rows, n_steps),
            row_engine.joins_as_written(),
        ):
            for stage in stages:
                before = kept.pop() if kept else None
                try:
                    steps.score(stage, kept)
                    if len(stages) > 1:
                        steps.fold(scorer, stage, kept, before)
                finally:
                    if before is not None:
                        row_engine.unpersist(before)
        if len(stages) > 1:
            yield _of_sums(scorer, source, items, kept[0])
        else:
            yield _joined_sql(scorer, _parts(scorer, session.limits), source, items, kept)
    finally:
        for table in kept:
            row_engine.unpersist(table)


@dataclass(frozen=True)
class _Steps:
    """Steps over the rows of one source; tables that are made go into a list `kept`."""

    session: Session
    source: Source
    rows: int
    progress: Progress

    def number(self, scorer: Scorer) -> int:
        """How many steps a scorer takes."""
        limits = self.session.limits
        return len(_parts(scorer, limits)) * len(_blocks(scorer, limits.step_joins))

    def score(self, scorer: Scorer, kept: list[Persisted]) -> None:
        """One table of log scores for every part of the classes."""
        row_engine, limits = self.session.row_engine, self.session.limits
        for part in _parts(scorer, limits):
            for place, block in enumerate(_blocks(scorer, limits.step_joins)):
                sql = _step_sql(part, self.source, block, kept[-1] if place else None)
                after = row_engine.persist(
                    sql, "scores", 8 * self.rows * (1 + len(part.class_names))
                )
                if place:
                    row_engine.unpersist(kept.pop())
                kept.append(after)
                self.progress.advance()

    def fold(
        self, scorer: Scorer, stage: Scorer, kept: list[Persisted], before: Persisted | None
    ) -> None:
        """The tables of a stage, and the sums before, as one table of sums."""
        n, row_engine = len(scorer.class_names), self.session.row_engine
        scores, joins = _looked_up(kept, _parts(stage, self.session.limits), "t0")
        items, tables = [f"t0.{ROW}", *scores], f"{kept[0].relation} AS t0 {' '.join(joins[1:])}"
        if before is not None:
            items += [f"b.{NAMES.sum}{j}" for j in range(n)]
            tables += f" JOIN {before.relation} AS b ON b.{ROW} = t0.{ROW}"
        joined = select_sql(tables, ", ".join(items))
        sums = scorer.scoring.folded(joined, before is None, scorer)
        after = row_engine.persist(sums, "scores", 8 * self.rows * (1 + n))
        while kept:
            row_engine.unpersist(kept.pop())
        kept.append(after)


def _parts(scorer: Scorer, limits: Limits) -> list[Scorer]:
    """The scorer for some classes at a time."""
    joins = max(1, min(len(scorer.factors), limits.step_joins))
    most = max(1, limits.step_lookups // joins)
    return [
        replace(
            scorer,
            class_names=scorer.class_names[codes[0] : codes[-1] + 1],
            log_prior=scorer.log_prior[codes[0] : codes[-1] + 1],
            first_class=codes[0],
        )
        for codes in in_blocks(range(len(scorer.class_names)), most)
    ]


def _blocks(scorer: Scorer, most: int) -> list[list[Factor]]:
    """The factors, some at a time; those of a chain together."""
    blocks: list[list[Factor]] = [[]]
    for chain in chains_of(scorer.factors):
        if blocks[-1] and len(blocks[-1]) + len(chain) > most:
            blocks.append([])
        blocks[-1] += chain
    return blocks


def _step_sql(
    part: Scorer, source: Source, block: Sequence[Factor], before: Persisted | None
) -> str:
    """Rows by their places with the scores of some classes after a block of factors."""
    step = replace(part, factors=tuple(block))
    if before is not None:
        step = replace(step, log_prior=(0.0,) * len(part.log_prior))
    columns = list(dict.fromkeys(source.column(step.books[v].column) for v in step.used))
    coded = coded_rows(step, source.in_places(columns), [(column_sql("i", ROW), ROW)])
    scored = product_scores(step, coded)
    if before is None:
        return scored
    scores = [f"{NAMES.score}{j}" for j in range(len(part.class_names))]
    sums = ", ".join(f"b.{score} + a.{score} AS {score}" for score in scores)
    both = f"({scored}) AS a JOIN {before.relation} AS b USING ({ROW})"
    return select_sql(both, f"a.{ROW}, {sums}")


def _joined_sql(
    scorer: Scorer,
    parts: Sequence[Scorer],
    source: Source,
    items: Sequence[tuple[str, str]],
    kept: Sequence[Persisted],
) -> str:
    """The rows with their scores from the tables of all classes."""
    scores, joins = _looked_up(kept, parts, "r")
    rows = _uncoded(scorer, source, items)
    return select_sql(f"({rows}) AS r {' '.join(joins)}", ", ".join(["r.*", *scores]))


def _uncoded(scorer: Scorer, source: Source, items: Sequence[tuple[str, str]]) -> str:
    """The rows by their places, without codes."""
    asked = [(column_sql("i", ROW), ROW), *items] if items else []
    no_codes = replace(scorer, factors=(), scoring=scorer.scoring.stages(scorer)[0].scoring)
    return coded_rows(no_codes, source.in_places(source.columns), asked)


def _looked_up(
    kept: Sequence[Persisted], parts: Sequence[Scorer], rows: str
) -> tuple[list[str], list[str]]:
    """The scores out of the tables of all classes, and the joins with rows of an alias."""
    scores, joins, first = [], [], 0
    for number, (table, part) in enumerate(zip(kept, parts, strict=True)):
        n = len(part.class_names)
        scores += [f"t{number}.{NAMES.score}{j} AS {NAMES.score}{first + j}" for j in range(n)]
        joins.append(f"JOIN {table.relation} AS t{number} ON t{number}.{ROW} = {rows}.{ROW}")
        first += n
    return scores, joins


def _of_sums(
    scorer: Scorer, source: Source, items: Sequence[tuple[str, str]], sums: Persisted
) -> str:
    """The rows with their scores from sums over several stages."""
    listed = ", ".join(["r.*", *(f"b.{NAMES.sum}{j}" for j in range(len(scorer.class_names)))])
    joined = (
        f"({_uncoded(scorer, source, items)}) AS r JOIN {sums.relation} AS b ON b.{ROW} = r.{ROW}"
    )
    return scorer.scoring.from_sums(select_sql(joined, listed), scorer)
