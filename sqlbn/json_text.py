"""Values as JSON: numbers as numbers, times as text, null for what JSON has no word for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


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
