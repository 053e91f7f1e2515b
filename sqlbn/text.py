"""Text that people and other programs read: printable, as JSON, addresses without secrets."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

# Control characters (C0, DEL, C1), which move the cursor, clear the screen or set its title; marks
# that turn the direction of text; separators of lines; halves of characters (of a file name that is
# no UTF-8), which no terminal and no XML can hold; and what is no character at all.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str, keep: str = "") -> str:
    r"""A text in which such characters are spelled out, but for those to `keep`.

    >>> print(printable("größe \x1b]0;title\x07\n"), printable("a\nb", keep="\n") == "a\nb")
    größe \x1b]0;title\x07\n True
    """
    return _UNSAFE.sub(lambda sign: sign[0] if sign[0] in keep else _spelled(sign[0]), text)


def _spelled(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def json_text(document: Any) -> str:
    """A document on one line.

    >>> from decimal import Decimal
    >>> json_text({"n": Decimal("12"), "p": float("nan"), "x": Decimal("0.5")})
    '{"n": 12, "p": null, "x": 0.5}'
    """
    return json.dumps(_plain(document), allow_nan=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        whole = value.is_finite() and value == value.to_integral_value()
        return int(value) if whole else _plain(float(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "item"):  # a number of numpy
        return _plain(value.item())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:([^/]*)@)?([^?]*)(\?.*)?", re.DOTALL)
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^'\"?\n]*(?:\?[^\s'\"]+)?")
# What stands before the host of these is the name of a container.
_CONTAINERS = ("abfs://", "abfss://", "wasb://", "wasbs://")


def is_remote(path: str) -> bool:
    """Whether the engine, not the file system, knows this path."""
    return "://" in path


def shown(path: str) -> str:
    """A path without user, password and query, which may be a token or a signature.

    >>> shown("https://me:secret@host/a b.parquet?token=abc"), shown("what?.parquet")
    ('https://host/a b.parquet?…', 'what?.parquet')
    >>> shown("abfss://container@account.net/a@b")
    'abfss://container@account.net/a@b'
    """
    found = _ADDRESS.fullmatch(path)
    if found is None:
        return path
    scheme, user, place, query = found[1], found[2], found[3], found[4]
    kept = f"{user}@" if user and scheme.lower() in _CONTAINERS and ":" not in user else ""
    return f"{scheme}{kept}{place}{'?…' if query else ''}"


def without_secrets(message: str, paths: Iterable[str] = ()) -> str:
    """A message in which the addresses, and these paths above all, are as they are shown.

    >>> without_secrets("no 's3://key:secret@bucket/x?y=z': gone")
    "no 's3://bucket/x?…': gone"
    """
    for path in paths:
        message = message.replace(path, shown(path))
    return _IN_TEXT.sub(lambda found: shown(found[0]), message)
