"""The tables of a model's structure: `attributes`, `parents` and `cmi`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.value_types import plain_type
from sqlbn.engines.workspace import Workspace
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure


def write_structure(
    workspace: Workspace,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    selected: set[int],
    weights: Sequence[Sequence[float]] | None = None,
) -> None:
    """The workspace's `attributes`, `parents` and `cmi`; without weights the used count in full."""
    rank = {attribute: place for place, attribute in enumerate(structure.order)}
    workspace.fill(
        "attributes",
        [
            (
                i,
                b.name,
                b.kind,
                b.n_values,
                float(info.mi[i]),
                rank[i],
                i in selected,
                plain_type(b.sql_type),
                b.missing,
                float(i in selected) if weights is None else math.fsum(weights[i]),
                b.column,
            )
            for i, b in enumerate(books)
        ],
    )
    cmi = info.cmi
    workspace.fill(
        "parents",
        [
            (books[i].name, books[j].name, place, float(cmi[i, j]) if cmi is not None else None)
            for i in structure.order
            for place, j in enumerate(structure.parents[i])
        ],
    )
    workspace.fill(
        "cmi",
        [
            (books[i].name, books[j].name, float(cmi[i, j]))
            for i in range(len(books))
            for j in range(len(books))
            if i != j
        ]
        if cmi is not None
        else [],
    )
