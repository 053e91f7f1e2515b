"""In what environment Spark runs in the tests: small, quiet and on loopback only."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

LOOPBACK = "127.0.0.1"

# What every session of the tests is given, through SPARK_CONF_DIR: so a session that sqlbn starts,
# in this process or in a program, is small and on loopback without a word in its options.
DEFAULTS = {
    "spark.cores.max": "2",  # of four: a program beside a session finds room, too
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.memory": "640m",
    # A lost executor's shuffle files are asked for again at once, not after 3 x 5 s.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "200ms",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


def why_not() -> str | None:
    """Why Spark cannot run here, or None where it can."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed (pip install 'sqlbn[spark]')"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "no Java here: Spark needs a runtime of 17 or newer"
    return None


def spark_home() -> Path:
    """The installed package, which holds the whole of Spark."""
    import pyspark

    return Path(pyspark.__file__).parent


def settings(folder: Path) -> dict[str, str]:
    """The environment in which Spark is small, quiet and on loopback only."""
    conf = folder / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    local = {"spark.local.dir": folder / "local", "spark.sql.warehouse.dir": folder / "warehouse"}
    lines = [f"{name} {value}\n" for name, value in {**DEFAULTS, **local}.items()]
    (conf / "spark-defaults.conf").write_text("".join(lines))
    (conf / "log4j2.properties").write_text(LOGGING)
    return {
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "640m",  # Connect, too, goes by this and needs 450
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
