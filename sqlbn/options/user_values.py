"""Limits on what users may ask for, whatever the data: sizes of numbers and of files."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from sqlbn.errors import OptionError
from sqlbn.text import printable

# The engine's whole numbers have 64 bits.
_MOST = 2**63 - 1
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class _Shown(str):
    """A value as it is to be shown."""

    __repr__ = str.__str__


def check_whole(option: str, value: int) -> None:
    """An error for a whole number that the engine has no type for."""
    if not -_MOST <= value <= _MOST:
        shown = str(value) if value.bit_length() < 200 else f"{str(value)[:20]}…"
        raise OptionError("give a number of at most 64 bits", **{option: _Shown(shown)})


def check_text(option: str, value: str) -> None:
    """An error for bytes that are no UTF-8, as a shell hands them over: the engine takes none."""
    if _HALF_CHARACTER.search(value):
        raise OptionError("that is not UTF-8", **{option: _Shown(printable(value[:80]))})


def read_small_file(path: Path, option: str, most: int) -> bytes:
    """The bytes of a file that a person wrote; an error for a device, or one that is too large."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise OptionError("that is not a file", **{option: path})
        if found.st_size <= most:
            with path.open("rb") as file:
                data = file.read(most + 1)  # a file of /proc has no size
            if len(data) <= most:
                return data
    except OSError as error:
        raise OptionError(f"{error.strerror or error}", **{option: path}) from error
    raise OptionError(f"the file has more than {most:,} bytes", **{option: path})
