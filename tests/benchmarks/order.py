"""Is the order of a million rows kept, and what does it cost? `python tests/benchmarks/order.py`.

Cost is CPU and wall time of the query that `predict` runs over that of the same query without
sorting, from one run: figures of a machine that does other things too are ratios, not seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import sqlbn
from sqlbn.data import open_source
from sqlbn.evaluation.prediction_query import scoring_statement

ROWS, ATTRIBUTES = 1_000_000, 20


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    columns = {
        f"a{i}": (rng.integers(0, 4, ROWS) + y * (i % 3 == 0)).astype("int8")
        for i in range(ATTRIBUTES)
    }
    return pa.table({**columns, "number": np.arange(ROWS), "y": y})


def in_order(scored: Any) -> bool:
    return bool(np.array_equal(np.asarray(scored["number"]), np.arange(ROWS)))


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    found = []
    for _ in range(3):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(found)


def check(rows: pa.Table, folder: Path, learner: str, threads: int) -> None:
    file, store = folder / "rows.parquet", folder / f"{learner}{threads}.duckdb"
    train = rows.slice(0, 50_000).drop_columns(["number"])
    options: dict[str, Any] = {"threads": threads, "store": store, "name": "m"}
    with sqlbn.fit(train, "y", learner, **options) as model:
        chunks = pa.concat_tables([rows.slice(at, 30_000) for at in range(0, ROWS, 30_000)])
        kept = {"pandas": in_order(model.predict(rows.to_pandas()))}
        kept["chunks"] = in_order(model.predict(chunks))
        try:
            import polars

            kept["polars"] = in_order(model.predict(polars.from_arrow(chunks)))
        except ImportError:
            pass
        for ending in ("parquet", "csv"):
            out = folder / f"scored.{ending}"
            model.predict(file, out=out)
            kept[ending] = in_order(
                pq.read_table(out) if ending == "parquet" else pa_csv.read_csv(out)
            )
        engine = model._session
        source = open_source(engine, str(file))
        scorer = model.spec.scorer(model._workspace.prefix, source.columns)
        both = [scoring_statement(scorer, source, in_order=ordered) for ordered in (True, False)]
        with engine.joins_as_written():
            sorted_, mixed = (timed(lambda sql=sql: engine.arrow(sql)) for sql in both)
    with duckdb.connect() as con:
        con.execute(f"SET threads = {threads}; ATTACH '{store}' AS s (READ_ONLY)")
        kept["macro"] = in_order(con.sql(f"FROM s.m.predict('{file}')").fetchnumpy())
    cost = f"CPU x{sorted_[0] / mixed[0]:.2f}, wall x{sorted_[1] / mixed[1]:.2f}"
    print(f"{learner}, {threads} thread(s): {kept}; {cost}", flush=True)


def main() -> None:
    rows = table()
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(rows, Path(folder) / "rows.parquet", row_group_size=122_880)
        for learner in ("nb", "kdb", "a1de"):
            for threads in (1, 2):
                check(rows, Path(folder), learner, threads)


if __name__ == "__main__":
    main()
