"""Names and values with control characters reach no terminal and no picture as they are."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.text import printable

N = 60
# Each would do something to a terminal: clear it, set its title, ring, write over the line, begin a
# sequence with one character, turn the direction of text, break the line where none is broken.
SIGNS = {
    "clear screen": "\x1b[2J",
    "title": "\x1b]0;owned\x07",
    "bell": "\x07",
    "return": "\r",
    "line feed": "\n",
    "backspace": "\x08",
    "C1": "\x9b31m",
    "delete": "\x7f",
    "bidi override": "\u202e",
    "isolate": "\u2066",
    "line separator": "\u2028",
    "null": "\x00",
}
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def nasty(text: str, signs: dict[str, str] = SIGNS) -> str:
    """A name with all of them."""
    return text + "".join(signs.values()) + "."


# A file's name, and a model's as DuckDB's schema, cannot hold the null character.
NAMED = {key: sign for key, sign in SIGNS.items() if key != "null"}
COLUMN, NUMBER, CLASS, MODEL = nasty("c", NAMED), nasty("q", NAMED), nasty("y", NAMED), "m"
ROWS = pa.table(
    {
        COLUMN: [nasty("v") if i % 3 else "plain" for i in range(N)],
        NUMBER: [i * 7 % 50 / 4 for i in range(N)],
        "constant\x1b[2J": ["one"] * N,
        CLASS: [nasty("k") if i % 3 else "\x1b[31mred" for i in range(N)],
    }
)


Said = Callable[..., tuple[str, str]]


def clean(text: str) -> str:
    """A text without any of them, line feeds aside."""
    assert not _RAW.search(text), repr(text)
    return text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with such a name, data and a store in it."""
    folder = tmp_path_factory.mktemp("names") / nasty("d", NAMED)
    folder.mkdir()
    pq.write_table(ROWS, folder / "data.parquet")
    store = folder / "models.duckdb"
    sqlbn.fit(folder / "data.parquet", CLASS, "skdb", kmax=1, store=store, name=MODEL).close()
    sqlbn.fit(ROWS, CLASS, "nb", store=store, name=nasty("n", NAMED)).close()
    return folder


@pytest.fixture
def said(cli: Run, place: Path) -> Callable[..., tuple[str, str]]:
    """What a command prints and says, both clean; `DATA` and `STORE` are put in."""
    known = {"DATA": place / "data.parquet", "STORE": place / "models.duckdb"}

    def call(*words: object, code: int = 0) -> tuple[str, str]:
        done = cli(*(known.get(str(w), w) for w in words))
        assert done.returncode == code, done.stderr
        return clean(done.stdout), clean(done.stderr)

    return call


SHOWN: dict[str, list[object]] = {
    "fit": [
        "fit",
        "DATA",
        "-t",
        CLASS,
        "-l",
        "nb",
        "--store",
        "OTHER",
        "--name",
        nasty("o", NAMED),
    ],
    "show": ["show", MODEL, "--store", "STORE"],
    "cpt": ["show", MODEL, "--store", "STORE", "--cpt", COLUMN],
    "loocv": ["show", MODEL, "--store", "STORE", "--loocv"],
    "history": ["show", MODEL, "--store", "STORE", "--history"],
    "models": ["models", "--store", "STORE"],
    "prepare": ["prepare", "DATA", "-t", CLASS],
    "profile": ["prepare", "DATA", "-t", CLASS, "--variable", COLUMN],
    "rank": ["rank", "DATA", "-t", CLASS],
    "evaluate": ["evaluate", "DATA", "-t", CLASS, "-l", "nb", "--folds", 2],
    "curve": ["curve", "DATA", "-t", CLASS, "--learners", "nb", "--sizes", 20, "--repeats", 2],
    "stream": ["stream", "DATA", "-t", CLASS, "-l", "nb", "--batch", 20, "--measure", "auc"],
    "network score": ["network", "score", "DATA", "--store", "STORE", "--name", MODEL],
    "network query": ["network", "query", "--of", COLUMN, "--store", "STORE", "--name", MODEL],
}


@pytest.mark.parametrize("what", SHOWN)
def test_what_a_person_reads(what: str, said: Said, tmp_path: Path) -> None:
    words = [tmp_path / "o.duckdb" if w == "OTHER" else w for w in SHOWN[what]]
    found = "".join(said(*words))
    assert found
    if what in ("cpt", "profile", "network query"):
        assert printable(nasty("v"))[:8] in found


@pytest.mark.parametrize("what", [w for w in SHOWN if w not in ("network score", "fit")])
def test_json_has_the_true_values(what: str, said: Said) -> None:
    found, _ = said(*SHOWN[what], "--json")
    texts = set(strings(json.loads(found)))
    expected = {"cpt": nasty("v"), "profile": nasty("v"), "rank": COLUMN, "prepare": COLUMN}
    expected |= {"network query": nasty("v"), "models": nasty("n", NAMED), "show": COLUMN}
    if what in expected:
        assert expected[what] in texts


def strings(value: Any) -> list[str]:
    """All texts of a document, keys included."""
    if isinstance(value, dict):
        return [t for key, one in value.items() for t in (key, *strings(one))]
    if isinstance(value, list):
        return [t for one in value for t in strings(one)]
    return [value] if isinstance(value, str) else []


MISTAKES: dict[str, list[object]] = {
    "no such column": ["fit", "DATA", "-t", "NASTY"],
    "no such model": ["show", "NASTY", "--store", "STORE"],
    "no such attribute": ["show", MODEL, "--store", "STORE", "--cpt", "NASTY"],
    "no such file": ["fit", "NASTY.parquet", "-t", "y"],
    "no such store": ["models", "--store", "NASTY"],
    "no such learner": ["fit", "DATA", "-t", CLASS, "-l", "NASTY"],
    "no such class": ["evaluate", "DATA", "-t", CLASS, "-l", "nb", "--positive", "NASTY"],
    "no such folder": ["predict", MODEL, "DATA", "--store", "STORE", "--out", "NASTY/x.csv"],
    "no condition": ["fit", "DATA", "-t", CLASS, "--where", "NASTY"],
    "no picture": ["prepare", "DATA", "-t", CLASS, "--plot", "NASTY"],
    "a column that is text": ["fit", "DATA", "-t", CLASS, "--numeric", COLUMN],
    "no evidence": ["network", "query", "--of", "NASTY", "--store", "STORE", "--name", MODEL],
}


@pytest.mark.parametrize("what", MISTAKES)
def test_an_error_is_one_clean_line(
    what: str, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(w).replace("NASTY", nasty("x", NAMED)) for w in MISTAKES[what]]
    told = said(*words, code=1)[1].splitlines()
    lines = [line for line in told if not line.startswith(("·", "✓"))]
    assert len(lines) == 1, told


@pytest.mark.parametrize("sign", SIGNS)
def test_a_wrong_use_is_told_cleanly(sign: str, cli: Run) -> None:
    done = cli("fit", f"x{SIGNS[sign]}", "--target", "y", "--k", f"x{SIGNS[sign]}")
    assert done.returncode == 2
    clean(done.stderr)
    done = cli("fit", "x", f"--no-{SIGNS[sign]}-option")
    assert done.returncode == 2
    clean(done.stderr)


def test_a_warning_is_clean(said: Said, tmp_path: Path) -> None:
    _, told = said(
        "fit", "DATA", "-t", CLASS, "-l", "nb", "--store", tmp_path / "s.duckdb", "--name", "m"
    )
    assert r"left out, they are constant: constant\x1b[2J" in told


# -- pictures ------------------------------------------------------------------------------------

PLOTS: dict[str, list[object]] = {
    "show": ["show", MODEL, "--store", "STORE", "--plot"],
    "prepare": ["prepare", "DATA", "-t", CLASS, "--plot"],
    "curve": ["curve", "DATA", "-t", CLASS, "--learners", "nb", "--sizes", 20, "--plot"],
    "stream": ["stream", "DATA", "-t", CLASS, "-l", "nb", "--batch", 20, "--plot"],
    "network": ["network", "plot", "--store", "STORE", "--name", MODEL, "--out"],
}


@pytest.mark.parametrize("what", PLOTS)
def test_a_picture_is_xml(what: str, said: Said, tmp_path: Path) -> None:
    if what == "network":
        pytest.importorskip("pygraphviz")
    else:
        pytest.importorskip("matplotlib")
    path = tmp_path / f"{nasty('p', NAMED)}.svg"
    said(*PLOTS[what], path)
    texts = [t for e in ET.parse(path).iter() for t in (e.text or "", e.tail or "")]
    clean("".join(texts))
    raw = path.read_text(encoding="utf-8")
    clean(raw)
    assert r"\x1b" in raw


# -- other programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bif", "pmml", "json", "sql"])
def test_an_export_is_read_again_or_refused(
    form: str, place: Path, tmp_path: Path, cli: Run
) -> None:
    out = tmp_path / f"model.{form}"
    done = cli("export", MODEL, "--store", place / "models.duckdb", "--format", form, "--out", out)
    clean(done.stderr)
    if done.returncode == 1:
        assert len(done.stderr.splitlines()) == 1
        assert not out.exists()
    elif form == "bif":
        assert COLUMN in sqlbn.read_bif(out).names
    elif form == "pmml":
        ET.parse(out)
    elif form == "json":
        assert COLUMN in strings(json.loads(out.read_text(encoding="utf-8")))
    else:
        assert nasty("v", NAMED)[:5] in out.read_text(encoding="utf-8")


def test_predictions_are_data_and_stay_as_they_are(place: Path, tmp_path: Path, cli: Run) -> None:
    words = ["predict", MODEL, place / "data.parquet", "--store", place / "models.duckdb"]
    done = cli(*words, "--out", tmp_path / "o.parquet")
    assert done.returncode == 0, done.stderr
    clean(done.stderr)
    found = pq.read_table(tmp_path / "o.parquet")
    assert set(found["prediction"].to_pylist()) <= set(ROWS[CLASS].to_pylist())


# -- the door ------------------------------------------------------------------------------------


def test_nothing_is_printed_past_the_door(root: Path) -> None:
    """Text goes by `echo`, data by `echo_data`, documents by `json_text`, which spells them out."""
    stray = re.compile(r"(?<![\w.\"])(typer\.echo|print|click\.echo|typer\.secho)\(")
    doors = {"sqlbn/cli/text.py"}
    for path in sorted((root / "sqlbn").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        for line in path.read_text(encoding="utf-8").splitlines():
            if stray.search(line) and name not in doors and ">>>" not in line:
                assert re.search(r"typer\.echo\(json_text\(|printable\(", line), f"{name}: {line}"
