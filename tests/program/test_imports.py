"""What a command loads: no more than it needs, for loading is most of what short ones take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sqlbn

ENGINE = {"duckdb", "numpy", "jinja2"}
# Sources of some, results of others, and what these would load themselves.
ON_DEMAND = {"pandas", "polars", "pyarrow", "pydantic", "matplotlib", "pyspark", "rich"}

RUN = """
import json, sys
from sqlbn.cli import main
loaded = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["sqlbn", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (words, end.code)
    loaded.append(sorted(name for name in sys.modules if "." not in name))
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """The modules after each of some commands, which run in one process."""
    folder = tmp_path_factory.mktemp("imports")
    lines = [f"{i % 3},{'abc'[i % 3]},{i / 7},{'yn'[i % 2]}" for i in range(60)]
    (folder / "rows.csv").write_text("whole,word,number,class\n" + "\n".join(lines))
    store = ["--store", str(folder / "s.duckdb"), "--quiet"]
    rows = str(folder / "rows.csv")
    fit = ["fit", rows, "--target", "class", *store]
    sqlbn.fit(rows, target="class", learner="skdb").save(folder / "s.duckdb", "m")
    commands = [
        ["--version"],
        ["fit", "--help"],
        ["update", "m", rows, "--again", *store],
        ["predict", "m", rows, "--out", str(folder / "scored.parquet"), *store],
        [*fit, "--learner", "skdb", "--name", "s"],
        [*fit, "--learner", "nb", "--name", "n"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return [set(names) for names in json.loads(done.stdout.splitlines()[-1])]


def test_version_and_help_load_no_engine(loaded: list[set[str]]) -> None:
    assert not loaded[1] & (ENGINE | ON_DEMAND)


@pytest.mark.parametrize("command", ["update", "predict", "skdb", "nb"])
def test_fit_update_and_predict_load_no_frames(loaded: list[set[str]], command: str) -> None:
    """Where pandas is installed, pyarrow loads it to make an array of a list."""
    found = loaded[["", "", "update", "predict", "skdb", "nb"].index(command)]
    # Rows of a fit come in batches of Arrow.
    allowed = {"pyarrow"} if command in ("skdb", "nb") else set[str]()
    assert sorted(found & ON_DEMAND - allowed) == []
    assert found >= ENGINE
