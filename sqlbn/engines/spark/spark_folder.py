"""A folder on the cluster's storage for rows that are kept; nothing of it stays."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sqlbn.engines.dialects import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ClusterFolder:
    """Parquet files below a folder that the user names, in a folder of this run's own.

    Over Spark Connect there is no way to a file system but SQL: there they are tables of a database
    that is dropped at the end, files and all.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        run = uuid.uuid4().hex[:12]
        self._spark = spark
        self._folder = f"{root.rstrip('/')}/sqlbn-{run}"
        self._database = f"sqlbn_{run}" if is_remote_session(spark) else None
        self._begun = False

    def write(self, frame: DataFrame, name: str) -> DataFrame:
        """Rows as Parquet under that name, to read again."""
        if self._database is None:
            self._begun = True
            frame.write.parquet(f"{self._folder}/{name}")
            return self._spark.read.parquet(f"{self._folder}/{name}")
        if not self._begun:
            place = SPARK.text(self._folder)
            self._spark.sql(f"CREATE DATABASE {SPARK.identifier(self._database)} LOCATION {place}")
            self._begun = True
        frame.write.format("parquet").saveAsTable(self._table(name))
        return self._spark.table(self._table(name))

    def remove(self, name: str) -> None:
        """Remove the rows of that name."""
        if self._database is None:
            self._delete(f"{self._folder}/{name}")
        else:
            self._spark.sql(f"DROP TABLE IF EXISTS {self._table(name)}")

    def close(self) -> None:
        """Remove everything."""
        if not self._begun:
            return
        self._begun = False
        if self._database is None:
            self._delete(self._folder)
        else:
            self._spark.sql(f"DROP DATABASE IF EXISTS {SPARK.identifier(self._database)} CASCADE")

    def _table(self, name: str) -> str:
        return f"{SPARK.identifier(str(self._database))}.{SPARK.identifier(name)}"

    def _delete(self, folder: str) -> None:
        """Through whatever file system it is: a bare path belongs to the cluster's default one."""
        machine, context = self._spark._jvm, self._spark._jsc
        assert machine is not None
        path = machine.org.apache.hadoop.fs.Path(folder)
        path.getFileSystem(context.hadoopConfiguration()).delete(path, True)


def is_remote_session(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect."""
    return ".connect." in type(spark).__module__
