"""Update, forget, merge and stream as a user meets them: files, stores, mistakes, crashes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.errors import (
    ColumnError,
    OptionError,
    SourceError,
    StoreError,
)
from sqlbn.store.history import fingerprint
from sqlbn.updates.stream import LEAST, RECENT, Band


@pytest.fixture
def parts(fruit: pa.Table, tmp_path: Path) -> list[str]:
    """Three files of a hundred rows each."""
    paths = []
    for i in range(3):
        pq.write_table(fruit.slice(100 * i, 100), tmp_path / f"{i}.parquet")
        paths.append(str(tmp_path / f"{i}.parquet"))
    return paths


@pytest.fixture
def store(parts: list[str], tmp_path: Path) -> Path:
    """A store with a model `fruit` of the first file."""
    path = tmp_path / "models.duckdb"
    sqlbn.fit(parts[0], "kind", k=2, store=path, name="fruit").close()
    return path


def rows_of(store: Path, name: str = "fruit") -> int:
    with duckdb.connect(str(store), read_only=True) as con:
        (n,) = con.execute(f"SELECT sum(n) FROM {name}.classes").fetchone() or (None,)
    return int(n)


def history(store: Path, name: str = "fruit") -> list[tuple[Any, ...]]:
    with duckdb.connect(str(store), read_only=True) as con:
        return con.execute(
            f"SELECT action, rows, total_rows FROM {name}.history ORDER BY step"
        ).fetchall()


# -- stores and files ---------------------------------------------------------------------------


def test_a_stored_model_is_updated_and_forgets(store: Path, parts: list[str]) -> None:
    change = sqlbn.update(store, "fruit", parts[1:])
    assert (change.rows, change.total, rows_of(store)) == (200, 300, 300)
    change = sqlbn.forget(store, "fruit", parts[2])
    assert (change.rows, change.total, rows_of(store)) == (100, 200, 200)
    assert history(store) == [("fit", 100, 100), ("update", 200, 300), ("forget", 100, 200)]
    assert sqlbn.models(store)["fruit"]["version"] == 3
    files = sqlbn.models(store)["fruit"]["files"]
    assert [f["path"] for f in files] == parts[:2]


def test_the_same_file_twice_is_refused_under_any_name(
    store: Path, parts: list[str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(Path(parts[0]).read_bytes())
    with pytest.raises(SourceError, match=r"copy\.parquet' is in the model already \(fit of .*\)"):
        sqlbn.update(store, "fruit", copy)
    with pytest.raises(SourceError, match="given twice"):
        second = tmp_path / "second.parquet"
        second.write_bytes(Path(parts[1]).read_bytes())
        sqlbn.update(store, "fruit", [parts[1], second])
    assert rows_of(store) == 100
    sqlbn.update(store, "fruit", copy, again=True)
    assert rows_of(store) == 200


def test_a_file_that_was_forgotten_may_come_back(store: Path, parts: list[str]) -> None:
    sqlbn.update(store, "fruit", parts[1])
    sqlbn.forget(store, "fruit", parts[1])
    with pytest.raises(SourceError, match="was taken out already"):
        sqlbn.forget(store, "fruit", parts[1])
    sqlbn.update(store, "fruit", parts[1])
    assert rows_of(store) == 200


def test_other_rows_of_the_same_file_are_no_repetition(store: Path, parts: list[str]) -> None:
    sqlbn.update(store, "fruit", parts[1], where="spots < 2")
    sqlbn.update(store, "fruit", parts[1], where="spots >= 2")
    assert rows_of(store) == 200


def test_the_condition_of_the_fit_holds_for_new_rows(parts: list[str], tmp_path: Path) -> None:
    store = tmp_path / "few.duckdb"
    sqlbn.fit(parts[0], "kind", "nb", where="spots < 2", store=store, name="fruit").close()
    change = sqlbn.update(store, "fruit", parts[1])
    assert 0 < change.rows < 100


def test_a_night_without_news_is_no_mistake(
    store: Path, fruit: pa.Table, parts: list[str], tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing.parquet"
    pq.write_table(fruit.slice(0, 0), nothing)
    with sqlbn.load(store, "fruit") as model:
        before = repr(model.predict(parts[2]).to_pylist())
    change = sqlbn.update(store, "fruit", nothing)
    assert (change.rows, change.total) == (0, 100)
    with sqlbn.load(store, "fruit") as model:
        assert repr(model.predict(parts[2]).to_pylist()) == before
    assert history(store) == [("fit", 100, 100), ("update", 0, 100)]


def test_new_categories_and_classes_are_learned(fruit: pa.Table, store: Path) -> None:
    rows = fruit.slice(0, 30).to_pylist()
    more = [{**r, "kind": "cherry", "colour": "black", "width": None} for r in rows]
    sqlbn.update(store, "fruit", pa.Table.from_pylist(more, fruit.schema))
    with sqlbn.load(store, "fruit") as model:
        assert model.classes["class"].to_pylist() == ["apple", "cherry", "pear", "plum"]
        scored = model.predict(pa.Table.from_pylist(more[:1], fruit.schema)).to_pylist()
        assert scored[0]["prediction"] == "cherry"
    # The macro of the store knows them too.
    with duckdb.connect(str(store)) as con:
        con.register("new", pa.Table.from_pylist(more[:1], fruit.schema))
        con.execute("CREATE TEMP TABLE news AS FROM new")
        con.execute("USE fruit")
        found = con.execute("SELECT prediction FROM predict('temp.main.news')").fetchall()
    assert found == [("cherry",)]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("discretise", ["ef", "modl"])
def test_a_zero_has_one_name_whatever_its_sign(kind: pa.DataType, discretise: str) -> None:
    values = [-0.0, 0.0, 1.0, -2.5] * 10
    number = pa.array(values, kind)
    there = pa.table({"x": number, "y": number, "z": list("ppqr") * 10})
    back = there.take(pa.array(range(39, -1, -1)))
    options: dict[str, Any] = {"learner": "nb", "discretise": discretise, "categorical": ["x"]}
    names = []
    for rows in (there, back, there.slice(0, 20)):
        with sqlbn.fit(rows, "y", **options) as model:
            if rows.num_rows == 20:
                model.update(there.slice(20))
                model.forget(there.slice(0, 10))
            names.append(model._workspace.read("categories", "attribute", "value"))
            assert model.classes["class"].to_pylist() == ["-2.5", "0.0", "1.0"]
            found = model.predict(there)
            assert "p_0.0" in found.column_names
            assert found["prediction"].to_pylist() == values
    assert sorted(names[0]) == sorted(names[1]) == sorted(names[2])
    assert ("x", "0.0") in names[0] and ("x", "-0.0") not in names[0]


def test_columns_of_another_type_or_none_are_one_line(store: Path, fruit: pa.Table) -> None:
    text = fruit.set_column(1, "spots", fruit["spots"].cast(pa.string()))
    with pytest.raises(ColumnError, match="'spots' is VARCHAR but was BIGINT when the model was"):
        sqlbn.update(store, "fruit", text)
    with pytest.raises(ColumnError, match="the model's attribute 'colour' is not in"):
        sqlbn.update(store, "fruit", fruit.drop_columns(["colour"]))
    smaller = fruit.set_column(1, "spots", fruit["spots"].cast(pa.int8()))
    assert sqlbn.update(store, "fruit", smaller).rows == 300


def test_rows_that_were_never_in_change_nothing(store: Path, parts: list[str]) -> None:
    with pytest.raises(SourceError, match="these rows were not all in it; nothing was changed"):
        sqlbn.forget(store, "fruit", parts[1], where="colour = 'red' OR spots = 1")
    with pytest.raises(SourceError, match="none would be left; to remove the model: sqlbn drop"):
        sqlbn.forget(store, "fruit", parts[0])
    assert history(store) == [("fit", 100, 100)]


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    store: Path, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlbn.updates import operations

    change_rows = operations.change_rows

    def slow(*words: Any, **options: Any) -> Any:
        found = change_rows(*words, **options)
        monkeypatch.setattr(operations, "change_rows", change_rows)
        sqlbn.update(store, "fruit", parts[2])
        return found

    monkeypatch.setattr(operations, "change_rows", slow)
    with pytest.raises(StoreError, match="was changed by somebody else meanwhile"):
        sqlbn.update(store, "fruit", parts[1])
    assert history(store) == [("fit", 100, 100), ("update", 100, 200)]


def test_models_of_an_earlier_sqlbn_say_so(store: Path, parts: list[str]) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute("DROP TABLE fruit__tables.margins")
    with pytest.raises(StoreError, match="no table 'margins': it was made by an earlier sqlbn"):
        sqlbn.update(store, "fruit", parts[1])


def test_pairs_that_are_too_many_are_not_stored_and_the_structure_stays(
    parts: list[str],
) -> None:
    with sqlbn.fit(parts[0], "kind", k=1, limits=Limits(stored_margin_cells=10)) as model:
        before = model.parents.to_pylist()
        change = model.update(parts[1])
        assert "pairs of attributes are not stored" in change.notes[0]
        assert model.parents.to_pylist() == before
        assert model.meta["rows"] == 200


def test_fingerprints_of_large_files_read_little_and_tell_them_apart(tmp_path: Path) -> None:
    path = tmp_path / "large"
    content = bytearray(random.Random(0).randbytes(1 << 20))
    path.write_bytes(content)
    before = fingerprint(str(path))
    assert fingerprint(str(path)) == before
    content[-1] ^= 1
    path.write_bytes(content)
    assert fingerprint(str(path)) != before


# -- like another model, merge ------------------------------------------------------------------


def test_two_sites_share_counts_but_no_rows(parts: list[str], tmp_path: Path) -> None:
    here, there = tmp_path / "here.duckdb", tmp_path / "there.duckdb"
    one = sqlbn.fit(parts[0], "kind", "tan", store=here, name="a")
    sqlbn.fit(parts[1], "kind", "tan", like=one, store=there, name="b").close()
    change = sqlbn.merge(here, "a", "b", "c", other_store=there)
    assert (change.rows, change.total, rows_of(here, "c")) == (100, 200, 200)
    assert [h[0] for h in history(here, "c")] == ["fit", "fit", "merge"]
    with sqlbn.fit(parts[:2], "kind", "tan", like=one) as all_rows, sqlbn.load(here, "c") as both:
        for name in ("attributes", "parents", "classes", "cmi"):
            assert getattr(both, name).to_pylist() == getattr(all_rows, name).to_pylist()
        got, wanted = (repr(m.predict(parts[2]).to_pylist()) for m in (both, all_rows))
        assert got == wanted
    # The files of both are known to the new model.
    with pytest.raises(SourceError, match="is in the model already"):
        sqlbn.update(here, "c", parts[1])
    one.close()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"learner": "nb", "bins": 3}, "the models cut 'weight' into different intervals"),
        ({"learner": "nb", "exclude": ["colour"]}, "only one model has the attribute 'colour'"),
        ({"learner": "tan"}, "the models differ in their learner: nb and tan"),
        ({"learner": "nb", "m": 2.0}, "the models differ in their m: 1.0 and 2.0"),
    ],
)
def test_models_that_mean_different_things_are_not_merged(
    parts: list[str], tmp_path: Path, options: dict[str, Any], line: str
) -> None:
    store = tmp_path / "sites.duckdb"
    sqlbn.fit(parts, "kind", "nb", store=store, name="a").close()
    sqlbn.fit(parts, "kind", store=store, name="b", **options).close()
    with pytest.raises(StoreError, match=line):
        sqlbn.merge(store, "a", "b", "c", again=True)
    assert list(sqlbn.models(store)) == ["a", "b"]


def test_models_with_the_same_file_are_not_merged(parts: list[str], tmp_path: Path) -> None:
    store = tmp_path / "sites.duckdb"
    for name in ("a", "b"):
        sqlbn.fit(parts[0], "kind", "nb", store=store, name=name).close()
    with pytest.raises(SourceError, match=r"both models hold the rows of '.*0\.parquet'"):
        sqlbn.merge(store, "a", "b", "c")
    assert sqlbn.merge(store, "a", "b", "c", again=True).total == 200
    with pytest.raises(OptionError, match="'a' cannot be merged with itself"):
        sqlbn.merge(store, "a", "a", "d")


def test_structures_that_differ_are_not_merged_unless_made_the_same(adult: str) -> None:
    table = pq.read_table(adult)
    one, two = table.slice(0, 3000), table.slice(40_000, 3000)
    options = {"learner": "kdb", "k": 3}
    with (
        sqlbn.fit(one, "class", **options) as a,
        sqlbn.fit(two, "class", like=a, **options) as b,
        sqlbn.fit(two, "class", like=a, same_structure=True) as same,
    ):
        with pytest.raises(StoreError, match="same_structure=True"):
            a.merge(b)
        change = a.merge(same)
        assert "the structure stays as it is" in change.notes[0]
        assert a.meta["rows"] == 6000


def test_options_that_the_other_model_decides_are_refused(parts: list[str]) -> None:
    with sqlbn.fit(parts[0], "kind", "nb") as model:
        for options, line in (
            ({"like": model, "bins": 3}, "bins is decided by the model of like"),
            ({"like": model, "same_structure": True, "learner": "tan"}, "learner is decided by"),
            ({"same_structure": True}, "same_structure=True requires like"),
        ):
            with pytest.raises(OptionError, match=line):
                sqlbn.fit(parts[0], "kind", **options)
        with pytest.raises(OptionError, match="that model predicts 'kind', not 'colour'"):
            sqlbn.fit(parts[0], "colour", like=model)


# -- streams ------------------------------------------------------------------------------------


def switching(rows: int, switch: int, seed: int) -> pa.Table:
    """Rows whose class changes its meaning at some place."""
    rng = random.Random(seed)
    x = [rng.random() < 0.5 for _ in range(rows)]
    y = [(v if i < switch else not v) ^ (rng.random() < 0.2) for i, v in enumerate(x)]
    return pa.table({"x": x, "z": [rng.randrange(3) for _ in x], "y": y})


def test_a_stream_is_tested_before_it_is_learned() -> None:
    table = switching(1000, 1000, 0)
    batches = sqlbn.stream(table, "y", "nb", batch=100)
    wrong = 0.0
    for b in batches:
        with sqlbn.fit(table.slice(0, b.rows_before), "y", "nb") as model:
            loss = model.evaluate(table.slice(b.rows_before, 100)).losses["zero_one"]
        assert b.loss == pytest.approx(loss)
        wrong += 100 * loss
        assert b.running == pytest.approx(wrong / (100 * b.batch))


def test_a_window_forgets() -> None:
    table = switching(1000, 500, 1)
    batches = sqlbn.stream(table, "y", "nb", batch=100, window=200)
    for b in batches[2:]:
        first = b.rows_before - 200
        with sqlbn.fit(table.slice(first, 200), "y", "nb") as model:
            loss = model.evaluate(table.slice(b.rows_before, 100)).losses["zero_one"]
        assert b.loss == pytest.approx(loss)


def test_drift_is_told_and_steady_streams_are_left_alone() -> None:
    with pytest.warns(sqlbn.SqlbnWarning, match="drift: the recent zero_one is"):
        batches = sqlbn.stream(switching(4000, 2500, 2), "y", "nb", batch=100)
    drifted = [b.rows_before for b in batches if b.drift]
    assert 2500 <= drifted[0] <= 2500 + RECENT * 100
    rng = random.Random(3)
    warned = 0  # 0.08 in a thousand batches is what the band is made for
    for _ in range(50):
        band = Band()
        warned += sum(band.observe(0.2 + rng.gauss(0, 0.05)).drift for _ in range(200))
    assert warned <= 1


def test_the_band_needs_some_batches_and_starts_anew_after_drift() -> None:
    band = Band()
    verdicts = [band.observe(0.1 + 0.01 * (i % 2)) for i in range(LEAST + RECENT)]
    assert [v.high is None for v in verdicts] == [True] * (LEAST + RECENT - 1) + [False]
    news = [band.observe(0.5) for _ in range(LEAST + 2 * RECENT)]
    assert sum(v.drift for v in news) == 1


def test_a_stream_leaves_a_model_that_knows_its_files(parts: list[str], tmp_path: Path) -> None:
    store = tmp_path / "stream.duckdb"
    sqlbn.stream(parts, "kind", "nb", batch=70, store=store, name="m")
    assert history(store, "m") == [("fit", 70, 70), ("update", 230, 300)]
    with pytest.raises(SourceError, match="is in the model already"):
        sqlbn.update(store, "m", parts[1])
    with pytest.raises(OptionError, match="window=10: give at least a batch"):
        sqlbn.stream(parts, "kind", batch=70, window=10)


# -- the program --------------------------------------------------------------------------------


def test_the_program_changes_models(run: Run, parts: list[str], tmp_path: Path) -> None:
    assert run("fit", parts[0], "-t", "kind", "--kmax", 1, "--name", "m").returncode == 0
    said = run("update", "m", parts[1])
    assert "100 rows added to 'm'; it has 200 rows now\n· the selection by" in said.stdout
    assert "✓ adding up margins" in said.stderr
    again = run("update", "m", parts[1])
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("sqlbn: ")
    said = run("forget", "m", parts[0], "--json", "-q")
    assert json.loads(said.stdout)["total"] == 100
    shown = run("show", "m", "--history").stdout
    assert [line.split()[2] for line in shown.splitlines()[1:]] == ["fit", "update", "forget"]
    assert "changed 2 times since" in run("show", "m").stdout
    like = ("--like", "m", "--same-structure")
    assert run("fit", parts[2], "-t", "kind", "--name", "n", *like).returncode == 0
    said = run("merge", "m", "n", "--name", "both", "-q")
    assert (said.returncode, said.stdout) == (0, "")
    models = json.loads(run("models", "--json").stdout)
    assert models["both"]["rows"] == 200


def test_the_program_streams(run: Run, parts: list[str], tmp_path: Path) -> None:
    words = ("stream", *parts, "-t", "kind", "-l", "nb", "--batch", 50, "--measure", "log_loss")
    said = run(*words, "--out", "s.csv", "--plot", "s.svg")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[0].split() == [
        "batch",
        "rows",
        "before",
        "log_loss",
        "recent",
        "all",
        "so",
        "far",
    ]
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 6
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")
    assert len(json.loads(run(*words, "--json", "-q").stdout)) == 5


# -- crashes ------------------------------------------------------------------------------------


def test_a_killed_update_leaves_the_old_model_or_the_new_one(
    fruit: pa.Table, tmp_path: Path
) -> None:
    store, data = tmp_path / "models.duckdb", tmp_path / "all.parquet"
    pq.write_table(fruit, data)
    sqlbn.fit(data, "kind", k=2, store=store, name="fruit").close()
    program = "from sqlbn.cli import main; main()"
    words = ("update", "fruit", str(data), "--store", str(store), "--again", "-q")
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", program, *words], check=True)
    whole = time.monotonic() - started
    for i in range(8):
        before = rows_of(store)
        child = subprocess.Popen([sys.executable, "-c", program, *words])
        time.sleep(whole * (0.3 + 0.1 * i))
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert rows_of(store) in (before, before + 300)
        with sqlbn.load(store, "fruit") as model:
            assert model.meta["rows"] == rows_of(store) == model.history["total_rows"][-1].as_py()
            assert model.evaluate(data).losses["accuracy"] > 0.5
