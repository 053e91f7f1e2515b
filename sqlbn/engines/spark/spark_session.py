"""The Spark session: found, started, or reached over the network."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.engines.settings import Settings, memory_bytes
from sqlbn.errors import EngineError, OptionError, opt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CONNECT_PORT = 15002
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def check_reachable(master: str, seconds: float) -> None:
    """An error where no server of a master answers at all in so many seconds."""
    places = addresses(master)
    if not places or any(_answers(place, seconds) for place in places):
        return
    listed = " nor at ".join(f"{host}:{port}" for host, port in places)
    raise EngineError(
        f"{opt('master', _without_token(master))}: nobody answers at {listed}; "
        "check the address, and whether Spark is running"
    )


def addresses(master: str) -> list[tuple[str, int]]:
    """Hosts and ports that a master names; none where it names none that we could ask.

    >>> addresses("spark://a:7077,b:7078"), addresses("sc://[::1]/;token=x"), addresses("yarn")
    ([('a', 7077), ('b', 7078)], [('::1', 15002)], [])
    """
    found = re.match(r"(spark|sc)://([^/]+)", master)
    if found is None or (found[1] == "sc" and any(map(os.environ.get, _PROXIES))):
        return []
    places = []
    for place in found[2].split(","):
        told = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", place)
        if told is None:
            return []
        places.append((told[1].strip("[]"), int(told[2] or _CONNECT_PORT)))
    return places


def _answers(place: tuple[str, int], seconds: float) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(place, timeout=seconds):
        return True
    return False


def _without_token(master: str) -> str:
    return master.split(";")[0].rstrip("/")


_REMEDY = "install it with: pip install 'sqlbn[spark]'"
# Set in every session of ours, whoever started it: they belong to the session, not to the cluster.
_SESSION = {
    "spark.sql.session.timeZone": "UTC",  # a moment is a number, wherever the machine stands
    "spark.sql.ansi.enabled": "true",  # an overflow is an error, not a wrong count
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
}


def open_session(settings: Settings) -> SparkSession:
    """A session of our own on the master of the settings."""
    _check_installed()
    if settings.session is not None:
        return _adopted(settings.session)
    master = settings.master or local_master(settings)
    given = dict(pair.split("=", 1) for pair in settings.spark_conf)
    check_reachable(master, settings.limits.spark_answer_seconds)
    _hush()
    if master.startswith("sc://"):
        return _connected(master, given)
    return _classic(master, {**_launch_conf(settings, master), **given})


def _adopted(spark: Any) -> SparkSession:
    """A session beside one that the caller has: its views and settings are not ours to change."""
    ours: SparkSession = spark.newSession() if hasattr(spark, "newSession") else spark
    _configure(ours)
    return ours


def local_master(settings: Settings) -> str:
    """Spark in this process's machine alone."""
    return f"local[{settings.used_threads or '*'}]"


def _hush() -> None:
    """Errors are told in one line, by us; PySpark would print each as a page of JSON besides."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _check_installed() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise OptionError(f"{opt('engine', 'spark')} needs PySpark; {_REMEDY}") from None


def _launch_conf(settings: Settings, master: str) -> dict[str, str]:
    conf = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if master.startswith("local") and settings.memory_limit is not None:
        # There the driver does all the work.
        conf["spark.driver.memory"] = f"{memory_bytes(settings.memory_limit) // 2**20}m"
    if settings.temp_dir is not None:
        conf["spark.local.dir"] = str(settings.temp_dir)
    return conf


def _connected(url: str, given: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        builder = SparkSession.builder.remote(url)
        for key, value in given.items():
            builder = builder.config(key, value)
        spark = builder.create()
        _configure(spark)
    except Exception as error:
        raise _refused(url, error) from error
    return spark


def _classic(master: str, conf: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master != master:
        raise OptionError(
            f"this process already runs Spark on {running.sparkContext.master}; "
            "stop that session first, or use its master",
            master=master,
        )
    if running is None and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise OptionError(
            f"{opt('engine', 'spark')} needs Java 17 or later on this machine, or a server to "
            f"{opt('master', 'sc://…')}"
        )
    builder = SparkSession.builder.appName("sqlbn").master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        with _silent_launch() if running is None else contextlib.nullcontext():
            spark = builder.getOrCreate().newSession()
        _configure(spark, conf)
    except Exception as error:
        raise _refused(master, error) from error
    return spark


def _configure(spark: SparkSession, given: Mapping[str, str] | None = None) -> None:
    wanted = dict(_SESSION)
    context = getattr(spark, "sparkContext", None) if given is not None else None
    if context is not None:
        # Counts are small: 200 partitions, Spark's default, are 200 tasks with nothing to do.
        wanted["spark.sql.shuffle.partitions"] = str(context.defaultParallelism)
    for key, value in {**wanted, **(given or {})}.items():
        # A managed server may keep a setting to itself; its default is then what counts.
        with contextlib.suppress(Exception):
            spark.conf.set(key, value)


@contextlib.contextmanager
def _silent_launch() -> Iterator[None]:
    """Keep Spark's log out of the terminal: the process it starts inherits standard error."""
    log = Path(tempfile.gettempdir()) / f"sqlbn-spark-{os.getpid()}.log"
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def _refused(where: str, error: Exception) -> EngineError:
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return EngineError(f"{opt('master', where)}: Spark cannot be reached: {line[:300]}")
