"""What the program prints for people: lines and tables, nothing that commands a terminal.

`STATE` is how it talks, `ShellSpelling` how it names options.
Every command prints by `echo`, JSON by typer's own (it spells control characters out by itself),
and what other programs read as it is, by `echo_data`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from sqlbn.options.command_options import flag_of
from sqlbn.text import json_text, printable

if TYPE_CHECKING:
    from sqlbn.engines.progress import Progress


@dataclass
class State:
    """How to talk to the user."""

    traceback: bool = False
    quiet: bool = False
    # The signal that asked the program to end, where one has.
    signal: int | None = None

    def progress(self) -> Progress:
        """A bar, or silence."""
        from sqlbn.api.call import told_by

        return told_by(self.quiet, None)


STATE = State()


def echo(text: str, err: bool = False) -> None:
    """Print lines for a person."""
    typer.echo(printable(text, keep="\n"), err=err)


def echo_json(value: Any) -> None:
    """Print JSON for programs; it spells control characters out by itself."""
    typer.echo(json_text(value))


def echo_data(text: str) -> None:
    """Print what a program reads, as it is; on a terminal a person sees it."""
    typer.echo(printable(text, keep="\n\t") if sys.stdout.isatty() else text, nl=False)


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns lined up: numbers to the right, text to the left.

    >>> print(table(["a", "n"], [["x", 1], ["yy", 10]]))
    a    n
    x    1
    yy  10
    """
    headers = [printable(h) for h in headers]
    texts = [[_text(v) for v in row] for row in rows]
    widths = [max([len(h), *(len(row[i]) for row in texts)]) for i, h in enumerate(headers)]
    right = [
        bool(rows) and all(isinstance(row[i], int | float) or row[i] is None for row in rows)
        for i in range(len(headers))
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(headers), *(line(row) for row in texts)])


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 1 else f"{value:.6f}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))


class ShellSpelling:
    """Options and commands as one types them.

    >>> spell = ShellSpelling()
    >>> spell.option("kmax", 0), spell.option("min_count"), spell.option("replace", True)
    ('--kmax 0', '--min-count', '--replace')
    """

    def option(self, name: str, *value: object) -> str:
        """Dashes before the name; behind it the value, in quotes where it is not one word."""
        shown = flag_of(name)
        if not value or value[0] is True:
            return shown
        return f"{shown} {_word(value[0])}"

    def command(self, name: str) -> str:
        """What to type."""
        return f"`sqlbn {name}`"


def _word(value: object) -> str:
    text = str(value)
    plain = bool(text) and text.isprintable() and not any(sign in text for sign in " '\"")
    return text if plain or not isinstance(value, str | os.PathLike) else repr(text)
