"""The test bed of Spark itself: a job on the cluster, on Connect, and one that loses a worker."""

from __future__ import annotations

import ipaddress
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster, ConnectServer, children_of, wait_until_under_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Parquet folder of two files."""
    folder = tmp_path_factory.mktemp("lake")
    for part in range(2):
        values = [i % 7 for i in range(part * ROWS, (part + 1) * ROWS)]
        pq.write_table(pa.table({"a": values}), folder / f"{part}.parquet")
    return str(folder)


def counted(session: SparkSession, lake: str) -> dict[int, int]:
    query = f"SELECT a, count(*) AS n FROM parquet.`{lake}` GROUP BY a"
    return {row.a: row.n for row in session.sql(query).collect()}


EXPECTED = {a: len(range(a, 2 * ROWS, 7)) for a in range(7)}


def test_counts_on_connect(connect_server: ConnectServer, lake: str) -> None:
    from pyspark.sql.connect.session import SparkSession as Remote

    session = Remote.builder.remote(connect_server.url).getOrCreate()
    assert counted(session, lake) == EXPECTED
    session.stop()


def test_counts_on_the_cluster(two_workers: Cluster, spark: SparkSession, lake: str) -> None:
    assert two_workers.state()["aliveworkers"] == 2
    assert counted(spark, lake) == EXPECTED
    assert [len(two_workers.executors_of(i)) for i in two_workers.running()] == [1, 1]


def test_nothing_listens_but_on_loopback(
    cluster: Cluster, connect_server: ConnectServer, spark: SparkSession
) -> None:
    pids = [daemon.process.pid for daemon in [cluster.master, *cluster.workers]]
    pids += [pid for number in cluster.running() for pid in cluster.executors_of(number)]
    pids += [connect_server.server.process.pid, *children_of(os.getpid())]  # and the driver
    addresses = {address for pid in pids for address in listening(pid)}
    assert addresses
    assert all(ipaddress.ip_address(address).is_loopback for address in addresses)


def test_a_job_survives_the_loss_of_a_worker(
    two_workers: Cluster, spark: SparkSession, lake: str
) -> None:
    slow = f"""
        SELECT a, count(*) AS n FROM (SELECT /*+ REPARTITION(8) */ a FROM parquet.`{lake}`)
        WHERE coalesce(reflect('java.lang.Thread', 'sleep', 4L), '') <> 'a' GROUP BY a"""
    with ThreadPoolExecutor(1) as threads:
        job = threads.submit(lambda: {row.a: row.n for row in spark.sql(slow).collect()})
        wait_until_under_way(spark)
        lost = two_workers.running()[0]
        two_workers.kill_worker(lost)
        assert not job.done()
        assert job.result(timeout=60) == EXPECTED
    two_workers.wait_for_workers()
    assert two_workers.state()["aliveworkers"] == 1
    assert two_workers.executors_of(lost) == []


def listening(pid: int) -> set[str]:
    """The addresses at which a process listens, from Linux's tables of sockets."""
    if not Path(f"/proc/{pid}/exe").exists():  # it has ended
        return set()
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    own = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = set()
    for table, order in (("tcp", 1), ("tcp6", 4)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in own:
                words = bytes.fromhex(local.partition(":")[0])
                packed = b"".join(words[i : i + 4][::-1] for i in range(0, 4 * order, 4))
                found.add(str(mapped(packed)))
    return found


def mapped(packed: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address, of version 4 also where it is written as one of version 6."""
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address
