"""Golden scripts: one small model in every dialect, beside `golden/export/<dialect>.sql`.

`SQLBN_UPDATE_GOLDEN=1 pytest tests/scoring/test_export_golden.py` writes the files anew; read the
diff.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sqlbn
from sqlbn.api.model import Model
from sqlbn.exporting.targets import TARGETS

pytest.importorskip("sqlglot", reason="sqlglot is not installed (sqlbn[export])")

GOLDEN = Path(__file__).parents[1] / "golden" / "export"
UPDATE = os.environ.get("SQLBN_UPDATE_GOLDEN") == "1"


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    """A text, a quantity and a day tell the class, in twelve rows."""
    days = [dt.date(2024, 1, 1 + i % 4) for i in range(12)]
    rows = pa.table(
        {
            "it's": ["a\\b", "ü", None] * 4,
            "size": [0.5 * i for i in range(11)] + [float("nan")],
            "day": days,
            "class": ["no", "yes"] * 6,
        }
    )
    with sqlbn.fit(rows, target="class", learner="kdb", k=1, bins=2, numeric=["day"]) as fitted:
        yield fitted


def rounded(script: str) -> str:
    """Without the last digits, which are the machine's, and the version."""
    script = re.sub(r"^-- sqlbn [\w.]+", "-- sqlbn", script)
    return re.sub(r"-?\d+\.\d+e\S?\d+", lambda n: f"{float(n[0]):.6f}e0", script)


@pytest.mark.parametrize("dialect", TARGETS)
def test_golden_script(dialect: str, model: Model) -> None:
    script = rounded(str(model.export(dialect=dialect, table="new_rows", name="small")))
    path = GOLDEN / f"{dialect}.sql"
    if UPDATE:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(script, encoding="utf-8")
    assert script == path.read_text(encoding="utf-8")
