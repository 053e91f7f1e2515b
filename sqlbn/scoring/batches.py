"""Some joins with lookup tables and one addition: the step that all scoring queries are made of."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.quoting import relation_sql
from sqlbn.scoring.factors import COMPLETE, Factor
from sqlbn.scoring.names import NAMES
from sqlbn.templates import render

# Joins between two additions to the running scores: the class columns of a joined table are carried
# through all later joins until they are added up.
BATCH = 8


def joined_batch(
    scored: str, factors: Sequence[Factor], sums: Sequence[str], prefix: str | None, outer: bool
) -> str:
    """Rows with `sums` as their new scores, one a class, after a join with every factor.

    The keys of these factors end here. `outer` joins are for plain SQL users: their optimiser
    would look for another order of inner ones.
    """
    # Complete tables first: they are inner joins, and drop no row.
    ordered = sorted(factors, key=lambda f: f.role not in COMPLETE)
    return render(
        "score_batch",
        names=NAMES,
        scored=scored,
        spent=[
            *(f"{NAMES.key}{f.number}" for f in factors),
            *(f"{NAMES.score}{j}" for j in range(len(sums))),
        ],
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
