"""A stored model opened for a change: its codebooks, counts, shape, options and history."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sqlbn.counts.margins import MARGINS
from sqlbn.encoding.categories import known_groups
from sqlbn.encoding.preparing import Encoding
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import SqlbnError, StoreError
from sqlbn.kinds.kind import Kind, Outline
from sqlbn.learners import learners
from sqlbn.learners.fit_options import FitOptions, stored_options
from sqlbn.store.damage import damaged_by
from sqlbn.store.history import (
    FILES,
    HISTORY,
    Step,
    read_history,
)
from sqlbn.store.spec import ModelSpec
from sqlbn.store.stored_variables import read_elementary
from sqlbn.structure.information import Matrix
from sqlbn.structure.shape import Shape, Structure
from sqlbn.updates.joined_codebooks import Books
from sqlbn.updates.stored_counts import StoredCounts


def options_of(spec: ModelSpec) -> FitOptions:
    """The options of the fit that a model comes from."""
    meta, smoothing = spec.meta, spec.smoothing
    rules: dict[str, Any] = {
        "m": smoothing.m,
        "backoff": "cell" if smoothing.backoff == "none" else smoothing.backoff,
        "unseen": smoothing.unseen,
    }
    if learners()[meta["learner"]].smooths is not None:
        rules |= {"estimate": smoothing.estimate, "missing": smoothing.missing}
    if smoothing.is_hierarchical:
        rules["smoothing"] = smoothing.rule
    if meta.get("weights", "none") != "none":
        rules["weights"] = meta["weights"]
    return stored_options(
        spec.target.name,
        meta["learner"],
        json.loads(meta["options"]),
        weight=meta["weight"] or None,
        weight_kind=meta.get("weight_kind") or None,
        where=meta["where"] or None,
        **rules,
    )


def encoding_of(workspace: Workspace, spec: ModelSpec) -> Encoding:
    """The encoding that other rows can follow."""
    bits = spec.meta.get("weight_bits", "")
    return Encoding(
        spec.target,
        spec.books,
        spec.meta["weight"] or None,
        int(bits) if bits else None,
        spec.meta.get("weight_kind") or None,
        known_groups(workspace, spec.books),
        read_elementary(workspace),
    )


def shape_of(workspace: Workspace, spec: ModelSpec) -> Shape:
    """The shape of the model in a workspace."""
    order = workspace.read("attributes", "position", order=["rank"])
    structure = Structure(tuple(int(row[0]) for row in order), spec.parents)
    k = spec.meta.get("selected_k")
    shape = Shape(structure, spec.selected, int(k) if k is not None else None)
    kind = options_of(spec).make_learner().kind
    return kind.read_shape(workspace, spec.meta, spec.books, shape)


@dataclass(frozen=True)
class StoredModel:
    """A model and what a change needs to know of it."""

    workspace: Workspace
    spec: ModelSpec

    def __post_init__(self) -> None:
        names = self.workspace.names()
        try:
            options_of(self.spec)
        except (SqlbnError, KeyError, TypeError, ValueError) as error:
            raise damaged_by(self.workspace, ValueError(f"meta.options: {error}")) from error
        for table in (MARGINS, "margin_families", HISTORY, FILES):
            if table not in names:
                raise StoreError(
                    f"the model has no table {table!r}: it was made by an earlier sqlbn, which "
                    "could not change models; fit it again"
                )

    @property
    def class_variable(self) -> int:
        """The variable that stands for the class."""
        return len(self.spec.books)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return bool(self.spec.meta["weight"])

    @property
    def rows(self) -> int:
        """Rows that it was learned from."""
        return int(self.spec.meta["rows"])

    @property
    def books(self) -> Books:
        """Its codebooks."""
        return Books(self.workspace, self.spec.target, self.spec.books)

    @cached_property
    def stored(self) -> StoredCounts:
        """Its counts."""
        return StoredCounts(self.workspace, self.class_variable)

    @cached_property
    def encoding(self) -> Encoding:
        """What other rows follow."""
        return encoding_of(self.workspace, self.spec)

    @cached_property
    def steps(self) -> list[Step]:
        """Its history."""
        return read_history(self.workspace)

    @cached_property
    def options(self) -> FitOptions:
        """Those of the fit that it comes from."""
        return options_of(self.spec)

    @cached_property
    def kind(self) -> Kind:
        """How it is derived again."""
        return self.options.make_learner().kind

    @cached_property
    def outline(self) -> Outline:
        """What of it outlives a change."""
        margins = self.stored.families(MARGINS).values()
        options = self.options
        return Outline(
            learner=options.make_learner(),
            smoothing=options.rules,
            names=tuple(b.name for b in self.spec.books),
            shape=shape_of(self.workspace, self.spec),
            has_pairs=self.class_variable < 2 or any(len(f) > 1 for f in margins),
            weightings=options.weightings,
        )

    def cmi(self) -> Matrix | None:
        """CMI as it was found; None where pairs were not counted."""
        rows = self.workspace.read("cmi", "attribute", "other", "cmi")
        if not rows:
            return None
        at = {book.name: i for i, book in enumerate(self.spec.books)}
        found = np.zeros((len(at), len(at)))
        for one, other, value in rows:
            found[at[one], at[other]] = value
        return found

    def meta(self, **changes: Any) -> dict[str, Any]:
        """Its meta table with some changes; a store adds name and version anew."""
        kept = {k: v for k, v in self.spec.meta.items() if k not in ("name", "version")}
        return {**kept, **changes}
