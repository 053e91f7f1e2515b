"""What several test files share: small data, the program, the folder of shared material."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.testing

import sqlbn

# Helpers with assertions of their own, which should say what they found.
pytest.register_assert_rewrite(
    "random_tables", "ande_cases", "collection_cases", "loo_cases", "update_cases"
)

pytest_plugins = ["spark_fixtures"]

# Its commands are made anew for every call otherwise, which takes longer than most of them.
if hasattr(typer.testing, "_get_command"):
    typer.testing._get_command = functools.cache(typer.testing._get_command)

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@contextmanager
def without_rights() -> Iterator[None]:
    """Not as the super-user, who may write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden results and data sets beside the checkout."""
    folder = ROOT.parent / "shared"
    if not (folder / "golden").is_dir():
        pytest.skip("../shared is not here: it holds the golden results")
    return folder


@pytest.fixture(scope="session")
def adult() -> str:
    """The example data set."""
    return str(ROOT / "examples" / "adult.parquet")


@pytest.fixture(scope="session")
def fruit() -> pa.Table:
    """Three hundred rows: text, whole numbers, quantities, missing values; `kind` is the class."""
    rng = random.Random(7)
    rows: list[dict[str, Any]] = []
    for i in range(300):
        kind = rng.choice(["apple", "pear", "plum"])
        favourite = {"apple": "red", "pear": "green", "plum": "blue"}[kind]
        rows.append(
            {
                "id": i,
                "colour": rng.choice([favourite, favourite, "red", "green", "blue", None]),
                "spots": rng.randrange(4),
                "ripe": rng.random() < 0.5,
                "weight": rng.gauss({"apple": 150, "pear": 180, "plum": 60}[kind], 30),
                "width": rng.choice([rng.gauss(5.0, 1.0), float("nan")]),
                "kind": kind,
            }
        )
    return pa.Table.from_pylist(rows).drop_columns(["id"])


@pytest.fixture(scope="session")
def fruit_file(fruit: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same rows as a Parquet file."""
    path = tmp_path_factory.mktemp("fruit") / "fruit.parquet"
    pq.write_table(fruit, path)
    return str(path)


@pytest.fixture(scope="session")
def store_of_fruit(fruit_file: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the model `fruit`, for reading only."""
    path = tmp_path_factory.mktemp("store") / "models.duckdb"
    sqlbn.fit(fruit_file, target="kind", k=2, store=path, name="fruit").close()
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `sqlbn` as a program, in a folder of its own."""

    def program(*words: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from sqlbn.cli import main; main()", *map(str, words)]
        return subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
        )

    return program


@pytest.fixture
def cli() -> Run:
    """Run `sqlbn` in this process: quicker, and in the present folder."""
    from typer.testing import CliRunner

    from sqlbn.cli.main import _show_warning, app
    from sqlbn.cli.output import STATE

    def called(*words: object) -> subprocess.CompletedProcess[str]:
        command = [str(word) for word in words]
        STATE.quiet = STATE.traceback = False
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            done = CliRunner().invoke(app, command)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(command, done.exit_code, done.stdout, done.stderr)

    return called
