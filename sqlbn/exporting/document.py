"""A model as one JSON document: all that a program needs to score rows, without a database.

`format` is "sqlbn-model", `version` 2. A row becomes codes, codes become log scores, one a class,
and the probabilities are exp(score) / sum(exp(scores)); scores within `tie` of the highest go to
the first of them.

`attributes` (those in use): `position`, `name`, `type` (DuckDB's), `kind`, and three codes:
`missing` for NULL and NaN, `unseen` for what training did not have, `slots` is how many there are.
"numeric": `cuts` in ascending order; the code of x is the number of cuts below x, but `unseen`
where that is among the `empty`. Dates and moments are microseconds since 1970, times of day since
midnight. "categorical": `categories` gives the code of a value as DuckDB writes it as text.

Tables are `{"columns": […], "rows": […]}`. A key packs codes: key = 0; for each of `attributes`:
key = key * radix + code. `l_0, l_1, …` are a table's columns of classes.

`kind` says what `scores` holds:
- "product": start from each class's `log_prior`; from every one of `chains` add the row of the
  first table that has the key. A table with `silent` has none where the code of that attribute is
  among `codes`.
- "average": `implied` first: where the code of `attribute` has a row, codes that equal those in
  its columns `i_<position>` become `radices[position] - 1` (all by the codes before). Each of
  `turns` looks up offset + key of its attributes in `super`; those of the highest level found
  count. A turn's scores are its `l_j` plus, for every one of `tables`, the row at number *
  (product of radices) + key; where a `sparse` table has none, `b_j + ln(share)`, or 0 where the
  code is not below `counting[position]`. The score is the logarithm of the sum of the exponentials.
- "collection": each of `turns` looks up offset + code of its `attribute` in `start`, and sums
  `l_j` plus, for every one of `tables`, the row at number * size + key of the block's attributes
  at `repeat`. A turn with `sparse` has the row of `cells`, or of `parents`, or `unseen`, and
  nothing where a code is silent. Sums of one `child` are added up; their logarithms are added to
  `log_prior` (0 where `guarded` and the sum is 0).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlbn import __version__
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.workspace import Workspace
from sqlbn.exporting.script import listed_categories, table_of
from sqlbn.kinds.average.superparents import SUPER_TABLE, SuperParents, implied_table
from sqlbn.kinds.collection.collected import START_TABLE, Collected
from sqlbn.kinds.compiler import TIE, Scorer, chains_of
from sqlbn.store.spec import ModelSpec


def collection_scores(workspace: Workspace, scorer: Scorer, collected: Collected) -> dict[str, Any]:
    """Turns, blocks and tables of a collection."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for factor in sorted(scorer.factors, key=lambda f: f.level):
        if factor.role == "group":
            groups.setdefault(factor.table, []).append(factor.variables)
    found: dict[str, Any] = {
        "slots": list(collected.slots),
        "guarded": collected.guarded,
        "start": table_of(workspace, START_TABLE),
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
                "table": table_of(workspace, table),
            }
            for table, blocks in groups.items()
        ],
    }
    for role, name in (("cell", "cells"), ("parents", "parents")):
        for factor in scorer.factors:
            if factor.role == role:
                found[name] = table_of(workspace, factor.table)
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


VERSION = 2


def document_pieces(workspace: Workspace, spec: ModelSpec) -> Iterator[str]:
    """The JSON text, in pieces."""
    yield from json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(
        document(workspace, spec)
    )
    yield "\n"


def document(workspace: Workspace, spec: ModelSpec) -> dict[str, Any]:
    """The model as lists and dictionaries."""
    spec.require_class()
    scorer = spec.scorer(workspace.prefix)
    if scorer.supers is not None:
        kind, scores = "average", _average(workspace, scorer, scorer.supers)
    elif scorer.collected is not None and scorer.collected.n_turns:
        kind, scores = "collection", collection_scores(workspace, scorer, scorer.collected)
    else:
        kind, scores = "product", {"chains": _chains(workspace, scorer)}
    return {
        "format": "sqlbn-model",
        "version": VERSION,
        "sqlbn": __version__,
        "learner": spec.meta["learner"],
        "target": {"name": spec.target.name, "type": spec.target.sql_type},
        "tie": TIE,
        "classes": [
            {"value": value, "column": column, "log_prior": prior}
            for value, column, prior in zip(
                spec.class_names, spec.probability_columns, scorer.log_prior, strict=True
            )
        ],
        "attributes": [_attribute(workspace, v, scorer.books[v]) for v in scorer.used],
        "kind": kind,
        "scores": scores,
    }


def _attribute(workspace: Workspace, position: int, book: Codebook) -> dict[str, Any]:
    found: dict[str, Any] = {
        "position": position,
        "name": book.name,
        "type": book.sql_type,
        "kind": book.kind,
        "missing": book.missing if book.missing is not None else book.unseen,
        "unseen": book.unseen,
        "slots": book.slots,
    }
    if book.kind == "numeric":
        # Where training had no value at all, no interval was seen.
        found["cuts"] = list(book.cuts) if book.missing != 0 else None
        found["empty"] = list(book.empty)
        return found
    return {**found, "categories": dict(listed_categories(workspace, book.name))}


def _chains(workspace: Workspace, scorer: Scorer) -> list[list[dict[str, Any]]]:
    found = []
    for chain in chains_of(scorer.factors):
        tables = []
        for factor in chain:
            table = {
                "attributes": list(factor.variables),
                "radices": [scorer.books[v].slots for v in factor.variables],
                "table": table_of(workspace, factor.table),
            }
            child = factor.members[0]
            if factor.role == "parents" and scorer.ignored(child):
                table["silent"] = {"attribute": child, "codes": list(scorer.ignored(child))}
            tables.append(table)
        found.append(tables)
    return found


def _average(workspace: Workspace, scorer: Scorer, supers: SuperParents) -> dict[str, Any]:
    tables = []
    for factor in scorer.factors:
        book = scorer.books[factor.variables[0]]
        tables.append(
            {
                "attributes": list(factor.variables),
                "sparse": factor.role == "sparse",
                "share": scorer.smoothing.m / book.n_values,
                "table": table_of(workspace, factor.table),
            }
        )
    return {
        "radices": list(supers.radices),
        "drops": supers.drops,
        "counting": [supers.n_counting(v) for v in range(len(supers.radices))],
        "implied": [
            {"attribute": j, "table": table_of(workspace, implied_table(j))}
            for j, generals in enumerate(supers.implied)
            if generals
        ],
        "turns": _turns(supers.sets, supers.offsets),
        "super": table_of(workspace, SUPER_TABLE),
        "tables": tables,
    }


def _turns(sets: Sequence[Sequence[int]], offsets: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"attributes": list(subset), "offset": offset}
        for subset, offset in zip(sets, offsets, strict=True)
    ]
