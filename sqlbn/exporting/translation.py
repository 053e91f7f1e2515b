"""One query in another database's SQL, through sqlglot (extra `sqlbn[export]`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlbn.errors import ExportError, OptionError
from sqlbn.exporting.targets import INPUT, Target

if TYPE_CHECKING:
    from sqlglot import exp

_REMEDY = "install it with: pip install 'sqlbn[export]'"
# Types of DuckDB that others have not: codes and keys are unsigned, texts have no length.
_WIDER = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INT",
    "UINT": "BIGINT",
    "UBIGINT": "DECIMAL(20, 0)",
    "INT128": "DECIMAL(38, 0)",
    "UINT128": "DECIMAL(38, 0)",
    "VARCHAR": "TEXT",
    "UUID": "TEXT",
    "JSON": "TEXT",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
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
        raise ExportError(f"--format sql needs sqlglot; {_REMEDY}") from None
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
            read = self._glot.parse(f"SELECT * FROM {table}", read=self._target.name)
        except SqlglotError:
            read = []
        query = read[0] if len(read) == 1 else exp.Select()
        found = query.args["from_"].this if _said(query) == {"expressions", "from_"} else None
        if not isinstance(found, exp.Table) or not _said(found) <= {"this", "db", "catalog"}:
            raise OptionError(f"--table {table}: that is no name of a table; quote its odd parts")
        if not isinstance(found.this, exp.Identifier):
            raise OptionError(f"--table {table}: that is no table, but a function")
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
                "--exclude it, or use another --dialect"
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
