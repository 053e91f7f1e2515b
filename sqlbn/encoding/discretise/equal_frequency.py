"""Equal-frequency cut points from a repeatable sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.data import Source
from sqlbn.data.sampling import shuffle_sql, staged
from sqlbn.encoding.profile import ColumnProfile, Weights
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.sql import identifier, render
from sqlbn.engines.value_types import numeric_axis


def equal_frequency_cuts(
    values: npt.NDArray[Any],
    totals: npt.NDArray[Any],
    bins: int,
    counted_bins: int = Limits.counted_bins,
) -> tuple[float, ...]:
    """Cut j is the smallest value with at least j/bins of the weight at or below it.

    `values` are sorted and distinct. Equal cuts collapse; a cut at the largest value would leave
    an empty interval above it and is dropped.

    >>> equal_frequency_cuts(np.array([1., 2., 3., 4.]), np.array([1, 1, 1, 1]), 2)
    (2.0,)
    """
    if len(values) == 0:
        return ()
    below = np.cumsum(totals)
    if bins > counted_bins:  # no more than there are values, and none of the others is looked at
        passed = np.floor(below / below[-1] * bins)
        found = np.flatnonzero(np.diff(passed, prepend=0.0) > 0)
        return _cuts(values, found.tolist())
    # Whole numbers on both sides where the weights are whole: no rounding decides a cut.
    at = np.searchsorted(below * bins, np.arange(1, bins) * below[-1], side="left")
    return _cuts(values, sorted(set(at.tolist())))


def cuts_of_numbers(
    numbers: npt.NDArray[Any], w: npt.NDArray[Any] | None, bins: int, counted_bins: int
) -> tuple[float, ...]:
    """The same of the numbers of rows, each with a weight where there are any."""
    return equal_frequency_cuts(*_distinct(numbers, w), bins, counted_bins)


def _distinct(
    numbers: npt.NDArray[Any], w: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The different numbers in order, and their weight."""
    if w is None:  # several times as fast as to look for the place of each
        values, totals = np.unique(numbers, return_counts=True)
        return values, totals.astype(float)
    values, places = np.unique(numbers, return_inverse=True)
    return values, np.bincount(places, w, len(values)).astype(float)


def _cuts(values: npt.NDArray[Any], places: Sequence[int]) -> tuple[float, ...]:
    # -0.0 and 0.0 are one value, of which rows in another order would show the other.
    return tuple(float(values[i]) + 0.0 for i in places if i < len(values) - 1)


def learn_cuts(
    session: Session,
    source: Source,
    rows: int,
    columns: Sequence[ColumnProfile],
    bins: int,
    weights: Weights | None,
) -> dict[str, tuple[float, ...]]:
    """Equal-frequency cut points of every numeric column."""
    return {
        name: equal_frequency_cuts(values, totals, bins, session.limits.counted_bins)
        for name, values, totals in _value_totals(session, source, rows, columns, weights)
    }


def _value_totals(
    session: Session,
    source: Source,
    rows: int,
    columns: Sequence[ColumnProfile],
    weights: Weights | None,
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """For each column its distinct values in order and their weight, in the rows or a sample."""
    row_engine, dialect = session.row_engine, session.row_engine.dialect
    axes = {p.name: numeric_axis(identifier(p.name), p.sql_type, dialect) for p in columns}
    weight = weights.value_sql() if weights is not None else "1"
    relation, where, sample = source.relation, source.where_sql, None
    if rows > session.limits.quantile_rows and columns:
        if source.row_key is None:
            names = list(axes) + ([weights.column] if weights is not None else [])
            source = staged(session, source, names)
        aliases = {name: f"v{i}" for i, name in enumerate(axes)}
        sample = _drawn(session, source, rows, axes, aliases, weight)
        relation, where, weight = sample.relation, "", "w"
        axes = aliases
    held = min(rows, session.limits.quantile_rows)
    if held <= session.limits.quantile_array_rows and row_engine.is_local:
        given = weight if weights is not None else None
        yield from _totals_in_arrays(session, held, axes, given, relation, where)
    else:
        statements = [
            render(
                "encode/value_totals",
                value=axis,
                is_nan=dialect.is_nan("value"),
                weight=weight,
                relation=relation,
                where=where,
            )
            for axis in axes.values()
        ]
        for name, found in zip(axes, row_engine.all_arrays(statements), strict=True):
            yield name, found["value"], found["n"].astype(float)
    if sample is not None:
        row_engine.unpersist(sample)


def _totals_in_arrays(
    session: Session,
    rows: int,
    axes: Mapping[str, str],
    weight: str | None,
    relation: str,
    where: str,
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """The same from the values of some columns at a time: a query a column takes longer to plan."""
    limits = session.limits
    room = int(limits.array_share * session.memory_bytes) // (16 * max(rows, 1))
    for block in in_blocks(list(axes), max(1, min(limits.statement_columns, room))):
        columns = [{"value": axes[name], "alias": f"v{i}"} for i, name in enumerate(block)]
        found = session.row_engine.arrays(
            render(
                "encode/numbers",
                columns=columns,
                weight=weight or "1",
                relation=relation,
                where=where,
            )
        )
        for i, name in enumerate(block):
            column = np.asarray(np.ma.getdata(found[f"v{i}"]))
            there = ~np.ma.getmaskarray(found[f"v{i}"]) & ~np.isnan(column)
            w = np.asarray(found["w"], float)[there] if weight is not None else None
            yield name, *_distinct(column[there], w)


def _drawn(
    session: Session,
    source: Source,
    rows: int,
    axes: dict[str, str],
    aliases: dict[str, str],
    weight: str,
) -> Persisted:
    """A sample of the rows, by their shuffled numbers."""
    assert source.row_key is not None
    # A few more rows than wanted pass the threshold, the smallest shuffled numbers are kept.
    wanted = session.limits.quantile_rows
    share = (wanted + 10 * math.sqrt(wanted)) / rows
    row_engine = session.row_engine
    statement = render(
        "encode/sample",
        columns=[{"value": axes[n], "alias": aliases[n]} for n in axes],
        weight=weight,
        kept=row_engine.dialect.without(["shuffle", "row_key"]),
        shuffle=shuffle_sql(source.row_key, session.settings.seed, row_engine.dialect),
        row_key=source.row_key,
        threshold=min(2**32, math.ceil(share * 2**32)),
        size=wanted,
        relation=source.numbered_relation,
        where=source.where_sql,
    )
    return row_engine.persist(statement, "sample")
