"""Addresses of remote data: how they are shown and stored, without what they may hold in secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
