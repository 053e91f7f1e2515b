"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn.cli.state import STATE


def _quiet(value: bool) -> bool:
    STATE.quiet = value
    return value


def _traceback(value: bool) -> bool:
    STATE.traceback = value
    return value


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Parquet or CSV files, patterns ('lake/*.parquet'), hive folders, or a DuckDB file.",
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
LearnerName = Annotated[str, typer.Option("--learner", "-l", help="nb, tan or kdb.")]
K = Annotated[
    int | None, typer.Option("--k", help="kdb: parents an attribute may have. [default: 2]")
]
M = Annotated[float, typer.Option("--m", help="m of the m-estimate, above 0.")]
BackoffRule = Annotated[
    str,
    typer.Option(
        "--backoff",
        help="cell: fewer parents where the value was never seen with theirs; "
        "parents: only where these were never seen together (the paper's program).",
    ),
]
Bins = Annotated[int, typer.Option("--bins", help="Equal-frequency intervals of a numeric column.")]
Weight = Annotated[str | None, typer.Option("--weight", help="A column of row weights, 0 or more.")]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="Use only this attribute (repeat).")
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="Do not use this column (repeat).")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option("--categorical", help="Treat this column as categories (repeat)."),
]
Numeric = Annotated[
    list[str] | None, typer.Option("--numeric", help="Treat this column as a quantity (repeat).")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Use this column though it is constant or an identifier (repeat)."),
]
Where = Annotated[
    str | None, typer.Option("--where", help="SQL condition: only rows for which it holds.")
]
Table = Annotated[str | None, typer.Option("--table", help="Table of a DuckDB database file.")]
Query = Annotated[str | None, typer.Option("--query", help="SELECT on a DuckDB database file.")]
Store = Annotated[
    Path, typer.Option("--store", "-s", help="The DuckDB file that holds the models.")
]
Name = Annotated[str, typer.Option("--name", "-n", help="The model's name in the store.")]
ModelName = Annotated[str, typer.Argument(metavar="NAME", help="The model's name in the store.")]
MemoryLimit = Annotated[
    str | None, typer.Option("--memory-limit", help="Memory the engine may use, such as 1GB.")
]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads the engine may use.")]
TempDir = Annotated[
    Path | None,
    typer.Option("--temp-dir", help="Folder for spill files (a private one inside it)."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of samples and folds.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_quiet, help="No progress, no warnings.")
]
Traceback = Annotated[
    bool, typer.Option("--traceback", callback=_traceback, help="Show where an error comes from.")
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given, for a call of the API."""
    return {key: value for key, value in options.items() if value not in (None, [], ())}
