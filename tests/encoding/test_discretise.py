"""Supervised discretisation from tables to models: against direct calls of the pure functions, on
hostile columns, in any order, in plain SQL, within folds."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.encoding.discretise.mdl import mdl_partition
from sqlbn.encoding.discretise.modl import cuts_at, modl_partition
from sqlbn.encoding.discretise.modl_groups import modl_groups
from sqlbn.engines.limits import Limits

Rows = list[dict[str, Any]]


def patients(size: int = 800, seed: int = 3) -> pa.Table:
    """Columns of all kinds that tell something of `ill`, and some that tell nothing."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        ill = rng.choice(["no", "no", "maybe", "yes"])
        at = {"no": 0, "maybe": 1, "yes": 2}[ill]
        rows.append(
            {
                "fever": round(rng.gauss(37 + at, 0.8), 2) if rng.random() < 0.9 else None,
                "town": f"t{(rng.randrange(10) + 10 * at) % 25:02}" if rng.random() < 0.9 else None,
                "ward": rng.randrange(4) + 2 * at,
                "room's": rng.randrange(20),
                'day "of"': dt.date(2020, 1, 1) + dt.timedelta(days=rng.randrange(90) + 60 * at),
                "smokes": rng.random() < 0.2 + 0.3 * at,
                "noise": rng.random(),
                "word": rng.choice("abcdefgh"),
                "ill": ill,
            }
        )
    return pa.Table.from_pylist(rows)


def counts_of(table: pa.Table, name: str, target: str = "ill") -> tuple[list[Any], Any, Any]:
    """Sorted values, their counts by class, and those of missing values."""
    classes = sorted(set(table[target].to_pylist()))
    pairs = list(zip(table[name].to_pylist(), table[target].to_pylist(), strict=True))
    values = sorted({v for v, _ in pairs if v is not None})
    counts = np.zeros((len(values), len(classes)), np.int64)
    missing = np.zeros(len(classes), np.int64)
    for value, outcome in pairs:
        where = missing if value is None else counts[values.index(value)]
        where[classes.index(outcome)] += 1
    return values, counts, missing


def books(model: Any) -> dict[str, Any]:
    return {b.name: b for b in model.spec.books}


def groups_in(model: Any, name: str) -> list[set[str | None]]:
    """The values of an attribute that share a code, in the order of codes."""
    found: dict[int, set[str | None]] = {}
    table = model._workspace.table("categories")
    for code, value in model._session.rows(
        f"SELECT code, value FROM {table} WHERE attribute = '{name}' ORDER BY code"
    ):
        found.setdefault(code, set()).add(value)
    return list(found.values())


def contents(model: Any) -> dict[str, list[str]]:
    names = ("attributes", "categories", "cuts", "groups", "variables", "counts", "classes")
    return {
        n: sorted(map(repr, model._session.rows(f"FROM {model._workspace.table(n)}")))
        for n in names
    }


def fit(table: Any, how: str, **options: Any) -> Any:
    return sqlbn.fit(table, "ill", **{"learner": "nb", "discretise": how, **options})


# ---- against the pure functions


def test_cut_points_are_those_of_the_pure_functions() -> None:
    table = patients()
    values, counts, missing = counts_of(table, "fever")
    with fit(table, "modl") as model:
        found = modl_partition(counts, missing)
        assert books(model)["fever"].cuts == cuts_at(values, found.bounds)
        row = {r["attribute"]: r for r in model.variables.to_pylist()}["fever"]
        assert row["parts"] == len(found.bounds) + 2
        assert row["level"] == pytest.approx(found.level, abs=1e-12)
        assert row["cost"] == pytest.approx(found.cost, rel=1e-12)
        assert row["null_cost"] == pytest.approx(found.null_cost, rel=1e-12)
        assert row["elementary"] == len(values)
        assert (row["n_rows_present"], row["n_missing"]) == (counts.sum(), missing.sum())
    with fit(table, "mdl") as model:
        assert books(model)["fever"].cuts == cuts_at(values, mdl_partition(counts))


@pytest.mark.parametrize("name", ["town", "ward", "smokes"])
def test_groups_are_those_of_the_pure_function(name: str) -> None:
    table = patients()
    values, counts, missing = counts_of(table, name)
    found = modl_groups(counts)
    groups: list[set[str | None]] = [set() for _ in range(int(found.group.max()) + 1)]
    for value, group in zip(values, found.group, strict=True):
        groups[group].add(str(value).lower() if isinstance(value, bool) else str(value))
    groups += [{None}] if missing.any() else []
    with fit(table, "modl") as model:
        assert groups_in(model, name) == groups
        book = books(model)[name]
        assert book.n_values == len(groups)
        assert book.missing == (len(groups) - 1 if missing.any() else None)
        row = {r["attribute"]: r for r in model.variables.to_pylist()}[name]
        assert row["parts"] == len(groups)
        if not missing.any():
            assert row["level"] == pytest.approx(found.level, abs=1e-12)
            assert row["cost"] == pytest.approx(found.cost, rel=1e-12)


def test_weights_count_as_rows() -> None:
    table = patients(300)
    rng = random.Random(1)
    weights = [rng.choice((0, 1, 2, 3)) for _ in range(table.num_rows)]
    repeated = table.take([i for i, w in enumerate(weights) for _ in range(w)])
    with (
        fit(table.append_column("w", pa.array(weights)), "modl", weight="w") as one,
        fit(repeated, "modl") as other,
    ):
        assert [(b.cuts, b.groups, b.n_values) for b in one.spec.books] == [
            (b.cuts, b.groups, b.n_values) for b in other.spec.books
        ]
        assert one.variables["level"].to_pylist() == other.variables["level"].to_pylist()


# ---- what is left out


def test_what_tells_nothing_is_left_out_and_listed() -> None:
    table = patients()
    with pytest.warns(sqlbn.SqlbnWarning, match=r"noise.*word|word.*noise"):
        model = fit(table, "modl")
    with model:
        assert not {"noise", "word"} & set(books(model))
        rows = {r["attribute"]: r for r in model.variables.to_pylist()}
        for name in ("noise", "word"):
            assert (rows[name]["level"], rows[name]["parts"], rows[name]["used"]) == (0, 1, False)
        assert rows["fever"]["used"]
        assert set(
            model._session.rows(f"SELECT attribute FROM {model._workspace.table('categories')}")
        )
        assert "word" not in {
            r[0]
            for r in model._session.rows(
                f"SELECT attribute FROM {model._workspace.table('categories')}"
            )
        }
    with fit(table, "modl", keep=["noise", "word"]) as model:
        assert books(model)["noise"].n_values == 1
        assert books(model)["word"].n_values == 1
        assert model.predict(table).num_rows == table.num_rows
    with pytest.warns(sqlbn.SqlbnWarning, match="noise"):
        fit(table, "mdl").close()


def test_every_learner_and_method_has_levels() -> None:
    table = patients(300)
    for learner in ("nb", "kdb", "skdb", "a1de", "fanc"):
        for how in ("ef", "mdl", "modl"):
            with fit(table, how, learner=learner) as model:
                rows = model.variables.to_pylist()
                used = {r["attribute"] for r in rows if r["used"]}
                assert used == set(books(model))
                levels = {r["attribute"]: r["level"] for r in rows}
                assert levels["fever"] > 0.1
                assert model.meta["options"]["discretise"] == how


HOSTILE: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "all NULL": (pa.float64(), [None]),
    "constant": (pa.int64(), [5]),
    "only NaN": (pa.float64(), [math.nan]),
    "NaN and inf": (pa.float64(), [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5]),
    "tiny": (pa.float64(), [5e-324, -5e-324, 1e308, -1e308, 0.1, 0.1 + 0.2, 0.3]),
    'quo"te': (pa.string(), ["it's", "NULL", "", " ", None, 'a"b', "ä"]),
    "large": (pa.uint64(), [0, 2**63, 2**64 - 1, 2**64 - 2**12, None]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 2, 29), None]),
    "time": (pa.time64("us"), [dt.time(0), dt.time(23, 59, 59), dt.time(12), None]),
    "boolean": (pa.bool_(), [True, False, None]),
    "one value or none": (pa.string(), ["x", None]),
}


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("how", ["ef", "mdl", "modl"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("classes", [["a"], ["a", "b"], [0, 1, 2, 3]])
def test_hostile_columns(how: str, keep: bool, classes: list[Any]) -> None:
    rng = random.Random(5)
    outcomes = [classes[i % len(classes)] for i in range(400)]
    columns = {}
    for name, (kind, pool) in HOSTILE.items():
        told = [
            pool[classes.index(y) % len(pool)] if rng.random() < 0.6 else rng.choice(pool)
            for y in outcomes
        ]
        columns[name] = pa.array(told, kind)
    table = pa.table({**columns, "ill": outcomes})
    kept = list(HOSTILE) if keep else []
    with fit(table, how, keep=kept) as model:
        if keep:
            assert set(books(model)) == set(HOSTILE)
        scored = model.predict(table)
        assert scored.num_rows == 400
        total = sum(np.array(scored[f"p_{c}"]) for c in classes)
        assert np.allclose(total, 1)
        for row in model.variables.to_pylist():
            assert 0 <= row["level"] < 1
            assert row["n_rows_present"] + row["n_missing"] == 400
            if row["used"]:
                assert row["parts"] == max(books(model)[row["attribute"]].n_values, 1)
    found = sqlbn.prepare(table, "ill", discretise=how, keep=kept)
    assert found.variables.num_rows >= (len(HOSTILE) if keep else 0)


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
def test_many_categories_and_many_values() -> None:
    rng = np.random.default_rng(1)
    size = 150_000
    ill = rng.integers(0, 3, size)
    town = rng.integers(0, 100_000, size)
    table = pa.table(
        {
            "town": [f"town {v - v % 3 + y}" for v, y in zip(town, ill, strict=True)],
            "dose": rng.normal(size=size) + ill,
            "ill": ill,
        }
    )
    with fit(table, "modl") as model:
        assert books(model)["town"].is_joined
        assert books(model)["town"].grouped
        assert books(model)["town"].n_values == 3
        rows = {r["attribute"]: r for r in model.variables.to_pylist()}
        assert rows["dose"]["elementary"] == 100_000
        assert model.meta["elementary"] == {"dose": 100_000}
        assert rows["town"]["elementary"] > 70_000
        assert model.evaluate(table.slice(0, 5000)).losses["accuracy"] > 0.95


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
def test_streamed_counts_are_the_same() -> None:
    table = patients(500)
    with fit(table, "modl") as one:
        before = contents(one)
        level = one.variables.to_pylist()
    with fit(table, "modl", limits=Limits(value_class_bytes=10**18)) as other:
        assert {k: v for k, v in contents(other).items() if k != "variables"} == {
            k: v for k, v in before.items() if k != "variables"
        }
        for a, b in zip(level, other.variables.to_pylist(), strict=True):
            assert {**a, "elementary": 0} == {**b, "elementary": 0}
        assert "fever" in other.meta["elementary"]


def test_too_many_values_by_class_stay_as_they_are() -> None:
    columns, three = ["town", "fever"], Limits(value_class_share=3.5 * 8 * 3 / 10**9)
    with (
        pytest.warns(sqlbn.SqlbnWarning, match="too many values by class"),
        fit(patients(300), "modl", columns=columns, limits=three, memory_limit="1GB") as model,
    ):
        assert not books(model)["town"].grouped
        assert books(model)["town"].n_values == len(groups_in(model, "town"))


# ---- the same data, the same model


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("how", ["mdl", "modl"])
def test_order_of_rows_and_threads_do_not_matter(how: str, tmp_path: Path) -> None:
    table = patients(600)
    mixed = table.take(random.Random(2).sample(range(table.num_rows), table.num_rows))
    pq.write_table(mixed, tmp_path / "mixed.parquet", row_group_size=50)
    with fit(table, how, threads=1) as one, fit(str(tmp_path / "*.parquet"), how, threads=4) as two:
        assert contents(one) == contents(two)


# ---- groups in scoring


def coded(model: Any, table: pa.Table) -> pa.Table:
    """The table with every attribute replaced by its part, found in Python; None if unseen."""
    columns = {}
    for name, book in books(model).items():
        values = table[name].to_pylist()
        if book.kind == "numeric":
            continue
        code = {}
        for at, group in enumerate(groups_in(model, name.replace("'", "''"))):
            code |= dict.fromkeys(group, at)
        text = [str(v).lower() if isinstance(v, bool) else v and str(v) for v in values]
        text = [
            "0" if v == 0 and not isinstance(v, bool) else t
            for v, t in zip(values, text, strict=True)
        ]
        columns[name] = [code.get(t, 10**6) for t in text]
    return pa.table({**columns, "ill": table["ill"]})


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("inline", [True, False])
def test_grouped_values_are_scored_as_their_groups(inline: bool) -> None:
    limits = Limits() if inline else Limits(inline_categories=1)
    table, new = patients(), patients(200, seed=4)
    chosen = ["town", "ward", "room's", "smokes", "word"]
    kept = ["room's", "word"]
    with fit(table, "modl", columns=chosen, keep=kept, limits=limits) as model:
        assert books(model)["town"].is_joined is not inline
        train, test = coded(model, table), coded(model, new)
        with fit(train, "ef", categorical=chosen, keep=chosen, limits=limits) as other:
            got = model.predict(new).select(["p_no", "p_maybe", "p_yes"])
            assert got == other.predict(test).select(["p_no", "p_maybe", "p_yes"])
        assert model.cpt("town").num_rows == 3 * books(model)["town"].n_values
        labels = set(model.cpt("town")["town"].to_pylist())
        assert any(label and "values)" in label for label in labels)


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("inline", [True, False])
def test_predict_in_plain_sql(inline: bool, tmp_path: Path) -> None:
    limits = Limits() if inline else Limits(inline_categories=1)
    table, new = patients(), patients(100, seed=5)
    store = tmp_path / "m.duckdb"
    named = {"store": store, "name": "it's", "limits": limits}
    with fit(table, "modl", learner="kdb", k=1, **named) as model:
        wanted = model.predict(new)
    with sqlbn.load(store, "it's", limits=limits) as again:
        assert again.predict(new) == wanted
    pq.write_table(new, tmp_path / "new.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        connection.execute('USE m."it\'s"')
        sql = f"FROM predict('{tmp_path}/new.parquet')"
        got = connection.sql(sql).to_arrow_table().sort_by("noise")
        wanted = wanted.sort_by("noise")
        assert got["prediction"] == wanted["prediction"]
        for column in ("p_no", "p_maybe", "p_yes"):
            assert np.allclose(got[column], wanted[column], rtol=0, atol=1e-12)
        parts = connection.sql("SELECT DISTINCT town FROM cpt_town").fetchall()
        groups = connection.sql("SELECT label FROM groups WHERE attribute = 'town'").fetchall()
        assert sorted(parts, key=repr) == sorted(groups, key=repr)
        levels = connection.sql("SELECT level FROM variables WHERE attribute = 'fever'").fetchall()
        assert levels[0][0] > 0


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
def test_folds_see_only_their_training_rows() -> None:
    """Groups and cuts of pure noise would look good on the rows they were found on."""
    rng = random.Random(8)
    size = 600
    table = pa.table(
        {
            "town": [f"t{rng.randrange(150)}" for _ in range(size)],
            "dose": [rng.random() for _ in range(size)],
            "ill": [rng.choice("ab") for _ in range(size)],
        }
    )
    result = sqlbn.evaluate(table, "ill", "nb", folds=4, discretise="modl", keep=["town", "dose"])
    assert result.losses["log_loss"] > 0.68
    train, test = table.slice(0, 400), table.slice(400)
    whole = sqlbn.evaluate(train, "ill", "nb", test=test, discretise="mdl")
    with fit(train, "mdl") as model:
        assert model.evaluate(test).losses == whole.losses


# ---- options


def test_bins_go_with_equal_frequency_only() -> None:
    table = patients(100)
    with pytest.raises(sqlbn.SqlbnError, match="bins requires discretise='ef'"):
        fit(table, "modl", bins=5)
    with pytest.raises(sqlbn.SqlbnError, match="discretise='what': choose ef, mdl, modl"):
        fit(table, "what")
    with fit(table, "ef") as model:
        assert model.meta["options"] == {"discretise": "ef", "bins": 5}
    with (
        fit(table, "modl") as model,
        pytest.raises(sqlbn.SqlbnError, match="discretise is decided by the model"),
    ):
        sqlbn.fit(table, "ill", like=model, discretise="mdl")


# ---- prepare


def test_prepare_tells_levels_and_profiles() -> None:
    table = patients()
    with pytest.warns(sqlbn.SqlbnWarning):
        found = sqlbn.prepare(table, "ill")
    rows = found.variables.to_pylist()
    assert [r["level"] for r in rows] == sorted((r["level"] for r in rows), reverse=True)
    assert [r["attribute"] for r in rows if not r["used"]] == ["room's", "noise", "word"]
    with pytest.warns(sqlbn.SqlbnWarning), fit(table, "modl") as model:
        fitted = {r["attribute"]: r for r in model.variables.to_pylist()}
        assert {r["attribute"]: r for r in rows} == fitted
        cpt = model.cpt("town").to_pylist()
    parts = found.profile_of("town")
    assert sum(p["rows"] for p in parts) == table.num_rows
    assert [p["part"] for p in parts] == [r["town"] for r in cpt[::3]]
    for at, part in enumerate(parts):
        for row in cpt[3 * at : 3 * at + 3]:
            assert part["shares"][row["class"]] == pytest.approx(row["n"] / part["rows"])
    with pytest.raises(sqlbn.SqlbnError, match="there is no variable 'what'"):
        found.profile_of("what")
    with pytest.raises(sqlbn.SqlbnError, match="k is not for prepare"):
        sqlbn.prepare(table, "ill", k=2)


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("how", ["ef", "mdl", "modl"])
def test_prepare_counts_what_a_model_counts(how: str) -> None:
    limits = Limits(inline_categories=5)
    table = patients(300).append_column("w", pa.array([0.5, 1.0, 2.0] * 100))
    found = sqlbn.prepare(table, "ill", discretise=how, weight="w", limits=limits)
    with fit(table, how, weight="w", limits=limits) as model:
        wanted = {r["attribute"]: r for r in model.variables.to_pylist()}
    assert {r["attribute"]: r for r in found.variables.to_pylist()} == wanted


def test_prepare_on_the_command_line(run: Run, tmp_path: Path) -> None:
    pq.write_table(patients(), tmp_path / "p.parquet")
    done = run("prepare", "p.parquet", "--target", "ill", "--variable", "ward")
    assert done.returncode == 0, done.stderr
    assert "fever" in done.stdout and "ward" in done.stdout and "level" in done.stdout
    assert "left out" in done.stderr
    done = run(
        *("prepare", "p.parquet", "--target", "ill", "--json", "--quiet"),
        *("--out", "v.csv", "--plot", "v.svg", "--where", "noise < 0.9", "--threads", 1),
    )
    assert done.returncode == 0, done.stderr
    import json

    told = json.loads(done.stdout)
    assert told["variables"][0]["level"] > 0
    assert set(told["profile"]) == {v["attribute"] for v in told["variables"]}
    assert (tmp_path / "v.svg").stat().st_size > 1000
    assert len((tmp_path / "v.csv").read_text().splitlines()) == 1 + len(told["variables"])
    done = run("prepare", "p.parquet", "--target", "ill", "--out", "v.txt")
    assert done.returncode == 1 and "--out" in done.stderr
    done = run("prepare", "p.parquet", "--target", "ill", "--variable", "what")
    assert done.returncode == 1 and "there is no variable 'what'" in done.stderr
    done = run("fit", "p.parquet", "--target", "ill", "--discretise", "modl", "--bins", "4")
    assert done.returncode == 1 and "--bins requires" in done.stderr
    done = run("fit", "p.parquet", "--target", "ill", "--discretise", "modl", "--learner", "nb")
    assert done.returncode == 0 and "discretise modl" in done.stdout
