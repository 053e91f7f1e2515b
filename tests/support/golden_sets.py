"""The golden results of an independent program: which sets, read how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

QUICK = ("breast-cancer", "car", "led7", "solar-flare2", "titanic", "vote")


LONG = ("adult", "audiology", "connect-4", "mushroom", "nettalk-window7")


# ../shared/golden/README.md: the test rows, by their number in file order.
IS_TEST = "(i * 2654435761) % 4294967296 < 1431655765"


def golden(shared: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden" / f"{name}.json").read_text())
    return found


def split(shared: Path, file: str, folder: Path) -> tuple[str, str]:
    """Training and test part as files."""
    source = str(shared / "data" / file)
    train, test = str(folder / "train.parquet"), str(folder / "test.parquet")
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE numbered AS "
            "SELECT *, file_row_number AS i FROM read_parquet($1, file_row_number = true)",
            [source],
        )
        columns = [row[0] for row in con.execute("DESCRIBE numbered").fetchall()]
        ours = ", ".join(c for c in ("i", "file_row_number") if c in columns)
        for path, condition in ((train, f"NOT ({IS_TEST})"), (test, IS_TEST)):
            con.execute(
                f"COPY (SELECT * EXCLUDE ({ours}) FROM numbered WHERE {condition} ORDER BY i) "
                f"TO '{path}'"
            )
    return train, test
