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
from sqlbn.learners.fit_options import FitOptions
from sqlbn.store.spec import FORMAT


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
    return {
        **program_meta(),
        "created_at": now(),
        "learner": options.make_learner().name,
        "options": options.stored,
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
