"""Prediction: rows in, rows out; probabilities; wide, sparse and many-valued tables."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import reference

import sqlbn
from sqlbn.errors import ColumnError, OptionError


@pytest.fixture(scope="module")
def model(fruit: pa.Table) -> Any:
    with sqlbn.fit(fruit, "kind", "kdb", k=2) as fitted:
        yield fitted


def probabilities(scored: pa.Table) -> np.ndarray:
    names = [c for c in scored.column_names if c.startswith("p_")]
    return np.column_stack([scored[c].to_numpy() for c in names])


def rows_as_text(scored: pa.Table) -> list[str]:
    """Equal to the last bit, in order; as text, because NaN is not equal to itself."""
    return [repr(row) for row in scored.to_pylist()]


def numbered(table: pa.Table) -> pa.Table:
    return table.append_column("number", pa.array(range(table.num_rows)))


# -- rows and columns -------------------------------------------------------------------------


def test_rows_keep_their_number_and_order(model: sqlbn.Model, fruit: pa.Table) -> None:
    rows = numbered(pa.concat_tables([fruit] * 20))
    scored = model.predict(rows)
    assert scored["number"].to_pylist() == list(range(6000))


def test_extra_columns_are_carried_and_ours_come_last(model: sqlbn.Model, fruit: pa.Table) -> None:
    rows = numbered(fruit)
    scored = model.predict(rows)
    ours = ["prediction", "p_apple", "p_pear", "p_plum"]
    assert scored.column_names == [*rows.column_names, *ours]
    assert scored["colour"].to_pylist() == rows["colour"].to_pylist()


def test_the_target_may_be_absent(model: sqlbn.Model, fruit: pa.Table) -> None:
    with_target = model.predict(fruit)["prediction"].to_pylist()
    without = model.predict(fruit.drop_columns(["kind"]))["prediction"].to_pylist()
    assert without == with_target


def test_exclude_leaves_columns_out(model: sqlbn.Model, fruit: pa.Table) -> None:
    scored = model.predict(numbered(fruit), exclude=["kind", "number"])
    assert "kind" not in scored.column_names
    assert "number" not in scored.column_names


def test_an_excluded_attribute_is_scored_and_not_carried(
    model: sqlbn.Model, fruit: pa.Table
) -> None:
    found, whole = model.predict(fruit, exclude=["colour"]), model.predict(fruit)
    assert found.column_names == [name for name in whole.column_names if name != "colour"]
    assert found.column("p_apple").equals(whole.column("p_apple"))


def test_order_by_sorts(model: sqlbn.Model, fruit: pa.Table) -> None:
    rows = numbered(fruit)
    scored = model.predict(rows, order_by=["spots", "number"])
    keys = list(zip(scored["spots"].to_pylist(), scored["number"].to_pylist(), strict=True))
    assert keys == sorted(keys)


def test_order_by_an_unknown_column(model: sqlbn.Model, fruit: pa.Table) -> None:
    with pytest.raises(ColumnError, match="'nowhere'"):
        model.predict(fruit, order_by=["nowhere"])


def test_where_chooses_rows(model: sqlbn.Model, fruit: pa.Table) -> None:
    scored = model.predict(fruit, where="spots = 2")
    assert set(scored["spots"].to_pylist()) == {2}


def test_no_rows_give_no_rows(model: sqlbn.Model, fruit: pa.Table) -> None:
    assert model.predict(fruit.slice(0, 0)).num_rows == 0


def test_columns_are_found_whatever_their_case(model: sqlbn.Model, fruit: pa.Table) -> None:
    shouted = fruit.rename_columns([c.upper() for c in fruit.column_names])
    found = model.predict(shouted)["prediction"].to_pylist()
    assert found == model.predict(fruit)["prediction"].to_pylist()


def test_the_prediction_has_the_type_of_the_target() -> None:
    rows = pa.table({"x": ["a", "b"] * 5, "y": pa.array([3, 70_000] * 5, pa.int32())})
    with sqlbn.fit(rows, "y", "nb") as fitted:
        assert fitted.predict(rows)["prediction"].to_pylist() == [3, 70_000] * 5


# -- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv", "PARQUET"])
def test_out_writes_the_same_rows(
    model: sqlbn.Model, fruit: pa.Table, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"scored.{ending}"
    assert model.predict(fruit, out=path) == path
    read = pa_csv.read_csv(path) if ending == "csv" else pq.read_table(path)
    wanted = model.predict(fruit)
    assert read["prediction"].to_pylist() == wanted["prediction"].to_pylist()
    np.testing.assert_allclose(probabilities(read), probabilities(wanted), rtol=1e-12)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_out_replaces_a_file_only_when_done(
    model: sqlbn.Model, fruit: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "scored.parquet"
    path.write_text("the old file")
    with pytest.raises(sqlbn.SqlbnError):
        model.predict(fruit, out=path, where="error('stop') IS NULL", trust_sql=True)
    assert path.read_text() == "the old file"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_out_needs_a_known_ending(model: sqlbn.Model, fruit: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must end in \.parquet or \.csv"):
        model.predict(fruit, out=tmp_path / "scored.xlsx")
    with pytest.raises(OptionError, match="the folder does not exist"):
        model.predict(fruit, out=tmp_path / "no" / "scored.csv")


def test_a_file_is_not_scored_over_itself(
    model: sqlbn.Model, fruit: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(fruit, path)
    with pytest.raises(sqlbn.SqlbnError, match="is a file that is read; write to another"):
        model.predict(path, out=path)
    assert pq.read_table(path).column_names == fruit.column_names


# -- probabilities ----------------------------------------------------------------------------


def test_probabilities_sum_to_one(model: sqlbn.Model, fruit: pa.Table) -> None:
    sums = probabilities(model.predict(fruit)).sum(axis=1)
    assert np.abs(sums - 1).max() < 1e-9


def test_the_prediction_is_the_most_probable_class(model: sqlbn.Model, fruit: pa.Table) -> None:
    scored = model.predict(fruit)
    best = probabilities(scored).argmax(axis=1)
    names = ["apple", "pear", "plum"]
    assert scored["prediction"].to_pylist() == [names[i] for i in best]


def test_a_tie_goes_to_the_first_class() -> None:
    rows = pa.table({"x": ["a", "b"] * 4, "y": ["v", "v", "u", "u"] * 2})
    with sqlbn.fit(rows, "y", "nb") as fitted:
        assert set(fitted.predict(rows)["prediction"].to_pylist()) == {"u"}


def wide_table(attributes: int, values: int, rows: int) -> pa.Table:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, rows)
    columns = {
        f"a{i}": (rng.integers(0, values, rows) + 2 * y).astype("int8") for i in range(attributes)
    }
    return pa.table({**columns, "y": y})


def check_wide(rows: pa.Table) -> None:
    names = [name for name in rows.column_names if name != "y"]
    strange = pa.table({name: pa.array([127] * 5, pa.int8()) for name in names})
    with sqlbn.fit(rows, "y", "nb") as fitted:
        for data in (rows, strange):
            p = probabilities(fitted.predict(data))
            assert len(p) == data.num_rows
            assert np.isfinite(p).all()
            assert np.abs(p.sum(axis=1) - 1).max() < 1e-9


def test_a_wide_table_does_not_underflow() -> None:
    """300 attributes of 14 values: products near 1e-340."""
    check_wide(wide_table(300, 12, 1000))


@pytest.mark.slow
def test_a_wide_table_of_joined_dictionaries() -> None:
    """Past 16 categories each attribute is a join; their planning was cubic in their number."""
    check_wide(wide_table(300, 30, 2000))


@pytest.mark.parametrize("learner", ["nb", "kdb"])
def test_a_hundred_thousand_categories(learner: str) -> None:
    rng = np.random.default_rng(4)
    code = rng.permutation(np.repeat(np.arange(100_000), 2))
    y = (code + (rng.random(200_000) < 0.1)) % 2
    rows = pa.table({"who": [f"u{c}" for c in code], "x": rng.integers(0, 3, 200_000), "y": y})
    with sqlbn.fit(rows, "y", learner) as fitted:
        assert fitted.attributes.to_pylist()[0]["n_values"] == 100_000
        scored = fitted.predict(rows)
        assert scored.num_rows == 200_000
        assert np.mean(scored["prediction"].to_numpy() == y) > 0.9
        new = fitted.predict(pa.table({"who": ["nobody", None], "x": [1, 1]}))
    assert all(abs(p.sum() - 1) < 1e-9 for p in probabilities(new))


# -- back-off ---------------------------------------------------------------------------------


def many_valued(rows: int, seed: int) -> list[dict[str, Any]]:
    """Four attributes of up to 60 values that hang together, so that chains are sparse."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        y = int(rng.integers(0, 3))
        a = int(rng.integers(0, 60))
        b = (a + int(rng.integers(0, 25))) % 60
        c = (a + b + y + int(rng.integers(0, 9))) % 50
        d = (c * 2 + int(rng.integers(0, 20))) % 60
        found.append({"a": f"{a}", "b": f"{b}", "c": f"{c}", "d": f"{d}", "y": f"c{y}"})
    return found


@pytest.mark.parametrize("backoff", ["cell", "parents"])
def test_sparse_chains_back_off_as_the_reference_does(backoff: str) -> None:
    train, new = many_valued(700, 1), many_valued(60, 2)
    new[0]["a"], new[1]["b"], new[2]["c"] = "unseen", "unseen", None
    names = ["a", "b", "c", "d"]
    brute = reference.fit(train, names, "y", "kdb", k=3, backoff=backoff)
    wanted = [[float(p) for p in row] for row in reference.probabilities(brute, new)]
    with sqlbn.fit(pa.Table.from_pylist(train), "y", "kdb", k=3, backoff=backoff) as fitted:
        chains = {row["role"] for row in factor_rows(fitted)}
        found = probabilities(fitted.predict(pa.Table.from_pylist(new)))
    assert "cell" in chains  # else this test would not test the chains
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def factor_rows(fitted: sqlbn.Model) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = fitted._table("factors", "factor").to_pylist()
    return found


# -- save and load ----------------------------------------------------------------------------


@pytest.mark.parametrize(("learner", "options"), [("nb", {}), ("tan", {}), ("kdb", {"k": 3})])
def test_a_stored_model_predicts_the_same(
    fruit: pa.Table, tmp_path: Path, learner: str, options: dict[str, Any]
) -> None:
    with sqlbn.fit(fruit, "kind", learner, **options) as fitted:
        fitted.save(tmp_path / "m.duckdb", "fruit")
        wanted = fitted.predict(fruit)
    with sqlbn.load(tmp_path / "m.duckdb", "fruit") as loaded:
        assert rows_as_text(loaded.predict(fruit)) == rows_as_text(wanted)


def test_a_model_can_predict_many_times_and_after_errors(
    model: sqlbn.Model, fruit: pa.Table
) -> None:
    wanted = model.predict(fruit)
    with pytest.raises(ColumnError):
        model.predict(fruit.drop_columns(["colour"]))
    assert rows_as_text(model.predict(fruit)) == rows_as_text(wanted)


def test_cpt_probabilities_are_a_distribution(model: sqlbn.Model) -> None:
    cells = model.cpt("spots")
    columns = [c for c in cells.column_names if c not in ("spots", "n", "probability")]
    by = ", ".join(f'"{c}"' for c in columns)
    sums = duckdb.sql(f"SELECT sum(probability) FROM cells GROUP BY {by}").fetchall()
    assert max(s for (s,) in sums) < 1 + 1e-12
    assert all(0 < p < 1 for p in cells["probability"].to_pylist())
    assert not any(math.isnan(p) for p in cells["probability"].to_pylist())


# -- in SQL, without sqlbn --------------------------------------------------------------------

INPUTS = {
    "a table": "SELECT * FROM predict('rows')",
    "a view": "SELECT * FROM predict('seen')",
    "a CTE": "WITH chosen AS (FROM rows) SELECT * FROM predict('chosen')",
    "a file": "SELECT * FROM predict('{file}')",
    "a pattern": "SELECT * FROM predict('{folder}/*.parquet')",
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("how", ["USE m.fruit", "SET search_path = 'm.fruit,memory.main'"])
def test_the_macro_equals_predict(
    store_of_fruit: Path, fruit: pa.Table, fruit_file: str, given: str, how: str
) -> None:
    with duckdb.connect() as con:
        con.register("arrow_rows", fruit)
        con.execute(f"ATTACH '{store_of_fruit}' AS m (READ_ONLY)")
        con.execute("CREATE TEMP TABLE rows AS FROM arrow_rows")
        con.execute("CREATE TEMP VIEW seen AS FROM rows")
        con.execute(how)
        query = INPUTS[given].format(file=fruit_file, folder=Path(fruit_file).parent)
        found = con.sql(query).to_arrow_table()
    with sqlbn.load(store_of_fruit, "fruit") as fitted:
        wanted = fitted.predict(fruit)
    assert found.column_names == wanted.column_names
    assert same_rows(found, wanted)


def same_rows(found: pa.Table, wanted: pa.Table) -> bool:
    """SQL promises no order: rows are compared as a multiset, floats by their text."""
    return sorted(rows_as_text(found)) == sorted(rows_as_text(wanted))


@pytest.mark.parametrize("attached", ["fruit", "models", "other"])
def test_a_catalog_named_like_the_model_is_no_obstacle(
    fruit_file: str, tmp_path: Path, attached: str
) -> None:
    """`sqlbn fit --store fruit.duckdb --name fruit`, then `duckdb fruit.duckdb`."""
    store = tmp_path / f"{attached}.duckdb"
    sqlbn.fit(fruit_file, "kind", "nb", store=store, name="fruit").close()
    with duckdb.connect(str(store), read_only=True) as con:
        con.execute(f"USE {attached}.fruit")
        rows = con.execute(f"SELECT count(prediction) FROM predict('{fruit_file}')").fetchall()
        assert rows == [(300,)]
        assert con.execute("SELECT count(*) > 0 FROM cpt_colour").fetchall() == [(True,)]


def test_cpt_views_equal_the_api(store_of_fruit: Path) -> None:
    with duckdb.connect() as con, sqlbn.load(store_of_fruit, "fruit") as fitted:
        con.execute(f"ATTACH '{store_of_fruit}' AS m (READ_ONLY); USE m.fruit")
        for row in fitted.attributes.to_pylist():
            view = con.sql(f'FROM "cpt_{row["attribute"]}"').to_arrow_table()
            assert same_rows(view, fitted.cpt(row["attribute"]))


def test_the_duckdb_program(store_of_fruit: Path, fruit_file: str) -> None:
    beside = Path(sys.executable).with_name("duckdb")
    program = shutil.which("duckdb") or (str(beside) if beside.is_file() else None)
    if program is None:
        pytest.skip("the duckdb program is not here (package duckdb-cli)")
    script = (
        f"ATTACH '{store_of_fruit}' AS m (READ_ONLY); USE m.fruit; "
        f"SELECT prediction, count(*) AS n FROM predict('{fruit_file}') GROUP BY ALL ORDER BY 1;"
    )
    done = subprocess.run(
        [program, "-csv", "-noheader", "-c", script], capture_output=True, text=True, check=True
    )
    with sqlbn.load(store_of_fruit, "fruit") as fitted:
        said = fitted.predict(fruit_file)["prediction"].to_pylist()
    wanted = "".join(f"{name},{said.count(name)}\n" for name in sorted(set(said)))
    assert done.stdout == wanted
