"""The databases that a script can be written for, and queries in their SQL through sqlglot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from sqlbn.engines.dialects import WIDER_TYPES, Dialect
from sqlbn.engines.sql import literal, select_sql
from sqlbn.engines.value_types import type_group
from sqlbn.errors import ExportError, OptionError, opt

if TYPE_CHECKING:
    from sqlglot import exp


# Names that stand for others until a script is translated.
INPUT = "__sqlbn_input"
TURNS_TABLE = "predict_turns"
# PostgreSQL raises an error where an exponential, or what it is multiplied with, underflows.
_LEAST_EXPONENT = -700


class PortableDialect(Dialect):
    """For one target: NaN is told in different ways, everything else in one."""

    name = "portable"
    inline_categories = 64
    has_lists = False

    def __init__(self, target: Target) -> None:
        self.target = target
        self.fence = target.fence

    def try_cast(self, value: str, kind: str) -> str:
        # Columns have the types of training here: there is nothing to try.
        return value if kind == "BOOLEAN" else f"CAST({value} AS {kind})"

    def is_nan(self, value: str) -> str:
        if self.target.name == "duckdb":
            return super().is_nan(value)
        if self.target.nan == "none":
            return "1 = 0"
        if self.target.nan == "equal":
            return f"{value} = CAST('NaN' AS DOUBLE)"
        return f"isnan({value})"

    def is_missing(self, value: str, sql_type: str) -> str:
        if type_group(sql_type) == "float" and self.target.nan != "none":
            return super().is_missing(value, sql_type)
        return f"{value} IS NULL"

    def without(
        self, columns: Sequence[str], relation: str | None = None, among: Sequence[str] = ()
    ) -> str:
        prefix = f"{relation}." if relation else ""
        return ", ".join(f"{prefix}{name}" for name in among if name not in columns)

    def greatest(self, items: Sequence[str]) -> str:
        return items[0] if len(items) == 1 else super().greatest(items)

    def numbers(self, count: int, name: str) -> str:
        return f"({select_sql(TURNS_TABLE, f'turn AS {name}')}) AS t"

    def any_value(self, value: str) -> str:
        return f"max({value})"

    def exp(self, value: str) -> str:
        return f"CASE WHEN {value} < {_LEAST_EXPONENT} THEN 0e0 ELSE exp({value}) END"

    def row_identity(self, keys: Sequence[str], columns: Sequence[str]) -> str:
        if len(keys) == 1:
            return keys[0]
        return f"row_number() OVER (ORDER BY {', '.join(columns)})"

    def double(self, number: float) -> str:
        return f"CAST({literal(number)} AS DOUBLE)"

    # -- moments are compared as they are, not as microseconds ---------------------------------

    def microseconds(self, column: str) -> str:
        return column

    def microseconds_of_day(self, column: str) -> str:
        return column

    def cut(self, bound: float, sql_type: str) -> str:
        if type_group(sql_type) != "time":
            return literal(bound)
        # Moments are whole microseconds, so those up to the bound are those up to its floor.
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=bound // 1)
        except OverflowError:
            raise ExportError(
                "a column of dates is cut before the year 1 or after the year 9999, which SQL "
                f"scripts have no words for; cut it otherwise, or {opt('exclude')} it"
            ) from None
        upper = sql_type.upper()
        if upper == "DATE":
            return f"CAST('{moment:%Y-%m-%d}' AS DATE)"
        if upper == "TIME":
            return f"CAST('{moment:%H:%M:%S.%f}' AS TIME)"
        if upper == "TIMESTAMP WITH TIME ZONE":
            return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}+00:00' AS TIMESTAMPTZ)"
        return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}' AS TIMESTAMP)"


# Engines for which NaN equals itself and sorts last, those with a function that tells it, and those
# without it.
Nan = Literal["equal", "function", "none"]


@dataclass(frozen=True)
class Target:
    """What a script has to know of a database, beyond what sqlglot does.

    `types` are spellings of types that sqlglot has none or a coarser one for (None: there is no
    such type). `names` is how long a name may be, in bytes; `plain_names` whether a name of a
    result is only letters, digits and `_`; `upper` whether a name without quotes means upper case.
    `collation` compares texts byte by byte where that is not the rule. `fence` is the dialect's:
    PostgreSQL took five minutes to plan the mean of three members without it.
    """

    name: str
    nan: Nan = "function"
    types: Mapping[str, str | None] = field(default_factory=dict)
    names: int | None = None
    plain_names: bool = False
    upper: bool = False
    collation: str | None = None
    table_end: str = ""
    fence: str = ""


_NO_TIME: dict[str, str | None] = {"TIME": None}

TARGETS = {
    target.name: target
    for target in (
        Target("duckdb"),
        Target("spark", types=_NO_TIME),
        Target("databricks", types=_NO_TIME, names=255),
        Target("postgres", nan="equal", names=63, fence="OFFSET 0"),
        Target("redshift", nan="equal", names=127),
        Target("snowflake", nan="equal", names=255, upper=True),
        Target("bigquery", names=300, plain_names=True),
        Target("trino", types={"TIMESTAMP": "TIMESTAMP(6)"}),
        Target("presto", types={"TIMESTAMP": "TIMESTAMP"}),
        Target("athena", names=255),
        Target(
            "clickhouse",
            types={**_NO_TIME, "TIMESTAMP": "Nullable(DateTime64(6))", "DATE": "Nullable(Date32)"},
            table_end=" ENGINE = MergeTree ORDER BY tuple()",
        ),
        Target(
            "mysql",
            nan="none",
            types={"TIMESTAMP": "DATETIME(6)", "TIMESTAMPTZ": "DATETIME(6)", "TIME": "TIME(6)"},
            names=64,
            collation="utf8mb4_0900_bin",
        ),
        Target(
            "tsql",
            nan="none",
            types={"TEXT": "NVARCHAR(MAX)"},
            names=128,
            collation="Latin1_General_100_BIN2",
        ),
    )
}


def target_of(name: str) -> Target:
    """The database of that name, or an error that lists them."""
    if name not in TARGETS:
        raise OptionError(f"choose {', '.join(TARGETS)}", dialect=name)
    return TARGETS[name]


_REMEDY = "install it with: pip install 'sqlbn[export]'"
# What sqlglot calls some types of DuckDB.
_GLOT_NAMES = {"UINTEGER": "UINT", "HUGEINT": "INT128", "UHUGEINT": "UINT128"}
# Types that others have not, by sqlglot's names; texts have no length.
_WIDER = {_GLOT_NAMES.get(name, name): wider for name, wider in WIDER_TYPES.items()} | {
    "VARCHAR": "TEXT",
    "UUID": "TEXT",
    "JSON": "TEXT",
}


# Marks a name that is written as the user gave it.
_AS_IT_IS = "as it is"


def _said(node: exp.Expression) -> set[str]:
    return {name for name, value in node.args.items() if value}


def sqlglot() -> Any:
    """The package, or one line that says how to get it."""
    try:
        import sqlglot as found
    except ImportError:
        raise ExportError(f"{opt('format', 'sql')} needs sqlglot; {_REMEDY}") from None
    return found


class Translator:
    """Writes names, texts, types and queries of one target; `rename` is for the model's tables."""

    def __init__(self, target: Target, table: str, rename: Callable[[str], str]) -> None:
        self._glot, self._target, self._rename = sqlglot(), target, rename
        self._input = self._parsed_table(table)

    def _parsed_table(self, table: str) -> exp.Table:
        """The input table; what its name means without quotes is put into quotes."""
        from sqlglot import exp
        from sqlglot.dialects.dialect import Dialect
        from sqlglot.errors import SqlglotError

        try:
            read = self._glot.parse(select_sql(table), read=self._target.name)
        except SqlglotError:
            read = []
        query = read[0] if len(read) == 1 else exp.Select()
        found = query.args["from_"].this if _said(query) == {"expressions", "from_"} else None
        if not isinstance(found, exp.Table) or not _said(found) <= {"this", "db", "catalog"}:
            raise OptionError("that is no name of a table; quote its odd parts", table=table)
        if not isinstance(found.this, exp.Identifier):
            raise OptionError("that is no table, but a function", table=table)
        for part in found.find_all(exp.Identifier):
            Dialect.get_or_raise(self._target.name).normalize_identifier(part)
            part.set("quoted", True)
            part.meta[_AS_IT_IS] = True
        return found

    # -- parts ---------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """A name in quotes; what others write without quotes means the same."""
        from sqlglot import exp

        return exp.to_identifier(self._cased(name), quoted=True).sql(self._target.name)

    def text(self, value: str) -> str:
        """A text literal."""
        from sqlglot import exp

        return self._text(exp.Literal.string(value)).sql(self._target.name)

    def type(self, duckdb_type: str) -> str:
        """A type of DuckDB in a table's definition."""
        from sqlglot import exp

        return self._type(exp.DataType.build(duckdb_type, dialect="duckdb")).sql(self._target.name)

    def _cased(self, name: str) -> str:
        plain = name.isascii() and name.isidentifier() and name == name.lower()
        return name.upper() if self._target.upper and plain else name

    def _text(self, node: exp.Literal) -> exp.Expression:
        from sqlglot import exp

        # Elsewhere texts are Unicode anyway.
        if self._target.name == "tsql" and not str(node.this).isascii():
            return exp.National(this=node.this)
        return node

    def _type(self, node: exp.DataType) -> exp.DataType:
        from sqlglot import exp

        target, kind = self._target, node.this.name
        if target.name == "duckdb":
            return node
        if kind in _WIDER:
            node, kind = exp.DataType.build(_WIDER[kind]), _WIDER[kind]
        own = target.types.get(kind, "")
        if own is None:
            raise ExportError(
                f"{target.name} has no type {kind}, which a column of the model has; "
                f"{opt('exclude')} it, or use another {opt('dialect')}"
            )
        return exp.DataType.build(own, dialect=target.name) if own else node

    # -- queries -------------------------------------------------------------------------------

    def query(self, portable: str) -> str:
        """A query of the portable dialect, laid out to be read."""
        tree = self._tree(portable)
        found = tree.sql(
            self._target.name,
            pretty=True,
            identify=True,
            unsupported_level=self._glot.ErrorLevel.RAISE,
        )
        if not found.strip():
            raise ExportError(f"sqlglot has no words in {self._target.name} for this model")
        return str(found)

    def _tree(self, portable: str) -> exp.Expression:
        from sqlglot import exp

        tree: exp.Expression = self._glot.parse_one(portable, read="duckdb")
        for table in list(tree.find_all(exp.Table)):
            table.replace(self._table(table))
        for name in tree.find_all(exp.Identifier):
            if _AS_IT_IS not in name.meta:
                name.set("this", self._cased(name.name))
        if self._target.collation:
            for cast in list(tree.find_all(exp.Cast)):
                if cast.to.is_type("text", "varchar"):
                    collation = exp.Var(this=self._target.collation)
                    cast.replace(exp.Collate(this=cast.copy(), expression=collation))
        for kind in list(tree.find_all(exp.DataType)):
            kind.replace(self._type(kind))
        for text in list(tree.find_all(exp.Literal)):
            if text.is_string:
                text.replace(self._text(text))
        self._name_parts(tree)
        return tree

    def _name_parts(self, tree: exp.Expression) -> None:
        """A name for every subquery: PostgreSQL before 16, and others, want one."""
        from sqlglot import exp

        numbers = count(1)
        for part in tree.find_all(exp.Subquery):
            if isinstance(part.parent, exp.From | exp.Join) and not part.alias:
                alias = exp.to_identifier(self._cased(f"q{next(numbers)}"))
                part.set("alias", exp.TableAlias(this=alias))

    def _table(self, node: exp.Table) -> exp.Table:
        from sqlglot import exp

        if node.name == INPUT:
            found = self._input.copy()
        else:
            name = exp.to_identifier(self._rename(node.name), quoted=True)
            found = exp.Table(this=name)
        found.set("alias", node.args.get("alias"))
        return found
