"""The encoding pass: every row as small integers, in memory or, past that, a scratch file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlbn.data import Source
from sqlbn.data.sampling import WORD, shuffle_sql, staged
from sqlbn.encoding.codebook import (
    BookTables,
    Codebook,
    Values,
    categories_join_sql,
    code_sql,
    column_sql,
)
from sqlbn.encoding.profile import Weights
from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.relations import Encoded
from sqlbn.engines.row_engine import (
    ROW_NUMBER,
    Numbering,
    RowEngine,
)
from sqlbn.engines.sql import render, select_sql

_PLACE = "place"
_WIDTH = {"UTINYINT": 1, "USMALLINT": 2, "UINTEGER": 4}


def encode_statement(
    source: Source,
    class_book: Codebook,
    books: Sequence[Codebook],
    weights: Weights | None,
    tables: BookTables,
    dialect: Dialect = DUCKDB,
    place: str | None = None,
) -> str:
    """The query that turns rows into codes; with `place`, that column numbers them."""
    target = column_sql("i", class_book.name)
    items = [{"code": code_sql(class_book, target, "dy", dialect=dialect), "alias": "y"}]
    joins, values = [], Values(len(books) if place is None else 0)
    if class_book.is_joined_in(dialect):
        joins.append(categories_join_sql(class_book, target, tables.classes, "dy", dialect=dialect))
    for position, book in enumerate(books):
        column, joined = column_sql("i", book.column), f"d{position}"
        code = values.code_sql(book, column, joined, True, dialect)
        items.append({"code": code, "alias": f"x{position}"})
        if book.is_joined_in(dialect):
            joins.append(
                categories_join_sql(book, column, tables.categories, joined, dialect=dialect)
            )
    if weights is not None:
        items.append({"code": weights.value_sql("i"), "alias": "w"})
    if place is not None:
        items.append({"code": f"i.{place}", "alias": _PLACE})
        source = source.with_numbers
    # Filters come first: in the joined query a user's condition could meet our own names.
    relation = values.over(source.filtered_relation)
    return render("encode/encode", items=items, joins=joins, relation=relation)


def encode(
    session: Session,
    source: Source,
    class_book: Codebook,
    books: Sequence[Codebook],
    weights: Weights | None,
    tables: BookTables,
    rows: int,
    numbered: bool = True,
) -> Encoded:
    """Run the encoding pass; only `numbered` rows can be drawn, and told apart."""
    row_engine, place, numbering = session.row_engine, None, None
    if numbered and not row_engine.numbers_rows:
        if source.row_key is None:
            names = [class_book.name, *dict.fromkeys(b.column for b in books)]
            names += [weights.column] if weights is not None else []
            source = staged(session, source, names)
        place = source.place or source.row_key
        numbering = Numbering.by(_PLACE, session.limits.spark_piece_rows)
    statement = encode_statement(
        source, class_book, books, weights, tables, row_engine.dialect, place
    )
    width = row_bytes((class_book, *books)) + 8 * (weights is not None)
    with row_engine.in_order(source.ordered):
        kept = row_engine.persist(statement, "encoded", rows * width, numbering)
    return Encoded(
        kept.relation,
        (*(b.n_values for b in books), class_book.n_values),
        rows,
        weights is not None,
        kept.scratch,
        tuple(b.missing for b in books),
        session.row_engine.block_cells,
        kept.row_number,
        weights is not None and weights.kind == "importance",
        session.limits,
    )


def row_bytes(books: Sequence[Codebook]) -> int:
    """What the codes of a row take."""
    return sum(_WIDTH[book.code_type] for book in books)


def sampled(session: Session, encoded: Encoded, size: int | None) -> Encoded:
    """At most `size` rows of the codes, chosen by the shuffled row number alone."""
    if size is None or size >= encoded.rows:
        return encoded
    order = random_order(session, encoded)
    drawn = select_sql(encoded.relation, order=order, limit=size)
    return replace(persist_drawn(session.row_engine, encoded, drawn, order), rows=size)


def random_order(session: Session, encoded: Encoded) -> str:
    """What the codes are sorted by to be drawn from."""
    key = encoded.row_number
    return f"{shuffle_sql(key, session.settings.seed, session.row_engine.dialect)}, {key}"


def random_part(session: Session, encoded: Encoded, start: int, stop: int) -> str:
    """A relation of about the rows from `start` to `stop` of a random order, by their numbers.

    By a range of shuffled numbers: nothing is sorted to draw them. The order is another than that
    of samples, which a structure may come from.
    """
    key, seed = encoded.row_number, session.settings.seed + 1
    shuffle = shuffle_sql(key, seed, session.row_engine.dialect)
    low, high = (WORD * n // max(1, encoded.rows) for n in (start, stop))
    drawn = select_sql(encoded.relation, where=f"{shuffle} BETWEEN {low} AND {high - 1}", order=key)
    return f"({drawn})"


def persist_drawn(row_engine: RowEngine, encoded: Encoded, drawn: str, order: str) -> Encoded:
    """The rows of a query that draws them in that order, numbered anew."""
    if not row_engine.numbers_rows:
        # A sample is small enough to be sorted in one place.
        others = row_engine.dialect.without([ROW_NUMBER])
        number = f"row_number() OVER (ORDER BY {order}) - 1"
        drawn = select_sql(f"({drawn})", f"{others}, {number} AS {ROW_NUMBER}")
    kept = row_engine.persist(drawn, "encoded")
    number = kept.row_number or ROW_NUMBER
    return replace(encoded, relation=kept.relation, scratch=None, number=number)


def discard(session: Session, encoded: Encoded) -> None:
    """Free the memory or the disk that the codes take."""
    session.row_engine.unpersist(encoded.persisted)
