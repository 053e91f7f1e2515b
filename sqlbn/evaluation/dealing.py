"""Rows dealt in a repeatable random order, and kept: folds and curves are cut from them."""

from __future__ import annotations

from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.engines import DuckDBEngine
from sqlbn.engines.lake import Kept, Numbering
from sqlbn.learners.fit_options import FitOptions
from sqlbn.quoting import identifier
from sqlbn.scoring.names import RESERVED
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.templates import render

PLACE = f"{RESERVED}place"
_ROW = f"{RESERVED}row"
_SHUFFLE = f"{RESERVED}shuffle"
# Shuffled numbers of one piece of the order.
_NUMBERS_A_PIECE = 2**22


def deal(
    engine: DuckDBEngine, source: Source, options: FitOptions, seed: int, stratified: bool
) -> tuple[Source, Kept]:
    """The columns of a fit with a place each, and the rows as the lake keeps them.

    Places depend on the seed and on the rows' order in the source, on nothing else. Stratified
    means sorted by class first: every n-th place is then a fair share of each class.
    """
    target, names = source.column(options.target, "the target"), options.columns_of(source)
    if source.row_key is None or not source.rescannable:
        source = staged(engine, source, names)
    assert source.row_key is not None
    first, lake = identifier(target) if stratified else None, engine.lake
    query = render(
        "deal",
        columns=names,
        first=first or "",
        place_name=PLACE if lake.numbers_rows else None,
        shuffle_name=_SHUFFLE,
        row_name=_ROW,
        row_key=source.row_key,
        shuffle=shuffle_sql(source.row_key, seed, lake.dialect),
        relation=source.numbered_relation,
        where=source.where_sql,
    )
    # Where that is a choice, in a file: the rows may be many.
    kept = lake.keep(query, "dealt", engine.memory_bytes, _order(first))
    relation = kept.relation
    if not lake.numbers_rows:
        relation = f"(SELECT *, {kept.row_number} AS {PLACE} FROM {relation})"
    dealt = Source(
        relation=relation,
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=_ROW,
        place=PLACE,
    )
    return dealt, kept


def _order(first: str | None) -> Numbering:
    """The order of the places, for lakes that are told how to number rows."""
    order, pieces = [_SHUFFLE, _ROW], [f"{_SHUFFLE} // {_NUMBERS_A_PIECE}"]
    if first is not None:
        order, pieces = [f"{first} NULLS LAST", *order], [first, *pieces]
    return Numbering(tuple(order), tuple(pieces))
