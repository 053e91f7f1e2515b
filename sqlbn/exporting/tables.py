"""The model's tables as lists."""

from __future__ import annotations

from typing import Any

from sqlbn.draft import Draft


def table_of(draft: Draft, name: str) -> dict[str, Any]:
    """Columns and rows of a table, by its key."""
    found = draft.engine.arrow(f"FROM {draft.table(name)} ORDER BY key")
    columns = [list(map(_plain, column.to_pylist())) for column in found.columns]
    return {"columns": found.column_names, "rows": list(zip(*columns, strict=True))}


def _plain(value: Any) -> float | int | None:
    # Keys past 2^63 are decimals in Arrow.
    return value if isinstance(value, float | None) else int(value)
