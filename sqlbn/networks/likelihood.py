"""How well a network explains rows: the mean of ln P(row), from counts of families.

Rows are encoded once. Every table of logarithms is met with the counts of its variables, and equal
counts give the same sum to the last bit whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import block_key, block_statement, dense_counts, plan
from sqlbn.counts.cover import Block, Family, cells_of
from sqlbn.counts.marginals import marginals
from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.encode.encoded import Encoded, discard
from sqlbn.engines import DuckDBEngine
from sqlbn.evaluation.scoring import check_input
from sqlbn.networks.coding import coded_rows, narrowed, network_scorer
from sqlbn.networks.network import Network
from sqlbn.networks.stored import check_is_network, smoothed_copy
from sqlbn.progress import Progress
from sqlbn.scoring.factors import Factor
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.query import Scorer, own_score, product_scores
from sqlbn.sources import Source
from sqlbn.store.spec import ModelSpec
from sqlbn.templates import render

Array = npt.NDArray[Any]
# ln P for all codes of some variables, an axis each, variables in ascending order.
LogTables = Mapping[Family, Array]


@dataclass(frozen=True)
class Likelihood:
    """The sum of ln P(row) over the rows that are possible."""

    total: float
    rows: int
    impossible_rows: int

    @property
    def mean(self) -> float:
        """By row; NaN where no row is possible."""
        possible = self.rows - self.impossible_rows
        return self.total / possible if possible else math.nan


def network_likelihood(
    engine: DuckDBEngine, network: Network, source: Source, progress: Progress
) -> Likelihood:
    """Of a given network: what it says is impossible, or does not know, is left out."""
    scorer = network_scorer(network, source, engine.lake.dialect)
    with progress.stage("encode", "encoding"):
        encoded = coded_rows(engine, source, scorer)
        rows = encoded.rows
        cards = [len(v.states) for v in network]
        known = [f"{encoded.column(i)} < {card}" for i, card in enumerate(cards)]
        encoded = replace(_known(engine, encoded, known, scorer.books), cards=(*cards, 1))
    with np.errstate(divide="ignore"):
        logs = [
            (f.variables, np.log(v.table)) for f, v in zip(scorer.factors, network, strict=True)
        ]
    tables = _summed(logs)
    try:
        blocks = plan(list(tables), encoded)
        with progress.stage("count", "counting families", encoded.rows, len(blocks)):
            total, impossible = _counted(engine, encoded, blocks, tables, progress)
        if impossible:
            with progress.stage("possible", "counting possible rows", 0, len(blocks)):
                encoded = _possible(engine, encoded, impossible, scorer.books)
                total, _ = _counted(engine, encoded, blocks, tables, progress)
        return Likelihood(total, rows, rows - encoded.rows)
    finally:
        discard(engine, encoded)


def model_likelihood(
    draft: Draft, spec: ModelSpec, source: Source, progress: Progress
) -> Likelihood:
    """Of a stored model: ln P(x, y) as prediction has it; values never seen are always smoothed.

    Impossible are only the rows without a class that the model knows.
    """
    check_is_network(draft, spec)
    check_input(spec, source, outputs=False)
    if not spec.smoothing.is_neutral:
        return _product_likelihood(draft, spec, source, progress)
    copy, smoothed = smoothed_copy(draft, spec)
    try:
        return _product_likelihood(copy, smoothed, source, progress)
    finally:
        copy.drop()


def _product_likelihood(
    draft: Draft, spec: ModelSpec, source: Source, progress: Progress
) -> Likelihood:
    """The same where the tables of scoring have a probability for every value."""
    engine = draft.engine
    scorer = spec.scorer(draft.prefix, source.columns, dialect=engine.lake.dialect)
    books = [spec.target, *(scorer.books[v] for v in scorer.used)]
    with progress.stage("encode", "encoding"):
        encoded = coded_rows(engine, source, scorer)
        rows = encoded.rows
        encoded = _known(engine, encoded, [f"y < {len(spec.class_names)}"], books)
    try:
        chains = [f for f in scorer.factors if f.level >= 0]
        whole = [f for f in scorer.factors if f.level < 0]
        prior = np.array(scorer.log_prior)
        tables = _summed(
            [
                ((encoded.class_variable,), prior),
                *(_factor_logs(draft, f, encoded) for f in whole),
            ]
        )
        blocks = plan(list(tables), encoded)
        with progress.stage("count", "counting families", encoded.rows, len(blocks)):
            total, _ = _counted(engine, encoded, blocks, tables, progress)
        if chains:
            with progress.stage("chains", "looking up large tables", encoded.rows):
                total += _chain_total(engine, encoded, scorer, chains)
        return Likelihood(total, rows, rows - encoded.rows)
    finally:
        discard(engine, encoded)


# -- rows -----------------------------------------------------------------------------------------


def _known(
    engine: DuckDBEngine, encoded: Encoded, conditions: Sequence[str], books: Sequence[Codebook]
) -> Encoded:
    """The rows whose codes are all known; the codes as they are where that is every row."""
    where = " AND ".join(conditions)
    known = engine.lake.row(f"SELECT count(*) FILTER (WHERE {where}) FROM {encoded.relation}")[0]
    if int(known) == encoded.rows:
        return encoded
    return narrowed(engine, encoded, f"SELECT * FROM {encoded.relation} WHERE {where}", books)


def _possible(
    engine: DuckDBEngine,
    encoded: Encoded,
    impossible: Mapping[Family, Array],
    books: Sequence[Codebook],
) -> Encoded:
    """The rows without any of these cells (keys of families)."""
    families = []
    for number, (family, keys) in enumerate(impossible.items()):
        name = engine.fresh_name("impossible")
        engine.create_table(name, {"k": keys})
        key = block_key(_block_of(family, encoded), encoded)
        families.append({"table": name, "alias": f"b{number}", "key": key})
    statement = render("possible_rows", relation=encoded.relation, families=families)
    found = narrowed(engine, encoded, statement, books)
    for family_of in families:
        engine.lake.take_back(family_of["table"])
        engine.execute(f"DROP TABLE {family_of['table']}")
    return found


# -- counts and logarithms ------------------------------------------------------------------------


def _summed(logs: Sequence[tuple[Family, Array]]) -> dict[Family, Array]:
    """Tables by their variables in ascending order; those of the same variables added up."""
    tables: dict[Family, Array] = {}
    for variables, values in logs:
        order = np.argsort(variables)
        family = tuple(variables[a] for a in order)
        turned = np.transpose(values, order)
        tables[family] = tables[family] + turned if family in tables else turned
    return {family: np.ascontiguousarray(table) for family, table in tables.items()}


def _factor_logs(draft: Draft, factor: Factor, encoded: Encoded) -> tuple[Family, Array]:
    """A table that scoring joins, with a row for every key, as an array: its variables, class."""
    n_classes = encoded.cards[-1]
    found = draft.engine.arrays(f"FROM {draft.table(factor.table)} ORDER BY key")
    logs = np.stack([found[f"l_{j}"] for j in range(n_classes)], axis=-1)
    shape = [encoded.cards[v] for v in factor.variables]
    return (*factor.variables, encoded.class_variable), logs.reshape([*shape, n_classes])


def _block_of(family: Family, encoded: Encoded) -> Block:
    return Block(family, (family,), cells_of(family, encoded.cards), dense=True)


def _cells(
    engine: DuckDBEngine, encoded: Encoded, block: Block
) -> Iterator[tuple[Family, Array, Array]]:
    """For each family of a block the keys of the cells that occur, and their counts."""
    if block.dense:
        found = engine.lake.arrays(block_statement(block, encoded))
        counts = dense_counts(block, encoded, found)
        for family, table in marginals(counts, block.variables, block.families):
            flat = table.reshape(-1)
            keys = np.flatnonzero(flat)
            yield family, keys, flat[keys]
    else:
        family = block.families[0]
        found = engine.lake.arrays(block_statement(_block_of(family, encoded), encoded))
        yield family, found["k"], found["n"]


def _counted(
    engine: DuckDBEngine,
    encoded: Encoded,
    blocks: Sequence[Block],
    tables: LogTables,
    progress: Progress,
) -> tuple[float, dict[Family, Array]]:
    """The sum of n ln P over all cells, and the keys of those of probability 0 that occur.

    Where there are such keys the sum is that of the other families only.
    """
    total, impossible = 0.0, {}
    for block in blocks:
        for family, keys, n in _cells(engine, encoded, block):
            logs = tables[family].reshape(-1)[keys]
            never = np.isneginf(logs)
            if never.any():
                impossible[family] = keys[never]
            else:
                total += math.fsum((logs * n).tolist())
        progress.advance()
    return total, impossible


def _chain_total(
    engine: DuckDBEngine, encoded: Encoded, scorer: Scorer, chains: Sequence[Factor]
) -> float:
    """The same for attributes whose tables are looked up level by level, by the scoring query."""
    total = 0.0
    for member in dict.fromkeys(f.members for f in chains):
        one = replace(
            scorer,
            factors=tuple(f for f in chains if f.members == member),
            log_prior=(0.0,) * len(scorer.class_names),
        )
        coded = render(
            "counted_codes",
            names=NAMES,
            codes=[{"column": encoded.column(v), "alias": f"{NAMES.code}{v}"} for v in one.used],
            relation=encoded.relation,
        )
        with engine.lake.joins_as_written():
            found = engine.lake.arrays(
                render(
                    "score_spectrum",
                    names=NAMES,
                    own=own_score(len(scorer.class_names), scorer.dialect),
                    scored=product_scores(one, coded),
                )
            )
        total += math.fsum((found["l"] * found["n"]).tolist())
    return total
