"""The tables that say what a model is: attributes, parents, information, meta."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np

from sqlbn import __version__
from sqlbn.data.no_target import NO_CLASS
from sqlbn.data.value_types import plain_type
from sqlbn.encoding.categories import category_numbers
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.preparing import Prepared
from sqlbn.encoding.value_classes import (
    PartCounts,
    Variable,
    variable_of,
)
from sqlbn.engines.progress import Progress
from sqlbn.engines.workspace import Workspace
from sqlbn.options import FitOptions
from sqlbn.store.spec import FORMAT
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure


def write_structure(
    workspace: Workspace,
    books: Sequence[Codebook],
    info: Information,
    structure: Structure,
    selected: set[int],
    weights: Sequence[float] | None = None,
) -> None:
    """The draft's `attributes`, `parents` and `cmi`; without weights the used count in full."""
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
                float(i in selected) if weights is None else weights[i],
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


def now() -> str:
    """The time, for people and programs."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def program_meta() -> dict[str, Any]:
    """Which programs wrote a model."""
    return {
        "format": FORMAT,
        "sqlbn": __version__,
        "duckdb": duckdb.__version__,
        "python": platform.python_version(),
        "dialect": "duckdb",
    }


def fit_meta(prepared: Prepared, options: FitOptions, progress: Progress) -> dict[str, Any]:
    """What a fit writes into `meta`."""
    training = prepared.training
    learner = options.make_learner()
    return {
        **program_meta(),
        "created_at": now(),
        "learner": learner.name,
        "options": {**learner.options(), **options.discretisation.options()},
        **({"elementary": prepared.learned.coarse} if prepared.learned.coarse else {}),
        "target": "" if training.target == NO_CLASS else training.target,
        "target_type": plain_type(prepared.class_book.sql_type),
        "m": options.smoothing.m,
        "backoff": options.smoothing.backoff,
        "estimate": options.smoothing.estimate,
        "missing": options.smoothing.missing,
        "unseen": options.smoothing.unseen,
        "weight": options.weight or "",
        "weight_bits": training.weights.fraction_bits if training.weights is not None else "",
        "weight_kind": training.weights.kind if training.weights is not None else "",
        "where": options.where or "",
        "source": training.source.label,
        "files": [{"path": f.name, "bytes": f.size} for f in training.source.files],
        "rows": training.rows,
        "rows_skipped": training.skipped,
        "seconds": {name: round(taken, 4) for name, taken in progress.seconds.items()},
    }


def variables_of(
    workspace: Workspace, books: Sequence[Codebook], n_classes: int, elementary: Mapping[str, int]
) -> list[Variable]:
    """What the attributes tell one by one, by the margins in the draft."""
    counts = _single_margins(workspace, len(books), n_classes)
    numbers = category_numbers(workspace)
    return [
        variable_of(b, counts[i], numbers.get(b.name, (0, 0))[0], elementary.get(b.name))
        for i, b in enumerate(books)
    ]


def write_variables(workspace: Workspace, variables: Sequence[Variable]) -> None:
    """The draft's `variables`, in this order."""
    workspace.fill("variables", [v.row for v in variables])


def _single_margins(workspace: Workspace, n_attributes: int, n_classes: int) -> list[PartCounts]:
    """The counts of every attribute alone: each is stored under its own position."""
    found = workspace.session.arrays(
        f"SELECT position, key::BIGINT AS key, n FROM {workspace.table('margins')} "
        f"WHERE position < {n_attributes} AND n > 0 ORDER BY position, key"
    )
    ends = np.searchsorted(found["position"], np.arange(n_attributes + 1))
    keys, n = found["key"], found["n"]
    return [
        PartCounts(keys[a:b] // n_classes, keys[a:b] % n_classes, n[a:b], n_classes)
        for a, b in pairwise(ends.tolist())
    ]


def read_elementary(workspace: Workspace) -> dict[str, int]:
    """From how many cells the parts of attributes were found; a model of an early sqlbn: none."""
    if "variables" not in workspace.names():
        return {}
    return dict(
        workspace.session.rows(
            f"SELECT attribute, elementary FROM {workspace.table('variables')} "
            "WHERE elementary IS NOT NULL AND used"
        )
    )
