"""Collections end to end: the store in plain SQL, the program, large tables, options of old."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run
from random_tables import as_if_large

import sqlbn
from sqlbn.learners import make_learner

GIVEN = {"colour": [[], {"parents": ["spots", "ripe"], "weight": 2.0}], "width": [["colour"]]}
LEARNERS: dict[str, dict[str, Any]] = {
    "fan": {"score": "aic"},
    "superparent": {},
    "fanc": {"order": "gain", "parents_from_first": 3},
    "spc": {"order": "mi"},
    "spcr": {},
    "tc": {},
    "collection": {"parents": GIVEN},
}
every_learner = pytest.mark.parametrize("learner", LEARNERS)


def probabilities(table: pa.Table) -> list[tuple[float, ...]]:
    names = [n for n in table.column_names if n.startswith("p_")]
    return [tuple(row[n] for n in names) for row in table.to_pylist()]


# -- against the formula ------------------------------------------------------------------------


def test_a_sum_over_parents_is_the_formula() -> None:
    """P(y) (P(u|y)) (P(v|y) + P(v|u,y)) with add-one estimates, by hand."""
    rows = [("a", "c", "p"), ("a", "d", "p"), ("b", "d", "q"), ("b", "d", "q"), ("b", "c", "p")]
    table = pa.table({n: [r[at] for r in rows] for at, n in enumerate(("u", "v", "y"))})
    with sqlbn.fit(table, "y", "fanc") as model:
        got = model.predict(pa.table({"u": ["b"], "v": ["d"]}))
    p = (3 + 1) * ((1 + 1) / (3 + 2)) * ((1 + 1) / (3 + 2) + (0 + 1) / (1 + 2))
    q = (2 + 1) * ((2 + 1) / (2 + 2)) * ((2 + 1) / (2 + 2) + (2 + 1) / (2 + 2))
    assert got["p_p"][0].as_py() == pytest.approx(p / (p + q), abs=1e-15)


# -- the store ------------------------------------------------------------------------------------


@every_learner
def test_plain_sql_predicts_the_same(
    learner: str, fruit: pa.Table, fruit_file: str, tmp_path: Path
) -> None:
    store = tmp_path / "m.duckdb"
    with sqlbn.fit(fruit, "kind", learner, store=store, name="fruit", **LEARNERS[learner]) as model:
        wanted = sorted(probabilities(model.predict(fruit_file)))
    with duckdb.connect(str(store), read_only=True) as con:
        con.execute("USE fruit")
        found = con.sql(f"FROM predict('{fruit_file}')").to_arrow_table()
        assert con.execute("SELECT count(*) FROM cpt_spots").fetchall()[0][0] > 0
    for got, want in zip(sorted(probabilities(found)), wanted, strict=True):
        assert got == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("learner", ["fan", "superparent", "fanc", "spc", "tc", "collection"])
@pytest.mark.parametrize("limit", [1, 60])
def test_plain_sql_predicts_the_same_with_sparse_tables(
    learner: str, limit: int, fruit: pa.Table, fruit_file: str, tmp_path: Path
) -> None:
    store = tmp_path / "m.duckdb"
    with sqlbn.fit(fruit, "kind", learner, **LEARNERS[learner]) as model:
        wanted = sorted(probabilities(model.predict(fruit_file)))
    with as_if_large(limit):
        sqlbn.fit(fruit, "kind", learner, store=store, name="fruit", **LEARNERS[learner]).close()
    with duckdb.connect(str(store), read_only=True) as con:
        con.execute("USE fruit")
        found = con.sql(f"FROM predict('{fruit_file}')").to_arrow_table()
    for got, want in zip(sorted(probabilities(found)), wanted, strict=True):
        assert got == pytest.approx(want, abs=1e-12)


@every_learner
def test_the_learner_comes_back_from_the_meta_table(learner: str, fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", learner, **LEARNERS[learner]) as model:
        said = model.meta["options"].items()
        options = {key: value for key, value in said if key not in ("discretise", "bins")}
        assert model.meta["estimate"] == "laplace"
        assert model.meta["missing"] == "ignore"
    again = make_learner(learner, **options)
    assert again.options() == options
    assert again.options() == make_learner(learner, **LEARNERS[learner]).options()


def test_a_model_of_old_has_m_estimates_and_missing_values(
    fruit: pa.Table, fruit_file: str, tmp_path: Path
) -> None:
    store = tmp_path / "m.duckdb"
    with sqlbn.fit(fruit, "kind", "tan", store=store, name="old") as model:
        wanted = probabilities(model.predict(fruit_file))
    with duckdb.connect(str(store)) as con:
        con.execute("DELETE FROM old.meta WHERE key IN ('estimate', 'missing')")
    with sqlbn.load(store, "old") as model:
        assert probabilities(model.predict(fruit_file)) == wanted


def test_terms_say_what_the_model_is(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "spc", superparent="SPOTS", order="schema") as model:
        terms = [(r["attribute"], r["parents"], r["weight"]) for r in model.terms.to_pylist()]
        assert model.meta["superparent"] == "spots"
        ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    assert [r["attribute"] for r in ranked] == ["spots", "colour", "ripe", "weight", "width"]
    assert terms[:7] == [
        ("spots", [], 1.0),
        ("colour", [], 1.0),
        ("colour", ["spots"], 1.0),
        ("ripe", [], 1.0),
        ("ripe", ["spots"], 1.0),
        ("ripe", ["colour"], 1.0),
        ("ripe", ["colour", "spots"], 1.0),
    ]
    with sqlbn.fit(fruit, "kind", "nb") as model:
        assert model.terms is None


def test_probabilities_of_an_attribute_leave_missing_values_out(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "fan") as model:
        shown = model.cpt("colour").to_pylist()
    assert None not in {row["colour"] for row in shown}
    with sqlbn.fit(fruit, "kind", "nb", missing="ignore") as model:
        shown = [r for r in model.cpt("colour").to_pylist() if r["class"] == "plum"]
    assert math.fsum(r["probability"] for r in shown) == pytest.approx(1)


# -- the program ----------------------------------------------------------------------------------


@pytest.fixture
def odd_file(tmp_path: Path) -> Path:
    """Names that TOML and SQL both have to quote."""
    rng = random.Random(3)
    rows = [
        {'a "b"': rng.choice("xy"), "it's, [odd]": rng.choice("uvw"), "größe": rng.choice("kl")}
        for _ in range(80)
    ]
    table = pa.Table.from_pylist([{**r, "y": r["größe"] + rng.choice("ab")} for r in rows])
    pq.write_table(table, tmp_path / "odd.parquet")
    return tmp_path / "odd.parquet"


def test_parent_sets_from_a_file(run: Run, odd_file: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        "[parents]\n"
        '"it\'s, [odd]" = [[], [\'a "b"\'], {parents = [\'a "b"\', "größe"], weight = 2.5}]\n',
        encoding="utf-8",
    )
    words = ["--target", "y", "--learner", "collection", "--parents", "p.toml", "--name", "odd"]
    done = run("fit", odd_file, *words)
    assert done.returncode == 0, done.stderr
    assert "to count: " in done.stderr
    assert "collection (parents of 1 attributes, bins 5) of 'y'" in run("show", "odd").stdout
    with sqlbn.load(tmp_path / "models.duckdb", "odd") as model:
        assert ("it's, [odd]", ['a "b"', "größe"], 2.5) in [
            tuple(row.values()) for row in model.terms.to_pylist()
        ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("[parents", "is not TOML"),
        ("x = 1", "needs a table [parents]"),
        ("[parents]\n[more]\n", "'more' is not known"),
        ("[parents]\nspots = 3", "write a list of parent sets"),
        ("[parents]\nspots = [[3]]", "write a list of parent sets"),
        ("[parents]\nspots = [{parents = [], wait = 2}]", "'wait' is unknown"),
        ("[parents]\nspots = [{parents = [], weight = 0}]", "give a number above 0"),
        ("[parents]\nspots = [{parents = [], weight = inf}]", "give a number above 0"),
        ("[parents]\nspots = [['nothing']]", "no attribute 'nothing'"),
        ("[parents]\nnothing = [[]]", "no attribute 'nothing'"),
        ("[parents]\nspots = [['spots']]", "its own parent"),
        ("[parents]\nspots = [['ripe'], ['ripe']]", "twice"),
        ("[parents]\nspots = [['ripe', 'ripe']]", "twice"),
        (
            "[parents]\nspots = [['ripe']]\nripe = [['width']]\nwidth = [['spots']]",
            "'spots' depends on 'ripe' depends on 'width' depends on 'spots'",
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_one_line(
    run: Run, fruit_file: str, tmp_path: Path, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    words = ["-t", "kind", "-l", "collection", "--parents", "p.toml", "-q"]
    done = run("fit", fruit_file, *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert said in done.stderr


def test_fit_show_and_sql_of_a_super_parent_collection(run: Run, fruit_file: str) -> None:
    words = ["--target", "kind", "--learner", "spcr", "--order", "mi", "--parents-from-first", 2]
    done = run("fit", fruit_file, *words)
    assert done.returncode == 0, done.stderr
    assert "trying super parents" in done.stderr
    shown = run("show", "model").stdout
    assert "chosen: superparent " in shown
    assert "parent sets" in shown
    done = run("sql", "fit", fruit_file, *words)
    assert done.returncode == 0, done.stderr
    assert len(duckdb.extract_statements(done.stdout)) > 3


def test_curves_of_collections(run: Run, fruit_file: str) -> None:
    words = ["--learners", "nb,a1de,fanc,spc,tc", "--sizes", "50,100", "--repeats", 1, "-q"]
    done = run("curve", fruit_file, "--target", "kind", *words)
    assert done.returncode == 0, done.stderr
    assert "fanc" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": "nb", "order": "mi"}, "order is not for the learner nb"),
        ({"learner": "collection", "order": "mi"}, "order is not for the learner collection"),
        (
            {"learner": "tc", "superparent": "spots"},
            "it goes with spc, superparent; tc takes order",
        ),
        (
            {"learner": "skdb", "estimate": "laplace"},
            "it goes with collection, fan, fanc, hgc, kdb",
        ),
        ({"learner": "a1de", "missing": "ignore"}, "missing is not for the learner a1de"),
        ({"learner": "kdb", "missing": "ignore", "backoff": "parents"}, "backoff='cell'"),
        ({"learner": "fanc", "backoff": "parents"}, "backoff does nothing"),
        ({"learner": "fanc", "m": 2.0}, "estimate='m'"),
        ({"learner": "fanc", "structure_sample": 10}, "does nothing for the learner fanc"),
        ({"learner": "spc", "superparent": "nothing"}, "no attribute 'nothing'"),
        ({"learner": "superparent", "superparent": "kind"}, "no attribute 'kind'"),
    ],
)
def test_options_that_do_not_fit(fruit: pa.Table, options: dict[str, Any], said: str) -> None:
    with pytest.raises(sqlbn.SqlbnError, match=said):
        sqlbn.fit(fruit, "kind", **options)


# -- large ----------------------------------------------------------------------------------------


def test_counts_that_do_not_fit_are_refused_before_they_are_made(fruit: pa.Table) -> None:
    with pytest.raises(sqlbn.SqlbnError, match="parents_from_first"):
        sqlbn.fit(fruit, "kind", "tc", disk_limit="1kB")


@pytest.mark.parametrize("learner", ["fan", "superparent", "fanc", "spc", "tc"])
def test_thousands_of_categories(learner: str) -> None:
    """Their pairs have millions of cells, of which few were seen."""
    rng = random.Random(5)
    n = 6000
    first, second = ([f"{c}{rng.randrange(2500)}" for _ in range(n)] for c in "uv")
    table = pa.table(
        {
            "first": first,
            "second": second,
            "third": [v[-1] for v in second],
            "y": [rng.choice("pq") if u > "u2" else "p" for u in first],
        }
    )
    with sqlbn.fit(table, "y", learner, keep=["first", "second"], memory_limit="500MB") as model:
        found = probabilities(model.predict(table))
    assert all(0 < p < 1 for row in found for p in row)
    assert all(math.isclose(sum(row), 1) for row in found)


def test_many_attributes_take_repeated_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(9)
    columns = {f"a{i}": [rng.choice("xyz") for _ in range(60)] for i in range(9)}
    table = pa.table({**columns, "y": [rng.choice("pq") for _ in range(60)]})
    with sqlbn.fit(table, "y", "tc", order="mi") as model:
        wanted = probabilities(model.predict(table))
    monkeypatch.setattr("sqlbn.kinds.collection.collected._FUSED_VALUES", 1 << 11)
    monkeypatch.setattr("sqlbn.kinds.collection.collected._MOST_TABLES", 4)
    with sqlbn.fit(table, "y", "tc", order="mi") as model:
        assert max(f.level for f in model._spec.factors) > 3
        for got, want in zip(probabilities(model.predict(table)), wanted, strict=True):
            assert got == pytest.approx(want, abs=1e-12)
