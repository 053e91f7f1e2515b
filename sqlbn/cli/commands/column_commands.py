"""`sqlbn prepare` and `sqlbn rank`: what columns tell of the class, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.cli.output import table as text_table
from sqlbn.options.lists import names_in

if TYPE_CHECKING:
    from sqlbn import Preparation, Ranking

# Variables whose profile is printed, parts and classes of each, and variables that are drawn.
_PROFILES = 3
_MOST_PARTS = 30
_MOST_CLASSES = 8
_DRAWN = 9


def prepare(
    data: list[str],
    target: str,
    options: dict[str, Any],
    variable: Sequence[str] | None,
    plot: Path | None,
    out: Path | None,
    json: bool,
) -> None:
    """Tell what every column says about the class on its own; no model is learned."""
    from sqlbn.api import results

    results.check_plot(plot)
    results.check_table_file(out)
    found = sqlbn.prepare(data, target, quiet=STATE.quiet, **options)
    known = set(found.variables["attribute"].to_pylist())
    chosen = names_in(variable or (), known.__contains__)
    for name in chosen:
        found.profile_of(name)
    best = [r["attribute"] for r in found.variables.to_pylist() if r["level"] > 0]
    if plot is not None:
        drawn = chosen or best[:_DRAWN]
        results.plot_profiles(
            plot,
            found,
            drawn,
            f"shares of {target}; a part is as wide as it has of the {found.rows:,} rows",
        )
        echo(f"drawn: {plot}", err=True)
    if out is not None:
        results.write_table(found.variables, out)
    if json:
        shown = chosen or found.variables["attribute"].to_pylist()
        profiles = {name: found.profile_of(name) for name in shown}
        variables = found.variables.to_pylist()
        echo_json({"rows": found.rows, "variables": variables, "profile": profiles})
        return
    _print_variables(found, chosen or best[:_PROFILES])


def _print_variables(found: Preparation, profiles: list[str]) -> None:
    classes = found.classes.to_pylist()
    counts = ", ".join(f"{row['class']} {row['n']:,}" for row in classes[:12])
    more = f", … {len(classes)} in all" if len(classes) > 12 else ""
    echo(f"{found.rows:,} rows; {found.target}: {counts}{more}\n")
    rows = [
        [r["attribute"], r["kind"], r["parts"], f"{r['level']:.6f}", r["n_missing"], r["used"]]
        for r in found.variables.to_pylist()
    ]
    echo(text_table(["variable", "kind", "parts", "level", "missing", "used"], rows))
    for name in profiles:
        echo("")
        _print_profile(found, name)


def _print_profile(found: Preparation, name: str) -> None:
    parts = found.profile_of(name)
    names = found.classes["class"].to_pylist()[:_MOST_CLASSES]
    rows = [
        [
            p["part"] if p["part"] is not None else "(missing)",
            p["rows"],
            *(f"{p['shares'][c]:7.2%}" for c in names),
        ]
        for p in parts
    ]
    echo(text_table([name, "rows", *names], rows[:_MOST_PARTS]))
    if len(parts) > _MOST_PARTS:
        echo(f"… {len(parts):,} parts in all")


def rank(data: list[str], target: str, options: dict[str, Any], top: int, json: bool) -> None:
    """Find the most informative attributes; with --bound from few random rows."""
    found = sqlbn.rank(data, target, top, quiet=STATE.quiet, **options)
    if json:
        echo_json(found.to_dict())
        return
    rows = [[a.rank, a.attribute, a.kind, a.mi] for a in found.attributes]
    echo(text_table(["rank", "attribute", "kind", "mi"], rows))
    echo(_told(found))


def _told(found: Ranking) -> str:
    """How sure the choice is, in a line."""
    said = f"\n{len(found.attributes)} of {found.candidates} attributes"
    said += f" by {found.rows:,} of {found.total_rows:,} rows"
    if found.delta is None or found.margin is None:
        return said
    why = {"bound": "sure by the bound", "tie": "a tie by the bound", "exhausted": "all rows"}
    return (
        f"{said} ({found.rows_read:,} read): {why[found.reason]}, margin {found.margin:.6f}, "
        f"error {found.error:.6f}, delta {found.delta:.2g}"
    )
