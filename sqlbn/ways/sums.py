"""Products of sums over parent sets: collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlbn.collecting import Collectable, fit_collection
from sqlbn.describing import write_structure
from sqlbn.encode.codebook import Codebook
from sqlbn.learners.base import Collecting
from sqlbn.preparing import (
    Prepared,
)
from sqlbn.structure.shape import Shape
from sqlbn.ways.job import Fitted, Job


def fit_terms(job: Job) -> Fitted:
    """A product of sums: counts of the sets that the terms need, tables; what was chosen."""
    prepared, options = job.prepared, job.options
    collecting = options.make_learner().collecting
    assert collecting is not None
    model = fit_collection(
        job.draft,
        job.encoded,
        collectable(prepared, collecting),
        prepared.class_counts,
        options.smoothing,
        job.progress,
        job.shape,
    )
    found = model.shape
    write_structure(job.draft, prepared.books, model.info, found.structure, set(found.selected))
    return Fitted(super_parent_of(found, prepared.books))


def super_parent_of(shape: Shape, books: Sequence[Codebook]) -> dict[str, Any]:
    """The super parent of a collection, for the meta table."""
    return {} if shape.super_parent is None else {"superparent": books[shape.super_parent].name}


def collectable(prepared: Prepared, collecting: Collecting) -> Collectable:
    return Collectable(collecting, tuple(book.name for book in prepared.books))
