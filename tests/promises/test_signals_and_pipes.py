"""A reader that goes away, a signal, a kill: the program ends quietly and leaves nothing behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

import sqlbn
from sqlbn.engines import Session, Settings
from sqlbn.engines.progress import ConsoleProgress
from sqlbn.errors import SqlbnWarning

PROGRAM = f"{sys.executable} -c 'from sqlbn.cli import main; main()'"

# -- | head ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "predict fruit '{data}' --quiet",
        "predict fruit '{data}' --quiet --json",
        "show fruit --cpt colour",
        "sql fit '{data}' --target kind",
        "fit '{data}' --target kind --name new 2>&1",
    ],
    ids=lambda words: " ".join(words.split()[::3]),
)
def test_head_ends_quietly(
    words: str, store_of_fruit: Path, fruit_file: str, tmp_path: Path
) -> None:
    """The reader takes a line and goes; what comes then has nowhere to go."""
    store = "" if words[:3] in ("sql", "fit") else f"--store '{store_of_fruit}'"
    command = f"{PROGRAM} {words.format(data=fruit_file)} {store}"
    done = subprocess.run(
        ["bash", "-c", f"{command} | (exec <&-); echo ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == f"{128 + signal.SIGPIPE}\n"
    assert not (tmp_path / "models.duckdb").exists()


def test_head_gets_its_lines(store_of_fruit: Path, fruit_file: str) -> None:
    command = f"{PROGRAM} predict fruit '{fruit_file}' --quiet --store '{store_of_fruit}'"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 3"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout.count("\n"), done.stderr) == (3, "")


# -- control codes --------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    progress = ConsoleProgress(Terminal())
    with progress.stage("a", "counting", 10, 2):
        progress.advance()
        progress.note("a note")
    stream = progress._stream
    assert isinstance(stream, Terminal)
    return stream.getvalue()


def test_a_dumb_terminal_gets_no_control_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" in drawn(monkeypatch, TERM="xterm")
    for environment in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
        text = drawn(monkeypatch, **environment)
        assert not set(text) & {"\x1b", "\r"}
        assert text.splitlines()[0] == "· a note"
        assert text.splitlines()[1].startswith("✓ counting  10 rows  ")


# -- signals --------------------------------------------------------------------------------------

ENDLESS = """
import sys
from sqlbn.api import fit_calls
from sqlbn.cli import main

def learn(engine, *_):
    engine.scratch_file("spilled", ".tmp").write_text("spilled")
    print("working", flush=True)
    engine.rows("SELECT sum(hash(i)::DOUBLE) FROM range(1_000_000_000_000) AS r(i)")

fit_calls.learn = learn
main()
"""

SLOW_WRITE = """
import sys, time
from sqlbn.cli import main
from sqlbn.engines import duckdb_rows, output_files
from sqlbn.networks import sample_rows
from sqlbn.exporting import formats
from contextlib import contextmanager

@contextmanager
def slow(path):
    with output_files.replacing(path) as part:
        part.write_text("half")
        print("writing", flush=True)
        time.sleep(60)
        yield part

for module in (duckdb_rows, sample_rows, formats):
    module.replacing = slow
main()
"""


def begun(program: str, folder: Path, *words: object) -> subprocess.Popen[str]:
    """A program that has come so far as to say something."""
    folder.mkdir(exist_ok=True)
    (folder / "tmp").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() in ("working\n", "writing\n"), process.communicate()[1]
    return process


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signals_clean_up(name: str, fruit_file: str, tmp_path: Path) -> None:
    """In the middle of a query of the engine."""
    process = begun(ENDLESS, tmp_path, "fit", fruit_file, "-t", "kind", "-q")
    assert list((tmp_path / "tmp").iterdir())
    number = getattr(signal, name)
    os.kill(process.pid, number)
    try:
        out, err = process.communicate(timeout=15)
    finally:
        process.kill()
    assert (process.returncode, out) == (128 + number, "")
    said = "interrupted" if name == "SIGINT" else "asked to end"
    assert err == f"sqlbn: {said}, nothing was changed\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


@pytest.mark.parametrize("command", ["predict", "sample", "export"])
def test_what_a_kill_leaves_the_next_run_removes(
    command: str,
    store_of_fruit: Path,
    fruit_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words: dict[str, list[object]] = {
        "predict": ["fruit", fruit_file, "-s", store_of_fruit, "-o", "out.csv"],
        "sample": ["--random", "nb", "--rows", 10, "-o", "out.csv"],
        "export": ["fruit", "-s", store_of_fruit, "-f", "json", "-o", "out.csv"],
    }
    process = begun(SLOW_WRITE, tmp_path, command, *words[command], "-q")
    process.kill()
    process.communicate(timeout=30)
    left = [path.name for path in tmp_path.iterdir() if path.name != "tmp"]
    assert len(left) == 1
    assert left[0].startswith(".out.csv.") and left[0].endswith(".part")
    (tmp_path / ".mine.csv.123-1.part").write_text("the user's own")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    done = subprocess.run(
        [sys.executable, "-c", "from sqlbn.cli import main; main()", "models", "-s", "none"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.csv.123-1.part", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_sigterm_takes_the_part_file_with_it(
    store_of_fruit: Path, fruit_file: str, tmp_path: Path
) -> None:
    words = ("predict", "fruit", fruit_file, "-s", store_of_fruit, "-o", "out.csv", "-q")
    process = begun(SLOW_WRITE, tmp_path, *words)
    process.terminate()
    assert process.communicate(timeout=30)[1] == "sqlbn: asked to end, nothing was changed\n"
    assert process.returncode == 143
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


# -- small ----------------------------------------------------------------------------------------


def test_threads_beyond_the_cores_are_held(cli: Run, fruit_file: str, tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    text = f"threads=100000: this machine has {cores} cores; {4 * cores} are used"
    with pytest.warns(SqlbnWarning) as caught, Session(Settings(threads=100_000)) as engine:
        assert engine.threads == 4 * cores
    assert str(caught[0].message) == text
    with pytest.warns(SqlbnWarning, match="are used"):
        sqlbn.sample(tmp_path / "rows.csv", 10, random="nb", threads=100_000)
    done = cli("evaluate", fruit_file, "-t", "kind", "-l", "nb", "--folds", 2, "--threads", 100_000)
    assert done.returncode == 0
    assert f"sqlbn: --threads 100000: this machine has {cores} cores; " in done.stderr
    with Session(Settings(threads=cores)) as engine:
        assert engine.threads == cores


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_a_curve_is_written(ending: str, cli: Run, fruit_file: str, tmp_path: Path) -> None:
    out = tmp_path / f"curve.{ending}"
    words = ("--learners", "nb,kdb:1", "--sizes", 50, "--repeats", 2, "--measure", "auc")
    done = cli("curve", fruit_file, "-t", "kind", *words, "--out", out, "-q")
    assert done.returncode == 0, done.stderr
    import duckdb

    rows = duckdb.sql(f"SELECT learner, size, repeat, rmse, auc FROM '{out}'").fetchall()
    assert [row[:3] for row in rows] == [
        ("nb", 50, 0), ("nb", 50, 1), ("kdb:1", 50, 0), ("kdb:1", 50, 1),
    ]  # fmt: skip
    assert all(0 < row[3] < 1 and 0 < row[4] <= 1 for row in rows)
    done = cli("curve", fruit_file, "-t", "kind", "--out", "curve.xls", "-q")
    assert done.stderr == ("sqlbn: --out curve.xls: the name must end in .parquet, .csv or .json\n")
