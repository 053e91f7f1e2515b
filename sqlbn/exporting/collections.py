"""The part of a JSON document that is special to collections."""

from __future__ import annotations

from typing import Any

from sqlbn.draft import Draft
from sqlbn.exporting.tables import table_of
from sqlbn.scoring.collected import START_TABLE, Collected
from sqlbn.scoring.query import Scorer


def collection_scores(draft: Draft, scorer: Scorer, collected: Collected) -> dict[str, Any]:
    """Turns, blocks and tables of a collection."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for factor in sorted(scorer.factors, key=lambda f: f.level):
        if factor.role == "group":
            groups.setdefault(factor.table, []).append(factor.variables)
    found: dict[str, Any] = {
        "slots": list(collected.slots),
        "guarded": collected.guarded,
        "start": table_of(draft, START_TABLE),
        "turns": [{"attribute": i, "offset": first} for _, i, first in collected.numbered_turns]
        + [
            {"attribute": i, "offset": first}
            for i, first in zip(collected.large, collected.large_offsets, strict=False)
        ]
        + _sparse_turns(collected),
        "tables": [
            {
                "blocks": [list(block) for block in blocks],
                "size": max(collected.keys_of(block) for block in blocks),
                "table": table_of(draft, table),
            }
            for table, blocks in groups.items()
        ],
    }
    for role, name in (("cell", "cells"), ("parents", "parents")):
        for factor in scorer.factors:
            if factor.role == role:
                found[name] = table_of(draft, factor.table)
    return found


def _sparse_turns(collected: Collected) -> list[dict[str, Any]]:
    first = collected.large_offsets[-1]
    return [
        {
            "attribute": None,
            "offset": first + at,
            "sparse": {
                "child": term.child,
                "parents": list(term.parents),
                "cells": collected.cell_offsets[at],
                "parent_keys": collected.parent_offsets[at],
                "silent": {
                    str(v): list(collected.ignored[v])
                    for v in (term.child, *term.parents)
                    if collected.ignored[v]
                },
            },
        }
        for at, term in enumerate(collected.sparse)
    ]
