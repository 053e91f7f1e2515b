"""Rows in chunks: what a search over subsets of attributes asks of them, in memory or on disk.

Of each row its class, its weight, where it meets the table of every attribute, and the sums that
the search adds up. Chunks do not depend on memory, only where they lie does: so the same data gives
the same sums.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.errors import OutOfMemoryError, opt

Array = npt.NDArray[Any]


class HeldChunk:
    """Rows in memory: a line of places for each attribute, a line of sums for each other class."""

    def __init__(self, columns: Mapping[str, Array], n_attributes: int, n_lines: int) -> None:
        self.n = len(columns["y"])
        self._columns = [columns[f"c{v}"] for v in range(n_attributes)]
        self.classes, self.weights = columns["y"], columns["w"]
        self._sums = np.zeros((n_lines, self.n))

    def places(self, attribute: int) -> Array:
        """Where the rows meet the table of an attribute."""
        return self._columns[attribute]

    def sums(self) -> Array:
        """What has been added up."""
        return self._sums

    def put(self, sums: Array) -> None:
        """Replace what has been added up."""
        self._sums = sums


class StoredChunk:
    """The same in a file; only what is asked for is read."""

    def __init__(self, file: ChunkFile, chunk: HeldChunk, n_attributes: int) -> None:
        self.n, self._file = chunk.n, file
        columns = [chunk.classes, chunk.weights, *map(chunk.places, range(n_attributes))]
        self._kept = [file.append(column) for column in columns]
        self._sums = file.append(chunk.sums())

    @property
    def classes(self) -> Array:
        """The class of every row."""
        return self._file.read(self._kept[0])

    @property
    def weights(self) -> Array:
        """The weight of every row."""
        return self._file.read(self._kept[1])

    def places(self, attribute: int) -> Array:
        """Where the rows meet the table of an attribute."""
        return self._file.read(self._kept[2 + attribute])

    def sums(self) -> Array:
        """What has been added up."""
        return self._file.read(self._sums)

    def put(self, sums: Array) -> None:
        """Replace what has been added up."""
        self._file.write(self._sums, sums)


Chunk = HeldChunk | StoredChunk


@dataclass(frozen=True)
class Extent:
    """Where an array lies in a file."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class ChunkFile:
    """Arrays in a scratch file of at most so many bytes (None: as many as there is room for)."""

    def __init__(self, path: Path, most: int | None) -> None:
        self._path, self._most = path, most
        self._file = path.open("w+b", buffering=0)
        self._guard, self._end = threading.Lock(), 0

    def append(self, array: Array) -> Extent:
        """Write an array at the end."""
        found = Extent(self._end, array.dtype, array.shape)
        self._end += array.nbytes
        if self._most is not None and self._end > self._most:
            raise OutOfMemoryError(
                f"the rows take more disk than {opt('disk_limit')} allows; raise it, or "
                f"{opt('memory_limit')}"
            )
        self.write(found, array)
        return found

    def write(self, extent: Extent, array: Array) -> None:
        """Replace an array."""
        left = np.ascontiguousarray(array).data.cast("B")
        try:
            with self._guard:
                self._file.seek(extent.offset)
                while len(left):
                    left = left[self._file.write(left) :]
        except OSError as error:
            raise OutOfMemoryError(
                f"out of disk: {error.strerror or error}; point {opt('temp_dir')} at a disk with "
                f"more room, or raise {opt('memory_limit')}"
            ) from error

    def read(self, extent: Extent) -> Array:
        """An array as it was written last."""
        found = np.empty(extent.shape, extent.dtype)
        left = found.data.cast("B")
        with self._guard:
            self._file.seek(extent.offset)
            while len(left):
                left = left[self._file.readinto(left) :]
        return found

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class RowChunks:
    """The chunks of some rows: the first ones in memory, as far as there is room."""

    def __init__(
        self,
        parts: Iterator[Mapping[str, Array]],
        n_attributes: int,
        n_lines: int,
        room: float,
        make_file: Callable[[], ChunkFile],
    ) -> None:
        self._file: ChunkFile | None = None
        self.chunks: list[Chunk] = []
        self.n_stored, self.rows = 0, 0
        try:
            for columns in parts:
                self.rows += len(columns["y"])
                chunk = HeldChunk(columns, n_attributes, n_lines)
                room -= sum(column.nbytes for column in columns.values()) + 8 * n_lines * chunk.n
                if room < 0:
                    self._file = self._file or make_file()
                    self.chunks.append(StoredChunk(self._file, chunk, n_attributes))
                    self.n_stored += 1
                else:
                    self.chunks.append(chunk)
        except BaseException:
            self.close()
            raise

    @property
    def noted(self) -> dict[str, int]:
        """For the model's meta table."""
        return {"rows": self.rows, "chunks": len(self.chunks), "on_disk": self.n_stored}

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()


def in_chunks(batches: Iterator[Mapping[str, Array]], rows: int) -> Iterator[dict[str, Array]]:
    """Columns of so many rows each, the last one shorter, from batches of any size.

    >>> parts = in_chunks(iter([{"y": np.arange(3)}, {"y": np.arange(4)}]), 5)
    >>> [len(part["y"]) for part in parts]
    [5, 2]
    """
    waiting: list[Mapping[str, Array]] = []
    n = 0
    for batch in batches:
        start, size = 0, len(batch["y"])
        while n + size - start >= rows:
            stop = start + rows - n
            waiting.append({name: column[start:stop] for name, column in batch.items()})
            yield _together(waiting)
            waiting, n, start = [], 0, stop
        if start < size:
            waiting.append({name: column[start:] for name, column in batch.items()})
            n += size - start
    if waiting:
        yield _together(waiting)


def _together(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
