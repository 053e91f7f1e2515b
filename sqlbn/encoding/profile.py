"""The first look at the rows: the kinds and ranges of columns, and the weights of rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from sqlbn.data import Source
from sqlbn.encoding.codebook import Kind
from sqlbn.engines import Session
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.sql import identifier, render
from sqlbn.engines.value_types import TypeGroup, type_group
from sqlbn.errors import ColumnError, SqlbnWarning, opt
from sqlbn.options.catalogue import checked
from sqlbn.options.lists import quoted_name

WeightKind = Literal["frequency", "importance"]


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
    return cast(WeightKind, checked("weight_kind", name))


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
            f"{opt('weight', column)}: {bad:,} rows have a negative, missing or infinite weight; "
            "weights must be numbers from 0"
        )
    bits = 52 - int(ceiling).bit_length()
    if bits < 0:
        raise ColumnError(
            f"{opt('weight', column)}: the weights add up to more than 2^52; scale them down"
        )
    if kind == "frequency" and partial:
        raise ColumnError(
            f"{opt('weight', column)}: {partial:,} rows have a weight that is not a whole "
            "number, but "
            f"frequencies stand for so many equal rows; fit with {opt('weight_kind', 'importance')}"
        )
    found = checked_kind(kind) if kind else "importance" if partial else "frequency"
    return Weights(column, bits if most_bits is None else min(bits, most_bits), found)


@dataclass
class ColumnProfile:
    """What is known of a column before it is encoded."""

    name: str
    sql_type: str
    present: int = 0
    single: bool = False
    spread: int | None = None
    distinct: int | None = None
    kind: Kind | None = None
    # Whether its values may be put into intervals: also of whole numbers that are few.
    has_intervals: bool = False
    group: TypeGroup = field(init=False)

    def __post_init__(self) -> None:
        self.group = type_group(self.sql_type)

    def value_sql(self, dialect: Dialect) -> str:
        """The column with NaN made NULL."""
        column = identifier(self.name)
        if self.group == "float":
            return f"(CASE WHEN NOT {dialect.is_nan(column)} THEN {column} END)"
        return column


@dataclass(frozen=True)
class Choices:
    """What the user says about columns."""

    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()


def profile_columns(
    session: Session, source: Source, names: Sequence[str], choices: Choices
) -> tuple[int, list[ColumnProfile]]:
    """Rows, and the profiles of the usable columns, in order, kinds decided.

    Columns that carry nothing are left out with a warning: constants, identifiers, types that
    are no attribute.
    """
    profiles = _supported([ColumnProfile(n, source.columns[n]) for n in names])
    rows = 0
    for block in in_blocks(profiles, session.limits.statement_columns) or [profiles]:
        rows = _ranges(session, source, block)
    _distinct_counts(session, source, profiles, rows)
    for profile in profiles:
        profile.kind = _kind(profile, choices, session.limits)
        is_number = profile.group == "integer" and profile.name not in choices.categorical
        profile.has_intervals = profile.kind == "numeric" or is_number
    kept = [p for p in profiles if not _is_constant(p, rows) or p.name in choices.keep]
    warn_left_out("constant", set(profiles_names(profiles)) - set(profiles_names(kept)))
    identifiers = [
        p for p in kept if _is_identifier(p, rows, session.limits) and p.name not in choices.keep
    ]
    warn_left_out("like identifiers", profiles_names(identifiers))
    return rows, [p for p in kept if p not in identifiers]


def profiles_names(profiles: Sequence[ColumnProfile]) -> list[str]:
    """The names of the columns, in order."""
    return [p.name for p in profiles]


def warn_left_out(what: str, names: Collection[str]) -> None:
    """Say which columns are not used and how to use them all the same."""
    if names:
        listed = ", ".join(sorted(names))
        shown = ",".join(map(quoted_name, sorted(names)[:3])) + (",…" if len(names) > 3 else "")
        warnings.warn(
            f"left out, they look {what}: {listed} (to use them: {opt('keep', shown)})"
            if what.startswith("like")
            else f"left out, they are {what}: {listed} (to use them: {opt('keep', shown)})",
            SqlbnWarning,
            stacklevel=2,
        )


def _supported(profiles: list[ColumnProfile]) -> list[ColumnProfile]:
    for profile in profiles:
        if profile.group == "other":
            warnings.warn(
                f"left out: {profile.name} has type {profile.sql_type[:60]}, which cannot be an "
                f"attribute (cast it in a view or with {opt('query')})",
                SqlbnWarning,
                stacklevel=2,
            )
    return [p for p in profiles if p.group != "other"]


def _ranges(session: Session, source: Source, profiles: Sequence[ColumnProfile]) -> int:
    columns = []
    for p in profiles:
        # Compared in the engine: not every type has a Python value.
        value = p.value_sql(session.row_engine.dialect)
        low, high = f"min({value})", f"max({value})"
        spread = f"TRY_CAST({high} AS HUGEINT) - TRY_CAST({low} AS HUGEINT)"
        columns.append(
            {
                "value": value,
                "single": "NULL" if p.group == "text" else f"{low} = {high}",
                "spread": spread if p.group == "integer" else "NULL",
            }
        )
    found = session.row_engine.row(
        render("encode/profile", columns=columns, relation=source.relation, where=source.where_sql)
    )
    for i, profile in enumerate(profiles):
        present, single, spread = found[1 + 3 * i : 4 + 3 * i]
        profile.present, profile.single, profile.spread = int(present), bool(single), spread
    return int(found[0])


def _distinct_counts(
    session: Session, source: Source, profiles: list[ColumnProfile], rows: int
) -> None:
    """Fill in `distinct` where a decision hangs on it: exact near a limit, else an estimate."""
    limits = session.limits
    open_cases = [p for p in profiles if p.present and _needs_distinct(p, limits)]
    if not open_cases:
        return
    dialect = session.row_engine.dialect
    for block in in_blocks(open_cases, session.limits.statement_columns):
        estimates = session.row_engine.row(
            render(
                "encode/distinct_estimates",
                values=[p.value_sql(dialect) for p in block],
                relation=source.relation,
                where=source.where_sql,
            )
        )
        for profile, estimate in zip(block, estimates, strict=True):
            profile.distinct = int(estimate)
    doubtful = [p for p in open_cases if _in_doubt(p, rows, limits)]
    few = [p for p in doubtful if (p.distinct or 0) <= limits.identifier_values]
    _count_few(session, source, few)
    for profile in (p for p in doubtful if (p.distinct or 0) > limits.identifier_values):
        sql = render(
            "encode/distinct_count",
            value=profile.value_sql(dialect),
            relation=source.relation,
            where=source.where_sql,
        )
        profile.distinct = int(session.row_engine.row(sql)[0])


def _count_few(session: Session, source: Source, profiles: Sequence[ColumnProfile]) -> None:
    """Exact numbers of distinct values where they are few: many columns in one scan."""
    dialect = session.row_engine.dialect
    for block in in_blocks(profiles, session.limits.statement_columns):
        items = ", ".join(dialect.count_few(p.value_sql(dialect)) for p in block)
        for profile, distinct in zip(
            block, session.row_engine.row(source.select(items)), strict=True
        ):
            profile.distinct = int(distinct)


def _needs_distinct(profile: ColumnProfile, limits: Limits) -> bool:
    if profile.group == "integer":
        return profile.spread is None or profile.spread >= limits.categorical_integers
    return profile.group == "text"


def _in_doubt(profile: ColumnProfile, rows: int, limits: Limits) -> bool:
    distinct, doubt = profile.distinct or 0, limits.distinct_doubt
    if distinct <= limits.categorical_integers * (1 + doubt) + 8:
        return True
    large = distinct > limits.identifier_values * (1 - doubt)
    return large and distinct > rows * (limits.identifier_share - doubt)


def _kind(profile: ColumnProfile, choices: Choices, limits: Limits) -> Kind:
    if profile.name in choices.categorical:
        return "categorical"
    if profile.name in choices.numeric:
        if profile.group in ("text", "boolean"):
            raise ColumnError(
                f"{opt('numeric', profile.name)}: the column is {profile.sql_type}, not a number; "
                f"cast it with {opt('query')} or leave it categorical"
            )
        return "numeric"
    if profile.group in ("text", "boolean"):
        return "categorical"
    if profile.group == "integer":
        few = profile.distinct is None or profile.distinct <= limits.categorical_integers
        return "categorical" if few else "numeric"
    return "numeric"


def _is_constant(profile: ColumnProfile, rows: int) -> bool:
    if profile.present == 0:
        return True
    if profile.present < rows:
        return False
    if profile.group == "text":
        return profile.distinct == 1
    return profile.single


def _is_identifier(profile: ColumnProfile, rows: int, limits: Limits) -> bool:
    """Text or whole numbers nearly all different.

    Not floats, decimals or times: a measured quantity is nearly always different from row to row
    (every column of ringnorm and twonorm is), and says a lot.
    """
    if profile.group not in ("text", "integer") or profile.distinct is None:
        return False
    many = profile.distinct > limits.identifier_values
    return many and profile.distinct > limits.identifier_share * rows
