"""The program: every command end to end, exit codes, JSON, silence, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import typer
from conftest import Demo, Run

import sqlbn
from sqlbn.cli.main import app


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        names = command.list_commands(None) if hasattr(command, "list_commands") else []
        for name in names:
            walk(command.get_command(None, name), (*words, name))
        if words:
            found[" ".join(words)] = command

    walk(typer.main.get_command(app), ())
    return found


NAMES = {"fit", "predict", "evaluate", "models", "show", "drop", "sql", "demo", "curve"} | {
    "update",
    "forget",
    "merge",
    "stream",
    "sample",
    "prepare",
    "network",
    "rank",
    "export",
    "help",
    "bench",
}


# -- help -------------------------------------------------------------------------------------


def test_the_commands_are_those_of_the_readme(root: Path) -> None:
    assert {name.split()[0] for name in commands()} == NAMES
    readme = (root / "README.md").read_text(encoding="utf-8")
    missing = [name for name in sorted(NAMES) if f"sqlbn {name}" not in readme]
    assert missing == []


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_has_help(name: str) -> None:
    command = commands()[name]
    assert command.help
    silent = [p.name for p in command.params if not getattr(p, "help", None)]
    assert silent in ([], ["help"])


@pytest.mark.parametrize("words", [[], ["sql"], ["network"]])
def test_no_words_show_help(program: Run, words: list[str]) -> None:
    done = program(*words)
    assert "Usage:" in done.stdout + done.stderr


def test_version(program: Run) -> None:
    assert program("--version").stdout == f"sqlbn {sqlbn.__version__}\n"


@pytest.mark.parametrize(
    "words", [["fit"], ["fit", "x.parquet"], ["nonsense"], ["fit", "x", "-t", "y", "--k", "two"]]
)
def test_wrong_usage_exits_with_2(program: Run, words: list[str]) -> None:
    done = program(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


# -- the road ---------------------------------------------------------------------------------


def test_fit_predict_show_and_drop(program: Run, fruit_file: str, tmp_path: Path) -> None:
    done = program("fit", fruit_file, "--target", "kind", "--k", 1, "--name", "fruit")
    assert done.returncode == 0, done.stderr
    assert "Stored as 'fruit' in models.duckdb" in done.stdout
    assert "pass 1: counting for structure" in done.stderr

    assert "fruit  kdb" in program("models").stdout
    assert "kdb (k 1, bins 5) of 'kind'" in program("show", "fruit").stdout
    assert program("show", "fruit", "--cpt", "colour").stdout.splitlines()[0].startswith("colour")

    done = program("predict", "fruit", fruit_file, "--out", "scored.parquet")
    assert done.stdout == "300 rows scored into scored.parquet\n"
    with sqlbn.load(tmp_path / "models.duckdb", "fruit") as model:
        wanted = model.predict(fruit_file).to_pylist()
    assert repr(pq.read_table(tmp_path / "scored.parquet").to_pylist()) == repr(wanted)

    assert program("drop", "fruit").stdout == "dropped 'fruit' from models.duckdb\n"
    done = program("show", "fruit")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sqlbn: 'models.duckdb' has no model 'fruit'; it holds no model\n"


def test_predict_prints_csv(program: Run, store_of_fruit: Path, fruit_file: str) -> None:
    done = program(
        "predict", "fruit", fruit_file, "--store", store_of_fruit, "--where", "spots = 1"
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "colour,spots,ripe,weight,width,kind,prediction,p_apple,p_pear,p_plum"
    wanted = duckdb.sql(f"SELECT count(*) FROM '{fruit_file}' WHERE spots = 1").fetchall()
    assert len(lines) == wanted[0][0] + 1


def test_predict_into_a_closed_pipe_is_no_traceback(
    store_of_fruit: Path, adult: str, tmp_path: Path
) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(adult, "class", "nb", store=store, name="adult").close()
    program = f"{sys.executable} -c 'from sqlbn.cli import main; main()'"
    done = subprocess.run(
        f"{program} predict adult '{adult}' --quiet --store '{store}' | head -n 2",
        shell=True, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.count("\n") == 2
    assert "Traceback" not in done.stderr


def test_evaluate(program: Run, fruit_file: str, tmp_path: Path) -> None:
    done = program("evaluate", fruit_file, "--target", "kind", "--folds", 3, "--learner", "nb")
    assert done.returncode == 0, done.stderr
    assert "fold 3" in done.stdout
    assert "true \\ predicted" in done.stdout
    assert not (tmp_path / "models.duckdb").exists()
    done = program(
        "evaluate", fruit_file, "-t", "kind", "--test", fruit_file, "--kmax", 1, "--json", "-q"
    )
    found = json.loads(done.stdout)
    assert (found["rows"], found["folds"]) == (300, [])


def test_sql_prints_statements_that_run(
    program: Run, store_of_fruit: Path, fruit_file: str, tmp_path: Path
) -> None:
    done = program("sql", "fit", fruit_file, "--target", "kind", "--learner", "nb")
    assert done.returncode == 0, done.stderr
    assert "-- encode" in done.stdout
    assert len(duckdb.extract_statements(done.stdout)) > 5
    assert not (tmp_path / "models.duckdb").exists()
    done = program("sql", "predict", "fruit", fruit_file, "--store", store_of_fruit)
    with duckdb.connect(str(store_of_fruit), read_only=True) as con:
        con.execute("USE fruit")
        assert len(con.execute(done.stdout).fetchall()) == 300


def test_demo(demo: Demo) -> None:
    assert "accuracy" in demo.printed
    assert [p.name for p in demo.folder.iterdir()] == [demo.store.name] == ["sqlbn-demo.duckdb"]
    announced = next(line for line in demo.printed.splitlines() if line.startswith("$ sqlbn fit"))
    words = [w if not w.endswith("adult.parquet") else demo.fit[1] for w in announced.split()]
    assert demo.is_its_fit(words[2:])


# -- for programs -----------------------------------------------------------------------------


def test_json_parses(program: Run, store_of_fruit: Path, fruit_file: str) -> None:
    store = ["--store", store_of_fruit]
    answers = [
        program("fit", fruit_file, "--target", "kind", "--effort", "quick", "--json"),
        program("models", "--json", *store),
        program("show", "fruit", "--json", *store),
        program("show", "fruit", "--cpt", "colour", "--json", *store),
        program(
            "evaluate", fruit_file, "--target", "kind", "--folds", 3, "--effort", "quick", "--json"
        ),
        program("predict", "fruit", fruit_file, "--json", "--out", "scored.csv", *store),
    ]
    for done in answers:
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
    assert json.loads(answers[0].stdout)["rows"] == 300
    assert json.loads(answers[5].stdout) == {"rows": 300, "out": "scored.csv", "unseen": {}}


def test_json_has_no_bare_nan(program: Run, fruit_file: str) -> None:
    words = ["--target", "kind", "--test", fruit_file, "--effort", "quick", "--json", "-q"]
    done = program("evaluate", fruit_file, *words, "--weight", "spots", "--where", "kind <> 'x'")
    assert done.returncode == 0, done.stderr
    assert "NaN" not in done.stdout


def test_quiet_prints_nothing_on_stderr(
    program: Run, fruit_file: str, store_of_fruit: Path
) -> None:
    wide = ["fit", fruit_file, "--target", "kind", "--effort", "quick"]
    wide += ["--where", "spots = 1"]  # spots is constant
    assert "left out" in program(*wide, "--name", "loud").stderr
    for words in (
        [*wide, "--quiet"],
        ["predict", "fruit", fruit_file, "--store", store_of_fruit, "-q", "-o", "s.csv"],
        ["evaluate", fruit_file, "--target", "kind", "--folds", 2, "--effort", "quick", "--quiet"],
    ):
        done = program(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_quiet_before_and_after_other_words_is_the_same(program: Run, fruit_file: str) -> None:
    done = program("fit", "--quiet", fruit_file, "--target", "kind", "--effort", "quick")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_traceback_only_where_it_is_asked_for(program: Run, fruit_file: str) -> None:
    short = program("fit", fruit_file, "--target", "nothing", "--quiet")
    assert (short.returncode, short.stderr.count("\n")) == (1, 1)
    long = program("fit", fruit_file, "--target", "nothing", "--traceback")
    assert long.returncode == 1
    assert "Traceback" in long.stderr


# -- Ctrl-C -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that takes seconds to count: many columns of many values."""
    path = tmp_path_factory.mktemp("slow") / "slow.parquet"
    columns = ", ".join(f"(hash(i * {j + 3}) % 50)::INT AS a{j}" for j in range(60))
    duckdb.sql(f"COPY (SELECT {columns}, hash(i) % 5 AS y FROM range(400000) AS r(i)) TO '{path}'")
    return str(path)


@pytest.mark.parametrize("wait", [0.5, 1.5])
def test_ctrl_c_leaves_nothing_behind(slow_file: str, tmp_path: Path, wait: float) -> None:
    spill = tmp_path / "spill"
    command = [
        sys.executable, "-c", "from sqlbn.cli import main; main()",
        "fit", slow_file, "--target", "y", "--k", "2", "--quiet", "--temp-dir", str(spill),
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 20
    while not spill.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(wait)
    assert process.poll() is None, "the fit was over before it could be interrupted"
    asked = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - asked < 2
    assert process.returncode == 130
    assert err == "sqlbn: interrupted, nothing was changed\n"
    assert out == ""
    assert list(spill.iterdir()) == []
    assert not (tmp_path / "models.duckdb").exists()
