"""Equal rows are scored once: rows that differ get a number, and all rows get their scores back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlbn.engines.dialects import Dialect
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import NAMES, render

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
