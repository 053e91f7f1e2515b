"""The examples run, as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder in which `examples/` lies as it does in the repository."""
    (tmp_path / "examples").symlink_to(TOP / "examples")
    return tmp_path


def run(workplace: Path, *command: str, text: str | None = None) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=workplace,
        env={**os.environ, "PATH": path},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_shell_session(workplace: Path) -> None:
    said = run(workplace, "bash", "examples/shell_session.sh")
    assert "48,842 rows scored into scored.parquet" in said
    assert "dropped 'young'" in said


def test_python_session(workplace: Path) -> None:
    said = run(workplace, sys.executable, "examples/python_session.py")
    assert said.splitlines()[0].startswith("<sqlbn model: skdb of 'class'")
    assert said.splitlines()[-1] == "True"


def test_sql_session_needs_only_the_duckdb_module(workplace: Path) -> None:
    run(workplace, sys.executable, "-m", *_fit_line().split())
    script = (
        "import duckdb, sys\n"
        "con = duckdb.connect()\n"
        "for s in duckdb.extract_statements(sys.stdin.read()):\n"
        "    for row in con.execute(s).fetchall(): print(*row, sep='|')\n"
        "assert 'sqlbn' not in sys.modules\n"
    )
    text = (TOP / "examples" / "sql_session.sql").read_text()
    said = run(workplace, sys.executable, "-c", script, text=text)
    assert "relationship" in said
    assert "<=50K|<=50K|" in said


def _fit_line() -> str:
    text = (TOP / "examples" / "sql_session.sql").read_text()
    found = re.search(r"sqlbn fit .*", text)
    assert found is not None
    return found[0]


def test_a_learner_in_one_file(workplace: Path) -> None:
    said = run(workplace, sys.executable, "examples/hidden_naive_bayes.py").splitlines()
    rmse = {line.split()[0]: float(line.split()[1]) for line in said[1:4]}
    assert rmse["hnb"] < rmse["nb"]
    assert "'parents': ['workclass']" in said[4]
