"""How a command ends: errors are one line, signals clean up, `| head` is no error.

Signals that ask the program to end are Ctrl-C to all that runs. DuckDB 2.0 does not always look for
signals while a statement runs; where it does, it may wait for its threads to come to the end of the
statement (seen: cross joins, aggregates). So the handler interrupts the statement, and a thread
does where the handler has not run for a moment.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from typing import NoReturn, ParamSpec, TypeVar

from sqlbn.cli.output import STATE, ShellSpelling, echo
from sqlbn.errors import SqlbnError, spelling
from sqlbn.options.user_values import check_text, check_whole
from sqlbn.text import printable, without_secrets

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose failures are one line on standard error: exit 1, or 130 after Ctrl-C."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with spelling(ShellSpelling()):
                try:
                    _check_values(kwargs)
                    found = command(*args, **kwargs)
                    sys.stdout.flush()
                    return found
                except (SqlbnError, OSError, MemoryError) as error:
                    if STATE.traceback:
                        _add_statement(error)
                    if STATE.traceback or isinstance(error, BrokenPipeError):
                        raise
                    print(f"sqlbn: {printable(_line(error))}", file=sys.stderr)
                    sys.exit(1)
        except BrokenPipeError:
            leave_quietly()
        except KeyboardInterrupt:
            _say_interrupted()

    return guarded


def _add_statement(error: BaseException) -> None:
    """Let the traceback end with the statement that failed, where one did."""
    sql = error.sql if isinstance(error, SqlbnError) else None
    if sql is not None:
        error.add_note(f"the statement:\n{printable(without_secrets(sql), keep=chr(10))}")


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


# -- signals ---------------------------------------------------------------------------------------

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
# Seconds in which the main thread can see a signal by itself.
_MOMENT = 0.3
_SEEN = threading.Event()


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, unless whoever started us has them ignored."""
    numbers = []
    for name in _ENDINGS:
        number = getattr(signal, name, None)
        usual = (signal.SIG_DFL, signal.default_int_handler)
        if number is not None and signal.getsignal(number) in usual:
            signal.signal(number, _interrupt)
            numbers.append(number)
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    threading.Thread(
        target=_watch, args=(heard, told, frozenset(numbers)), name="signals", daemon=True
    ).start()


def _interrupt(number: int, frame: object) -> None:
    # The engine turns whatever a handler raises into its own word for Ctrl-C: hence the note.
    STATE.signal = number
    _SEEN.set()
    _interrupt_engines()
    raise KeyboardInterrupt


def _watch(heard: socket.socket, told: socket.socket, numbers: frozenset[int]) -> None:
    while True:
        if numbers.isdisjoint(heard.recv(64)):
            continue
        if not _SEEN.wait(_MOMENT):
            _interrupt_engines()
            _SEEN.wait(_MOMENT)
        _SEEN.clear()


def _interrupt_engines() -> None:
    # No engine runs before the API was imported.
    stop = getattr(sys.modules.get("sqlbn.api.call"), "interrupt_engines", None)
    if stop is not None:
        stop()
