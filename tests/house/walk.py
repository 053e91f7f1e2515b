"""The walk of a row: which modules and rooms a command passes through, and how often it goes back.

A reader follows the program by reading every function when it is called for the first time. Counted
are the modules that own these functions, the rooms (top-level folders and files of the package) and
the re-entries: steps into a room that the reader had been in and had left for another one. The
ground floor (engines, options, schema, text, errors) carries all rooms and is no room of the walk;
its modules count as modules.

    python tests/house/walk.py           the figures of `sqlbn fit` and `sqlbn predict`
    python tests/house/walk.py --path    and the modules in the order of the walk
"""

from __future__ import annotations

import pkgutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

TOP = Path(__file__).resolve().parents[2]
GROUND = {"engines", "options", "schema", "text", "errors", "__init__"}


@dataclass(frozen=True)
class Walk:
    """Modules in the order in which functions of theirs are first called."""

    steps: tuple[str, ...]

    @property
    def modules(self) -> set[str]:
        return set(self.steps)

    @property
    def path(self) -> list[str]:
        """The rooms in their order, each once for as long as the reader stays in it."""
        rooms = [room for room in map(_room, self.steps) if room not in GROUND]
        return [room for i, room in enumerate(rooms) if i == 0 or room != rooms[i - 1]]

    @property
    def rooms(self) -> set[str]:
        return set(self.path)

    @property
    def re_entries(self) -> int:
        return len(self.path) - len(self.rooms)


def walk_of(words: Sequence[str]) -> Walk:
    """The walk of a command of the program."""
    import sqlbn
    from sqlbn.cli.main import app

    for module in pkgutil.walk_packages(sqlbn.__path__, "sqlbn."):
        import_module(module.name)  # what runs while modules are loaded is no part of the walk
    package = f"{Path(sqlbn.__file__).parent}/"
    known: set[CodeType] = set()
    steps: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in known or code.co_name == "<module>":
            return
        known.add(code)
        if code.co_filename.startswith(package):
            steps.append(code.co_filename.removeprefix(package).removesuffix(".py"))

    sys.setprofile(called)
    try:
        app(list(words), standalone_mode=False)
    finally:
        sys.setprofile(None)
    return Walk(tuple(steps))


def _room(module: str) -> str:
    return module.split("/")[0]


def main() -> None:
    """Print the figures."""
    data = str(TOP / "examples" / "adult.parquet")
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/models.duckdb"]
        walks = {
            "fit": ["fit", data, "--target", "class", *store, "--name", "adult", "--quiet"],
            "predict": ["predict", "adult", data, *store, "--out", f"{folder}/p.parquet", "-q"],
        }
        print(f"{'':10}{'modules':>10}{'rooms':>10}{'re-entries':>12}")
        for name, words in walks.items():
            walk = walk_of(words)
            print(f"{name:10}{len(walk.modules):10}{len(walk.rooms):10}{walk.re_entries:12}")
            if "--path" in sys.argv:
                for i, step in enumerate(walk.steps):
                    if i == 0 or step != walk.steps[i - 1]:
                        print(f"    {step}")


if __name__ == "__main__":
    main()
