"""Rows as codes of a network's variables, for those who count them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlbn.data import Source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.data.value_types import type_group
from sqlbn.encoding.codebook import (
    Codebook,
    categories_join_sql,
    code_sql,
    column_sql,
)
from sqlbn.encoding.encoded import Encoded, discard, row_bytes
from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.sql import render
from sqlbn.errors import NoRowsError
from sqlbn.kinds.compiler import Scorer, code_items
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.product.factors import Factor
from sqlbn.networks.network import Network, Variable

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
        same_type=frozenset(book.name for book in books),
        log_prior=(0.0,),
        factors=tuple(
            Factor(i, "base", (*above, i), (i,), len(above))
            for i, above in enumerate(network.parents)
        ),
        smoothing=Smoothing(),
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
    items, joins = code_items(scorer, "x")
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
    statement = render("encode/encode", items=items, joins=joins, relation=source.filtered_relation)
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
    )


def narrowed(
    session: Session, encoded: Encoded, statement: str, books: Sequence[Codebook]
) -> Encoded:
    """The codes of some of the rows, as a query gives them, in place of those of all."""
    kept = session.row_engine.persist(statement, "encoded", encoded.rows * row_bytes(books))
    discard(session, encoded)
    rows = int(session.row_engine.row(f"SELECT count(*) FROM {kept.relation}")[0])
    return replace(
        encoded,
        relation=kept.relation,
        rows=rows,
        scratch=kept.scratch,
        number=kept.row_number,
    )
