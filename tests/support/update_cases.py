"""Random sequences of changes, and what of a model must be the same after them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import assume
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
)

import sqlbn

Rows = list[dict[str, Any]]


# What says when and how a model was made, not what it is.
ABOUT = {"meta", "history", "history_files", "loocv", "member_loocv", "encodings"}


def is_counted(row: dict[str, Any]) -> bool:
    return row[TARGET] is not None and row.get(WEIGHT, 1) > 0


def table(case: Case, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, case.schema)


def contents(model: Any) -> dict[str, list[str]]:
    """Every table of a model; counts under the attributes they belong to, not their positions."""
    workspace, engine = model._workspace, model._session
    found = {}
    for name in set(workspace.names()) - ABOUT - {"families", "margin_families"}:
        rows = engine.rows(f"FROM {workspace.table(name)}")
        if name in ("counts", "margins"):
            described = "families" if name == "counts" else "margin_families"
            axes: dict[int, list[Any]] = {}
            for position, *axis in engine.rows(
                f"FROM {workspace.table(described)} ORDER BY position, axis"
            ):
                axes.setdefault(position, []).append(axis)
            rows = [(axes[position], key, n) for position, key, n in rows]
        found[name] = sorted(map(repr, rows))
    return found


def same_tables(one: Any, other: Any) -> None:
    got, wanted = contents(one), contents(other)
    assert sorted(got) == sorted(wanted)
    for name, rows in wanted.items():
        assert got[name] == rows, name


def refit(case: Case, rows: Rows, model: Any) -> Any:
    return sqlbn.fit(table(case, rows), TARGET, like=model, same_structure=True)


def changes(rng: random.Random, case: Case, inside: Rows) -> Iterator[tuple[str, Rows]]:
    """Batches that come and go; `inside` is what the caller keeps of the model's rows."""
    pool = [*case.train, *case.new]
    for _ in range(rng.randint(1, 5)):
        counted = [i for i, row in enumerate(inside) if is_counted(row)]
        if rng.random() < 0.5 and len(counted) > 1:
            places = rng.sample(range(len(inside)), rng.randint(1, len(inside)))
            kept = rng.choice(counted)
            yield "forget", [inside[i] for i in places if i != kept]
        else:
            yield "update", rng.choices(pool, k=rng.randint(0, 12))


def apply(inside: Rows, action: str, batch: Rows) -> None:
    if action == "update":
        inside += batch
        return
    for row in batch:
        del inside[next(i for i, other in enumerate(inside) if repr(other) == repr(row))]


def start(case: Case, rng: random.Random) -> Rows:
    rows = rng.sample(case.train, rng.randint(1, len(case.train)))
    assume(any(is_counted(r) for r in rows))
    return rows
