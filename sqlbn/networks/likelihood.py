"""How well a network explains rows: the mean of ln P(row), from counts of families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import (
    block_key,
    block_statement,
    dense_counts,
    marginals,
    plan,
)
from sqlbn.counts.cover import Block, Family, cells_of
from sqlbn.data import Source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.codebook import (
    Codebook,
    categories_join_sql,
    code_sql,
    column_sql,
)
from sqlbn.encoding.encoded import discard, row_bytes
from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import NAMES, render, select_sql
from sqlbn.engines.value_types import type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import NoRowsError
from sqlbn.evaluation.held_out import check_input
from sqlbn.kinds.compiler import Scorer, code_items, own_score
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.kinds.product.product_kind import ProductScoring
from sqlbn.kinds.product.product_query import product_scores
from sqlbn.networks.network import Network, Variable
from sqlbn.networks.stored_networks import check_is_network, smoothed_copy
from sqlbn.store.spec import ModelSpec

# The class of a network that has none: all rows are in it, and no column says so.
_ALL_ROWS = Codebook(NO_CLASS, "VARCHAR", "categorical", 1, categories=("",))


def network_scorer(network: Network, source: Source, dialect: Dialect = DUCKDB) -> Scorer:
    """Codebooks and families of a network whose states are the values of columns of that name.

    Its factors have no tables: they only say which variables go together.
    """
    books = []
    for variable in network:
        column = source.column(variable.name, "the network's variable")
        books.append(_state_book(variable, column, source.columns[column]))
    return Scorer(
        prefix=None,
        target=_ALL_ROWS,
        class_names=("",),
        probability_columns=("p_",),
        books=tuple(books),
        same_type=frozenset(book.column for book in books),
        log_prior=(0.0,),
        factors=tuple(
            Factor(i, "base", (*above, i), (i,), len(above))
            for i, above in enumerate(network.parents)
        ),
        smoothing=Smoothing(),
        scoring=ProductScoring(),
        dialect=dialect,
    )


def _state_book(variable: Variable, column: str, sql_type: str) -> Codebook:
    """States are text; in a column that a reader made truth values or numbers they are those."""
    states, group, compared = variable.states, type_group(sql_type), "VARCHAR"
    if group == "boolean" and len({state.lower() for state in states}) == len(states):
        states = tuple(state.lower() for state in states)
    elif group in ("integer", "float", "decimal") and _are_numbers(states):
        compared = "DOUBLE"
    return Codebook(column, compared, "categorical", len(states), categories=states)


def _are_numbers(states: Sequence[str]) -> bool:
    """Whether every state is written as a number, and each as another one.

    >>> _are_numbers(["0", "1.5"]), _are_numbers(["1", "1.0"]), _are_numbers(["1", "many"])
    (True, False, False)
    """
    try:
        numbers = {float(state) for state in states}
    except ValueError:
        return False
    return len(numbers) == len(states) and all(math.isfinite(x) for x in numbers)


def coded_rows(session: Session, source: Source, scorer: Scorer) -> Encoded:
    """Every row as codes, also those of values that the scorer does not know.

    The column of an attribute is x and its position, y is the class.
    """
    items, joins, values = code_items(scorer, "x")
    target, dialect = scorer.target, scorer.dialect
    if target.name != NO_CLASS:
        column = column_sql("i", source.column(target.name, "the target"))
        items.append({"code": code_sql(target, column, "dy", dialect=dialect), "alias": "y"})
        if target.is_joined_in(dialect):
            classes = scorer.tables.classes
            joins.append(categories_join_sql(target, column, classes, "dy", dialect=dialect))
    else:
        items.append({"code": "0::UTINYINT", "alias": "y"})
    rows = int(session.row_engine.row(source.select("count(*)"))[0])
    if not rows:
        raise NoRowsError(f"{source.label} has no row to score")
    relation = values.over(source.filtered_relation)
    statement = render("encode/encode", items=items, joins=joins, relation=relation)
    width = row_bytes([target, *(scorer.books[v] for v in scorer.used)])
    kept = session.row_engine.persist(statement, "encoded", rows * width)
    cards = (*(book.slots for book in scorer.books), target.n_values)
    return Encoded(
        kept.relation,
        cards,
        rows,
        weighted=False,
        scratch=kept.scratch,
        block_cells=session.row_engine.block_cells,
        number=kept.row_number,
        limits=session.limits,
    )


def narrowed(
    session: Session, encoded: Encoded, statement: str, books: Sequence[Codebook]
) -> Encoded:
    """The codes of some of the rows, as a query gives them, in place of those of all."""
    kept = session.row_engine.persist(statement, "encoded", encoded.rows * row_bytes(books))
    discard(session, encoded)
    rows = int(session.row_engine.row(select_sql(kept.relation, "count(*)"))[0])
    return replace(
        encoded,
        relation=kept.relation,
        rows=rows,
        scratch=kept.scratch,
        number=kept.row_number,
    )


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
    session: Session, network: Network, source: Source, progress: Progress
) -> Likelihood:
    """Of a given network: what it says is impossible, or does not know, is left out."""
    scorer = network_scorer(network, source, session.row_engine.dialect)
    with progress.stage("encode", "encoding"):
        encoded = coded_rows(session, source, scorer)
        rows = encoded.rows
        cards = [len(v.states) for v in network]
        known = [f"{encoded.column(i)} < {card}" for i, card in enumerate(cards)]
        encoded = replace(_known(session, encoded, known, scorer.books), cards=(*cards, 1))
    with np.errstate(divide="ignore"):
        logs = [
            (f.variables, np.log(v.table)) for f, v in zip(scorer.factors, network, strict=True)
        ]
    tables = _summed(logs)
    try:
        blocks = plan(list(tables), encoded)
        with progress.stage("count", "counting families", encoded.rows, len(blocks)):
            total, impossible = _counted(session, encoded, blocks, tables, progress)
        if impossible:
            with progress.stage("possible", "counting possible rows", 0, len(blocks)):
                encoded = _possible(session, encoded, impossible, scorer.books)
                total, _ = _counted(session, encoded, blocks, tables, progress)
        return Likelihood(total, rows, rows - encoded.rows)
    finally:
        discard(session, encoded)


def model_likelihood(
    workspace: Workspace, spec: ModelSpec, source: Source, progress: Progress
) -> Likelihood:
    """Of a stored model: ln P(x, y) as prediction has it; values never seen are always smoothed.

    Impossible are only the rows without a class that the model knows.
    """
    check_is_network(workspace, spec)
    check_input(spec, source, outputs=False)
    if not spec.smoothing.is_neutral:
        return _product_likelihood(workspace, spec, source, progress)
    copy, smoothed = smoothed_copy(workspace, spec)
    try:
        return _product_likelihood(copy, smoothed, source, progress)
    finally:
        copy.drop()


def _product_likelihood(
    workspace: Workspace, spec: ModelSpec, source: Source, progress: Progress
) -> Likelihood:
    """The same where the tables of scoring have a probability for every value."""
    session = workspace.session
    scorer = spec.scorer(workspace.prefix, source.columns, dialect=session.row_engine.dialect)
    books = [spec.target, *(scorer.books[v] for v in scorer.used)]
    with progress.stage("encode", "encoding"):
        encoded = coded_rows(session, source, scorer)
        rows = encoded.rows
        encoded = _known(session, encoded, [f"y < {len(spec.class_names)}"], books)
    try:
        chains = [f for f in scorer.factors if f.level >= 0]
        whole = [f for f in scorer.factors if f.level < 0]
        prior = np.array(scorer.log_prior)
        tables = _summed(
            [
                ((encoded.class_variable,), prior),
                *(_factor_logs(workspace, f, encoded) for f in whole),
            ]
        )
        blocks = plan(list(tables), encoded)
        with progress.stage("count", "counting families", encoded.rows, len(blocks)):
            total, _ = _counted(session, encoded, blocks, tables, progress)
        if chains:
            with progress.stage("chains", "looking up large tables", encoded.rows):
                total += _chain_total(session, encoded, scorer, chains)
        return Likelihood(total, rows, rows - encoded.rows)
    finally:
        discard(session, encoded)


# -- rows -----------------------------------------------------------------------------------------


def _known(
    session: Session, encoded: Encoded, conditions: Sequence[str], books: Sequence[Codebook]
) -> Encoded:
    """The rows whose codes are all known; the codes as they are where that is every row."""
    where = " AND ".join(conditions)
    counted = select_sql(encoded.relation, f"count(*) FILTER (WHERE {where})")
    if int(session.row_engine.row(counted)[0]) == encoded.rows:
        return encoded
    return narrowed(session, encoded, select_sql(encoded.relation, where=where), books)


def _possible(
    session: Session,
    encoded: Encoded,
    impossible: Mapping[Family, Array],
    books: Sequence[Codebook],
) -> Encoded:
    """The rows without any of these cells (keys of families)."""
    families = []
    for number, (family, keys) in enumerate(impossible.items()):
        name = session.fresh_name("impossible")
        session.create_table(name, {"k": keys})
        key = block_key(_block_of(family, encoded), encoded)
        families.append({"table": name, "alias": f"b{number}", "key": key})
    statement = render("evaluate/possible_rows", relation=encoded.relation, families=families)
    found = narrowed(session, encoded, statement, books)
    for family_of in families:
        session.row_engine.unbroadcast(family_of["table"])
        session.drop_table(family_of["table"])
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


def _factor_logs(workspace: Workspace, factor: Factor, encoded: Encoded) -> tuple[Family, Array]:
    """A table that scoring joins, with a row for every key, as an array: its variables, class."""
    n_classes = encoded.cards[-1]
    found = workspace.session.arrays(workspace.select(factor.table, order=("key",)))
    logs = np.stack([found[f"l_{j}"] for j in range(n_classes)], axis=-1)
    shape = [encoded.cards[v] for v in factor.variables]
    return (*factor.variables, encoded.class_variable), logs.reshape([*shape, n_classes])


def _block_of(family: Family, encoded: Encoded) -> Block:
    return Block(family, (family,), cells_of(family, encoded.cards), dense=True)


def _cells(
    session: Session, encoded: Encoded, block: Block
) -> Iterator[tuple[Family, Array, Array]]:
    """For each family of a block the keys of the cells that occur, and their counts."""
    if block.dense:
        found = session.row_engine.arrays(block_statement(block, encoded))
        counts = dense_counts(block, encoded, found)
        for family, table in marginals(counts, block.variables, block.families):
            flat = table.reshape(-1)
            keys = np.flatnonzero(flat)
            yield family, keys, flat[keys]
    else:
        family = block.families[0]
        found = session.row_engine.arrays(block_statement(_block_of(family, encoded), encoded))
        yield family, found["k"], found["n"]


def _counted(
    session: Session,
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
        for family, keys, n in _cells(session, encoded, block):
            logs = tables[family].reshape(-1)[keys]
            never = np.isneginf(logs)
            if never.any():
                impossible[family] = keys[never]
            else:
                total += math.fsum((logs * n).tolist())
        progress.advance()
    return total, impossible


def _chain_total(
    session: Session, encoded: Encoded, scorer: Scorer, chains: Sequence[Factor]
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
            "encode/counted_codes",
            names=NAMES,
            codes=[{"column": encoded.column(v), "alias": f"{NAMES.code}{v}"} for v in one.used],
            relation=encoded.relation,
        )
        with session.row_engine.joins_as_written():
            found = session.row_engine.arrays(
                render(
                    "evaluate/score_spectrum",
                    names=NAMES,
                    own=own_score(len(scorer.class_names), scorer.dialect),
                    scored=product_scores(one, coded),
                )
            )
        total += math.fsum((found["l"] * found["n"]).tolist())
    return total
