"""Ways for many columns agree with those for many rows: arrays, products of matrices, long form.

All of them are chosen by limits, so that both ways of each run on few rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limited import limited
from random_tables import Case, cases, examples, learn, tables

import sqlbn
from sqlbn.counts.counter import n_log_n
from sqlbn.counts.pair_products import n_tiles, pair_sums
from sqlbn.encoding.codebook import Codebook, Values, value_sql
from sqlbn.engines.dialects import DUCKDB
from sqlbn.engines.limits import Limits
from sqlbn.kinds.ensemble import ensemble_fit
from sqlbn.kinds.product.factor_tables import fuse

# Every count by a query, and every value sorted by one.
QUERIES: dict[str, Any] = {
    "array_share": 0.0,
    "copied_rows": 0,
    "quantile_array_rows": 0,
    "product_share": 0.0,
}
# Everything in arrays, pairs of some values at a time.
ARRAYS: dict[str, Any] = {
    **{"block_query_seconds": 1.0, "product_values": 7, "product_cells": 99, "product_share": 1.0},
    **{"product_row_seconds": 0.0, "product_cell_seconds": 0.0},
}
# Pairs are too many to be stored.
MANY_PAIRS: dict[str, Any] = {"stored_margin_cells": 0}


# -- sums of n ln n ------------------------------------------------------------------------------


@examples(60, 30)
@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=40), st.sampled_from((1, 2**-20)))
def test_sums_of_n_log_n_are_exact_to_the_last_bits(counts: list[int], unit: float) -> None:
    numbers = np.array(counts, dtype=float) * unit
    exact = math.fsum(n * math.log(n) for n in numbers.tolist() if n > 0)
    size = math.fsum(abs(n * math.log(n)) for n in numbers.tolist() if n > 0)
    assert abs(n_log_n(numbers) - exact) <= 1e-15 * size + 1e-15 * float(numbers.sum())
    assert n_log_n(numbers) == n_log_n(numbers[::-1])


@examples(40, 20)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.integers(0, 60),
    st.integers(0, 2**20),
    st.booleans(),
    st.booleans(),
    st.sampled_from((1, 7, 1024)),
)
def test_products_of_matrices_give_the_sums_of_counts(
    cards: list[int], n: int, seed: int, weighted: bool, bare: bool, most: int
) -> None:
    rng, d = np.random.default_rng(seed), len(cards)
    cards = [*cards, 3]
    codes = [rng.integers(0, card, n).astype(np.uint8) for card in cards]
    w = rng.integers(1, 2**30, n) / 2**20 if weighted else None
    limits, advanced = Limits(product_values=most, product_cells=30), list[None]()
    found = pair_sums(codes, w, cards, bare, limits, 2, lambda: advanced.append(None))
    assert len(advanced) == n_tiles(cards, limits)
    pairs = list(combinations(range(d), 2))
    wanted = [(d,), *((v,) for v in range(d)), *((v, d) for v in range(d))]
    wanted += [(*pair, d) for pair in pairs] + (pairs if bare else [])
    assert set(found) == set(wanted)
    for family in wanted:
        keys = np.ravel_multi_index([codes[v] for v in family], [cards[v] for v in family])
        assert found[family] == n_log_n(np.bincount(keys, w)), family


# -- fits ----------------------------------------------------------------------------------------


def everything(case: Case, **limits: Any) -> dict[str, Any]:
    """The tables of a model: also its counts, and the cut points."""
    with limited(**limits), learn(case) as model:
        found: dict[str, Any] = tables(model)
        for name in ("counts", "cuts", "margins"):
            table = model._workspace.read(name)
            found[name] = sorted(table, key=repr)
        return found


@examples(40, 15)
@given(cases(), st.booleans())
def test_a_fit_in_arrays_is_that_of_queries(case: Case, many_pairs: bool) -> None:
    more = MANY_PAIRS if many_pairs else {}
    assert everything(case, **more, **ARRAYS) == everything(case, **more, **QUERIES)


@pytest.mark.parametrize("learner", ["kdb", "tan", "fan", "skdb"])
def test_pairs_in_products_are_those_of_queries(fruit: pa.Table, learner: str) -> None:
    found = []
    for ways in (ARRAYS, QUERIES):
        with limited(**MANY_PAIRS, **ways), sqlbn.fit(fruit, "kind", learner) as model:
            found.append(repr([tables(model), model.predict(fruit).to_pylist()]))
    assert found[0] == found[1]


def test_infinite_and_negative_zero_are_values(tmp_path: Path) -> None:
    numbers = [math.inf, -math.inf, -0.0, 0.0, math.nan, None, 1.0, 2.0, -0.0, 3.0] * 6
    rows = pa.table({"x": numbers, "y": ["a", "b", "c"] * 20})
    cuts = []
    for ways in (ARRAYS, QUERIES):
        with limited(**ways), sqlbn.fit(rows, "y", "nb", numeric=["x"], keep=["x"]) as model:
            cuts.append(repr(model._workspace.read("cuts", order=["code"])))
    assert cuts[0] == cuts[1]


# -- codes ---------------------------------------------------------------------------------------

ODD = ["NULL", "'x'", "'1.5'", "'1'", "'2'", "'nan'", "'-3'", "'inf'", "'true'", "''"]


@pytest.mark.parametrize("same_type", [True, False])
@pytest.mark.parametrize(
    "book",
    [
        Codebook("v", "DOUBLE", "numeric", 3, cuts=(0.0, 1.5)),
        Codebook("v", "DOUBLE", "numeric", 4, missing=3, cuts=(0.0, 1.5)),
        Codebook("v", "DOUBLE", "numeric", 1, missing=0),
        Codebook("v", "BIGINT", "categorical", 3, categories=("1", "2", "9")),
        Codebook("v", "BIGINT", "categorical", 3, missing=2, categories=("1", "2")),
        Codebook("v", "VARCHAR", "categorical", 3, missing=2, categories=("x", "1.5")),
        Codebook("v", "BOOLEAN", "categorical", 2, categories=("false", "true")),
    ],
)
def test_codes_of_values_computed_first_are_the_same(book: Codebook, same_type: bool) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT unnest([{', '.join(ODD)}]) AS v")
        if same_type:
            connection.execute(
                f"CREATE OR REPLACE TABLE t AS SELECT TRY_CAST(v AS {book.sql_type}) AS v FROM t"
            )
        found = []
        for most in (0, 1):
            values = Values(1, most)
            code = values.code_sql(book, "i.v", "d0", same_type, DUCKDB)
            # A column that is its own value has nothing to be computed first.
            computed = value_sql(book, "i.v", same_type, DUCKDB) != "i.v"
            assert bool(values.names) == (most == 0 and computed)
            sql = f"SELECT {code} FROM {values.over('t')} AS i"
            found.append(connection.execute(sql).fetchall())
        assert found[0] == found[1]


# -- the long form -------------------------------------------------------------------------------

# Limits that leave no choice.
LONG: dict[str, Any] = {
    **{"form_worth_seconds": 0.0, "long_plan_costs": (0.0, 0.0, 0.0)},
    **{"long_row_costs": (0.0, 0.0, 0.0), "long_tables_at_once": 5},
}
WIDE: dict[str, Any] = {"form_worth_seconds": math.inf}


def assert_same(got: pa.Table, wanted: pa.Table) -> None:
    assert got.column_names == wanted.column_names
    for name in got.column_names:
        one, other = got[name].to_pylist(), wanted[name].to_pylist()
        if name.startswith("p_"):
            assert one == pytest.approx(other, rel=0, abs=1e-12)
        else:
            assert repr(one) == repr(other)


def wide(rows: int = 200, columns: int = 13, seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    found: dict[str, Any] = {}
    for i in range(columns):
        value = np.where(rng.random(rows) < 0.3, y * (i % 5), rng.integers(0, 6, rows))
        gone = rng.random(rows) < (0.1 if i % 7 == 0 else 0.0)
        made: list[Any] = [f"v{v}" for v in value] if i % 2 else (value * 1.5).tolist()
        found[f"c{i}"] = [None if g else v for v, g in zip(made, gone, strict=True)]
    return pa.table({**found, "w": rng.integers(1, 4, rows), "y": [f"k{v}" for v in y]})


def new_rows() -> pa.Table:
    """Rows with values never seen, and missing ones where there were none."""
    table = wide(60, seed=4)
    texts = ["new" if at % 5 == 0 else v for at, v in enumerate(table["c1"].to_pylist())]
    gone = [None if at % 4 == 0 else v for at, v in enumerate(table["c2"].to_pylist())]
    at = table.column_names.index
    table = table.set_column(at("c1"), "c1", pa.array(texts))
    return table.set_column(at("c2"), "c2", pa.array(gone, pa.float64()))


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "nb"},
        {"learner": "kdb", "k": 1},
        {"learner": "kdb", "k": 2, "weight": "w"},
        {"learner": "kdb", "k": 2, "backoff": "parents"},
        {"learner": "kdb", "k": 2, "smoothing": "hierarchical", "weights": "levels"},
        {"learner": "kdb", "k": 1, "missing": "ignore"},
        {"learner": "tan", "unseen": "smoothed"},
        {"learner": "eskdb", "members": 3, "kmax": 2},
        {"learner": "eskdb", "members": 3, "kmax": 2, "mean": "arithmetic"},
        {"learner": "eskdb", "members": 2, "smoothing": "hierarchical", "weights": "levels"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("values", [1 << 20, 60])
def test_the_long_form_predicts_the_same(
    tmp_path: Path, options: dict[str, Any], values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The macro and the program, on rows with values never seen; some chains are joined as ever."""
    factors = {"factor_values": values, "factor_values_least": values, "fused_keys": 64}
    store, rows = tmp_path / "m.duckdb", new_rows()
    exclude = [] if "weight" in options else ["w"]
    options = {**options, "exclude": exclude, "store": store, "name": "m"}
    mean = options.pop("mean", None)
    if mean is not None:
        choose = ensemble_fit.choose_mean
        chosen = lambda *given: replace(choose(*given), mean=mean)  # noqa: E731
        monkeypatch.setattr(ensemble_fit, "choose_mean", chosen)
    with sqlbn.fit(wide(), "y", limits=Limits(**factors, **LONG), **options) as model:
        found, losses = model.predict(rows), model.evaluate(rows).losses
    with sqlbn.load(store, "m", limits=Limits(**WIDE)) as model:
        wanted = model.predict(rows)
        assert_same(found, wanted)
        assert losses == pytest.approx(model.evaluate(rows).losses, rel=1e-12, abs=1e-12)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{store}' AS s (READ_ONLY)")
        connection.register("rows", rows)
        connection.execute("CREATE TABLE t AS FROM rows")
        listed = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert ("predict_long",) in listed
        assert_same(connection.sql("FROM s.m.predict('t')").to_arrow_table(), wanted)


def test_few_factors_are_joined_one_by_one(tmp_path: Path, fruit: pa.Table) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(fruit, "kind", "nb", store=store, name="m").close()
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{store}' AS s (READ_ONLY)")
        listed = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert ("predict_long",) not in listed


def fused_one_by_one(
    families: list[tuple[int, ...]], slots: list[int], most: int
) -> list[list[tuple[int, ...]]]:
    left, groups = list(families), []
    while left:
        group = [left.pop(0)]
        union = set(group[0])
        while left:
            growth = [math.prod(slots[v] for v in f if v not in union) for f in left]
            best = growth.index(min(growth))
            if math.prod(slots[v] for v in union) * growth[best] > most:
                break
            union |= set(left[best])
            group.append(left.pop(best))
        groups.append(group)
    return groups


@examples(100, 40)
@given(st.randoms(use_true_random=False), st.sampled_from((1, 4, 30, 200, 2048)))
def test_tables_are_fused_as_if_every_family_were_tried(rng: Any, most: int) -> None:
    d = rng.randint(1, 12)
    slots = [rng.choice((1, 2, 3, 5, 9)) for _ in range(d)]
    families = [
        (i, *rng.sample([j for j in range(d) if j != i], rng.randint(0, min(d - 1, 3))))
        for i in range(d)
    ]
    rng.shuffle(families)
    assert fuse(families, slots, most) == fused_one_by_one(families, slots, most)
