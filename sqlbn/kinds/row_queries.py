"""Steps that scoring queries are made of: distinct rows, joins with lookup tables, one addition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlbn.engines.dialects import Dialect
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import NAMES, relation_sql, render
from sqlbn.kinds.product.factor_tables import COMPLETE, Factor

Key = dict[str, str]


def identity(used: Sequence[int], slots: Sequence[int]) -> list[Key]:
    """All codes of a row packed into as few whole numbers as hold them."""
    packs: list[list[int]] = [[]]
    for v in used:
        if math.prod(slots[u] for u in (*packs[-1], v)) > 2**63:
            packs.append([])
        packs[-1].append(v)
    return [
        {
            "sql": packed_sql([f"{NAMES.code}{v}" for v in pack], [slots[v] for v in pack]),
            "alias": f"{NAMES.identity}{number}",
        }
        for number, pack in enumerate(packs)
    ]


def distinct_rows(
    coded: str,
    used: Sequence[int],
    keys: Sequence[Key],
    dialect: Dialect,
    codes: Mapping[int, str] | None = None,
    joins: Sequence[object] = (),
) -> str:
    """Rows that differ, with a number and their codes; `codes` are expressions for some of them."""
    said = codes or {}
    distinct = [f"{NAMES.code}{v}" for v in used]
    return render(
        "score/distinct_rows",
        names=NAMES,
        identity=keys,
        codes=[
            {"sql": said.get(v, f"s.{NAMES.code}{v}"), "alias": f"{NAMES.code}{v}"} for v in used
        ],
        row=dialect.row_identity([key["sql"] for key in keys], distinct),
        distinct=distinct or ["0 AS nothing"],
        coded=coded,
        joins=joins,
    )


def any_values(names: Sequence[str], dialect: Dialect) -> list[Key]:
    """Columns in which all rows of a group agree."""
    return [{"any": dialect.any_value(name), "alias": name} for name in names]


def rejoined(
    coded: str,
    kept: Sequence[str],
    used: Sequence[int],
    keys: Sequence[Key],
    scored: str,
    n_classes: int,
    dialect: Dialect,
) -> str:
    """The rows of a query with codes, with the scores of rows that differ in place of the codes.

    `kept` are its other columns, for dialects that have to list them.
    """
    spent = [*(f"{NAMES.code}{v}" for v in used), *(key["alias"] for key in keys)]
    return render(
        "score/rejoined",
        names=NAMES,
        coded=coded,
        identity=keys,
        scored=scored,
        scores=[f"{NAMES.score}{j}" for j in range(n_classes)],
        kept=dialect.without(spent, "r", among=kept),
    )


@dataclass(frozen=True)
class ValueList:
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
