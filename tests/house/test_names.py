"""Names: each module and public class once in the package, in the words of the field."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

# Files at the package's top, those of packages not counted.
MOST_AT_THE_TOP = 8
# Words of our own for things that have names, and what they are called instead.
WORDS = {
    "draft": "workspace",
    "living": "updates, or alive",
    "weighing": "attribute weights",
    "judged?": "loo_loss, or labelled",
    "sureness": "confidence",
    "silent": "ignored, or quiet",
    "classless": "no target",
    "brought": "collect",
    "luck": "penalty",
}
# Identifiers that are to go, each with the room that holds it: the list may only become shorter.
LEFT = {
    # Spark's launcher writes to the terminal: this keeps it silent.
    "_silent_launch": "engines",
}
# Public classes that occur twice: the list may only become shorter.
TWICE: set[str] = set()


def modules(root: Path) -> Iterator[Path]:
    return (root / "sqlbn").rglob("*.py")


def identifiers(path: Path) -> Iterator[str]:
    """Names that are defined or used in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_every_module_name_occurs_once(root: Path) -> None:
    found = defaultdict(list)
    for path in modules(root):
        if path.name != "__init__.py":
            found[path.stem].append(path.relative_to(root).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_every_public_class_name_occurs_once(root: Path) -> None:
    found = defaultdict(list)
    for path in modules(root):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(root).as_posix())
    twice = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in TWICE} == {}


def test_the_top_of_the_package_is_what_a_newcomer_sees_first(root: Path) -> None:
    assert len(list((root / "sqlbn").glob("*.py"))) <= MOST_AT_THE_TOP


@pytest.mark.parametrize("word", WORDS)
def test_identifiers_use_the_words_of_the_field(word: str, root: Path) -> None:
    own = re.compile(rf"(^|_){word}($|_|s$|s_)", re.IGNORECASE)
    found = {
        (name, path.relative_to(root).as_posix())
        for path in modules(root)
        for name in identifiers(path)
        if own.search(name) and name not in LEFT
    }
    assert found == set(), f"say {WORDS[word]}"
