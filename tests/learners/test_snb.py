"""Selective naive Bayes as a model: against its own counts, in SQL, living, on the command line."""

from __future__ import annotations

import functools
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run
from limited import limit
from reference_snb import Data, search
from update_cases import same_tables

import sqlbn

NAMES = ("sure", "likely", "again", "noise", "size")
BARE = {"estimate": "laplace", "missing": "ignore"}


# -- models -----------------------------------------------------------------------------------


def letters(size: int = 400, n_classes: int = 3, seed: int = 5, weighted: bool = False) -> pa.Table:
    """Attributes that tell much, something, the same again, and nothing of the class."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        y = rng.randrange(n_classes)
        sure = y if rng.random() < 0.8 else rng.randrange(n_classes)
        row = {
            "sure": "abcd"[sure] if rng.random() < 0.9 else None,
            "likely": (y + rng.randrange(2)) % n_classes,
            "again": "abcd"[sure].upper(),
            "noise": rng.choice("xyz"),
            "size": rng.gauss(y, 1.0) if rng.random() < 0.9 else None,
            "y": f"class {y}",
        }
        rows.append({**row, "w": rng.choice((0.5, 1.0, 2.0))} if weighted else row)
    return pa.Table.from_pylist(rows)


def weights_of(model: Any) -> dict[str, float]:
    return {r["attribute"]: r["weight"] for r in model.attributes.to_pylist()}


def code_of(model: Any, position: int, value: Any) -> int:
    """The code of a value by the model's own tables; the number of codes where it is unseen."""
    row = model.attributes.to_pylist()[position]
    workspace, rows = model._workspace, model._session.rows
    if value is None:
        return row["n_values"] if row["missing_code"] is None else row["missing_code"]
    if row["kind"] == "numeric":
        uppers = rows(
            f"SELECT upper FROM {workspace.table('cuts')} WHERE attribute = '{row['attribute']}' "
            "AND upper IS NOT NULL ORDER BY code"
        )
        return sum(value > upper for (upper,) in uppers[:-1])
    found = rows(
        f"SELECT code FROM {workspace.table('categories')} "
        f"WHERE attribute = '{row['attribute']}' AND value = '{value}'"
    )
    return found[0][0] if found else row["n_values"]


def m_of(model: Any, n_values: int) -> float:
    return float(n_values if model.meta["estimate"] == "laplace" else model.meta["m"])


def table_of(model: Any, position: int) -> list[list[float]]:
    """P(x | y) of all codes and of an unseen one, from the counts; 1 for what is left out."""
    row = model.attributes.to_pylist()[position]
    n_values, n_classes = row["n_values"], model.classes.num_rows
    gone = row["missing_code"] if model.meta["missing"] == "ignore" else None
    counts = np.zeros((n_values + 1, n_classes))
    for key, n in model._session.rows(
        f"SELECT key, n FROM {model._workspace.table('counts')} WHERE position = {position}"
    ):
        counts[key // n_classes, key % n_classes] = n
    if gone is not None:
        counts[gone] = 0
        n_values -= 1
    m = m_of(model, n_values)
    found = (counts + m / n_values) / (counts.sum(axis=0) + m)
    if gone is not None:
        found[gone] = 1
    if model.meta["unseen"] == "neutral":
        found[-1] = 1
    answer: list[list[float]] = found.tolist()
    return answer


def by_hand(model: Any, rows: list[dict[str, Any]]) -> list[list[float]]:
    """ln P(y) + sum of weight times ln P(x | y), normalised."""
    n = np.array(model.classes["n"].to_pylist(), float)
    m = m_of(model, len(n))
    prior = np.log((n + m / len(n)) / (n.sum() + m))
    used = [(i, r) for i, r in enumerate(model.attributes.to_pylist()) if r["weight"] > 0]
    tables = {i: np.log(table_of(model, i)) for i, _ in used}
    answer = []
    for row in rows:
        scores = prior.copy()
        for i, r in used:
            if row[r["attribute"]] is None and model.meta["missing"] == "ignore":
                continue
            scores += r["weight"] * tables[i][code_of(model, i, row[r["attribute"]])]
        p = np.exp(scores - scores.max())
        answer.append((p / p.sum()).tolist())
    return answer


def probabilities(scored: pa.Table) -> list[list[float]]:
    names = [n for n in scored.column_names if n.startswith("p_")]
    return [list(row.values()) for row in scored.select(names).to_pylist()]


def strangers(table: pa.Table) -> pa.Table:
    """Some rows, one of values never seen and one of nothing."""
    rows = table.slice(0, 12).to_pylist()
    rows.append({**rows[0], "sure": "zz", "likely": 99, "again": None, "size": 1e9})
    rows.append({**rows[1], "sure": None, "size": None})
    return pa.Table.from_pylist(rows, table.schema)


@pytest.mark.parametrize(
    ("options", "n_classes"),
    [
        ({}, 2),
        ({}, 4),
        ({"m": 2.0, "weight": "w"}, 3),
        ({"map": True}, 3),
        (BARE, 3),
        ({"unseen": "smoothed"}, 3),
    ],
    ids=["two classes", "four classes", "weighted", "map", "laplace", "smoothed"],
)
def test_a_model_is_what_the_formula_says(options: dict[str, Any], n_classes: int) -> None:
    table = letters(250, n_classes, weighted="weight" in options)
    with sqlbn.fit(table, "y", "snb", discretise="ef", seed=3, **options) as model:
        new = strangers(table)
        wanted = by_hand(model, new.to_pylist())
        assert np.array(probabilities(model.predict(new))) == pytest.approx(
            np.array(wanted), abs=1e-12
        )
        same_as_reference(model, table, 3, options)


def same_as_reference(model: Any, table: pa.Table, seed: int, options: dict[str, Any]) -> None:
    """The weights are those of the search by plain Python in the model's codes."""
    rows = table.to_pylist()
    attributes = model.attributes.to_pylist()
    memo = functools.cache(lambda i, value: code_of(model, i, value))
    classes = model.classes["class"].to_pylist()
    data = Data(
        [[memo(i, r[a["attribute"]]) for i, a in enumerate(attributes)] for r in rows],
        [classes.index(r["y"]) for r in rows],
        [r.get("w", 1.0) for r in rows],
        [a["n_values"] for a in attributes],
        len(classes),
        None if options is BARE else Fraction(options.get("m", 1)),
        [a["missing_code"] for a in attributes] if options is BARE else (),
    )
    wanted = search(data, seed)
    assert model.meta["cost"] == pytest.approx(wanted.cost, abs=1e-6)
    assert model.meta["evaluations"] == len(wanted.evaluated)
    assert model.meta["cost"] < model.meta["null_cost"]
    single = [float(i in wanted.best) for i in range(len(attributes))]
    weights = single if "map" in options else wanted.weights
    assert [a["weight"] for a in attributes] == pytest.approx(weights, abs=1e-9)
    assert [a["selected"] for a in attributes] == [a["weight"] > 0 for a in attributes]


def same_model(one: Any, other: Any) -> None:
    with one, other:
        same_tables(one, other)
        for key in ("cost", "null_cost", "evaluations", "options"):
            assert one.meta[key] == other.meta[key]


def test_threads_and_the_order_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, weights_block_rows=16)
    table = letters()
    order = random.Random(1).sample(range(table.num_rows), table.num_rows)
    one = sqlbn.fit(table, "y", "snb", threads=1)
    two = sqlbn.fit(table, "y", "snb", threads=2)
    same_model(two, sqlbn.fit(table.take(order), "y", "snb", threads=2))
    same_model(one, sqlbn.fit(table, "y", "snb", threads=2))


def test_equal_rows_put_together_are_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for weight in (None, "w"):
        table = letters(weighted=weight is not None)
        apart = sqlbn.fit(table, "y", "snb", discretise="ef", bins=2, weight=weight)
        with monkeypatch.context() as patch:
            limit(patch, weights_grouped_rows=1)
            together = sqlbn.fit(table, "y", "snb", discretise="ef", bins=2, weight=weight)
        same_model(apart, together)


def test_rows_that_do_not_fit_in_memory_are_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of chunks on disk, the same model to the last bit."""
    table = letters()
    limit(monkeypatch, weights_block_rows=64)
    whole = sqlbn.fit(table, "y", "snb", discretise="ef")
    assert whole.meta["chunks"] == {"rows": 400, "chunks": 7, "on_disk": 0}
    for share, on_disk in ((0.0, 7), (1e-6, 3)):
        limit(monkeypatch, weights_held_share=share)
        for threads in (1, 2):
            memory = {} if share == 0 else {"memory_limit": "10GB"}
            stored = sqlbn.fit(table, "y", "snb", discretise="ef", threads=threads, **memory)
            with stored:
                assert stored.meta["chunks"] == {"rows": 400, "chunks": 7, "on_disk": on_disk}
                same_tables(whole, stored)
                assert stored.meta["cost"] == whole.meta["cost"]
                assert not list(stored._session.scratch.folder.glob("*.bin"))
    whole.close()


def test_seeds_are_repeatable_and_matter() -> None:
    table = letters()
    one, same, other = (sqlbn.fit(table, "y", "snb", seed=seed) for seed in (4, 4, 5))
    assert weights_of(one) != weights_of(other)
    same_model(one, same)
    other.close()


def test_what_tells_the_same_again_shares_its_weight() -> None:
    with sqlbn.fit(letters(800), "y", "snb", discretise="ef") as model:
        weights = weights_of(model)
    assert weights["noise"] < 0.2 < weights["size"]
    assert max(weights.values()) < 1


@pytest.mark.parametrize("method", ["ef", "mdl", "modl"])
def test_one_class(method: str) -> None:
    table = letters(60, n_classes=1)
    with sqlbn.fit(table, "y", "snb", discretise=method, keep=["sure"]) as model:
        assert set(weights_of(model).values()) <= {0.0}
        scored = model.predict(table)
        assert set(scored["prediction"].to_pylist()) == {"class 0"}
        assert set(scored["p_class 0"].to_pylist()) == {1.0}


@pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
@pytest.mark.parametrize("options", [{"discretise": "ef"}, {"discretise": "ef", "map": True}, {}])
def test_nothing_but_noise(options: dict[str, Any]) -> None:
    rng = random.Random(2)
    size = 500
    table = pa.table(
        {
            "a": [rng.random() for _ in range(size)],
            "b": [rng.choice("uvw") for _ in range(size)],
            "y": [rng.choice(["n", "n", "p"]) for _ in range(size)],
        }
    )
    with sqlbn.fit(table, "y", "snb", **options) as model:
        assert not any(weights_of(model).values())
        assert model.meta["cost"] == model.meta["null_cost"]
        share = (table["y"].to_pylist().count("p") + 0.5) / (size + 1)
        assert set(model.predict(table)["prediction"].to_pylist()) == {"n"}
        assert model.predict(table)["p_p"].to_pylist() == pytest.approx([share] * size)


def test_plain_sql_predicts_the_same(tmp_path: Path) -> None:
    table, store = letters(), tmp_path / "m.duckdb"
    new = strangers(table)
    new = new.append_column("id", [list(range(new.num_rows))])
    pq.write_table(new, tmp_path / "new.parquet")
    with sqlbn.fit(table, "y", "snb", store=store, name="letters") as model:
        wanted = model.predict(new)
    with sqlbn.load(store, "letters") as loaded:
        assert loaded.predict(new).to_pylist() == wanted.to_pylist()
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        connection.execute("USE m.letters")
        query = f"FROM predict('{tmp_path / 'new.parquet'}') ORDER BY id"
        got = connection.sql(query).to_arrow_table()
    assert np.array(probabilities(got)) == pytest.approx(np.array(probabilities(wanted)), abs=1e-14)
    assert got["prediction"].to_pylist() == wanted["prediction"].to_pylist()


# -- models that live -------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"discretise": "ef", "map": True}], ids=["modl", "map"])
def test_an_updated_model_is_that_of_all_rows(options: dict[str, Any]) -> None:
    table, more = letters(300), letters(80, n_classes=4, seed=9)
    with sqlbn.fit(table, "y", "snb", **options) as model:
        before = weights_of(model)
        change = model.update(more)
        assert any("weights" in note for note in change.notes)
        both = pa.concat_tables([table, more])
        with sqlbn.fit(both, "y", like=model, same_structure=True) as again:
            same_tables(model, again)
        assert weights_of(model) == before
        model.forget(more)
        model.forget(table.slice(0, 50))
        with sqlbn.fit(table.slice(50), "y", like=model, same_structure=True) as again:
            same_tables(model, again)
            rows = strangers(table)
            assert again.predict(rows).to_pylist() == model.predict(rows).to_pylist()
        assert weights_of(model) == before


def test_models_merge(tmp_path: Path) -> None:
    table = letters(300)
    with sqlbn.fit(table.slice(0, 200), "y", "snb") as model:
        with sqlbn.fit(table.slice(200), "y", like=model, same_structure=True) as other:
            model.merge(other)
        with sqlbn.fit(table, "y", like=model, same_structure=True) as again:
            same_tables(model, again)


# -- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["nb", "skdb", "a1de", "fanc"])
def test_map_is_for_snb_alone(learner: str) -> None:
    with pytest.raises(sqlbn.SqlbnError, match=f"map=True is not for the learner .*{learner[-2:]}"):
        sqlbn.fit(letters(20), "y", learner, map=True)


def test_the_program(run: Run, tmp_path: Path) -> None:
    pq.write_table(letters(), tmp_path / "letters.parquet")
    said = run("fit", "letters.parquet", "-t", "y", "-l", "snb", "--json", "--quiet")
    assert said.returncode == 0, said.stderr
    meta = json.loads(said.stdout)
    assert meta["learner"] == "snb"
    assert meta["options"]["discretise"] == "modl"
    assert meta["cost"] < meta["null_cost"]
    shown = run("show", "model")
    assert shown.returncode == 0, shown.stderr
    assert "snb" in shown.stdout
    assert "sure" in shown.stdout
    said = run("fit", "letters.parquet", "-t", "y", "-l", "snb", "--map", "--replace", "--json")
    assert json.loads(said.stdout)["options"]["map"] is True
    wrong = run("fit", "letters.parquet", "-t", "y", "-l", "nb", "--map", "--name", "other")
    assert wrong.returncode == 1
    assert "--map is not for the learner nb; it goes with snb" in wrong.stderr
