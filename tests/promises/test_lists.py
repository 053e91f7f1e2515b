"""`--columns a,b` and `--columns a --columns b` mean the same, for every list option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.errors import ColumnError
from sqlbn.options.lists import (
    Listed,
    as_list,
    names_in,
    pairs_in,
    paths_in,
    quoted_name,
    split_list,
)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """Columns with and without commas; `y` is the class. The file is rows.parquet, here."""
    monkeypatch.chdir(tmp_path)
    n = range(120)
    table = pa.table(
        {
            "a": [i % 2 for i in n],
            "b": [i % 3 for i in n],
            "c": [i % 5 for i in n],
            "a,c": [i % 4 for i in n],
            "one": [1 for _ in n],
            "y": [str(i * 7 % 11 % 2) for i in n],
        }
    )
    pq.write_table(table, "rows.parquet")
    return table


def used(cli: Run, *words: str) -> Any:
    done = cli("fit", "rows.parquet", "-t", "y", "-l", "nb", "--replace", "-q", *words)
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(cli("show", "model", "--json").stdout)
    return {a["attribute"]: a["kind"] for a in shown["attributes"]}


SAME = [
    ("--columns", [["a,b"], ["a", "b"], ["a, b"], ['"a","b"']], {"a", "b"}),
    ("--columns", [["b,c,a"], ["b,c", "a"], ["b", "c,a"]], {"a", "b", "c"}),
    ("--columns", [["a,c"], ['"a,c"']], {"a,c"}),  # as a whole a column
    ("--columns", [['"a,c",b'], ["a,c", "b"]], {"a,c", "b"}),
    ("--exclude", [["a,b,one"], ["a", "b", "one"]], {"c", "a,c"}),
]


@pytest.mark.parametrize(("option", "ways", "wanted"), SAME)
def test_columns(
    option: str, ways: list[list[str]], wanted: set[str], cli: Run, rows: pa.Table
) -> None:
    for texts in ways:
        words = [word for text in texts for word in (option, text)]
        assert set(used(cli, *words)) == wanted, texts


def test_kinds(cli: Run, rows: pa.Table) -> None:
    one = used(cli, "--numeric", "a,b", "--categorical", "c", "--keep", "one,b")
    other = used(
        cli, "--numeric", "a", "--numeric", "b", "--categorical", "c",
        "--keep", "one", "--keep", "b",
    )  # fmt: skip
    assert one == other
    assert (one["a"], one["b"], one["c"], "one" in one) == (
        "numeric", "numeric", "categorical", True,
    )  # fmt: skip


def test_rows_are_carried_and_sorted(cli: Run, rows: pa.Table) -> None:
    used(cli, "--columns", "a,b")
    texts = set()
    for words in (
        ["--exclude", "c,one", "--order-by", "b,a"],
        ["--exclude", "c", "--exclude", "one", "--order-by", "b", "--order-by", "a"],
    ):
        texts.add(cli("predict", "model", "rows.parquet", "-q", *words).stdout)
    assert len(texts) == 1
    header, *lines = texts.pop().splitlines()
    assert header == 'a,b,"a,c",y,prediction,p_0,p_1'
    assert [line.split(",")[1] for line in lines] == sorted(line.split(",")[1] for line in lines)
    done = cli("predict", "model", "rows.parquet", "-q", "--exclude", "a,c", "--order-by", "a")
    assert done.stdout.splitlines()[0] == "a,b,c,one,y,prediction,p_0,p_1"


@pytest.mark.parametrize(
    ("command", "one", "other"),
    [
        (
            ["fit", "rows.parquet", "-t", "y", "-l", "nb", "--discretise", "auto", "--replace"],
            ["--encodings", "ef:3,ef:5"],
            ["--encodings", "ef:3", "--encodings", "ef:5"],
        ),
        (
            ["curve", "rows.parquet", "-t", "y", "--repeats", "1"],
            ["--learners", "nb,kdb:1", "--sizes", "20,4e1"],
            ["--learners", "nb", "--learners", "kdb:1", "--sizes", "20", "--sizes", "40"],
        ),
        (
            ["evaluate", "rows.parquet", "-t", "y", "-l", "nb"],
            ["--test", "rows.parquet,rows.parquet"],
            ["--test", "rows.parquet", "--test", "rows.parquet"],
        ),
        (
            ["prepare", "rows.parquet", "-t", "y"],
            ["--variable", "a,b"],
            ["--variable", "a", "--variable", "b"],
        ),
        (
            ["network", "query", "-s", "models.duckdb", "--name", "model"],
            ["--of", "a,b", "--given", "c=1,y=0"],
            ["--of", "a", "--of", "b", "--given", "c=1", "--given", "y=0"],
        ),
        (
            ["export", "model", "--format", "sql"],
            ["--key", "a,b"],
            ["--key", "a", "--key", "b"],
        ),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_other_list(
    command: list[str], one: list[str], other: list[str], cli: Run, rows: pa.Table
) -> None:
    used(cli, "--categorical", "a,b,c")
    found = []
    for words in (one, other):
        done = cli(*command, *words, "--json", *([] if command[0] == "export" else ["-q"]))
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        for key in ("seconds", "created_at", "version"):
            if isinstance(told, dict):
                told.pop(key, None)
        found.append(told)
    assert found[0] == found[1]


def test_python_takes_lists_as_they_are_and_texts_as_a_shell_does(rows: pa.Table) -> None:
    for columns in (["a", "b"], ("a", "b"), "a,b", '"a",b'):
        with sqlbn.fit(rows, "y", "nb", columns=columns) as model:
            assert model.attributes["attribute"].to_pylist() == ["a", "b"]
            found = model.predict(rows, exclude="c,one", order_by="b,a")
            assert found.column_names == ["a", "b", "a,c", "y", "prediction", "p_0", "p_1"]
    for columns in (["a,c"], "a,c", '"a,c"'):
        with sqlbn.fit(rows, "y", "nb", columns=columns) as model:
            assert model.attributes["attribute"].to_pylist() == ["a,c"]
    with pytest.raises(ColumnError, match="'b,c' is not in"):
        sqlbn.fit(rows, "y", "nb", columns=["b,c"])
    points = sqlbn.curve(rows, "y", "nb,kdb:1", "20,4e1", repeats=1)
    assert [(p.learner, p.size) for p in points] == [
        ("nb", 20), ("kdb:1", 20), ("nb", 40), ("kdb:1", 40),
    ]  # fmt: skip


def test_how_texts_are_read(tmp_path: Path) -> None:
    assert split_list('"say ""hi""", b ,,c') == ['say "hi"', "b", "c"]
    assert split_list("") == [""]
    assert split_list("two\nlines,b") == ["two\nlines", "b"]
    for name in ("a", "a,b", '"', ' a"b,', "x y"):
        assert split_list(quoted_name(name)) == [name]
    assert names_in(as_list(["a,b"])) == ["a,b"]
    assert names_in([Listed("a,b"), "c,d"], lambda text: text == "a,b") == ["a,b", "c,d"]
    assert pairs_in(["x=Husband, Wife,y=2", "z=(1, 2]"]) == ["x=Husband, Wife", "y=2", "z=(1, 2]"]
    odd = tmp_path / "a,b.parquet"
    odd.touch()
    assert paths_in([str(odd), "c.csv,d.csv"]) == [str(odd), "c.csv", "d.csv"]
