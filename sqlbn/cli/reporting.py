"""How a command ends: errors are one line, signals clean up, `| head` is no error."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn, ParamSpec, TypeVar

from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.errors import SqlbnError
from sqlbn.limits import check_text, check_whole
from sqlbn.spelling import SHELL, spoken
from sqlbn.text import printable

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose failures are one line on standard error: exit 1, or 130 after Ctrl-C."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with spoken(SHELL):
                try:
                    _check_values(kwargs)
                    found = command(*args, **kwargs)
                    sys.stdout.flush()
                    return found
                except (SqlbnError, OSError, MemoryError) as error:
                    if STATE.traceback or isinstance(error, BrokenPipeError):
                        raise
                    print(f"sqlbn: {printable(_line(error))}", file=sys.stderr)
                    sys.exit(1)
        except BrokenPipeError:
            leave_quietly()
        except KeyboardInterrupt:
            _say_interrupted()

    return guarded


def _check_values(options: Mapping[str, object]) -> None:
    """An error for a whole number or a text that the engine has no type for."""
    for name, value in options.items():
        if isinstance(value, int):
            check_whole(name, value)
        elif isinstance(value, str):
            check_text(name, value)


def _line(error: BaseException) -> str:
    """What an error says; of the system's errors the file and the reason."""
    if isinstance(error, SqlbnError) or not isinstance(error, OSError):
        return str(error) or "out of memory"
    named = f"{os.fsdecode(error.filename)!r}: " if error.filename is not None else ""
    return f"{named}{error.strerror or error}"


def leave_quietly() -> NoReturn:
    """End as a program does whose reader went away (`| head`); Python would complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
    sys.exit(128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1)


def _say_interrupted() -> NoReturn:
    asked = STATE.signal or signal.SIGINT
    with contextlib.suppress(OSError):
        done = "interrupted" if asked == signal.SIGINT else "asked to end"
        echo(f"sqlbn: {done}, nothing was changed", err=True)
    sys.exit(128 + asked)
