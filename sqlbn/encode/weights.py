"""Sample weights: checked, and rounded so that their sums do not depend on the order of adding."""

from __future__ import annotations

from dataclasses import dataclass

from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError
from sqlbn.quoting import identifier
from sqlbn.sources import Source
from sqlbn.templates import render


@dataclass(frozen=True)
class Weights:
    """Frequency weights in units of 2^-`fraction_bits`."""

    column: str
    fraction_bits: int

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


def check_weights(
    engine: DuckDBEngine, source: Source, column: str, most_bits: int | None = None
) -> Weights:
    """The weights of a column, or an error that says what is wrong with them.

    `most_bits` are those of the rows that these are added to or taken from: the same row is then
    rounded to the same weight.
    """
    dialect = engine.lake.dialect
    bad, ceiling = engine.lake.row(
        render(
            "weights_check",
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
    return Weights(column, bits if most_bits is None else min(bits, most_bits))
