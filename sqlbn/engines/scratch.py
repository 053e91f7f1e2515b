"""A private folder for spill files and encoded data, removed at the end, also after an error."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from sqlbn.errors import OptionError

_PREFIX = "sqlbn-"


class Scratch:
    """The folder exists from the first use until `remove`."""

    def __init__(self, parent: str | Path | None) -> None:
        self._parent = Path(parent) if parent is not None else Path(tempfile.gettempdir())
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Where this engine may write."""
        if self._folder is None:
            try:
                self._parent.mkdir(parents=True, exist_ok=True)
                _sweep(self._parent)
                self._folder = Path(
                    tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=self._parent)
                )
            except OSError as error:
                raise OptionError(
                    f"cannot write to the temporary folder {self._parent}: "
                    f"{error.strerror}; give another with --temp-dir"
                ) from error
            atexit.register(self.remove)
        return self._folder

    def remove(self) -> None:
        """Delete the folder with all that is in it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            atexit.unregister(self.remove)


def _sweep(parent: Path) -> None:
    """Remove folders of processes that were killed before they could clean up."""
    for folder in parent.glob(f"{_PREFIX}*-*"):
        pid = folder.name[len(_PREFIX) :].split("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
