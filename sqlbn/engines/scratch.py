"""A private folder for spill files and encoded data, removed at the end, also after an error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sqlbn.errors import OptionError, opt
from sqlbn.leftovers import RunFolder, sweep


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
