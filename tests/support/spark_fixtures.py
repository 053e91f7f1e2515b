"""Fixtures of Spark: each is started when the first test asks for it, and ended at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import spark_cluster
import spark_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `spark` whatever needs a JVM, so that nobody has to remember it."""
    for item in items:
        if "spark_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Logs and scratch files of Spark; while it lives, sessions are small and on loopback."""
    reason = spark_settings.why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_settings.settings(folder).items():
            patch.setenv(name, value)
        yield folder


@pytest.fixture(scope="session")
def cluster(spark_folder: Path) -> Iterator[spark_cluster.Cluster]:
    """A standalone cluster of one master and two workers."""
    started = spark_cluster.Cluster(spark_folder)
    yield started
    started.stop()


@pytest.fixture
def two_workers(cluster: spark_cluster.Cluster) -> spark_cluster.Cluster:
    """The cluster with two workers, whatever an earlier test did to it."""
    while len(cluster.running()) < 2:
        cluster.add_worker()
    return cluster


@pytest.fixture(scope="session")
def spark(cluster: spark_cluster.Cluster) -> Iterator[SparkSession]:
    """A session on the cluster."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(cluster.url).appName("tests").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect_server(spark_folder: Path) -> Iterator[spark_cluster.ConnectServer]:
    """A Spark Connect server with two cores of its own."""
    started = spark_cluster.ConnectServer(spark_folder, "local[2]")
    yield started
    started.stop()
