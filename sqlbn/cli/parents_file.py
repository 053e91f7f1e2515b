"""`--parents FILE.toml`: the parent sets of a collection."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sqlbn.errors import OptionError
from sqlbn.options.user_values import read_small_file

# Some thousand attributes with hundreds of parent sets each.
_MOST_BYTES = 64_000_000


def read_parents(path: Path) -> dict[str, Any]:
    """The table `[parents]` of a TOML file, with nothing beside it."""
    data = read_small_file(path, "parents", _MOST_BYTES)
    try:
        found = tomllib.loads(data.decode("utf-8"))
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise OptionError(f"--parents {path} is not TOML: {error}") from error
    except RecursionError:
        raise OptionError(f"--parents {path}: its values are nested too deep") from None
    parents = found.pop("parents", None)
    if not isinstance(parents, dict):
        raise OptionError(f"--parents {path}: the file needs a table [parents]")
    if found:
        raise OptionError(
            f"--parents {path}: {sorted(found)[0]!r} is not known here; "
            "attributes go into the table [parents]"
        )
    return parents
