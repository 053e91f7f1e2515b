"""Work that other threads do while this one asks the engine for more: numpy lets them run."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def ahead(threads: int, jobs: Iterable[Callable[[], T]]) -> Iterator[T]:
    """What jobs find, in their order; a few of them are at work while the next is made.

    What a job needs of the engine is read when it is made, in this thread.

    >>> list(ahead(2, [lambda: 1, lambda: 2, lambda: 3]))
    [1, 2, 3]
    """
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[T]]()
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products of matrices take one thread each: then as many as the user wants may run at a time.

    Threads of OpenBLAS wait for each other in a busy loop: 10,000 rows of mnist that take 2.5 s by
    one took 4 to 25 s by two where other programs had the cores. Another library keeps its own.
    """
    found = _blas_threads()
    if found is None:
        yield
        return
    get, put = found
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@cache
def _blas_threads() -> tuple[Any, Any] | None:
    """What tells and sets the threads of the OpenBLAS that comes with NumPy, if it is there."""
    folder = Path(np.__file__).parent
    for path in sorted(
        [*folder.glob("../numpy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")]
    ):
        for stem in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads"):
            try:
                library = ctypes.CDLL(str(path))
                return getattr(library, stem.format("get")), getattr(library, stem.format("set"))
            except (OSError, AttributeError):
                continue
    return None
