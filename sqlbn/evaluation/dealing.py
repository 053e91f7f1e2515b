"""Rows dealt in a repeatable random order, in a scratch file: folds and curves are cut from it."""

from __future__ import annotations

from pathlib import Path

from sqlbn.encode.shuffle import shuffle_sql
from sqlbn.engines import DuckDBEngine
from sqlbn.options import FitOptions
from sqlbn.quoting import identifier, literal
from sqlbn.scoring.names import RESERVED
from sqlbn.sources import Source
from sqlbn.sources.relation import staged
from sqlbn.templates import render

PLACE = f"{RESERVED}place"
_ROW = f"{RESERVED}row"


def deal(
    engine: DuckDBEngine, source: Source, options: FitOptions, seed: int, stratified: bool
) -> tuple[Source, Path]:
    """The columns of a fit with a place each, and the file they lie in.

    Places depend on the seed and on the rows' order in the source, on nothing else. Stratified
    means sorted by class first: every n-th place is then a fair share of each class.
    """
    target, names = source.column(options.target, "the target"), options.columns_of(source)
    if source.row_key is None or not source.rescannable:
        source = staged(engine, source, names)
    assert source.row_key is not None
    path = engine.scratch_file("dealt", ".parquet")
    query = render(
        "deal",
        columns=names,
        first=identifier(target) if stratified else "",
        place_name=PLACE,
        row_name=_ROW,
        row_key=source.row_key,
        shuffle=shuffle_sql(source.row_key, seed),
        relation=source.relation,
        where=source.where_sql,
    )
    engine.execute(
        f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION uncompressed)"
    )
    dealt = Source(
        relation=f"read_parquet({literal(str(path))}, hive_partitioning = false)",
        columns={n: source.columns[n] for n in names},
        label=source.label,
        files=source.files,
        row_key=_ROW,
    )
    return dealt, path
