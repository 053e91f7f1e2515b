"""Renders the statements in `sql/`. Templates only loop; every decision is made in Python."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from sqlbn.quoting import identifier, literal


def _folder() -> Path:
    """`sql/` lies inside an installed package, and beside it in a checkout."""
    here = Path(__file__).resolve().parent
    packaged = here / "_sql"
    return packaged if packaged.is_dir() else here.parent / "sql"


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    env.filters["id"] = identifier
    env.filters["lit"] = literal
    return env


def render(template: str, **values: object) -> str:
    """The statement `sql/<template>.sql` with its values filled in."""
    return _environment().get_template(f"{template}.sql").render(**values).strip()
