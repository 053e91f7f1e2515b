"""What every hostile case asks for: at most one error line, nothing raw, no traceback."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app

N = 60
ROWS = pa.table(
    {
        "x": [f"v{i % 3}" for i in range(N)],
        "z": [i % 2 for i in range(N)],
        "w": np.arange(N) / 7,
        "y": ["a" if i % 4 else "b" for i in range(N)],
    }
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def made_data(folder: Path, rows: pa.Table = ROWS, name: str = "data.parquet") -> Path:
    """Rows as a file."""
    pq.write_table(rows, folder / name)
    return folder / name


def made_store(folder: Path) -> Path:
    """A store with a model `m`."""
    path = folder / "models.duckdb"
    sqlbn.fit(ROWS, "y", "nb", store=path, name="m").close()
    return path


def copied(store: Path, folder: Path) -> Path:
    """A store of a test's own."""
    shutil.copy(store, folder / "models.duckdb")
    return folder / "models.duckdb"


def survived(*words: object, codes: tuple[int, ...] = (0, 1, 2)) -> str:
    """What a command says that must end well or with one line; its exit code is one of `codes`."""
    found = CliRunner().invoke(app, [str(w) for w in words])
    told = found.stderr
    assert found.exception is None or isinstance(found.exception, SystemExit), repr(found.exception)
    assert found.exit_code in codes, (found.exit_code, told)
    assert "Traceback" not in told
    assert not _CONTROL.search(found.stdout + told), repr(told)
    if found.exit_code == 1:
        lines = [line for line in told.splitlines() if not line.startswith(("·", "✓", "✗", "…"))]
        assert len(lines) == 1, told
        assert lines[0].startswith("sqlbn: ")
        assert len(lines[0]) > len("sqlbn: ") + 8
    return told + found.stdout


def refused(*words: object) -> str:
    """The line of a command that must not work."""
    return survived(*words, codes=(1, 2))
