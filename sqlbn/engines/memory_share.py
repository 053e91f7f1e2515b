"""What the engine may use of the user's memory limit: what the rest of the process leaves of it.

Arrays, and what was freed of them and not given back, come on top of what the engine counts. So
before a statement it is looked at how large the process has become, and the engine gets the rest of
the limit: it spills, or lets go of what it has spilled, in place of the process growing.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from sqlbn.engines.limits import Limits


class MemoryShare:
    """Keeps a process to `limit` bytes more than it had when the engine was started.

    Where the system does not tell how large a process is, the engine has the limit for itself.
    """

    def __init__(self, limit: int, limits: Limits) -> None:
        self._limit, self._limits, self._given = limit, limits, limit
        self._fixed = (resident_bytes() or 0) + limits.process_growth_bytes
        self._step = int(limits.memory_step_share * limit)
        self._seen, self._guard = resident_bytes(), threading.Lock()
        self._looked = time.monotonic()

    def settle(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give the engine what is left, if that may have changed since it was last looked at.

        What has been freed and not given back does not show in the size of the process.
        """
        now, is_due = resident_bytes(), self._is_due()
        if now is None or self._seen is None:
            return
        if abs(now - self._seen) < self._step and not (is_due and now > self._fixed):
            return
        with self._guard:
            self._looked = time.monotonic()
            free_unused()
            self._seen = resident_bytes() or now
            arrays = self._seen - self._fixed - _engine_bytes(connection)
            least = max(self._limits.engine_least_bytes, self._limits.engine_share * self._limit)
            wanted = int(min(self._limit, max(least, self._limit - arrays)))
            if abs(wanted - self._given) >= self._step or wanted == self._limit != self._given:
                # It may hold more than that for good: then it keeps what it had.
                with suppress(duckdb.OutOfMemoryException):
                    connection.execute(f"SET memory_limit = '{wanted} bytes'").fetchall()
                    self._given = wanted

    def give_all(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """For a statement that could not do with less; whether that is more than it had."""
        with self._guard:
            if self._given == self._limit:
                return False
            connection.execute(f"SET memory_limit = '{self._limit} bytes'").fetchall()
            self._given, self._looked = self._limit, time.monotonic()
            return True

    def _is_due(self) -> bool:
        return time.monotonic() - self._looked > self._limits.memory_look_seconds


def _engine_bytes(connection: duckdb.DuckDBPyConnection) -> int:
    """What the engine counts as its own."""
    found = connection.execute("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()")
    return int(found.fetchall()[0][0] or 0)


def resident_bytes() -> int | None:
    """How much memory this process has, without what it has swapped out."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError, ValueError, IndexError):
        return None


def free_unused() -> None:
    """Give freed arrays back to the system: the C library keeps hundreds of megabytes of them."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
