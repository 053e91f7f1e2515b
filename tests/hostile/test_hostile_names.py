"""Names of every kind: of columns and targets, of models, of files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hostile_cases import ROWS, N, copied, made_store, survived

import sqlbn
from sqlbn.errors import SqlbnError

NAMES = {
    "quote": 'quo"te', "apostrophe": "it's", "space": " ", "spaces": "  a  ", "keyword": "select",
    "star": "*", "question": "?", "bracket": "a[b", "slashed": "a\\b", "semicolon": "a;b",
    "comment": "a--b", "block comment": "/*a*/", "statement": "'; DROP TABLE t; --",
    "closing": ") FROM t", "dollars": "$$a$$", "percent": "%s", "braces": "{{ x }}",
    "jinja": "{% raw %}", "colon": "a:b", "equals": "a=b", "comma": "a,b", "tab": "a\tb",
    "line": "a\nb", "return": "a\r\nb", "separator": "a\u2028b", "escape": "\x1b[2J",
    "bidi": "a\u202eb", "apple": "🍎", "combining": "e\u0301", "dotless": "İı",
    "astral": "\U0010ffff", "long": "x" * 300, "option": "--help", "number": "1", "dot": "a.b",
    "tilde": "~x", "rowid": "rowid", "macro": "predict", "meta": "meta", "backtick": "`a`",
    "dunder": "__sqlbn",
}  # fmt: skip
# What makes a difference where a name becomes one of the database.
SHORT = [
    "quote", "apostrophe", "space", "spaces", "statement", "braces", "line", "return", "escape",
    "apple", "dotless", "long", "option", "dot", "macro", "meta", "dunder", "backtick", "slashed",
]  # fmt: skip


LEFT_OUT = pytest.mark.hostile


@pytest.mark.parametrize(
    "name", [n if n in SHORT else pytest.param(n, marks=LEFT_OUT) for n in NAMES]
)
def test_a_column_and_a_target(name: str) -> None:
    """Both are called like that, and learned, scored and shown by it."""
    column, target = NAMES[name], f"{NAMES[name]}!"
    rows = ROWS.select(["x", "y"]).rename_columns([column, target])
    with sqlbn.fit(rows, target, "nb") as model:
        assert model.predict(rows)["prediction"].null_count == 0
        assert model.attributes["attribute"].to_pylist() == [column]
        assert model.cpt(column).num_rows == 6


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlbn.Model]:
    with sqlbn.load(made_store(tmp_path_factory.mktemp("model")), "m") as found:
        yield found


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_store(tmp_path_factory.mktemp("shelf"))


@pytest.mark.parametrize("name", SHORT)
def test_a_model(name: str, model: sqlbn.Model, shelf: Path) -> None:
    """It is stored and dropped by that name, or refused; the other model stays."""
    try:
        model.save(shelf, NAMES[name])
    except SqlbnError as error:
        assert "\n" not in str(error) or "\n" in NAMES[name]
        assert list(sqlbn.models(shelf)) == ["m"]
        return
    assert sorted(sqlbn.models(shelf)) == sorted(["m", NAMES[name]])
    sqlbn.drop(shelf, NAMES[name])
    assert list(sqlbn.models(shelf)) == ["m"]


SOME = ["quote", "statement", "line", "escape", "apple"]


@pytest.mark.parametrize("name", SOME)
def test_a_model_in_the_program(name: str, shelf: Path, tmp_path: Path) -> None:
    store, called = copied(shelf, tmp_path), f"n{NAMES[name]}"
    with sqlbn.load(store, "m") as found:
        found.save(store, called)
    survived("show", called, "--store", store, codes=(0,))
    assert called in json.loads(survived("models", "--store", store, "--json"))
    with duckdb.connect(str(store), read_only=True) as con:
        quoted = called.replace('"', '""')
        assert con.execute(f'SELECT count(*) FROM "{quoted}".meta').fetchone() != (0,)
    survived("drop", called, "--store", store, codes=(0,))


@pytest.mark.parametrize("name", [n for n in NAMES if n != "long"])
def test_a_file(name: str, model: sqlbn.Model, tmp_path: Path) -> None:
    """Files and folders are read by their very name, patterns in it are none."""
    path = tmp_path / f"{NAMES[name]}.parquet".replace("/", "_")
    pq.write_table(ROWS.slice(0, 7), path)
    pq.write_table(ROWS, tmp_path / "ab.parquet")
    assert model.predict(str(path)).num_rows == 7
    out = tmp_path / f"{NAMES[name]}.csv".replace("/", "_")
    model.predict(str(path), out=out)
    assert pyarrow.csv.read_csv(out).num_rows == 7


@pytest.mark.parametrize("name", ["bracket", "line", "equals", "separator", "star", "braces"])
def test_a_folder(name: str, model: sqlbn.Model, tmp_path: Path) -> None:
    folder = tmp_path / NAMES[name]
    folder.mkdir()
    pq.write_table(ROWS, folder / "a.parquet")
    shutil.copy(folder / "a.parquet", folder / "b.parquet")
    assert model.predict(str(folder)).num_rows == 2 * N
    found = survived("prepare", folder, "-t", "y", codes=(0,))
    assert f"{2 * N}" in found


CLASH = ["prediction", "p_a", "p_b", "P_A", "Prediction", "__sqlbn_s0"]


@pytest.mark.parametrize("name", CLASH)
def test_a_column_in_the_way_of_the_result(name: str, model: sqlbn.Model) -> None:
    rows = ROWS.append_column(name, ROWS["z"])
    with pytest.raises(SqlbnError, match=name):
        model.predict(rows)


NEAR = [["A", "a"], ["a", "a "], ["é", "e\u0301"], ["", "a"], ["İ", "i"]]


@pytest.mark.parametrize("names", NEAR, ids=range(len(NEAR)))
def test_names_that_nearly_meet(names: list[str]) -> None:
    rows = ROWS.select(["x", "z", "y"]).rename_columns([*names, "y"])
    try:
        with sqlbn.fit(rows, "y", "nb") as found:
            assert found.predict(rows).num_rows == N
    except SqlbnError as error:
        assert "\n" not in str(error)
