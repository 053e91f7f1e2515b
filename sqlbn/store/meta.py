"""The `meta` of a stored model, whose values are text: as numbers, lists and text again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Text by nature: a column may be called 1 and a model 2024.
_TEXT = {
    "name", "target", "target_type", "weight", "where", "source", "superparent", "created_at",
    "sqlbn", "duckdb", "python", "dialect", "learner", "backoff", "estimate", "missing",
}  # fmt: skip


def decoded_meta(meta: Mapping[str, str]) -> dict[str, Any]:
    """Every value as what it was before it was stored.

    >>> decoded_meta({"name": "2024", "rows": "300", "options": '{"k": 2}'})
    {'name': '2024', 'rows': 300, 'options': {'k': 2}}
    """
    return {key: value if key in _TEXT else _decoded(value) for key, value in meta.items()}


def _decoded(value: str | None) -> Any:
    try:
        return json.loads(value) if value is not None else None
    except (ValueError, RecursionError):
        return value
