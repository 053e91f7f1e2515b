"""Signals that ask the program to end: each is Ctrl-C to all that runs.

DuckDB 2.0 does not always look for signals while a statement runs; where it does, it may wait for
its threads to come to the end of the statement (seen: cross joins, aggregates). So the handler
interrupts the statement, and a thread does where the handler has not run for a moment.
"""

from __future__ import annotations

import signal
import socket
import threading

from sqlbn.cli.state import STATE
from sqlbn.engines.model_database import interrupt_engines

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
    interrupt_engines()
    raise KeyboardInterrupt


def _watch(heard: socket.socket, told: socket.socket, numbers: frozenset[int]) -> None:
    while True:
        if numbers.isdisjoint(heard.recv(64)):
            continue
        if not _SEEN.wait(_MOMENT):
            interrupt_engines()
            _SEEN.wait(_MOMENT)
        _SEEN.clear()
