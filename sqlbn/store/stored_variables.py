"""The table `variables`: every column of the input by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from sqlbn.encoding.categories import category_numbers
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.value_classes import ColumnInformation, PartCounts, variable_of
from sqlbn.engines.sql import render
from sqlbn.engines.workspace import Workspace


def variables_of(
    workspace: Workspace, books: Sequence[Codebook], n_classes: int, elementary: Mapping[str, int]
) -> list[ColumnInformation]:
    """What the columns say about the class one by one, by the workspace's margins."""
    counts = _single_margins(workspace, len(books), n_classes)
    numbers = category_numbers(workspace)
    return [
        variable_of(b, counts[i], numbers.get(b.name, (0, 0))[0], elementary.get(b.name))
        for i, b in enumerate(books)
        if b.read_from is None
    ]


def write_variables(workspace: Workspace, variables: Sequence[ColumnInformation]) -> None:
    """The workspace's `variables`, in this order."""
    workspace.fill("variables", [v.row for v in variables])


def _single_margins(workspace: Workspace, n_attributes: int, n_classes: int) -> list[PartCounts]:
    """The counts of every attribute alone: each is stored under its own position."""
    condition = f"position < {n_attributes} AND n > 0"
    margins = workspace.table("margins")
    found = workspace.session.arrays(
        render("store/cells", counts=margins, type="BIGINT", condition=condition)
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
        workspace.read(
            "variables", "attribute", "elementary", where="elementary IS NOT NULL AND used"
        )
    )
