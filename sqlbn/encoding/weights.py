"""Sample weights: checked, and rounded so that their sums do not depend on the order of adding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sqlbn.data import Source
from sqlbn.engines import Session
from sqlbn.engines.sql import identifier, render
from sqlbn.errors import ColumnError, OptionError

WeightKind = Literal["frequency", "importance"]
WEIGHT_KINDS: dict[WeightKind, str] = {
    "frequency": "a row of weight w stands for w equal rows; leave-one-out takes one of them out",
    "importance": "a row of weight w is one row that matters w; leave-one-out takes it out whole",
}


@dataclass(frozen=True)
class Weights:
    """The weights of a column in units of 2^-`fraction_bits`.

    Of `kind` frequency, a row of weight w stands for w equal rows; of kind importance it is one row
    that counts w times. Only leaving rows out tells them apart: one of the w rows, or the row.
    """

    column: str
    fraction_bits: int
    kind: WeightKind = "frequency"

    def value_sql(self, alias: str | None = None) -> str:
        """The rounded weight of a row.

        A sum of multiples of 2^-b below 2^(53-b) is exact in DOUBLE, so it is the same for any
        number of threads; whole weights are not changed at all.
        """
        unit = float(2**self.fraction_bits)
        column = identifier(self.column) if alias is None else f"{alias}.{identifier(self.column)}"
        return f"(round(TRY_CAST({column} AS DOUBLE) * {unit!r}) / {unit!r})"

    @property
    def total_sql(self) -> str:
        """The aggregate that replaces count(*)."""
        return f"sum({self.value_sql()})"


def checked_kind(name: str) -> WeightKind:
    """The kind of weights of that name, or an error that lists them."""
    for kind in get_args(WeightKind):
        if kind == name:
            return kind  # type: ignore[no-any-return]
    raise OptionError(f"--weight-kind {name}: choose {' or '.join(get_args(WeightKind))}")


def check_weights(
    session: Session,
    source: Source,
    column: str,
    most_bits: int | None = None,
    kind: str | None = None,
) -> Weights:
    """The weights of a column, or an error that says what is wrong with them.

    `most_bits` are those of the rows that these are added to or taken from: the same row is then
    rounded to the same weight. Without a `kind` whole numbers are frequencies, others are not.
    """
    dialect = session.row_engine.dialect
    bad, ceiling, partial = session.row_engine.row(
        render(
            "encode/weights_check",
            weight=identifier(column),
            is_nan=dialect.is_nan("w"),
            is_infinite=dialect.is_infinite("w"),
            relation=source.relation,
            where=source.where_sql,
        )
    )
    if bad:
        raise ColumnError(
            f"--weight {column}: {bad:,} rows have a negative, missing or infinite weight; "
            "weights must be numbers from 0"
        )
    bits = 52 - int(ceiling).bit_length()
    if bits < 0:
        raise ColumnError(
            f"--weight {column}: the weights add up to more than 2^52; scale them down"
        )
    if kind == "frequency" and partial:
        raise ColumnError(
            f"--weight {column}: {partial:,} rows have a weight that is not a whole number, but "
            "frequencies stand for so many equal rows; fit with --weight-kind importance"
        )
    found = checked_kind(kind) if kind else "importance" if partial else "frequency"
    return Weights(column, bits if most_bits is None else min(bits, most_bits), found)
