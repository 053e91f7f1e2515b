"""An error is one line, also where progress was shown before it."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

from sqlbn.engines.progress import ConsoleProgress


@pytest.fixture
def spoiled(tmp_path: Path) -> Path:
    """Weights that cannot be: found while the columns are looked at."""
    path = tmp_path / "spoiled.parquet"
    pq.write_table(pa.table({"a": [0, 1] * 20, "w": [-1.0] * 40, "y": ["u", "v"] * 20}), path)
    return path


@pytest.mark.parametrize("command", ["fit", "evaluate", "prepare", "curve", "stream"])
def test_no_broken_step_beside_the_error(command: str, spoiled: Path, run: Run) -> None:
    sizes = ["--sizes", "20"] if command == "curve" else []
    done = run(command, spoiled, "--target", "y", "--weight", "w", *sizes)
    assert (done.returncode, done.stdout) == (1, "")
    *steps, error = done.stderr.splitlines()
    assert error.startswith("sqlbn: --weight w: 40 rows have a negative")
    assert all(line.startswith(("✓ ", "· ")) for line in steps), done.stderr


def test_a_terminal_keeps_the_step_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        progress = ConsoleProgress(stream)
        with pytest.raises(ValueError, match="broken"), progress.stage("a", "counting"):
            raise ValueError("broken")
        assert ("✗ counting" in stream.getvalue()) is shown
        assert bool(stream.getvalue()) is shown
        assert progress.seconds["a"] >= 0
