"""What cannot be written or read is said before the passes; a fit is never lost at its end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.api import evaluate_calls, fit_calls
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.errors import (
    OptionError,
    SourceError,
    StoreBusyError,
    StoreError,
)

HOLDER = """
import sys, duckdb
held = duckdb.connect(sys.argv[1], read_only=True)
print("holding", flush=True)
sys.stdin.readline()
"""


class Held:
    """A program that has a store open for reading, until it is told to end."""

    def __init__(self, store: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(store)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "holding\n"

    def end(self) -> None:
        self.process.communicate("\n", timeout=20)


@pytest.fixture
def store(fruit_file: str, tmp_path: Path) -> Path:
    sqlbn.fit(fruit_file, "kind", "nb", store=tmp_path / "m.duckdb", name="old").close()
    return tmp_path / "m.duckdb"


@pytest.fixture
def reader(store: Path) -> Iterator[Held]:
    held = Held(store)
    yield held
    held.end()


# Waits for nobody for long.
HASTY = Limits(store_patience_before=0.3)


@pytest.fixture
def no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes to the passes has come too far."""

    def learn(*_: object) -> Any:
        raise AssertionError("a pass was begun")

    monkeypatch.setattr(fit_calls, "learn", learn)
    monkeypatch.setattr(evaluate_calls, "learn", learn)


def test_a_reader_is_named_before_the_passes(
    fruit_file: str, store: Path, reader: Held, no_pass: None
) -> None:
    with pytest.raises(StoreBusyError, match=f"held by process {reader.process.pid}"):
        sqlbn.fit(fruit_file, "kind", "nb", store=store, name="new", limits=HASTY)
    for change in (sqlbn.update, sqlbn.forget):
        with pytest.raises(StoreBusyError, match=f"held by process {reader.process.pid}"):
            change(store, "old", fruit_file, limits=HASTY)
    with pytest.raises(StoreBusyError):
        sqlbn.stream(fruit_file, "kind", store=store, name="new", limits=HASTY)
    with pytest.raises(StoreBusyError):
        sqlbn.networks.follow(fruit_file, window=10_000, store=store, name="new", limits=HASTY)
    with pytest.raises(StoreBusyError):
        sqlbn.merge(store, "old", "old", "both", other_store=store, limits=HASTY)


def test_readers_work_while_a_fit_runs(fruit_file: str, store: Path) -> None:
    """The store is given back after it was tried."""
    seen = []

    class Reading(Progress):
        def begin(self, title: str, rows: int, total: int) -> None:
            if "pass 1" in title:
                held = Held(store)
                seen.append(title)
                held.end()

    sqlbn.fit(fruit_file, "kind", "kdb", store=store, name="new", progress=Reading()).close()
    assert seen
    assert list(sqlbn.models(store)) == ["new", "old"]


def test_a_reader_at_the_end_does_not_cost_the_fit(fruit_file: str, store: Path) -> None:
    limits = Limits(store_patience_after=0.6, store_wait_unsaid=0.1)
    held: list[Held] = []
    said: list[str] = []

    class Late(Progress):
        def note(self, text: str) -> None:
            said.append(text)

        def begin(self, title: str, rows: int, total: int) -> None:
            if "storing" in title:
                held.append(Held(store))

    try:
        with pytest.raises(StoreBusyError, match="the model is not lost") as caught:
            sqlbn.fit(
                *(fruit_file, "kind", "nb"), store=store, name="a/b", progress=Late(), limits=limits
            )
    finally:
        held[0].end()
    assert len(said) == 1
    assert f"held by process {held[0].process.pid}: waiting up to" in said[0]
    spare = store.with_name("m-a_b-1.duckdb")
    assert str(caught.value).endswith(f"use it with store={str(spare)!r}")
    with sqlbn.load(spare, "a/b") as model:
        assert model.meta["rows"] == 300
    assert list(sqlbn.models(store)) == ["old"]


def test_the_program_says_who_holds_the_store(
    run: Run, fruit_file: str, store: Path, reader: Held
) -> None:
    done = run("fit", fruit_file, "-t", "kind", "-l", "nb", "-s", store, "--name", "new")
    assert done.returncode == 1
    waiting, error = done.stderr.splitlines()
    holder = f"the store {str(store)!r} is held by process {reader.process.pid}"
    assert waiting == f"· {holder}: waiting up to 3 s for it"
    assert error.startswith(f"sqlbn: {holder}; ")


# -- other things that are said first --------------------------------------------------------------


def test_a_name_that_exists_and_a_folder_that_does_not(
    fruit_file: str, store: Path, no_pass: None, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="already holds a model 'old'"):
        sqlbn.fit(fruit_file, "kind", store=store, name="old")
    with pytest.raises(StoreError, match=r"folder .* does not exist"):
        sqlbn.fit(fruit_file, "kind", store=tmp_path / "none" / "m.duckdb", name="x")
    with pytest.raises(OptionError, match="is a file that is read"):
        sqlbn.fit(store, "class", table="old.classes", store=store, name="x")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "none.parquet", "-t", "kind", "-s", "no/folder/m.duckdb"],
        ["fit", "none/*.parquet", "-t", "kind"],
        ["predict", "nobody", "none.parquet"],
        ["update", "nobody", "none.parquet"],
        ["forget", "nobody", "none.parquet"],
        ["evaluate", "none.parquet", "-t", "kind"],
        ["stream", "none.parquet", "-t", "kind", "-s", "no/folder/m.duckdb", "--name", "x"],
        ["curve", "none.parquet", "-t", "kind"],
        ["prepare", "none.parquet", "-t", "kind"],
        ["rank", "none.parquet", "-t", "kind"],
        ["network", "learn", "none.parquet"],
        ["network", "follow", "none.parquet", "--window", "10000"],
        ["network", "score", "none.parquet", "-s", "m.duckdb", "--name", "x"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_file_that_is_not_there_is_named_first(
    words: list[str], cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli(*words)
    assert done.returncode == 1
    path = next(word for word in words if "none" in word)
    assert done.stderr == f"sqlbn: no file matches {path!r}; check the path or the pattern\n"
    assert list(tmp_path.iterdir()) == []


def test_the_second_file_too(fruit_file: str) -> None:
    with pytest.raises(SourceError, match=r"no file matches 'none\.csv'"):
        sqlbn.evaluate(fruit_file, "kind", test="none.csv")
    with pytest.raises(SourceError, match=r"no file matches 'none\.csv'"):
        sqlbn.fit([fruit_file, "none.csv"], "kind")


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "nobody", "{}", "--out", "no/scored.parquet"],
        ["curve", "{}", "-t", "kind", "--plot", "no/curve.svg"],
        ["curve", "{}", "-t", "kind", "--out", "no/curve.csv"],
        ["stream", "{}", "-t", "kind", "--plot", "no/curve.svg"],
        ["stream", "{}", "-t", "kind", "--out", "no/curve.csv"],
        ["prepare", "{}", "-t", "kind", "--plot", "no/plot.svg"],
        ["prepare", "{}", "-t", "kind", "--out", "no/vars.csv"],
        ["show", "nobody", "--plot", "no/plot.svg"],
        ["export", "nobody", "--out", "no/m.sql"],
        ["sample", "--random", "nb", "--rows", "5", "--out", "no/r.csv"],
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_a_folder_that_is_not_there_is_named_before_the_work(
    words: list[str], cli: Run, fruit_file: str, no_pass: None
) -> None:
    done = cli(*(word.format(fruit_file) for word in words))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sqlbn: {words[-2]} {words[-1]}: the folder does not exist\n"


def test_rows_in_the_store_itself(store: Path, run: Run) -> None:
    pq.write_table(pa.table({"a": [1]}), store.with_name("a.parquet"))
    done = run(
        "fit", store, "--table", "old.classes", "-t", "class", "-s", store, "--name", "x", "-q"
    )
    assert done.returncode == 1
    assert done.stderr == f"sqlbn: --store {store} is a file that is read; name another\n"


def test_who_waits_to_read_says_so(fruit_file: str, tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(fruit_file, "kind", "nb", store=store, name="x").close()
    said: list[str] = []

    class Heard(Progress):
        def note(self, text: str) -> None:
            said.append(text)
            holder.terminate()

    program = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(1, flush=True)"
    words = [sys.executable, "-c", f"{program}; time.sleep(60)", store]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        sqlbn.load(store, "x", progress=Heard()).close()
    assert len(said) == 1 and f"held by process {holder.pid}" in said[0]
