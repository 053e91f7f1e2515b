"""The history of a model: what was added and taken out, when, and from which files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlbn.data import Source
from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SourceError, opt
from sqlbn.text import is_remote, shown

if TYPE_CHECKING:
    from sqlbn.encoding.preparing import Training
    from sqlbn.learners.fit_options import FitOptions

Action = Literal["fit", "update", "forget", "merge"]
HISTORY, FILES = "history", "history_files"
_STREAM = "stream of "

# Bytes that are read of the head, the tail and some places between: the end of a Parquet file
# holds the statistics of all its columns, so a file with other rows differs there.
_SAMPLE = 1 << 16
_PLACES = 16
_PLACE = 1 << 12


@dataclass(frozen=True)
class CountedFile:
    """A file whose rows were counted, and which of its rows: all for which `rows` holds."""

    path: str
    size: int
    fingerprint: str
    rows: str

    @property
    def identity(self) -> tuple[str, str]:
        """What makes it the same rows, under whatever name."""
        return (self.fingerprint, self.rows)


@dataclass(frozen=True)
class Step:
    """One change of a model; `rows` are those of this step, `total` those of the model then."""

    action: Action
    at: str
    source: str
    rows: int
    skipped: int
    total: int
    note: str = ""
    files: tuple[CountedFile, ...] = ()

    @property
    def sign(self) -> int:
        """Whether its files were added or taken out."""
        return -1 if self.action == "forget" else 1


def fingerprint(path: str, part: str = "", size: int = 0, state: str = "") -> str:
    """Tells a file with the same content, whatever its name, in the same part of a table.

    A remote one is not read for it: it is its address, size and state (ETag or time of change).
    What stands behind a '?' is a signature, another one every day; only where nothing else is
    known it counts.
    """
    if is_remote(path):
        place = shown(path).removesuffix("?…")
        told = f"{place}\n{part}{size}\n{state}" if state else path
        return hashlib.sha256(told.encode()).hexdigest()
    size = Path(path).stat().st_size
    digest = hashlib.sha256(f"{part}{size}".encode())
    with Path(path).open("rb") as file:
        if size <= 2 * _SAMPLE:
            digest.update(file.read())
            return digest.hexdigest()
        starts = [0, *(size * i // _PLACES for i in range(1, _PLACES)), size - _SAMPLE]
        for start in starts:
            file.seek(start)
            digest.update(file.read(_SAMPLE if start in (0, size - _SAMPLE) else _PLACE))
    return digest.hexdigest()


def stream_label(label: str) -> str:
    """The name of a source that comes in batches."""
    return _STREAM + label


def moment() -> str:
    """The time of a step: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def counted_files(source: Source, condition: str) -> tuple[CountedFile, ...]:
    """The files of a source; `condition` says which of their rows were asked for."""
    return tuple(
        CountedFile(f.name, f.size, fingerprint(f.path, f.part, f.size, f.state), condition)
        for f in source.files
    )


def condition_of(where: str | None, table: str | None, query: str | None) -> str:
    """Which rows of a file are meant, as far as the user's words tell."""
    asked = {"table": table, "query": query, "where": where}
    return "; ".join(f"{key}: {value}" for key, value in asked.items() if value)


def continued(steps: Sequence[Step], step: Step) -> list[Step]:
    """A history with one more step; all batches of one stream are one step an action."""
    found = list(steps)
    for at in range(len(found) - 1, -1, -1):
        last = found[at]
        if not step.source.startswith(_STREAM) or last.source != step.source:
            break
        if last.action == step.action:
            found[at] = replace(
                step, rows=last.rows + step.rows, skipped=last.skipped + step.skipped
            )
            return found
    return [*found, step]


def balance(steps: Sequence[Step]) -> dict[tuple[str, str], int]:
    """How often each file is in the model now."""
    found: dict[tuple[str, str], int] = {}
    for step in steps:
        for file in step.files:
            found[file.identity] = found.get(file.identity, 0) + step.sign
    return found


def check_not_counted(steps: Sequence[Step], files: Sequence[CountedFile]) -> None:
    """Refuse files that are in the model already, or given twice."""
    before = balance(steps)
    for file in files:
        if before.get(file.identity, 0) > 0:
            raise SourceError(
                f"{file.path!r} is in the model already ({_when(steps, file)}); "
                f"to count it once more: {opt('again', True)}"
            )
        before[file.identity] = 1


def check_not_forgotten(steps: Sequence[Step], files: Sequence[CountedFile]) -> None:
    """Refuse files that were taken out already; one that was never named may hold known rows."""
    before = balance(steps)
    for file in files:
        if file.identity in before and before[file.identity] <= 0:
            raise SourceError(
                f"{file.path!r} was taken out already ({_when(steps, file)}); "
                f"to take its rows out once more: {opt('again', True)}"
            )
        before[file.identity] = before.get(file.identity, 1) - 1


def _when(steps: Sequence[Step], file: CountedFile) -> str:
    last = [s for s in steps if file.identity in {f.identity for f in s.files}][-1:]
    return f"{last[0].action} of {last[0].at}" if last else "given twice"


# -- tables ------------------------------------------------------------------------------------


def start_history(workspace: Workspace, training: Training, options: FitOptions) -> None:
    """The history of a new model: its fit."""
    query = training.source.query or options.query
    condition = condition_of(options.where, options.table, query)
    step = Step(
        action="fit",
        at=moment(),
        source=training.source.label,
        rows=training.rows,
        skipped=training.skipped,
        total=training.rows,
        files=counted_files(training.source, condition),
    )
    write_history(workspace, [step])


def write_history(workspace: Workspace, steps: Sequence[Step]) -> None:
    """The workspace's `history` and `history_files`."""
    workspace.fill(
        HISTORY,
        [
            (at, s.action, s.at, s.source, s.rows, s.skipped, s.total, s.note)
            for at, s in enumerate(steps)
        ],
    )
    workspace.fill(
        FILES,
        [
            (at, f.path, f.size, f.fingerprint, f.rows)
            for at, step in enumerate(steps)
            for f in step.files
        ],
    )


def read_history(workspace: Workspace) -> list[Step]:
    """The steps of the model in a workspace, the first one first."""
    files: dict[int, list[CountedFile]] = {}
    columns = ("step", "path", "bytes", "fingerprint", "condition")
    for step, *values in workspace.read(FILES, *columns, order=("step", "path")):
        files.setdefault(step, []).append(CountedFile(*values))
    rows = workspace.session.rows(render("store/history", history=workspace.table(HISTORY)))
    steps = [Step(*row[1:]) for row in rows]
    return [replace(s, files=tuple(files.get(r[0], []))) for s, r in zip(steps, rows, strict=True)]
