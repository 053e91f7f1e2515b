"""Some joins with lookup tables and one addition: the step that all scoring queries are made of."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.dialects import Dialect
from sqlbn.quoting import relation_sql
from sqlbn.scoring.factors import COMPLETE, Factor
from sqlbn.scoring.names import NAMES
from sqlbn.templates import render

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
        "score_batch",
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
