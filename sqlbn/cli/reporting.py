"""How a command ends: errors are one line, signals clean up, `| head` is no error."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from sqlbn.cli.state import STATE
from sqlbn.errors import SqlbnError
from sqlbn.spelling import SHELL, spoken

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose failures are one line on standard error: exit 1, or 130 after Ctrl-C."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with spoken(SHELL):
                try:
                    found = command(*args, **kwargs)
                    sys.stdout.flush()
                    return found
                except SqlbnError as error:
                    if STATE.traceback:
                        raise
                    print(f"sqlbn: {error}", file=sys.stderr)
                    sys.exit(1)
        except BrokenPipeError:
            leave_quietly()
        except KeyboardInterrupt:
            _say_interrupted()

    return guarded


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
        print(f"sqlbn: {done}, nothing was changed", file=sys.stderr)
    sys.exit(128 + asked)
