"""A user's SQL: parsed by the engine's own parser, and what of it is accepted.

A condition may only be an expression over the source's columns; a query one SELECT over tables of
the database it is asked of and over files that it names. `--trust-sql` lifts both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlbn.data.sql_functions import (
    AGGREGATES,
    FILE_SCANS,
    PARQUET_SCANS,
    SCALARS,
    TABLES,
    WINDOWS,
)
from sqlbn.engines import Session
from sqlbn.engines.duckdb_catalog import parse_sql, write_sql
from sqlbn.engines.sql import select_sql
from sqlbn.errors import OptionError, opt

Node = dict[str, Any]


def remedy() -> str:
    """What lifts the rules for SQL of users."""
    return f"{opt('trust_sql', True)} lifts this, for SQL that you trust"


_PLACE = ("query_location", "query_location_length")
_PLAIN = {
    "BETWEEN", "CASE", "CAST", "COLLATE", "COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR",
    "TYPE",
}  # fmt: skip
_NO_CONDITION = {"GROUPING_FUNCTION", "OPERATOR_UNPACK", "OPERATOR_TRY"}
_WHAT = {
    "SUBQUERY": "a query inside it",
    "WINDOW": "a window function",
    "PARAMETER": "a parameter",
    "STAR": "a *",
    "POSITIONAL_REFERENCE": "a column by its number",
}
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_RELATIONS = {
    "BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EMPTY", "EXPRESSION_LIST", "PIVOT",
}  # fmt: skip
_MODIFIERS = {
    "ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER",
    "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
}  # fmt: skip
# Expressions that a query may have and a condition not.
_OF_QUERIES = {"COLUMN_REF", "LAMBDA", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY"}
_OF_ROWS = SCALARS | AGGREGATES | {"unnest"}
# What a node of a statement has besides a plain projection of its rows.
_BEYOND_ROWS = ("modifiers", "group_expressions", "group_sets", "having", "qualify", "sample")
_FILES = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_PACKED = (".gz", ".zst")


class UntrustedSqlError(OptionError):
    """SQL that is refused unless it is trusted."""


class NotSqlError(OptionError):
    """Text that the engine's parser does not know what to do with."""


class NotOneSelectError(OptionError):
    """SQL that is more than one SELECT, or something else."""

    def __init__(self) -> None:
        super().__init__("it is not one SELECT")


# -- parsing -----------------------------------------------------------------------------------


def parsed(session: Session, sql: str) -> list[Node]:
    """The statements of a text, as the engine's parser sees them; only SELECTs can be told."""
    if len(sql) > session.limits.sql_characters:
        most = session.limits.sql_characters
        raise OptionError(f"it has {len(sql):,} characters, more than {most:,}")
    try:
        found = parse_sql(session, sql)
    except RecursionError:
        raise OptionError("it is nested too deep") from None
    if found.get("error_type") == "not implemented":
        raise NotOneSelectError
    if found["error"]:
        raise NotSqlError(str(found["error_message"]).splitlines()[0])
    statements: list[Node] = found["statements"]
    return statements


def _written(session: Session, statement: Node) -> str:
    """A parsed statement as text again."""
    return write_sql(session, [statement])


def _without_places(node: Any) -> Any:
    """What was parsed, without where in the text it stood."""
    if isinstance(node, dict):
        return {k: _without_places(v) for k, v in node.items() if k not in _PLACE}
    return [_without_places(v) for v in node] if isinstance(node, list) else node


def _below(node: Any) -> Iterator[Node]:
    """Every mapping in it."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, dict | list):
            yield from _below(child)


# -- conditions --------------------------------------------------------------------------------


def check_condition(
    session: Session, condition: str, columns: Iterable[str], trusted: bool = False
) -> None:
    """An error where a condition is not one, or not one over these columns alone."""
    alone = _condition(session, f"{condition}\n")
    # 'a) OR (b' is a condition only between brackets, and 'a -- b' eats a bracket on its line.
    if alone != _condition(session, f"({condition}\n)"):
        raise OptionError("it is not one condition")
    if not trusted:
        try:
            _Expressions({name.lower() for name in columns}).check(alone)
        except RecursionError:
            raise OptionError("it is nested too deep") from None


def _condition(session: Session, condition: str) -> Node:
    statements = parsed(session, select_sql("nothing", "1", where=condition))
    node: Node = statements[0]["node"] if len(statements) == 1 else {}
    others = {"type", "cte_map", "select_list", "from_table", "aggregate_handling"}
    if node.keys() - others != {"where_clause"} or len(node["select_list"]) > 1:
        raise OptionError("it is not one condition")
    found: Node = _without_places(node["where_clause"])
    return found


@dataclass(frozen=True)
class _Expressions:
    """Looks through an expression; `columns` are those it may name, None: any."""

    columns: set[str] | None
    functions: frozenset[str] = SCALARS

    def check(self, node: Any) -> None:
        """An error at the first part that is not accepted."""
        if isinstance(node, list):
            for child in node:
                self.check(child)
        elif isinstance(node, dict):
            self.check_node(node)

    def check_node(self, node: Node) -> None:
        kind = node.get("class")
        if kind == "COLUMN_REF":
            self._check_column(node["column_names"])
        elif kind == "FUNCTION":
            self.check_function(node, self.functions)
        elif kind == "LAMBDA":
            self._with_parameters(node["lhs"]).check(node["expr"])
            return
        elif kind is not None and (kind not in _PLAIN or node["type"] in _NO_CONDITION):
            self.refuse(_WHAT.get(kind, str(node["type"]).lower().replace("_", " ")))
        self.check(list(node.values()))

    def check_function(self, node: Node, known: frozenset[str]) -> None:
        name, path = str(node["function_name"]), node.get("qualified_name", {}).get("path", [])
        if name.lower() not in known:
            self.refuse(f"the function {name}")
        # colour.lower() is told like a function of a schema.
        if len(path) > 1 and (len(path) > 2 or path[0].lower() not in (self.columns or ())):
            self.refuse(f"the function {name} of a schema")

    def _check_column(self, names: list[str]) -> None:
        if self.columns is not None and names[0].lower() not in self.columns:
            raise UntrustedSqlError(f"{names[0]!r} is no column of the source")

    def _with_parameters(self, parameters: Node) -> _Expressions:
        """Inside a lambda its parameters are names, too."""
        if self.columns is None:
            return self
        names = [n["column_names"] for n in _below(parameters) if n.get("class") == "COLUMN_REF"]
        return _Expressions(self.columns | {n[0].lower() for n in names}, self.functions)

    def refuse(self, what: str) -> NoReturn:
        raise UntrustedSqlError(
            f"it has {what}; only columns, constants and plain functions of them are taken "
            f"({remedy()})"
        )


# -- queries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParsedQuery:
    """One SELECT: its text, what was parsed, and the paths or patterns of files that it reads.

    Of SQL that is trusted nothing may have been parsed.
    """

    text: str
    statement: Node
    paths: tuple[str, ...]

    @property
    def keeps_rows(self) -> bool:
        """Whether it passes on the rows of one scan in their order, some of them perhaps."""
        node = self.statement.get("node", {"type": None})
        if node["type"] != "SELECT_NODE" or any(key in node for key in _BEYOND_ROWS):
            return False
        if node["from_table"]["type"] not in ("BASE_TABLE", "TABLE_FUNCTION"):
            return False
        if node["cte_map"].get("map") or "sample" in node["from_table"]:
            return False
        inside = list(_below([node["select_list"], node.get("where_clause", {})]))
        return not any(
            n.get("class") in ("SUBQUERY", "WINDOW")
            or (n.get("class") == "FUNCTION" and str(n["function_name"]).lower() not in SCALARS)
            for n in inside
        )

    @property
    def reads_parquet(self) -> bool:
        """Whether its rows are those of Parquet files that have no options of their own."""
        relation = self.statement["node"].get("from_table", {})
        if relation.get("type") == "TABLE_FUNCTION":
            call = relation["function"]
            return call["function_name"].lower() in PARQUET_SCANS and len(call["arguments"]) == 1
        return bool(self.paths) and all(p.lower().endswith(".parquet") for p in self.paths)

    def with_column(self, session: Session, expression: str, name: str) -> str:
        """The query with one more column."""
        alone = parsed(session, select_sql("nothing", f"{expression} AS {name}"))
        added = alone[0]["node"]["select_list"]
        statement = deepcopy(self.statement)
        statement["node"]["select_list"] += added
        return _written(session, statement)

    def of_any_files(self, session: Session) -> str:
        """The query without the names of its files: what it asks of them, however it is spelled."""
        if not self.statement:
            return self.text
        statement = deepcopy(self.statement)
        for node in _below(statement):
            _forget_files(node)
        return _written(session, _without_places(statement)).rstrip(";")


def parse_query(
    session: Session,
    query: str,
    tables: Iterable[tuple[str, str]] = (),
    macros: Iterable[str] = (),
    trusted: bool = False,
) -> ParsedQuery:
    """A query over tables (schema, name) of a database and over files; anything else is an error.

    `macros` are functions that the database brings along: their text is somebody else's.
    """
    statements = parsed(session, query)
    if len(statements) != 1 or statements[0]["node"]["type"] not in _NODES:
        raise NotOneSelectError
    statement = statements[0]
    known = frozenset((s.lower(), t.lower()) for s, t in tables)
    check = _Queries(None, _OF_ROWS - {m.lower() for m in macros}, known)
    if not trusted:
        try:
            check.check(statement)
        except RecursionError:
            raise OptionError("it is nested too deep") from None
    paths = [p for node in _below(statement) for p in _paths_of(node) if _is_file(node, p, known)]
    return ParsedQuery(query.strip().rstrip(";"), statement, tuple(dict.fromkeys(paths)))


@dataclass(frozen=True)
class _Queries(_Expressions):
    """Looks through a query; `tables` are those of its database, `names` what WITH has named."""

    tables: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[str] = frozenset()

    def check_node(self, node: Node) -> None:
        kind, form = node.get("class"), node.get("type")
        if "sample" in node and not node["sample"].get("repeatable"):
            raise UntrustedSqlError(
                f"its sample is another one every time: add REPEATABLE (1) ({remedy()})"
            )
        if "cte_map" in node:
            self._check_with(node)
            return
        if kind is None and isinstance(form, str) and form in _RELATIONS:
            self._check_relation(node)
            return
        if kind in ("WINDOW", "FUNCTION"):
            over = WINDOWS if kind == "WINDOW" else frozenset()
            self.check_function(node, self.functions | over)
        elif kind is not None and kind not in _PLAIN | _OF_QUERIES:
            self.refuse(_WHAT.get(kind, kind.lower()))
        elif kind is None and isinstance(form, str) and form not in _MODIFIERS:
            self.refuse("a SHOW or DESCRIBE" if form == "SHOW_REF" else form.lower())
        self.check(list(node.values()))

    def _check_with(self, node: Node) -> None:
        """A name of WITH means its query from the next one on, in its own if it is recursive."""
        if node["type"] not in _NODES:
            self.refuse(str(node["type"]).lower())
        names = self.names | {str(node.get("cte_name", "")).lower()}
        for entry in node["cte_map"].get("map", []):
            self._naming(names).check(entry["value"])
            names |= {entry["key"].lower()}
        rest = {k: v for k, v in node.items() if k not in ("cte_map", "type")}
        self._naming(names).check(rest)

    def _naming(self, names: Iterable[str]) -> _Queries:
        return _Queries(self.columns, self.functions, self.tables, frozenset(names))

    def _check_relation(self, node: Node) -> None:
        rest = {key: value for key, value in node.items() if key != "type"}
        if node["type"] == "BASE_TABLE":
            self._check_table(node["qualified_name"]["path"])
        if node["type"] == "TABLE_FUNCTION":
            call = rest.pop("function")
            self.check_function(call, FILE_SCANS | TABLES)
            if call["function_name"].lower() in FILE_SCANS and not _paths_of(node):
                raise UntrustedSqlError(
                    f"{call['function_name']} must name its files as text ({remedy()})"
                )
            self.check(call.get("arguments", []))
        self.check(rest)

    def _check_table(self, path: list[str]) -> None:
        lower = [part.lower() for part in path]
        if len(path) == 1 and (lower[0] in self.names or _names_file(path[0])):
            return
        if tuple(["main", *lower][-2:]) not in self.tables or len(path) > 2:
            name = ".".join(path)
            where = "of the database" if self.tables else "here"
            raise UntrustedSqlError(
                f"{name!r} is no table {where} and no file, by its name ({remedy()})"
            )

    def refuse(self, what: str) -> NoReturn:
        raise UntrustedSqlError(f"it has {what}, which is not known to be harmless ({remedy()})")


def _names_file(name: str) -> bool:
    """Whether the engine takes the name of a table for a file, as it does by the ending."""
    lower = name.lower().split("?")[0] if "://" in name else name.lower()
    for ending in _PACKED:
        lower = lower.removesuffix(ending)
    return lower.endswith(_FILES)


def _paths_of(node: Mapping[str, Any]) -> list[str]:
    """The paths or patterns that a table or a call of a table function names as text."""
    if node.get("type") == "BASE_TABLE":
        path = node["qualified_name"]["path"]
        return path if len(path) == 1 and _names_file(path[0]) else []
    if node.get("type") != "TABLE_FUNCTION":
        return []
    call = node["function"]
    if str(call["function_name"]).lower() not in FILE_SCANS or not call.get("arguments"):
        return []
    return _texts(call["arguments"][0]["expression"])


def _texts(node: Node) -> list[str]:
    """A text, or a list of texts, in SQL."""
    if node.get("class") == "CONSTANT" and node.get("literal", {}).get("kind") == "STRING":
        return [node["literal"]["text"]]
    if node.get("class") != "FUNCTION" or node["function_name"] not in ("list_value", "list_pack"):
        return []
    found = [_texts(argument["expression"]) for argument in node.get("arguments", [])]
    return [text for texts in found for text in texts] if all(found) else []


def _is_file(node: Node, path: str, tables: frozenset[tuple[str, str]]) -> bool:
    return node["type"] == "TABLE_FUNCTION" or ("main", path.lower()) not in tables


def _forget_files(node: Node) -> None:
    if not _paths_of(node):
        return
    if node["type"] == "BASE_TABLE":
        node["table_name"] = "files"
        node["qualified_name"] = {"path": ["files"]}
    else:
        text = {"class": "CONSTANT", "type": "VALUE_CONSTANT"}
        node["function"]["arguments"][0]["expression"] = {
            **text,
            "literal": {"kind": "STRING", "text": "files"},
        }
