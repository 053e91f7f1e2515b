"""Some joins with lookup tables and one addition: the step that all scoring queries are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.engines.dialects import Dialect
from sqlbn.engines.sql import NAMES, relation_sql, render
from sqlbn.kinds.product.factors import COMPLETE, Factor


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


# Joins between two additions to the running scores: the class columns of a joined table are carried
# through all later joins until they are added up.
BATCH = 8


def joined_batch(
    scored: str,
    columns: Sequence[str],
    factors: Sequence[Factor],
    sums: Sequence[str],
    prefix: str | None,
    outer: bool,
    dialect: Dialect,
) -> tuple[str, list[str]]:
    """Rows with `sums` as their new scores, one a class, after a join with every factor.

    The keys of these factors end here. `columns` are the rows' columns but the scores, for dialects
    that have to list them; those that are left are given back. `outer` joins are for plain SQL
    users: their optimiser would look for another order of inner ones.
    """
    keys = [f"{NAMES.key}{f.number}" for f in factors]
    spent = [*keys, *(f"{NAMES.score}{j}" for j in range(len(sums)))]
    # Complete tables first: they are inner joins, and drop no row.
    ordered = sorted(factors, key=lambda f: f.role not in COMPLETE)
    batch = render(
        "score/score_batch",
        names=NAMES,
        scored=scored,
        kept=dialect.without(spent, "s", among=columns),
        sums=sums,
        joins=[
            {
                "kind": "JOIN" if f.role in COMPLETE and not outer else "LEFT JOIN",
                "table": relation_sql(prefix, f.table),
                "alias": f"f{f.number}",
                "key": f"{NAMES.key}{f.number}",
            }
            for f in ordered
        ],
    )
    return batch, [name for name in columns if name not in keys]
