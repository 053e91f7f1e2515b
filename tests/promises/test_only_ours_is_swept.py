"""Only what this program made, and can prove it made, is ever removed from a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlbn.engines import Session, Settings
from sqlbn.engines import scratch as leftovers
from sqlbn.engines.scratch import RunFolder, sweep

MARKER = "sqlbn-run.json"


@pytest.fixture(scope="module")
def dead() -> dict[str, object]:
    """What a marker tells of a process that has ended."""
    program = subprocess.Popen([sys.executable, "-c", ""])
    program.wait()
    return {"pid": program.pid, "started": 1, "boot": leftovers._boot()}


def marked(folder: Path, told: dict[str, object]) -> Path:
    """A folder with a marker as this program would write it, but for what is told."""
    folder.mkdir()
    (folder / "spill.tmp").write_text("spilled")
    identity = leftovers._identity(folder.resolve()) | told
    (folder / MARKER).write_text(json.dumps(identity))
    return folder


def test_a_dead_run_is_swept(tmp_path: Path, dead: dict[str, object]) -> None:
    folder = marked(tmp_path / f"sqlbn-{dead['pid']}-abc", dead)
    sweep(tmp_path)
    assert not folder.exists()


def test_a_run_before_the_machine_was_started_again_is_swept(tmp_path: Path) -> None:
    folder = marked(tmp_path / "sqlbn-1-abc", {"pid": 1, "started": 1, "boot": "another"})
    sweep(tmp_path)
    assert not folder.exists()


def test_a_process_of_the_same_number_is_another_one(tmp_path: Path) -> None:
    folder = marked(tmp_path / f"sqlbn-{os.getpid()}-abc", {"started": 1})
    sweep(tmp_path)
    assert not folder.exists()


def test_the_engine_sweeps_where_it_works(tmp_path: Path, dead: dict[str, object]) -> None:
    folder = marked(tmp_path / f"sqlbn-{dead['pid']}-abc", dead)
    Session(Settings(temp_dir=tmp_path)).close()
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


# -- what looks like ours and is not, or not dead ----------------------------------------------


def users(folder: Path, dead: dict[str, object]) -> Path:
    folder = folder.with_name("sqlbn-20261118-results")
    folder.mkdir()
    (folder / "results.csv").write_text("precious")
    return folder


def without_marker(folder: Path, dead: dict[str, object]) -> Path:
    folder.mkdir()
    return folder


def telling(**wrong: object) -> Callable[[Path, dict[str, object]], Path]:
    return lambda folder, dead: marked(folder, {**dead, **wrong})


def with_more(folder: Path, dead: dict[str, object]) -> Path:
    return marked(folder, {**dead, "also": 1})


def written(text: str) -> Callable[[Path, dict[str, object]], Path]:
    def make(folder: Path, dead: dict[str, object]) -> Path:
        folder.mkdir()
        (folder / MARKER).write_text(text)
        return folder

    return make


def copied(folder: Path, dead: dict[str, object]) -> Path:
    marked(folder, dead).rename(folder.with_name("sqlbn-kept-by-a-user"))
    return folder.with_name("sqlbn-kept-by-a-user")


def linked(folder: Path, dead: dict[str, object]) -> Path:
    marked(folder.parent.parent / "elsewhere", dead)
    folder.symlink_to(folder.parent.parent / "elsewhere")
    return folder


def linked_marker(folder: Path, dead: dict[str, object]) -> Path:
    marked(folder, dead)
    (folder / MARKER).rename(folder / "other.json")
    (folder / MARKER).symlink_to(folder / "other.json")
    return folder


def a_file(folder: Path, dead: dict[str, object]) -> Path:
    folder.write_text("a user's")
    return folder


NOT_OURS: dict[str, Callable[[Path, dict[str, object]], Path]] = {
    "a user's results": users,
    "no marker": without_marker,
    "another program": telling(program="other"),
    "another host": telling(host="elsewhere"),
    "another owner": telling(owner=4711),
    "another inode": telling(inode=[1, 2]),
    "another folder": telling(folder="/elsewhere"),
    "alive": lambda folder, dead: marked(folder, {}),
    "the first process": telling(pid=1, started=leftovers._started(1)),
    "no number": telling(pid="1"),
    "a negative number": telling(pid=-1),
    "a large number": lambda folder, dead: marked(folder, {"pid": 2**70, "started": None}),
    "more than we tell": with_more,
    "not JSON": written("precious"),
    "a list": written("[]"),
    "nested": written("[" * 100_000),
    "empty": written(""),
    "a folder that was renamed": copied,
    "a link": linked,
    "a linked marker": linked_marker,
    "a file": a_file,
}


@pytest.mark.parametrize("case", NOT_OURS)
def test_nothing_else_is_removed(case: str, tmp_path: Path, dead: dict[str, object]) -> None:
    (tmp_path / "temp").mkdir()
    made = NOT_OURS[case](tmp_path / "temp" / f"sqlbn-{dead['pid']}-abc", dead)
    before = sorted(tmp_path.rglob("*"))
    sweep(tmp_path / "temp")
    assert made in before
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_that_lives_is_left_alone_whatever_its_marker_tells(
    tmp_path: Path, dead: dict[str, object]
) -> None:
    """Its marker is locked."""
    folder = RunFolder(tmp_path)
    text = json.loads((folder.path / MARKER).read_text())
    (folder.path / MARKER).write_text(json.dumps(text | dead))
    sweep(tmp_path)
    assert folder.path.is_dir()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


# -- part files --------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from sqlbn.engines.output_files import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(out: Path, temp: Path) -> Path:
    """The part file that a killed run leaves."""
    environment = {**os.environ, "TMPDIR": str(temp)}
    subprocess.run([sys.executable, "-c", KILLED, out], env=environment, check=False)
    (part,) = (p for p in out.parent.iterdir() if p.name.endswith(".part"))
    return part


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of this test's own."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_the_part_file_of_a_killed_run_is_removed_by_the_next(temp: Path) -> None:
    (temp.parent / "out").mkdir()
    out = temp.parent / "out" / "scores.csv"
    part = killed_while_writing(out, temp)
    users_own = part.with_name(".scores.csv.1-abc-1.part")
    users_own.write_text("precious")
    sweep()
    assert list(out.parent.iterdir()) == [users_own]
    assert list(temp.iterdir()) == []


def test_a_list_cannot_name_other_files(temp: Path) -> None:
    out = temp.parent / "scores.csv"
    precious = temp.parent / "precious.csv"
    precious.write_text("precious")
    part = killed_while_writing(out, temp)
    (listed,) = temp.glob("*/parts.jsonl")
    link = part.with_name(part.name.replace("-1.part", "-2.part"))
    link.symlink_to(precious)
    with listed.open("a") as file:
        file.writelines(f"{json.dumps(str(p))}\n" for p in (precious, link, "\x00", 7))
    sweep()
    assert precious.read_text() == "precious"
    assert link.is_symlink()
    assert not part.exists()


def test_a_file_of_the_longest_name_is_written(temp: Path) -> None:
    from sqlbn.engines.output_files import replacing

    target = temp.parent / ("x" * 250 + ".csv")
    with replacing(target) as part:
        part.write_text("whole")
        assert len(list(temp.iterdir())) == 1
    assert target.read_text() == "whole"
    assert list(temp.iterdir()) == []
