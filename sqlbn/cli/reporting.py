"""How errors reach a person: one line, and an exit code."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sqlbn.cli.state import STATE
from sqlbn.errors import SqlbnError

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose failures are one line on standard error: exit 1, or 130 after Ctrl-C."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except SqlbnError as error:
            if STATE.traceback:
                raise
            print(f"sqlbn: {error}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("sqlbn: interrupted, nothing was changed", file=sys.stderr)
            sys.exit(130)

    return guarded
