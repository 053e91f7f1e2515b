"""A private folder for spill files and encoded data, removed at the end, also after an error."""

from __future__ import annotations

import atexit
import json
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from sqlbn.errors import OptionError, opt

_PREFIX = "sqlbn-"
_MARKER = "sqlbn-run.json"
_PARTS = "parts.jsonl"
# A marker is a few hundred bytes; a list of parts has a line for each file that is being written.
_MOST_BYTES = 1_000_000


class RunFolder:
    """A folder that this process made, marked as its own until `remove`."""

    def __init__(self, parent: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent)).resolve()
        self._pid = os.getpid()
        self._marker = os.open(self.path / _MARKER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _lock(self._marker)
        os.write(self._marker, json.dumps(_identity(self.path)).encode())
        atexit.register(self.remove)

    @property
    def token(self) -> str:
        """What no other run has in its names."""
        return self.path.name.removeprefix(_PREFIX)

    def remove(self) -> None:
        """Delete the folder with all that is in it; a fork of the process leaves it alone."""
        atexit.unregister(self.remove)
        if self._marker < 0 or os.getpid() != self._pid:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._marker)
        self._marker = -1


class _Parts:
    """The part files that this process is writing, on a list in a folder of its own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._folder: RunFolder | None = None
        self._pid = 0
        self._open: set[Path] = set()
        self._made = 0

    def begin(self, target: Path) -> Path:
        with self._guard:
            if self._pid != os.getpid():  # the first one, or a fork
                self._folder, self._open, self._pid = None, set(), os.getpid()
            folder = self._folder or _made_folder()
            self._folder, self._made = folder, self._made + 1
            token = folder.token if folder is not None else str(os.getpid())
            # Names have at most 255 bytes; the target's may have as many.
            name = f".{target.name[:40]}.{token}-{self._made}.part"
            part = target.with_name(name)
            if folder is not None:
                with (folder.path / _PARTS).open("a", encoding="utf-8") as listed:
                    listed.write(json.dumps(os.fsdecode(part.absolute())) + "\n")
            self._open.add(part)
            return part

    def end(self, part: Path) -> None:
        with self._guard:
            self._open.discard(part)
            if not self._open and self._folder is not None and self._pid == os.getpid():
                self._folder.remove()
                self._folder = None


_PARTS_OF_THIS_RUN = _Parts()


def new_part(target: Path) -> Path:
    """A path beside a target, to write to and rename; registered, so that it never stays behind."""
    return _PARTS_OF_THIS_RUN.begin(target)


def end_part(part: Path) -> None:
    """The part was renamed or removed."""
    _PARTS_OF_THIS_RUN.end(part)


def _made_folder() -> RunFolder | None:
    """Where parts are listed; without a temporary folder they are written all the same."""
    try:
        return RunFolder(Path(tempfile.gettempdir()))
    except OSError:
        return None


def sweep(parent: Path | None = None) -> None:
    """Remove what runs of this program left that were killed before they could clean up."""
    try:
        with os.scandir(parent or tempfile.gettempdir()) as entries:
            found = [Path(e.path) for e in entries if e.name.startswith(_PREFIX)]
    except OSError:
        return
    for folder in found:
        try:
            _sweep_folder(folder)
        except (OSError, ValueError, TypeError, RecursionError):
            continue  # not provably ours


def _sweep_folder(folder: Path) -> None:
    """Remove a folder whose marker proves that a dead run of ours made it; links are none."""
    if not _is_own(folder, stat.S_ISDIR):
        return
    marker = os.open(folder / _MARKER, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not _is_own(folder / _MARKER, stat.S_ISREG) or not _lock(marker):
            return
        told = json.loads(os.read(marker, _MOST_BYTES))
        if isinstance(told, dict) and told == _same(told, folder) and _is_dead(told):
            _remove_parts(folder)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(marker)


def _same(told: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A marker of this folder as the process that it tells of would have written it."""
    process = {key: told.get(key) for key in ("pid", "started", "boot")}
    return _identity(folder.resolve()) | process


def _identity(folder: Path) -> dict[str, Any]:
    """What a marker tells: who made which folder."""
    found = folder.lstat()
    return {
        "program": "sqlbn",
        "folder": os.fsdecode(folder),
        "inode": [found.st_dev, found.st_ino],
        "owner": found.st_uid,
        "host": platform.node(),
        "boot": _boot(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
    }


def _is_own(path: Path, kind: Any) -> bool:
    found = path.lstat()
    mine = getattr(os, "geteuid", lambda: found.st_uid)()
    return bool(kind(found.st_mode)) and found.st_uid == mine


def _is_dead(told: dict[str, Any]) -> bool:
    """Whether the process of a marker has ended: none of its number since the same start."""
    pid = told["pid"]
    if not isinstance(pid, int) or pid < 1 or isinstance(pid, bool):
        return False
    if told["boot"] != _boot():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return told["started"] is not None and told["started"] != _started(pid)


def _started(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None where that cannot be known."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(told.rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _boot() -> str | None:
    """Which start of the machine this is."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _lock(marker: int) -> bool:
    """Hold a marker until it is closed, also by a kill; False where its run still does."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_parts(folder: Path) -> None:
    """Remove the part files on the list of a dead run, those that bear its token."""
    listed = folder / _PARTS
    if not listed.exists() or not _is_own(listed, stat.S_ISREG):
        return
    token = re.escape(folder.name.removeprefix(_PREFIX))
    with listed.open(encoding="utf-8") as lines:
        for line in lines.read(_MOST_BYTES).splitlines():
            try:
                part = Path(json.loads(line))
                if re.search(rf"^\..*\.{token}-\d+\.part$", part.name) and _is_own(
                    part, stat.S_ISREG
                ):
                    part.unlink()
            except (OSError, ValueError, TypeError):
                continue


class Scratch:
    """The folder exists from the first use until `remove`."""

    def __init__(self, parent: str | Path | None) -> None:
        self._parent = Path(parent) if parent is not None else None
        self._folder: RunFolder | None = None

    @property
    def folder(self) -> Path:
        """Where this engine may write."""
        if self._folder is None:
            try:
                parent = self._parent or Path(tempfile.gettempdir())
                parent.mkdir(parents=True, exist_ok=True)
                for place in {parent, Path(tempfile.gettempdir())}:
                    sweep(place)
                self._folder = RunFolder(parent)
            except (OSError, ValueError) as error:
                told = getattr(error, "strerror", None) or str(error)
                raise OptionError(
                    f"cannot write to the temporary folder {str(self._parent or '')!r}: "
                    f"{told}; give another with {opt('temp_dir')}"
                ) from error
        return self._folder.path

    def remove(self) -> None:
        """Delete the folder with all that is in it."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
