"""The layers of the house: who may import whom, when loaded and later; `structure` stands alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

# From top to bottom; a room imports only from layers below its own, and from `SIDEWAYS`.
LAYERS = (
    ("cli",),
    ("api",),
    ("pipeline", "updates", "evaluation", "sparse", "networks", "exporting", "lab", "report"),
    ("store",),
    ("learners",),
    ("kinds",),
    ("search",),
    ("structure",),
    ("counts",),
    ("encoding",),
    ("data",),
    ("engines",),
    ("options",),
    ("schema", "text"),
    ("errors",),
)
SIDEWAYS = {
    "evaluation": {"pipeline"},
    "sparse": {"evaluation"},
    "updates": {"pipeline", "evaluation", "sparse"},
    "networks": {"pipeline", "evaluation", "updates"},
    "exporting": {"networks"},
    "lab": {"evaluation"},
    "report": {"evaluation", "lab", "networks"},
}
# The program speaks to the API and nothing else.
PROGRAM = {"cli", "api", "options", "errors", "text"}
# Pure functions: numbers in, structure out.
STRUCTURE = {"structure", "options", "errors", "text"}


def rooms(package: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).with_suffix("").parts[0]
        if room not in ("__init__", "__main__"):
            yield room, path


def imported(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Rooms that a file imports, the line, and whether for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sqlbn":
            parts = (node.module or "").split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            for name in names:
                yield name, node.lineno, id(node) in for_types
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "sqlbn" and len(parts) > 1:
                    yield parts[1], node.lineno, id(node) in for_types


def is_below(room: str, other: str) -> bool:
    rank = {name: at for at, layer in enumerate(LAYERS) for name in layer}
    return rank[other] > rank[room] or other in SIDEWAYS.get(room, ())


def test_every_room_has_a_layer(root: Path) -> None:
    known = {name for layer in LAYERS for name in layer}
    assert {room for room, _ in rooms(root / "sqlbn")} == known


def test_nothing_imports_upwards(root: Path) -> None:
    known = {name for layer in LAYERS for name in layer}
    wrong = [
        f"{path.relative_to(root)}:{line} imports {other}"
        for room, path in rooms(root / "sqlbn")
        for other, line, for_types in imported(path)
        if other in known and other != room and not for_types and not is_below(room, other)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_program_imports_only_the_api_and_the_options(root: Path) -> None:
    known = {name for layer in LAYERS for name in layer}
    wrong = [
        f"{path.relative_to(root)}:{line} imports {other}"
        for room, path in rooms(root / "sqlbn")
        if room == "cli"
        for other, line, for_types in imported(path)
        if other in known - PROGRAM and not for_types
    ]
    assert not wrong, "\n".join(wrong)


def test_structure_reaches_no_engine_even_by_way_of_others(root: Path) -> None:
    """Of structure, and of all that it imports, nothing imports a room that runs SQL."""
    reached, todo = set[str](), {"structure"}
    files: dict[str, list[Path]] = {}
    for room, path in rooms(root / "sqlbn"):
        files.setdefault(room, []).append(path)
    while todo:
        room = todo.pop()
        reached.add(room)
        for path in files[room]:
            found = {other for other, _, _ in imported(path) if other in files}
            todo |= found - reached
    assert reached <= STRUCTURE
