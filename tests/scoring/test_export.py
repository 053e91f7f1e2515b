"""Models that leave sqlbn: scripts on DuckDB, JSON and PMML give what `predict` gives."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import export_cases as cases
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.api.model import Model
from sqlbn.errors import ExportError, NetworkError, OptionError
from sqlbn.exporting.formats import export_pieces
from sqlbn.exporting.script import probability_columns
from sqlbn.exporting.targets import TARGETS

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed (sqlbn[export])")


@pytest.fixture(scope="module")
def fitted() -> Iterator[dict[str, Model]]:
    """A model of every kind."""
    train = cases.rows(400, 1).drop_columns(["id"])
    found = {n: sqlbn.fit(train, target="select", **o) for n, o in cases.LEARNERS.items()}
    yield found
    for model in found.values():
        model.close()


@pytest.fixture(scope="module")
def new() -> pa.Table:
    return cases.rows(120, 2, new=True)


@pytest.fixture(scope="module")
def wanted(fitted: dict[str, Model], new: pa.Table) -> dict[str, Any]:
    """What `predict` says."""
    return {name: model.predict(new, exclude=["select"]) for name, model in fitted.items()}


@pytest.mark.parametrize("name", cases.LEARNERS)
def test_script_on_duckdb(
    name: str, fitted: dict[str, Model], new: pa.Table, wanted: dict[str, pa.Table]
) -> None:
    script = fitted[name].export(key=["id"], table="main.new_rows", name=name)
    with duckdb.connect() as database:
        database.register("new_rows", new)
        result = database.execute(str(script)).fetchall()
    cases.check_equal({row[0]: list(row[1:]) for row in result}, wanted[name], 3)


@pytest.mark.parametrize("name", ["skdb", "eskdb", "eskdb-mean"])
def test_a_script_without_a_key_carries_the_columns_of_the_input(
    name: str, fitted: dict[str, Model], new: pa.Table, wanted: dict[str, pa.Table]
) -> None:
    """Not the cuts that members make of them."""
    with duckdb.connect() as database:
        database.register("new_rows", new)
        result = database.execute(str(fitted[name].export(table="main.new_rows", name=name)))
        columns = [column[0] for column in result.description or []]
        found = sorted(row[-1] for row in result.fetchall())
    carried = columns[: columns.index("prediction")]
    assert len(carried) == len(set(carried)) and set(carried) <= set(new.column_names)
    assert found == pytest.approx(sorted(wanted[name].columns[-1].to_pylist()), abs=1e-9)


@pytest.mark.parametrize("name", cases.LEARNERS)
def test_json(
    name: str, fitted: dict[str, Model], new: pa.Table, wanted: dict[str, pa.Table]
) -> None:
    document = json.loads(str(fitted[name].export(format="json")))
    assert (document["format"], document["version"]) == ("sqlbn-model", 3)
    scorer = cases.Document(document)
    found = {row["id"]: scorer.predict(row) for row in new.to_pylist()}
    cases.check_equal(found, wanted[name], 3)


@pytest.mark.parametrize("name", ["nb", "snb", "tan"])
def test_pmml(
    name: str, fitted: dict[str, Model], new: pa.Table, wanted: dict[str, pa.Table]
) -> None:
    scorer = cases.Pmml(str(fitted[name].export(format="pmml")))
    spec = fitted[name].spec
    assert (scorer.naive is None) == any(spec.parents[v] for v in spec.selected)
    found = {row["id"]: scorer.predict(row) for row in new.to_pylist()[:40]}
    cases.check_equal(found, wanted[name].slice(0, 40), 3)


def test_what_pmml_and_bif_cannot_say(fitted: dict[str, Model]) -> None:
    with pytest.raises(ExportError, match="mean of many networks"):
        fitted["a1de"].export(format="pmml")
    with pytest.raises(ExportError, match="sum over many networks"):
        fitted["tc"].export(format="pmml")
    with pytest.raises(NetworkError, match="mean of many networks"):
        fitted["a1de"].export(format="bif")


def test_bif(fitted: dict[str, Model], tmp_path: Path) -> None:
    out = tmp_path / "nb.bif"
    assert fitted["nb"].export(out, format="bif") == out
    assert len(sqlbn.read_bif(out)) == len(fitted["nb"].spec.selected) + 1


@pytest.mark.parametrize("dialect", TARGETS)
@pytest.mark.parametrize("name", ["nb", "a1de", "fanc"])
def test_every_dialect_reads_its_script(dialect: str, name: str, fitted: dict[str, Model]) -> None:
    model = fitted[name]
    options = {"dialect": dialect, "table": "new_rows", "view": "scored"}
    pieces = list(export_pieces(model._workspace, model.spec, "sql", name, options))
    inserts = [piece for piece in pieces if piece.startswith("INSERT")]
    others = [piece for piece in pieces if not piece.startswith("INSERT")]
    script = "".join([*others[:-1], min(inserts, key=len), others[-1]])
    read = sqlglot.parse(script, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    statements = [statement for statement in read if statement is not None]
    assert {s.key for s in statements} == {"create", "insert"}
    view = statements[-1]
    strange = {f.name for f in view.find_all(sqlglot.exp.Anonymous)}
    assert strange <= ({"EVEN"} if dialect == "duckdb" else set())
    texts = {t.this for t in view.find_all(sqlglot.exp.Literal) if t.is_string}
    texts |= {t.name for t in view.find_all(sqlglot.exp.National)}
    assert {*cases.CLASSES, *(t for t in cases.TEXTS if t is not None)} <= texts
    if dialect != "duckdb":
        words = set(re.findall(r"\w+", others[-1].upper()))
        assert not words & {"TRY_CAST", "EXCLUDE", "EVEN", "ENUM", "ARG_MAX", "ANY_VALUE"}


def test_probability_columns_fit_the_target() -> None:
    long = ["p_" + "ä" * 60 + end for end in "abc"]
    found = probability_columns(long, TARGETS["postgres"])
    assert len(set(found)) == 3
    assert all(len(name.encode()) <= 63 for name in found)
    assert probability_columns(["p_a b", "p_a_b"], TARGETS["bigquery"]) == ["p_a_b", "p_a_b_2"]


def test_names_without_quotes_are_upper_case_in_snowflake(fitted: dict[str, Model]) -> None:
    script = str(fitted["nb"].export(dialect="snowflake", name="census"))
    assert '"CENSUS_FACTOR_0"' in script
    assert '"ORDER"' in script
    assert '"odd ""name"""' in script


def test_texts_are_compared_letter_by_letter(fitted: dict[str, Model]) -> None:
    for dialect in ("mysql", "tsql"):
        assert f"COLLATE {TARGETS[dialect].collation}" in str(fitted["nb"].export(dialect=dialect))
    assert "N'no 😀'" in str(fitted["nb"].export(dialect="tsql"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "klingon"}, "dialect='klingon': choose duckdb, spark"),
        ({"format": "xml"}, "format='xml': choose sql, json, bif, pmml"),
        ({"format": "json", "dialect": "spark"}, "dialect requires format='sql'"),
        ({"table": "a; DROP TABLE b"}, "no name of a table"),
        ({"table": "a JOIN b"}, "no name of a table"),
        ({"table": "read_parquet('x')"}, "no table, but a function"),
        ({"key": ["prediction"]}, "two columns 'prediction'"),
    ],
)
def test_options_that_make_no_sense(
    options: dict[str, Any], message: str, fitted: dict[str, Model]
) -> None:
    with pytest.raises((OptionError, ExportError), match=message):
        fitted["nb"].export(**options)


def test_no_script_can_hold_a_nul() -> None:
    rows = pa.table({"x": ["a\x00", "b"] * 10, "y": ["p", "q"] * 10})
    with sqlbn.fit(rows, target="y", learner="nb") as model:
        with pytest.raises(ExportError, match="NUL character"):
            model.export()
        assert json.loads(str(model.export(format="json")))["attributes"][0]["categories"]


def test_without_sqlglot(fitted: dict[str, Model], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ExportError, match=r"needs sqlglot; install it with.*sqlbn\[export\]"):
        fitted["nb"].export()


def test_the_command(store_of_fruit: Path, fruit: pa.Table, run: Any, tmp_path: Path) -> None:
    out = tmp_path / "fruit.sql"
    told = run("export", "fruit", "--store", str(store_of_fruit), "--out", str(out))
    assert told.returncode == 0, told.stderr
    with duckdb.connect() as database:
        database.register("input", fruit)
        assert len(database.execute(out.read_text()).fetchall()) == fruit.num_rows
    document = run("export", "fruit", "--store", str(store_of_fruit), "--format", "json")
    assert json.loads(document.stdout)["target"]["name"] == "kind"
    told = run("export", "fruit", "--store", str(store_of_fruit), "--dialect", "x")
    assert told.returncode == 1 and len(told.stderr.strip().splitlines()) == 1
