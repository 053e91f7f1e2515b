"""Spark beside DuckDB: growth with rows and workers, jobs and shuffled bytes a fit.

    python tests/benchmarks/spark.py [--rows 1e5 1e6] [--attributes 20] [--learner kdb --k 1]
    python tests/benchmarks/spark.py --rows 2.5e5 5e5 1e6 2e6 --learner skdb --kmax 2 --workers

Every fit is a process of its own, on `local[2]` and on a standalone cluster of one and of two
workers with a core each (loopback; Java is needed). Starting the session is told apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import duckdb
from measure import TOP, run

sys.path.insert(0, str(TOP / "tests" / "support"))


def draw(rows: int, attributes: int, folder: Path) -> Path:
    """Rows of 5 values an attribute and 7 classes, in eight files."""
    target = folder / f"rows-{rows}"
    target.mkdir()
    columns = ", ".join(
        f"((y * {i} + hash(r * 61 + {i}) % 3 + (hash(r * 67 + {i}) % 4) // 3 * y) % 5)::VARCHAR "
        f"AS a{i}"
        for i in range(attributes)
    )
    for part in range(8):
        duckdb.sql(
            f"COPY (SELECT {columns}, 'c' || y AS class FROM (SELECT range AS r, hash(range) % 7 "
            f"AS y FROM range({part * rows // 8}, {(part + 1) * rows // 8}))) "
            f"TO '{target}/part-{part}.parquet' (FORMAT parquet)"
        )
    return target


def fit_once(data: str, learner: str, options: dict[str, Any], master: str | None) -> None:
    """In a process of its own: one fit; prints its seconds, passes and jobs."""
    import sqlbn as api

    warnings.simplefilter("ignore")
    started, engine, context = time.perf_counter(), dict[str, Any](), None
    if master is not None:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master(master).getOrCreate()
        session.range(10).count()
        context = session.sparkContext
        engine = {"engine": "spark", "session": session}
    ready = time.perf_counter()
    with api.fit(data, "class", learner, **options, **engine) as model:
        taken = time.perf_counter() - ready
        found = {"start": ready - started, "fit": taken, "passes": model.meta["seconds"]}
    if context is not None:
        found["jobs"] = len(context.statusTracker().getJobIdsForGroup(None))
        found["shuffled"] = shuffled_bytes(context)
    print(json.dumps(found), flush=True)


def shuffled_bytes(context: Any) -> int:
    """What all stages so far have written for others to read, as Spark counts it."""
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)
    store = context._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, no_quantiles, None).iterator()
    total = 0
    while stages.hasNext():
        total += stages.next().shuffleWriteBytes()
    return total


def measured(data: Path, arguments: argparse.Namespace, master: str | None) -> dict[str, Any]:
    """One fit in a new process."""
    given = {"k": arguments.k, "kmax": arguments.kmax}
    options = json.dumps({name: value for name, value in given.items() if value is not None})
    command = [sys.executable, __file__, "--one", str(data), arguments.learner, options]
    found: dict[str, Any] = run(*command, *([master] if master else [])).json
    passes = "  ".join(f"{name} {seconds:.1f}" for name, seconds in found["passes"].items())
    jobs = ""
    if "jobs" in found:
        jobs = f"  {found['jobs']} jobs, {found['shuffled'] / 1e6:.1f} MB shuffled"
    where = "duckdb" if master is None else master.split(":")[0]
    start = f"start {found['start']:.1f} s  " if master else ""
    fitted = f"fit {found['fit']:6.1f} s"
    print(f"{data.name:14} {where:9} {start}{fitted}{jobs}  ({passes})", flush=True)
    return found


def _compile_fully(conf: Path) -> None:
    """The tests spare Java its second compiler: right for seconds, wrong for what is measured."""
    defaults = conf / "spark-defaults.conf"
    defaults.write_text(defaults.read_text().replace(" -XX:TieredStopAtLevel=1", ""))
    os.environ["SPARK_DAEMON_JAVA_OPTS"] = "-XX:+UseSerialGC"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--attributes", type=int, default=20)
    parser.add_argument("--learner", default="kdb")
    parser.add_argument("--k", type=int)
    parser.add_argument("--kmax", type=int)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        data, learner, options, *master = arguments.one
        fit_once(data, learner, json.loads(options), master[0] if master else None)
        return
    import spark_settings
    from spark_cluster import Cluster

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= spark_settings.settings(Path(folder) / "spark")
        _compile_fully(Path(os.environ["SPARK_CONF_DIR"]))
        before: tuple[int, float] | None = None
        for rows in map(int, arguments.rows):
            data = draw(rows, arguments.attributes, Path(folder))
            alone = measured(data, arguments, None)["fit"]
            local = measured(data, arguments, "local[2]")["fit"]
            print(f"{'':14} local[2] / duckdb = {local / alone:.1f}, {local - alone:+.1f} s")
            if before is not None:
                exponent = math.log(local / before[1]) / math.log(rows / before[0])
                print(f"{'':14} growth of local[2] with rows: exponent {exponent:.2f}")
            before = (rows, local)
            for workers in arguments.workers:
                place = Path(folder) / f"cluster-{rows}-{workers}"
                place.mkdir()
                cluster = Cluster(place, workers=workers, cores=1)
                try:
                    print(f"{'':14} {workers} worker(s):")
                    measured(data, arguments, cluster.url)
                finally:
                    cluster.stop()


if __name__ == "__main__":
    main()
