"""SQL lives in `sql/` and `engines/`: statements in strings elsewhere may only get fewer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "sqlbn"
# Rooms that may: the one that runs SQL, and those that only show some to people.
_LEFT_OUT = ("engines", "options", "cli")
# How many there are; lower it whenever there are fewer, and never raise it.
MOST = 0

KEYWORDS = {
    *("SELECT", "FROM", "WITH", "VALUES", "CREATE", "INSERT", "DELETE", "UPDATE", "MERGE", "ALTER"),
    *("DROP", "COPY", "ATTACH", "DETACH", "SET", "RESET", "USE", "DESCRIBE", "EXPLAIN", "LOAD"),
    *("INSTALL", "COMMENT", "PRAGMA", "BEGIN", "CHECKPOINT", "TRUNCATE", "SUMMARIZE"),
}


def statements(tree: ast.AST) -> Iterator[int]:
    """The lines of strings that begin like a statement, also one in brackets; no docstrings."""
    left_out = {id(part) for node in ast.walk(tree) for part in _not_sql(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in left_out:
            first, _, rest = _text(node).lstrip("( \n").replace("\n", " ").partition(" ")
            if first in KEYWORDS and rest:
                yield node.lineno


def _not_sql(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the parts of a string that is looked at as a whole."""
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield from node.values


def _text(node: ast.AST) -> str:
    """The text of a string, with something for every value in it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "…"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def found() -> list[str]:
    """File and line of every statement where none should be."""
    return [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in _LEFT_OUT
        for line in statements(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_statements_in_strings_only_get_fewer() -> None:
    listed = found()
    assert len(listed) <= MOST, "SQL belongs into sql/ or engines/:\n" + "\n".join(listed)


def test_what_counts_as_a_statement() -> None:
    source = (
        '"""SELECT in a docstring."""\n'
        "a = f'SELECT {x} FROM t'\n"
        "b = 'FROM t ' f'WHERE {y}'\n"
        "c = f'(SELECT 1)'\n"
        "d = 'select a column'\n"
        "e = 'SET'\n"
        "f = f'{x} FROM t'\n"
    )
    assert list(statements(ast.parse(source))) == [2, 3, 4]
