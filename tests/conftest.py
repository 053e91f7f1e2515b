"""What several test files share: small data, the program, the folder of shared material."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
# Where Python may write no bytecode beside its files, every program that a test starts would
# compile all of sqlbn again: half a second each.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".pytest_cache" / "bytecode"))

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


def as_program(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What a run of `sqlbn` as a program gives."""
    command = [sys.executable, "-c", "from sqlbn.cli import main; main()", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def program(tmp_path: Path) -> Run:
    """Run `sqlbn` as a program, in a folder of its own."""

    def called(*words: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return as_program(*words, cwd=cwd)

    return called


@pytest.fixture
def run(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `sqlbn` in this process, in a folder of its own: a program takes a second to start."""

    def called(*words: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as here:
            here.chdir(cwd)
            return cli(*words)

    return called


@dataclass(frozen=True)
class Demo:
    """What `sqlbn demo` printed, and the folder that it ran in."""

    printed: str
    folder: Path

    # The fit that it announces: that of the README, the guide and the examples.
    fit = ("fit", "examples/adult.parquet", "--target", "class", "--name", "adult")

    @property
    def store(self) -> Path:
        """The store with the model `adult`, to be copied."""
        return self.folder / "sqlbn-demo.duckdb"

    @classmethod
    def is_its_fit(cls, words: Sequence[str]) -> bool:
        """Whether a command of the program is that fit, in whichever store."""
        given = list(words)
        if "--store" in given:
            at = given.index("--store")
            del given[at : at + 2]
        return tuple(given) == cls.fit


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The default fit of the census data, which takes a while: once for all tests."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # its parent is that of all workers
        base = base.parent
    made, done = base / "demo", base / "demo.txt"
    try:
        made.mkdir()
    except FileExistsError:
        _wait_for(done)
    else:
        found = as_program("demo", "--quiet", cwd=made)
        failed = (found.returncode, found.stderr) != (0, "")
        written = base / "demo.part"
        written.write_text(f"{found.returncode}\n{found.stderr}" if failed else found.stdout)
        written.rename(base / "demo.failed" if failed else done)
    if not done.exists():
        pytest.fail((base / "demo.failed").read_text())
    return Demo(done.read_text(), made)


def _wait_for(path: Path) -> None:
    """Wait until another process has written a file, or that it failed."""
    until = time.monotonic() + 180
    while not path.exists() and not path.with_suffix(".failed").exists():
        assert time.monotonic() < until, f"{path} was never written"
        time.sleep(0.2)


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
