"""Names in a script: those of the model's tables, and of a result's columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlbn.errors import ExportError, opt
from sqlbn.exporting.targets import Target
from sqlbn.scoring.names import RESERVED

# Room for `_implied_1234` and the like behind the model's name.
_PREFIX_BYTES = 40


def table_prefix(model: str) -> str:
    """What the tables of a model begin with.

    >>> table_prefix("adult"), table_prefix("élan vital 2")
    ('adult', '_lan_vital_2')
    """
    plain = re.sub(r"[^a-z0-9_]", "_", model.lower())[:_PREFIX_BYTES]
    return plain if plain[:1].isalpha() or plain.startswith("_") else f"m_{plain}"


def probability_columns(columns: Sequence[str], target: Target) -> list[str]:
    """The columns of the probabilities, shortened and rewritten where the target has to.

    >>> from sqlbn.exporting.targets import TARGETS
    >>> probability_columns(["p_<=50K", "p_>50K"], TARGETS["bigquery"])
    ['p___50K', 'p__50K']
    """
    found: list[str] = []
    for column in columns:
        name = re.sub(r"\W", "_", column, flags=re.ASCII) if target.plain_names else column
        found.append(_other(name, {other.lower() for other in found}, target))
    return found


def _other(name: str, taken: set[str], target: Target) -> str:
    """The name, with a number at its end where it is too long or there already."""
    number, free = 1, _cut(name, target.names)
    while free.lower() in taken or (number == 1 and free != name):
        number += 1
        end = f"_{number}"
        free = _cut(name, target.names and target.names - len(end)) + end
    return free


def _cut(name: str, most: int | None) -> str:
    return name if most is None else name.encode()[:most].decode(errors="ignore")


def check_columns(carried: Sequence[str], results: Sequence[str], target: Target) -> None:
    """An error where a script cannot name the input's columns."""
    taken = {name.lower() for name in ("prediction", *results)}
    for name in carried:
        if name.lower() in taken or name.lower().startswith(RESERVED):
            raise ExportError(
                f"the script would have two columns {name!r}, one of the input and one of the "
                f"prediction; choose others of the input with {opt('key')}"
            )
        if target.names is not None and len(name.encode()) > target.names:
            raise ExportError(
                f"the column {name[:40]!r}… has {len(name.encode())} bytes, a name in "
                f"{target.name} at most {target.names}; fit on a view with shorter names"
            )
        if "\x00" in name:
            raise ExportError(f"the name {name!r} holds a NUL character; rename the column")
