"""What a long run says while it works: one line a pass, with rows, time and what is going on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

from sqlbn.text import printable

# The title of the pass that goes on, for whoever tells which statements belong to it.
_STAGE: ContextVar[str] = ContextVar("stage", default="")


def current_stage() -> str:
    """The title of the pass that goes on; empty before the first and between two."""
    return _STAGE.get()


class Progress:
    """Times every pass; says nothing. The base of those that do."""

    is_shown = False

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._started = 0.0

    @contextmanager
    def stage(self, name: str, title: str, rows: int = 0, total: int = 0) -> Iterator[None]:
        """A pass: `name` is its key in the model's meta table, `title` is for people."""
        self._started = time.perf_counter()
        self.begin(title, rows, total)
        outer, ended = _STAGE.get(), False
        _STAGE.set(title)
        try:
            yield
            ended = True
        finally:
            taken = time.perf_counter() - self._started
            self.seconds[name] = self.seconds.get(name, 0.0) + taken
            self.end(ended, taken)
            _STAGE.set(outer)

    def note(self, text: str) -> None:
        """Something to know before a pass begins."""

    def begin(self, title: str, rows: int, total: int) -> None:
        """A pass begins."""

    def advance(self, steps: int = 1) -> None:
        """So many of the steps announced are done."""

    def end(self, completed: bool, seconds: float) -> None:
        """The pass has ended, or was broken off."""


class ConsoleProgress(Progress):
    """A bar that is redrawn on a terminal; elsewhere one line when a pass is done."""

    is_shown = True
    _WIDTH = 24
    _EVERY = 0.1

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream or sys.stderr
        self._live = _redraws(self._stream)
        self._title, self._rows, self._total, self._done, self._drawn = "", 0, 0, 0, 0.0

    def note(self, text: str) -> None:
        clear = "\r\x1b[2K" if self._live else ""
        self._stream.write(f"{clear}· {printable(text)}\n")
        self._stream.flush()

    def begin(self, title: str, rows: int, total: int) -> None:
        self._title, self._rows, self._total, self._done = printable(title), rows, total, 0
        self._draw(force=True)

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        self._draw()

    def end(self, completed: bool, seconds: float) -> None:
        if not completed and not self._live:
            return  # whoever breaks a pass off says why, in a line of its own
        mark = "✓" if completed else "✗"
        clear = "\r\x1b[2K" if self._live else ""
        self._stream.write(f"{clear}{mark} {self._title}{self._rows_text()}  {seconds:.1f} s\n")
        self._stream.flush()

    def _rows_text(self) -> str:
        return f"  {self._rows:,} rows" if self._rows else ""

    def _draw(self, force: bool = False) -> None:
        now = time.perf_counter()
        if not self._live or (not force and now - self._drawn < self._EVERY):
            return
        self._drawn = now
        bar = ""
        if self._total:
            filled = self._WIDTH * self._done // self._total
            bar = f"  [{'█' * filled}{'·' * (self._WIDTH - filled)}] {self._done}/{self._total}"
        seconds = now - self._started
        self._stream.write(f"\r\x1b[2K… {self._title}{self._rows_text()}{bar}  {seconds:.1f} s")
        self._stream.flush()


def _redraws(stream: TextIO) -> bool:
    """Whether a line may be drawn over: on a terminal that understands control codes."""
    plain = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return stream.isatty() and not plain
