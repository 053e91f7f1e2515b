"""What an engine may use: memory, threads, a folder to spill to."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError, SqlbnWarning, opt
from sqlbn.options.user_values import check_whole

ENGINES = ("duckdb", "spark")
_MASTER = re.compile(r"local$|local\[[^\]]+\]$|local-cluster\[|yarn$|(spark|k8s|sc)://.")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Past that the engine cannot read a size.
_MOST_BYTES = 2**62
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Settings:
    """Limits for one engine; None leaves the engine's own default.

    `engine` reads the rows. Of Spark: `master` is where it runs (local[*], spark://…, yarn, sc://…
    for Spark Connect), `spark_conf` are pairs key=value, `cluster_dir` is a folder on the cluster's
    storage for encoded rows, which are cached on its executors otherwise; `session` is a Spark
    session that the caller has. `limits` are tuning constants: tests give others. `sql_log` is a
    file to which every statement is added as it runs, with its seconds; '-' is standard error.
    """

    memory_limit: str | None = None
    threads: int | None = None
    temp_dir: str | Path | None = None
    seed: int = 0
    disk_limit: str | None = None
    engine: str = "duckdb"
    master: str | None = None
    spark_conf: tuple[str, ...] = ()
    cluster_dir: str | None = None
    session: object = field(default=None, compare=False)
    limits: Limits = field(default_factory=Limits)
    sql_log: str | Path | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            memory_bytes(self.memory_limit)
        if self.disk_limit is not None:
            size_bytes(self.disk_limit, "disk_limit")
        check_whole("seed", self.seed)
        for name in ("temp_dir", "cluster_dir"):
            if getattr(self, name) == "":
                raise OptionError(f"{opt(name, '')} names no folder")
        if self.threads is not None and self.threads < 1:
            raise OptionError("give at least 1", threads=self.threads)
        self._check_engine()

    def _check_engine(self) -> None:
        if self.engine not in ENGINES:
            raise OptionError(f"choose one of {', '.join(ENGINES)}", engine=self.engine)
        if self.engine != "spark":
            for name in ("master", "spark_conf", "cluster_dir", "session"):
                if getattr(self, name):
                    raise OptionError(f"{opt(name)} requires {opt('engine', 'spark')}")
        if self.master is not None and not _MASTER.match(self.master):
            raise OptionError(
                "write local[*], local[2], spark://HOST:PORT, yarn, "
                "k8s://… or sc://HOST (Spark Connect)",
                master=self.master,
            )
        for pair in self.spark_conf:
            if "=" not in pair:
                raise OptionError("write key=value", spark_conf=pair)

    def require_order(self, command: str) -> None:
        """An error where a command goes through rows one after the other and they have no order."""
        if self.engine != "duckdb":
            raise OptionError(
                f"{command} goes through the rows in their order on one machine, which "
                f"{opt('engine', self.engine)} does not keep; use {opt('engine', 'duckdb')}"
            )

    @property
    def is_cluster(self) -> bool:
        """Whether rows are read by other machines, with files of their own."""
        local = self.session is None and (self.master or "local").startswith("local")
        return self.engine == "spark" and not local

    @property
    def used_threads(self) -> int | None:
        """The threads that were asked for, as far as they are of any use; else it is said."""
        if self.threads is None:
            return None
        return held_threads(self.threads, self.limits.threads_per_core)

    @property
    def disk_bytes(self) -> int | None:
        """The bytes that may lie in the scratch folder; None: as many as there is room for."""
        return size_bytes(self.disk_limit, "disk_limit") if self.disk_limit is not None else None


def held_threads(asked: int, per_core: int = Limits.threads_per_core) -> int:
    """A number of threads that this machine can use; more than that is said, and not started."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    most = per_core * cores
    if asked > most:
        warnings.warn(
            f"{opt('threads', asked)}: this machine has {cores} cores; {most} are used",
            SqlbnWarning,
            stacklevel=2,
        )
    return min(asked, most)


def memory_bytes(text: str) -> int:
    """A limit on memory in bytes; less than the engine can work with is an error."""
    size = size_bytes(text, "memory_limit")
    if size < 50 * 10**6:
        raise OptionError("the engine needs at least 50MB", memory_limit=text)
    return size


def size_bytes(text: str, option: str) -> int:
    """Bytes in a size such as '1GB', '512 MiB' or '0.5gb'.

    >>> size_bytes("1GB", "--memory-limit"), size_bytes("1 GiB", "--memory-limit")
    (1000000000, 1073741824)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(I?)B?\s*", text.upper())
    if not match or (match[3] and not match[2]):
        raise OptionError(f"{opt(option, text)} is not a size: write for example 1GB or 512MB")
    factor = _BINARY[match[2]] if match[3] else _UNITS[match[2]]
    size = float(match[1]) * factor
    if size > _MOST_BYTES:
        raise OptionError("that is more than any machine has; write 1GB or 512MB", **{option: text})
    return int(size)
