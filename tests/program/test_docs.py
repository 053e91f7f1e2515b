"""Docstring examples are true, and importing is cheap."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sqlbn

TOP = Path(__file__).resolve().parents[2]
MODULES = sorted(m.name for m in pkgutil.walk_packages(sqlbn.__path__, "sqlbn."))


@pytest.mark.parametrize("name", ["sqlbn", *MODULES])
def test_docstring_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_import_loads_no_heavy_library() -> None:
    code = (
        "import sqlbn, sys; "
        "print([m for m in ('duckdb', 'numpy', 'pyarrow', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_wheel_holds_templates_pages_and_example(tmp_path: Path) -> None:
    import zipfile

    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--quiet",
        "-w",
        str(tmp_path),
        str(TOP),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    if done.returncode:
        pytest.skip(f"the build backend cannot be fetched: {done.stderr[-200:]}")
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    sql = TOP / "sql"
    templates = {f"sqlbn/_sql/{p.relative_to(sql).as_posix()}" for p in sql.rglob("*.sql")}
    assert templates <= names
    assert "sqlbn/_examples/adult.parquet" in names
    assert {f"sqlbn/help/{p.name}" for p in (TOP / "sqlbn" / "help").glob("*.md")} <= names
    assert "sqlbn/py.typed" in names
