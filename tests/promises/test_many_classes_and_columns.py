"""1,000 classes or 2,000 columns are fitted and scored in statements of bounded size.

Small tables go the ways of large ones by lowered limits, and give the brute-force reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from limited import limit, limited
from loo_cases import REPORTED, loocv, same_surface, selections
from random_tables import (
    Case,
    as_if_large,
    cases,
    examples,
    learn,
    refer,
    rounds_the_same,
    same_losses,
    same_predictions,
)

import sqlbn
from sqlbn.engines.limits import Limits, added, in_blocks
from sqlbn.engines.statement_log import Statement, StatementLog
from sqlbn.errors import SqlbnWarning


@contextmanager
def as_if_wide(joins: int = 1, lookups: int = 2, columns: int = 2) -> Iterator[None]:
    """Limits so low that any model is scored in steps, and any table looked at in blocks."""
    with limited(
        **{"scoring_joins": 0, "scoring_lookups": 0, "step_joins": joins, "step_lookups": lookups},
        **{"statement_columns": columns, "chain_classes": 0, "loo_form": "arrays"},
    ):
        yield


def table_of(classes: int, columns: int, rows: int = 60) -> pa.Table:
    rng = np.random.default_rng(classes + columns)
    y = np.arange(rows) % classes
    found = {f"c{i}": (y * (i + 3) + rng.integers(0, 3, rows)) % 5 for i in range(columns)}
    return pa.table({**found, "class": [f"k{v}" for v in y]})


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that engines run."""
    found: list[str] = []

    def noted(self: StatementLog, statement: Statement) -> None:
        found.append(statement.sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StatementLog, "begin", noted)
        yield found


# -- the same results -------------------------------------------------------------------------


@examples(25, 12)
@given(cases(), st.sampled_from((1, 3)), st.sampled_from((None, 1, 30)))
def test_scores_in_steps_are_those_of_the_reference(
    case: Case, joins: int, large: int | None
) -> None:
    ref = refer(case)
    assume(rounds_the_same(ref))
    with (
        as_if_wide(joins, 2 * joins),
        as_if_large(large) if large is not None else nullcontext(),
        learn(case) as model,
    ):
        same_predictions(model, ref, case)
        same_losses(model, ref, case)


@examples(25, 12)
@given(selections(), st.sampled_from((1, 40, 1 << 22)))
def test_leave_one_out_in_arrays_is_retraining(case: Case, estimates: int) -> None:
    with as_if_wide(), pytest.MonkeyPatch.context() as patch:
        limit(patch, loo_array_estimates=estimates)
        same_surface(case)


@pytest.mark.parametrize("loss", sorted(REPORTED))
@pytest.mark.parametrize("sample", [None, 40])
def test_leave_one_out_in_arrays_is_that_of_queries(
    fruit: pa.Table, loss: str, sample: int | None
) -> None:
    options = {"learner": "skdb", "kmax": 2, "loss": loss, "loocv_sample": sample}
    with sqlbn.fit(fruit, "kind", **options) as model:
        wanted = loocv(model)
    with (
        statements() as run,
        as_if_wide(),
        sqlbn.fit(fruit, "kind", **options) as model,
    ):
        got = loocv(model)
    assert not any("loo_prior" in sql for sql in run)
    assert set(got) == set(wanted) == REPORTED[loss]
    for name in got:
        assert got[name] == pytest.approx(wanted[name], rel=0, abs=1e-12)


@pytest.mark.parametrize("learner", ["nb", "kdb", "tan", "skdb"])
def test_the_same_predictions_in_the_same_order(fruit: pa.Table, learner: str) -> None:
    rows = pa.concat_tables([fruit] * 3)
    with sqlbn.fit(fruit, "kind", learner) as model:
        wanted = model.predict(rows)
        losses = model.evaluate(fruit).losses
        with as_if_wide():
            got = model.predict(rows)
            assert model.evaluate(fruit).losses == pytest.approx(losses, abs=1e-12)
            last = model.predict(rows, exclude=["kind"], order_by=["width"])
        left = model._session.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")
        assert {name for (name,) in left} == set(model._workspace.names())
    assert got.column_names == wanted.column_names
    assert "kind" not in last.column_names
    for name in got.column_names:
        one, other = got[name].to_pylist(), wanted[name].to_pylist()
        if name.startswith("p_"):
            assert one == pytest.approx(other, abs=1e-12)
        else:
            assert repr(one) == repr(other)


def test_sums_of_many_terms_are_not_deep() -> None:
    terms = [f"{i}::DOUBLE" for i in range(5000)]
    assert duckdb.sql(f"SELECT {added(terms)}").fetchall() == [(sum(range(5000)),)]
    assert duckdb.sql(f"SELECT {added(terms[:300], 2)}").fetchall() == [(sum(range(300)),)]
    assert added(["a", "b", "c"]) == "a + b + c"
    assert added(["a", "b", "c"], 2) == "(a) + (b + c)"
    assert [len(block) for block in in_blocks(range(7), 3)] == [2, 2, 3]
    assert in_blocks([], 3) == []


# -- bounded statements -----------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "columns", "learner"), [(300, 8, "nb"), (300, 3, "skdb")])
def test_no_statement_grows_with_classes_times_columns(
    classes: int, columns: int, learner: str, tmp_path: Path
) -> None:
    """With 300 classes: an expression a class is bounded, one a class and column is not."""
    table = table_of(classes, columns, 2 * classes)
    with (
        statements() as run,
        sqlbn.fit(table, "class", learner, store=tmp_path / "m.duckdb", name="m") as model,
        limited(scoring_lookups=200, step_lookups=100),
    ):
        scored = model.predict(table)
    assert scored.num_columns == columns + 1 + 1 + classes
    longest = max(len(re.findall(r"\.l_\d+", sql)) for sql in run if "MACRO" not in sql)
    assert longest <= 2 * 100
    macros = [sql for sql in run if "CREATE MACRO" in sql]
    assert len(macros) == 1
    assert len(macros[0]) < 1500 * classes


def test_many_columns_are_looked_at_in_blocks() -> None:
    table = table_of(2, 120, 40)
    with as_if_wide(4, 100, 50), statements() as run, sqlbn.fit(table, "class", "nb") as model:
        made = len(run)
        scored = model.predict(table)
        joins = max(sql.count(" JOIN ") + sql.count("\nJOIN ") for sql in run[made:])
        wanted = model.evaluate(table).losses["zero_one"]
    assert 4 <= joins <= 5
    assert max(sql.count("max(") for sql in run[:made]) <= 2 * 50
    assert max(sql.count("FILTER (WHERE __sqlbn_c") for sql in run) == 40
    wrong = np.mean([a != b for a, b in zip(scored["prediction"], scored["class"], strict=True)])
    assert wanted == pytest.approx(wrong)


# -- SQL users --------------------------------------------------------------------------------


def test_a_macro_that_would_be_planned_for_minutes_says_what_to_do(tmp_path: Path) -> None:
    table, store = table_of(3, 6), tmp_path / "m.duckdb"
    few = Limits(macro_lookups=1)
    with pytest.warns(SqlbnWarning, match=r"no macro `predict`.*`sqlbn.predict`"):
        sqlbn.fit(table, "class", "nb", store=store, name="big", limits=few).close()
    sqlbn.fit(table, "class", "nb", store=store, name="small").close()
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        con.register("mine", table)
        assert len(con.sql("FROM m.small.predict('mine')").fetchall()) == table.num_rows
        with pytest.raises(duckdb.Error, match=r"too large for one query .*`sqlbn predict`"):
            con.sql("FROM m.big.predict('mine')").fetchall()
    with sqlbn.load(store, "big") as model:
        assert model.predict(table).num_rows == table.num_rows


def test_the_macro_with_many_classes_keeps_its_joins_as_written(tmp_path: Path) -> None:
    """20 inner joins of 450 columns are put into another order for minutes."""
    table, store = table_of(3, 6), tmp_path / "m.duckdb"
    few = Limits(scoring_lookups=1)
    with sqlbn.fit(table, "class", "nb", store=store, name="m", limits=few) as model:
        wanted = model.predict(table).to_pylist()
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{store}' AS s (READ_ONLY)")
        con.register("mine", table)
        found = con.sql("FROM s.m.predict('mine')").to_arrow_table().to_pylist()
        ((text,),) = con.sql(
            "SELECT macro_definition FROM duckdb_functions() WHERE function_name = 'predict'"
        ).fetchall()
    assert "LEFT JOIN" in text
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other)


# -- too much ---------------------------------------------------------------------------------


def test_leave_one_out_that_does_not_fit_goes_by_another_form(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "skdb", kmax=1) as model:
        wanted = model.loocv
    for limits in (Limits(loo_array_share=0.0), Limits(loo_array_share=0.0, race_share=0.0)):
        with sqlbn.fit(fruit, "kind", "skdb", kmax=1, limits=limits) as model:
            found = model.loocv
        assert found.drop_columns("value") == wanted.drop_columns("value")
        assert found["value"].to_pylist() == pytest.approx(wanted["value"].to_pylist(), abs=1e-12)


def test_leave_one_out_that_takes_long_says_what_a_sample_takes(fruit: pa.Table) -> None:
    with as_if_wide(), pytest.MonkeyPatch.context() as patch:
        limit(patch, loo_estimates_warned=1)
        with pytest.warns(SqlbnWarning, match=r"will take about .* minutes; .*loocv.sample"):
            sqlbn.fit(fruit, "kind", "skdb", kmax=1).close()
