"""Values of a row that are looked up by place, in whatever way a dialect has for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.dialects import Dialect


@dataclass(frozen=True)
class Listed:
    """Expressions over the codes of a row, of which each of its turns takes one.

    With lists they are computed once a row, as one column. Without, every turn computes its own,
    and the codes have to be there.
    """

    name: str
    items: Sequence[str]

    def columns(self, dialect: Dialect) -> list[dict[str, str]]:
        """What a row has to carry, its codes apart."""
        if not dialect.has_lists:
            return []
        return [{"sql": dialect.list(self.items), "alias": self.name}]

    def at(self, dialect: Dialect, relation: str, place: str) -> str:
        """The item at a place, the first at 1."""
        if dialect.has_lists:
            return dialect.nth(f"{relation}.{self.name}", place)
        cases = " ".join(f"WHEN {at} THEN {item}" for at, item in enumerate(self.items, 1))
        return f"CASE {place} {cases} END"


def carried_codes(codes: Sequence[str], dialect: Dialect) -> list[dict[str, str]]:
    """The codes that turns compute from, where there are no lists."""
    return [] if dialect.has_lists else [{"sql": code, "alias": code} for code in codes]
