"""Running things in processes of their own, with time and memory."""

from __future__ import annotations

import atexit
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
SHARED = TOP.parent / "shared"
YARDSTICK = SHARED / "yardstick"
PROGRAM = Path(sys.executable).with_name("sqlbn")


@cache
def environment() -> dict[str, str]:
    """That of the processes: with bytecode, as what is installed has it, in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="sqlbn-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


@dataclass
class Run:
    """One process: seconds on the wall, peak resident megabytes, what it printed."""

    seconds: float
    peak_mb: float
    output: str

    @property
    def json(self) -> Any:
        """The last line of the output as JSON."""
        return json.loads(self.output.strip().splitlines()[-1])


def run(*command: str | Path) -> Run:
    """Run a command to its end; peak memory is its own, not that of earlier children."""
    reader, writer = os.pipe()
    around = environment()
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        done = subprocess.run(
            [str(c) for c in command], stdout=subprocess.PIPE, text=True, check=False, env=around
        )
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        with os.fdopen(writer, "w") as pipe:
            json.dump([done.returncode, peak, done.stdout], pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        code, peak, output = json.load(pipe)
    os.waitpid(pid, 0)
    if code:
        raise SystemExit(f"{' '.join(map(str, command))} failed with {code}")
    return Run(time.perf_counter() - started, peak, output)


def sqlbn(line: str) -> Run:
    """Run a command line of the program that is being measured, with two threads."""
    return run(PROGRAM, *shlex.split(line), "--quiet", "--threads", "2")


def make_data(
    path: Path, rows: float, attributes: int = 54, values: int = 5, classes: int = 7
) -> Path:
    """The yardstick's data, made once."""
    if not path.exists():
        shape = (str(rows), str(attributes), str(values), str(classes))
        run(sys.executable, YARDSTICK / "make.py", path, *shape)
    return path


class Table:
    """Rows of (what, measured, target) that are printed as they come."""

    def __init__(self) -> None:
        print(f"{'what':58} {'ours':>10} {'theirs':>10} {'ratio':>7} {'target':>8}", flush=True)

    def row(self, what: str, ours: float, theirs: float | None, target: float | None) -> None:
        """A ratio, or a plain figure where there is nothing to compare with."""
        ratio = ours / theirs if theirs else None
        compared = ratio if ratio is not None else ours
        mark = "" if target is None else ("  ok" if compared <= target else "  MISSED")
        print(
            f"{what:58} {ours:10.2f} {theirs if theirs is not None else float('nan'):10.2f} "
            f"{ratio if ratio is not None else float('nan'):7.2f} "
            f"{target if target is not None else float('nan'):8.2f}{mark}",
            flush=True,
        )
