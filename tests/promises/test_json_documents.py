"""`--json` of every command is one document with numbers as numbers; of predict a row a line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.evaluation.metrics import MEASURES
from sqlbn.options import command_options
from sqlbn.text import json_text


@pytest.fixture(scope="module")
def place(fruit: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows and a store of several models."""
    folder = tmp_path_factory.mktemp("json")
    pq.write_table(fruit, folder / "fruit.parquet")
    store = folder / "models.duckdb"
    sqlbn.fit(fruit, "kind", "skdb", kmax=1, store=store, name="2024").close()
    sqlbn.fit(fruit, "kind", "fanc", store=store, name="sets").close()
    sqlbn.fit(fruit, "kind", "nb", store=store, name="nb").close()
    sqlbn.networks.learn(fruit, "hgc", store=store, name="net").close()
    return folder


def never(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def document(cli: Run, *words: object) -> Any:
    """The one document that a command prints."""
    done = cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout, parse_constant=never)


def numbers_as_text(found: Any) -> list[str]:
    """Texts that are numbers, where no person wrote them."""
    if isinstance(found, dict):
        return [
            t for key, value in found.items() if key not in TEXTS for t in numbers_as_text(value)
        ]
    if isinstance(found, list):
        return [t for value in found for t in numbers_as_text(value)]
    if not isinstance(found, str):
        return []
    try:
        float(found)
    except ValueError:
        return []
    return [found]


# Categories, names and versions are texts, whatever they look like.
TEXTS = {"name", "spots", "duckdb", "python", "value", "part", "kind", "ripe", "sql", "text"}

COMMANDS: dict[str, list[str]] = {
    "fit": ["fit", "fruit.parquet", "-t", "kind", "-l", "nb", "--name", "new"],
    "update": ["update", "new", "fruit.parquet", "--again"],
    "forget": ["forget", "new", "fruit.parquet", "--again"],
    "merge": ["merge", "nb", "new", "--name", "both", "--again"],
    "stream": ["stream", "fruit.parquet", "-t", "kind", "--batch", "100"],
    "evaluate": ["evaluate", "fruit.parquet", "-t", "kind", "-l", "nb", "--folds", "2"],
    "models": ["models"],
    "show": ["show", "2024"],
    "show --cpt": ["show", "2024", "--cpt", "colour"],
    "show --loocv": ["show", "2024", "--loocv"],
    "show --history": ["show", "2024", "--history"],
    "show --terms": ["show", "sets", "--terms"],
    "show --decisions": ["show", "net", "--decisions"],
    "prepare": ["prepare", "fruit.parquet", "-t", "kind"],
    "rank": ["rank", "fruit.parquet", "-t", "kind"],
    "curve": ["curve", "fruit.parquet", "-t", "kind", "--learners", "nb", "--sizes", "50",
              "--repeats", "2"],
    "bench": ["bench", "--sets", "fruit.parquet:kind", "--learners", "nb", "--folds", "2"],
    "network learn": ["network", "learn", "fruit.parquet", "--name", "net2"],
    "network follow": ["network", "follow", "fruit.parquet", "--window", "200", "--block", "100"],
    "network score": ["network", "score", "fruit.parquet", "-s", "models.duckdb", "--name", "net"],
    "network query": ["network", "query", "--of", "kind", "-s", "models.duckdb", "--name", "net"],
    "network export": ["network", "export", "-o", "n.bif", "-s", "models.duckdb", "--name", "net"],
    "network plot": ["network", "plot", "-o", "n.svg", "-s", "models.duckdb", "--name", "net"],
    "network sample": ["network", "sample", "--random", "nb", "--rows", "9", "-o", "r.csv"],
    "sample": ["sample", "--random", "nb", "--rows", "9", "-o", "rows.csv"],
    "export": ["export", "nb"],
    "export --out": ["export", "nb", "-f", "pmml", "-o", "nb.pmml"],
    "sql fit": ["sql", "fit", "fruit.parquet", "-t", "kind", "-l", "nb"],
    "sql predict": ["sql", "predict", "nb", "fruit.parquet"],
    "predict": ["predict", "nb", "fruit.parquet", "--out", "scored.parquet"],
    "drop": ["drop", "new"],
    "help": ["help"],
}  # fmt: skip


def test_every_command_is_here() -> None:
    assert set(command_options.COMMANDS) - set(COMMANDS) == {"demo"}  # takes seconds: the next test


def test_every_command_prints_one_document(
    cli: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order: some undo what others did."""
    monkeypatch.chdir(place)
    for name, words in COMMANDS.items():
        if name == "network plot":
            pytest.importorskip("pygraphviz")
        assert numbers_as_text(document(cli, *words)) == [], name


def test_the_demo_is_one_document(
    cli: Run, fruit: pa.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from sqlbn.cli.commands import fit_commands

    small = fruit.rename_columns(["age", "occupation", "a", "b", "c", "class"])
    kinds = ["<=50K" if kind.as_py() == "plum" else ">50K" for kind in small["class"]]
    pq.write_table(small.set_column(5, "class", pa.array(kinds)), tmp_path / "small.parquet")
    monkeypatch.setattr(fit_commands, "example_data", lambda: str(tmp_path / "small.parquet"))
    told = document(cli, "demo", "--store", tmp_path / "m.duckdb", "-q")
    assert (told["fit"]["rows"], len(told["predict"])) == (300, 5)
    assert 0 < told["evaluate"]["auc"] <= 1


def test_names_stay_text(cli: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    told = document(cli, "models")["2024"]
    assert (told["name"], told["rows"], told["version"]) == ("2024", 300, 1)
    assert sqlbn.models("models.duckdb")["2024"]["rows"] == 300


# -- show -----------------------------------------------------------------------------------------


def test_all_that_is_asked_for_is_shown(
    cli: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    alone = [cli("show", "2024", *words).stdout for words in (["--cpt", "colour"], ["--history"])]
    both = cli("show", "2024", "--history", "--cpt", "colour").stdout
    assert both == "\n".join(alone)
    told = document(cli, "show", "2024", "--cpt", "colour", "--history", "--loocv")
    assert list(told) == ["cpt", "loocv", "history"]
    assert told["history"] == document(cli, "show", "2024", "--history")
    done = cli("show", "2024", "--history", "--terms")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sqlbn: a skdb model is no collection of parent sets\n"


# -- predict --------------------------------------------------------------------------------------


def test_predictions_are_a_row_a_line(
    cli: Run, fruit: pa.Table, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    done = cli("predict", "nb", "fruit.parquet", "--json", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line, parse_constant=never) for line in done.stdout.splitlines()]
    with sqlbn.load("models.duckdb", "nb") as model:
        wanted = model.predict("fruit.parquet").to_pylist()
    for row in wanted:
        if row["width"] is not None and math.isnan(row["width"]):
            row["width"] = None
    assert rows == wanted
    told = document(cli, "predict", "nb", "fruit.parquet", "-o", "scored.csv")
    assert told["rows"] == 300
    assert told["out"] == "scored.csv"


# -- evaluations ----------------------------------------------------------------------------------


def test_attributes_of_an_evaluation_are_losses(fruit: pa.Table) -> None:
    found = sqlbn.evaluate(fruit, "kind", "nb", folds=3)
    assert {name: getattr(found, name) for name in MEASURES} == found.losses
    assert 0 < found.log_loss < 3
    assert 0 < found.brier < 2
    with sqlbn.fit(fruit, "kind", "nb") as model:
        assert math.isnan(model.evaluate(fruit, ranking=False).auc)
    public = {name for name in vars(found) if not name.startswith("_")}
    assert public == {"classes", "confusion", "rows", "skipped", "positive", "ranking", "seconds"}


def test_values_that_json_has_no_word_for() -> None:
    import datetime
    from decimal import Decimal

    import numpy as np

    day = datetime.date(2026, 11, 18)
    values = [math.inf, Decimal("1.50"), Decimal(10**20), np.int8(3), day, Path("a"), b"\x01", (1,)]
    assert json.loads(json_text(values)) == [
        None, 1.5, 10**20, 3, "2026-11-18", "a", "01", [1],
    ]  # fmt: skip
