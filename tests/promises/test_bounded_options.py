"""Numbers beyond what the data can use, and paths that lead nowhere, end soon and in one line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run, without_rights

import sqlbn
from sqlbn.errors import SqlbnError
from sqlbn.options.command_options import COMMANDS

N = 40
ROWS = pa.table(
    {
        "x": [f"v{i % 3}" for i in range(N)],
        "q": [i * 7 % 19 / 4 for i in range(N)],
        "y": ["a" if i % 4 else "b" for i in range(N)],
    }
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a store."""
    folder = tmp_path_factory.mktemp("bounded")
    pq.write_table(ROWS, folder / "data.parquet")
    sqlbn.fit(ROWS, "y", "nb", store=folder / "models.duckdb", name="m").close()
    return folder


@pytest.fixture
def line(cli: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The one line of a command that is refused; nothing is written."""
    monkeypatch.chdir(place)
    before = {p.name: p.read_bytes() for p in place.iterdir()}

    def told(*words: object) -> str:
        done = cli(*words)
        lines = [t for t in done.stderr.splitlines() if not t.startswith(("·", "✓"))]
        assert done.returncode in (1, 2), (words, done.returncode, done.stderr)
        assert done.returncode == 2 or len(lines) == 1, (words, done.stderr)
        return lines[-1]

    yield told
    assert {p.name: p.read_bytes() for p in place.iterdir()} == before


# -- numbers that the data bounds ------------------------------------------------------------------

FITS: dict[str, dict[str, Any]] = {
    "bins": {"learner": "nb", "bins": 1_000_000_000},
    "bins of skdb": {"bins": 1_000_000_000},
    "encodings": {"learner": "nb", "discretise": "auto", "encodings": "ef:1000000000"},
    "kmax": {"kmax": 1_000_000},
    "k": {"learner": "kdb", "k": 1_000_000},
    "first parents": {"learner": "fanc", "parents_from_first": 1_000_000},
    "attributes": {"learner": "a1de", "attributes": 1_000_000},
    "block": {"learner": "tan", "bound": "normal", "block": 2**62},
    "samples": {"loocv_sample": 2**62, "structure_sample": 2**62},
    "threads": {"learner": "nb", "threads": 100_000},
}


@pytest.mark.parametrize("what", FITS)
def test_a_number_past_the_data_is_bounded_by_it(what: str) -> None:
    with sqlbn.fit(ROWS, "y", **FITS[what]) as model:
        assert model.predict(ROWS).num_rows == N


def test_more_bins_than_values_are_as_many_as_values() -> None:
    with sqlbn.fit(ROWS, "y", "nb", bins=10**9) as large, sqlbn.fit(ROWS, "y", "nb", bins=N) as own:
        assert large.predict(ROWS).equals(own.predict(ROWS))


DRAWN = ["--random", "nb", "--rows", "9", "--out", "o.csv"]
REFUSED: dict[str, list[object]] = {
    "--folds": ["evaluate", "data.parquet", "-t", "y", "-l", "nb", "--folds", 1_000_000],
    "--values": ["sample", *DRAWN, "--values", 100_000_000],
    "classes": ["sample", *DRAWN, "--classes", 10**9],
    "attributes": ["sample", *DRAWN, "--attributes", 10**9],
    "--parents": ["fit", "data.parquet", "-t", "y", "-l", "collection", "--parents", "/dev/zero"],
    "--batch": ["stream", "data.parquet", "-t", "y", "-l", "nb", "--batch", 10**25],
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_number_that_nothing_can_use_is_refused(what: str, line: Callable[..., str]) -> None:
    assert what in line(*REFUSED[what])


# -- every option of every command -----------------------------------------------------------------

# What a command needs before its options are looked at.
DATA, MODEL = ["data.parquet", "-t", "y"], ["--store", "models.duckdb", "--name", "m"]
NEEDS: dict[str, list[str]] = {
    "fit": DATA,
    "sql fit": DATA,
    "stream": DATA,
    "evaluate": DATA,
    "bench": ["--sets", "data.parquet:y", "--learners", "nb"],
    "prepare": DATA,
    "rank": DATA,
    "curve": [*DATA, "--learners", "nb", "--sizes", "10"],
    "predict": ["m", "data.parquet"],
    "update": ["m", "data.parquet"],
    "forget": ["m", "data.parquet"],
    "merge": ["m", "m", "--name", "o"],
    "show": ["m"],
    "drop": ["m"],
    "sql predict": ["m"],
    "export": ["m", "--format", "json"],
    "models": [],
    "demo": [],
    "help": [],
    "sample": DRAWN,
    "network sample": DRAWN,
    "network learn": DATA,
    "network follow": [*DATA, "--window", "20"],
    "network score": ["data.parquet", *MODEL],
    "network query": ["--of", "x", *MODEL],
    "network export": [*MODEL, "--out", "o.bif"],
    "network plot": [*MODEL, "--out", "o.svg"],
}


def options_of(kind: type) -> list[tuple[str, str]]:
    """Commands and their options of a type, by the program's own list."""
    return [
        (words, option.flags[0])
        for words, taken in COMMANDS.items()
        for option in (*taken.own_options.values(), *taken.keyword_options.values())
        if kind in option.kinds and not option.argument and not option.only_python
    ]


def test_the_list_is_whole() -> None:
    assert set(COMMANDS) == {*NEEDS, "help"}
    for kind, least in ((int, 60), (float, 10), (Path, 10)):
        assert len(options_of(kind)) >= least


def test_a_whole_number_past_64_bits(line: Callable[..., str]) -> None:
    for command, option in options_of(int):
        assert option in line(*command.split(), *NEEDS[command], option, 10**30)
    for value in (-(10**30), 2**63, "9" * 4000, "9" * 5000):
        assert "--seed" in line("fit", *NEEDS["fit"], "--seed", value)


def test_a_number_that_is_none(line: Callable[..., str]) -> None:
    for command, option in options_of(float):
        for value in ("nan", "inf", "-inf") if command != "stream" else ("nan",):
            assert option in line(*command.split(), *NEEDS[command], option, value)


def test_an_empty_path(line: Callable[..., str]) -> None:
    named = ("--store", "--store-table", "--temp-dir", "--like-store", "--from")
    paths = [*options_of(Path), *(pair for pair in options_of(str) if pair[1] in named)]
    for command, option in paths:
        line(*command.split(), *NEEDS[command], option, "")


# -- files -----------------------------------------------------------------------------------------

LONG, BYTES = f"{'x' * 5000}.parquet", os.fsdecode(b"caf\xe9.parquet")
ENDLESS = ["/dev/zero", "/proc/self/mem", "/proc/self/environ", "/dev/full"]


@pytest.mark.parametrize("path", [LONG, BYTES, *ENDLESS], ids=range(2 + len(ENDLESS)))
def test_a_path_that_cannot_be_read(path: str, line: Callable[..., str]) -> None:
    shown = path[:50] if path != BYTES else "caf"
    assert shown in line("fit", path, "-t", "y", "--name", "new")
    assert shown in line("predict", "m", path)
    line("models", "--store", path)
    line("fit", "data.parquet", "-t", "y", "-l", "collection", "--parents", path)
    line("network", "query", "--of", "x", "--bif", path)
    with pytest.raises(SqlbnError):
        sqlbn.fit(path, "y")


def test_a_file_whose_name_is_no_utf8(place: Path, line: Callable[..., str]) -> None:
    path = place / BYTES
    try:
        path.write_bytes((place / "data.parquet").read_bytes())
    except OSError:
        pytest.skip("the file system takes names in UTF-8 alone")
    try:
        assert "caf" in line("fit", path, "-t", "y", "--name", "new")
        assert "caf" in line("predict", "m", path)
        assert "caf" in line("predict", "m", "data.parquet", "--out", place / f"{BYTES}.csv")
    finally:
        path.unlink()


def nested(depth: int) -> list[str]:
    return ["[parents]\nx = " + "[" * depth, "[parents]\nx = " + "{a=" * depth]


@pytest.mark.parametrize("text", [*nested(100_000), *nested(900), "[" * 100_000, "x" * 1000])
def test_a_toml_nested_without_end(
    text: str, line: Callable[..., str], tmp_path: Path, place: Path
) -> None:
    (tmp_path / "p.toml").write_text(text)
    words = ["fit", "data.parquet", "-t", "y", "-l", "collection", "--parents"]
    assert "p.toml" in line(*words, tmp_path / "p.toml")


def test_a_toml_nested_and_closed(line: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(f"[parents]\nx = {'[' * 200}{']' * 200}")
    words = ["fit", "data.parquet", "-t", "y", "-l", "collection", "--parents"]
    assert "'x'" in line(*words, tmp_path / "p.toml")


def test_a_folder_that_cannot_be_walked(cli: Run) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        pq.write_table(ROWS, folder / "a.parquet")
        (folder / "inner").mkdir()
        pq.write_table(ROWS, folder / "inner" / "b.parquet")
        (folder / "inner").chmod(0)
        try:
            for path in (folder, folder / "inner", folder / "inner" / "b.parquet"):
                with without_rights():
                    done = cli("rank", path, "-t", "y", "-q")
                assert done.returncode == 1, done.stderr
                assert len(done.stderr.splitlines()) == 1, done.stderr
                assert "inner" in done.stderr
        finally:
            (folder / "inner").chmod(0o755)
