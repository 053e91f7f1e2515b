"""Leave-one-out surfaces: how they are read, and the reference they are compared with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import reference
from hypothesis import assume
from hypothesis import strategies as st
from limited import limited
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
    cases,
    rounds_the_same,
)

import sqlbn
from sqlbn.engines.duckdb_rows import DuckDBRows

TOLERANCE = 1e-10


# What one pass reports.
REPORTED = {
    "rmse": {"rmse"},
    "zero_one": {"rmse", "zero_one"},
    "log_loss": {"rmse", "log_loss"},
    "brier": {"rmse", "brier"},
    "mcc": {"rmse", "zero_one", "mcc"},
}


MANY_CLASSES = 14


def with_column(case: Case, name: str, kind: pa.DataType, values: Any) -> Case:
    """The case with other values in a column of the training rows."""
    place = case.schema.get_field_index(name)
    return replace(
        case,
        schema=case.schema.set(place, pa.field(name, kind)),
        train=[{**r, name: v} for r, v in zip(case.train, values, strict=True)],
        new=[{**r, name: None if name == TARGET else 1} for r in case.new],
    )


@st.composite
def selections(draw: st.DrawFn) -> Case:
    case = draw(cases())
    rng = random.Random(draw(st.integers(0, 2**32)))
    asked: dict[str, Any] = {key: v for key, v in case.options.items() if key != "k"}
    asked |= {
        "learner": "skdb",
        "kmax": rng.randint(0, 4),
        "select": rng.choice(("both", "both", "attributes", "k")),
        "loss": rng.choice(reference.LOSSES),
    }
    if rng.random() < 0.3:
        asked["keep"] = case.attributes
    case = replace(case, options=asked)
    size = len(case.train)
    if rng.random() < 0.15:
        case = with_column(case, TARGET, pa.int64(), rng.choices(range(MANY_CLASSES), k=size))
    if "weight" in asked and rng.random() < 0.3:
        case = with_column(case, WEIGHT, pa.int64(), [1] * size)
    if "weight" in asked and rng.random() < 0.3:
        asked["weight_kind"] = "importance"
    return case


def kdb_reference(case: Case) -> reference.Model:
    """The reference's KDB with k = kmax of the same rows."""
    options = {key: v for key, v in case.options.items() if key not in ("kmax", "select", "loss")}
    options |= {"learner": "kdb", "k": case.options["kmax"]}
    return reference.fit(case.train, case.attributes, TARGET, **options)


def learn(case: Case, **more: Any) -> sqlbn.Model:
    return sqlbn.fit(case.train_table, target=TARGET, **{**case.options, **more})


def loocv(model: sqlbn.Model) -> dict[str, dict[tuple[int, int], float]]:
    """For each loss the value of every (k', number of attributes); each cell is there once."""
    table = model._workspace.table("loocv")
    found: dict[str, dict[tuple[int, int], float]] = {}
    for k, n, loss, value in model._session.rows(
        f"SELECT k, n_attributes, loss, value FROM {table}"
    ):
        cells = found.setdefault(loss, {})
        assert (k, n) not in cells
        cells[k, n] = value
    return found


def same_surface(case: Case) -> None:
    ref = kdb_reference(case)
    assume(rounds_the_same(ref))
    kmax = case.options["kmax"]
    wanted = reference.loocv_surfaces(ref, kmax)
    with learn(case) as model:
        got = loocv(model)
    assert set(got) == REPORTED[case.options["loss"]]
    ks = [kmax] if case.options["select"] == "attributes" else range(kmax + 1)
    for loss, cells in got.items():
        assert set(cells) == {(k, n) for k in ks for n in range(len(ref.order) + 1)}
        for (k, n), value in cells.items():
            assert value == pytest.approx(wanted[loss][k][n], rel=0, abs=TOLERANCE), (loss, k, n)


@contextmanager
def forced(**limits: Any) -> Iterator[None]:
    """The third pass by joins, with other limits; `joins_once` as Spark does."""
    joins_once = limits.pop("joins_once", None)
    with pytest.MonkeyPatch.context() as patch, limited(**{"loo_form": "wide", **limits}):
        if joins_once is not None:
            patch.setattr(DuckDBRows, "joins_once", joins_once)
        yield


# What sqlbn may lose in a loss before it rounds it.
ROUNDING = 1e-14


def is_clear(wanted: list[list[float]], case: Case) -> bool:
    """Whether rounding is the same with the error of a sum for all losses near the best."""
    loss, select = case.options["loss"], case.options["select"]
    k, n = reference.choose(wanted, select, loss)
    near = [v for line in wanted for v in line if abs(v - wanted[k][n]) < 1e-11]
    low, high = ([round(v + e, reference.DECIMALS) for v in near] for e in (-ROUNDING, ROUNDING))
    return low == high
