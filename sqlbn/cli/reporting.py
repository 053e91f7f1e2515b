"""How errors reach a person: one line, and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from sqlbn.cli.state import STATE
from sqlbn.display import printable
from sqlbn.errors import SqlbnError
from sqlbn.limits import check_whole

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose failures are one line on standard error: exit 1, or 130 after Ctrl-C."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            _check_numbers(kwargs)
            return command(*args, **kwargs)
        except (SqlbnError, OSError, MemoryError) as error:
            if STATE.traceback or isinstance(error, BrokenPipeError):
                raise
            print(f"sqlbn: {printable(_line(error))}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("sqlbn: interrupted, nothing was changed", file=sys.stderr)
            sys.exit(130)

    return guarded


def _check_numbers(options: Mapping[str, object]) -> None:
    """An error for a whole number that the engine has no type for."""
    for name, value in options.items():
        if isinstance(value, int):
            check_whole(name, value)


def _line(error: BaseException) -> str:
    """What an error says; of the system's errors the file and the reason."""
    if isinstance(error, SqlbnError) or not isinstance(error, OSError):
        return str(error) or "out of memory"
    named = f"{os.fsdecode(error.filename)!r}: " if error.filename is not None else ""
    return f"{named}{error.strerror or error}"
