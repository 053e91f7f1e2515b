"""What the options common to all commands set."""

from __future__ import annotations

from dataclasses import dataclass

from sqlbn.engines.progress import ConsoleProgress, Progress


@dataclass
class State:
    """How to talk to the user."""

    traceback: bool = False
    quiet: bool = False
    # The signal that asked the program to end, where one has.
    signal: int | None = None

    def progress(self) -> Progress:
        """A bar, or silence."""
        return Progress() if self.quiet else ConsoleProgress()


STATE = State()
