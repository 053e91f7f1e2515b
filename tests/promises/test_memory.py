"""`--memory-limit`: the whole process keeps to it, but for what a process takes that does nothing.

What a process of the smallest fit takes is Python, its libraries and the engine: some 180 MB.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlbn
from sqlbn.engines import Session, memory_share
from sqlbn.engines.limits import Limits
from sqlbn.engines.settings import Settings

PEAK = """
import resource, sys
import sqlbn
file, limit, learner = sys.argv[1:]
sqlbn.fit(file, "y", learner, memory_limit=limit or None, threads=2, quiet=True).close()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def limit_of(session: Session) -> int:
    """What the engine may use, in tenths of the memory limit of these tests."""
    told = session.rows("SELECT current_setting('memory_limit')")[0][0]
    number, unit = str(told).split()
    return round(float(number) * 2 ** {"MiB": 20, "GiB": 30}[unit] / 1e8)


def test_the_engine_gets_what_arrays_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    resident = 10**8
    monkeypatch.setattr(memory_share, "resident_bytes", lambda: resident)
    with Session(Settings(memory_limit="1GB")) as session:
        assert limit_of(session) == 10
        for arrays, left in ((3, 7), (4, 6), (9, 5), (0, 10), (1, 9), (0, 10)):
            growth = session.limits.process_growth_bytes
            resident = 10**8 + growth + arrays * 10**8
            session.rows("SELECT 1")
            assert limit_of(session) == left


def test_a_statement_that_cannot_do_with_less_gets_the_whole_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A table of 64 MB where nothing can be spilled."""
    statement = "CREATE TABLE t AS SELECT random() AS r FROM range(8_000_000)"
    limits = Limits(engine_share=0.0, engine_least_bytes=20_000_000)
    settings = Settings(memory_limit="400MB", threads=1, temp_dir=tmp_path, limits=limits)
    resident = 10**8
    monkeypatch.setattr(memory_share, "resident_bytes", lambda: resident)
    with Session(settings) as session:
        session.execute("SET temp_directory = ''")
        resident = 10**9
        session.execute(statement)
        assert session.rows("SELECT count(*) FROM t") == [(8_000_000,)]
        assert limit_of(session) == 4


def test_where_the_process_cannot_be_measured_the_engine_has_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_share, "resident_bytes", lambda: None)
    with Session(Settings(memory_limit="1GB")) as session:
        assert limit_of(session) == 10


def test_few_rows_that_do_not_fit_in_arrays_are_left_out_by_queries() -> None:
    """The arrays of these would take 94 MB, and may take 40; the choice is that of arrays."""
    rng, n = np.random.default_rng(3), 40_000
    y = rng.integers(0, 2, n)
    columns = {
        f"x{i}": np.where(rng.random(n) < 0.2, y, rng.integers(0, 3, n)).astype(str)
        for i in range(14)
    }
    table = pa.table({**columns, "y": y.astype(str)})
    options = {"keep": list(columns), "kmax": 3}
    found = []
    for limit in ("100MB", None):
        with sqlbn.fit(table, "y", "skdb", memory_limit=limit, **options) as model:
            losses = [row["value"] for row in model.loocv.to_pylist()]
            found.append((model.meta["selected_k"], model.meta["selected_attributes"], losses))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], rel=0, abs=1e-12)


@pytest.mark.slow
def test_the_peak_of_snb(tmp_path: Path) -> None:
    """Its sums would take 94 MB once; they were held three times."""
    rng, n = np.random.default_rng(2), 200_000
    y = rng.integers(0, 60, n)
    columns = {
        f"x{i}": np.where(rng.random(n) < 0.2, y, rng.integers(0, 40, n)).astype(np.int16)
        for i in range(4)
    }
    pq.write_table(pa.table({**columns, "y": y.astype(np.int16)}), tmp_path / "many.parquet")
    pq.write_table(pa.table({"x": [0, 1], "y": [0, 1]}), tmp_path / "few.parquet")

    def peak(name: str, *rest: str) -> float:
        line = [sys.executable, "-W", "ignore", "-c", PEAK, str(tmp_path / name), *rest]
        return int(subprocess.run(line, capture_output=True, check=True).stdout) / 1000

    fixed = peak("few.parquet", "", "nb")
    assert peak("many.parquet", "100MB", "snb") < fixed + 100
