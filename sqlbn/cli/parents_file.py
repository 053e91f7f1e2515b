"""`--parents FILE.toml`: the parent sets of a collection."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sqlbn.errors import OptionError


def read_parents(path: Path) -> dict[str, Any]:
    """The table `[parents]` of a TOML file, with nothing beside it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"--parents {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"--parents {path} is not TOML: {error}") from error
    parents = found.pop("parents", None)
    if not isinstance(parents, dict):
        raise OptionError(f"--parents {path}: the file needs a table [parents]")
    if found:
        raise OptionError(
            f"--parents {path}: {sorted(found)[0]!r} is not known here; "
            "attributes go into the table [parents]"
        )
    return parents
