"""A small Spark cluster on loopback, of real processes: master, workers, a Spark Connect server."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_settings import LOOPBACK, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 90.0  # seconds; a start takes about ten on two free cores


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Whether somebody listens on this port."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def children_of(pid: int) -> Iterator[int]:
    """The processes that a process started and that still run."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name in brackets may hold anything; the parent is the second word behind it.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(stat.parent.name)


def command_of(pid: int) -> bytes:
    """How a process was called; nothing of one that has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def wait_until_under_way(session: SparkSession) -> None:
    """Wait until some tasks of a stage are done and some are not."""
    tracker = session.sparkContext.statusTracker()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        if any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages):
            return
        time.sleep(0.02)
    raise RuntimeError("no job got under way")


class Daemon:
    """One Spark process, with its log; it does not outlive this one."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        # Spark's scripts `exec` Java, so this is the process itself; setpriv ends it even where
        # the tests are killed and cannot.
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with self.log.open("w") as said:
            self.process = subprocess.Popen(
                [*tied, *command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # Ctrl-C is for the tests, who end it in order
            )

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is ready; what it said, if it ends or takes too long."""
        end = time.monotonic() + PATIENCE
        while not ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise RuntimeError(f"{self.name} did not start:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL to it and to what it started, executors: no farewell."""
        for pid in [self.process.pid, *children_of(self.process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


class Cluster:
    """A standalone cluster: one master, and workers that come and go."""

    def __init__(self, folder: Path, workers: int = 2, cores: int = 2) -> None:
        self.folder = folder
        self.cores = cores  # of each worker
        self.workers: list[Daemon] = []
        port, self._page = free_port(), free_port()
        self.url = f"spark://{LOOPBACK}:{port}"
        self.master = self._daemon(
            "master", "master.Master", "--port", port, "--webui-port", self._page
        )
        try:
            self.master.wait_until(lambda: answers(port) and self._tells())
            for _ in range(workers):
                self._start_worker()
            self.wait_for_workers()
        except BaseException:
            self.stop()
            raise

    def add_worker(self) -> int:
        """One more worker, registered; its number."""
        self._start_worker()
        self.wait_for_workers()
        return len(self.workers) - 1

    def kill_worker(self, number: int) -> None:
        """End a worker and its executors without warning, as a lost machine would."""
        self.workers[number].kill()

    def executors_of(self, number: int) -> list[int]:
        """The processes that work for this worker now."""
        children = children_of(self.workers[number].process.pid)
        return [pid for pid in children if b"ExecutorBackend" in command_of(pid)]

    def running(self) -> list[int]:
        """The numbers of the workers that were not killed."""
        return [i for i, daemon in enumerate(self.workers) if daemon.process.poll() is None]

    def state(self) -> Any:
        """What the master knows: its page as JSON."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self._page}/json/", timeout=10) as page:
            return json.load(page)

    def _tells(self) -> bool:
        """Whether there is a page yet: for a moment its port answers that it has none."""
        with contextlib.suppress(OSError):
            return bool(self.state())
        return False

    def wait_for_workers(self) -> None:
        """Wait until the master has exactly the workers that run."""
        for number in self.running():
            self.workers[number].wait_until(
                lambda: self.state()["aliveworkers"] >= len(self.running())
            )
        self.master.wait_until(lambda: self.state()["aliveworkers"] == len(self.running()))

    def stop(self) -> None:
        """End all of its processes."""
        for daemon in [*self.workers, self.master]:
            daemon.kill()

    def _start_worker(self) -> None:
        number = len(self.workers)
        room = [
            "--cores",
            self.cores,
            "--memory",
            "2g",
            "--work-dir",
            self.folder / f"worker-{number}",
        ]
        words = ["--port", 0, "--webui-port", 0, *room, self.url]
        self.workers.append(self._daemon(f"worker-{number}", "worker.Worker", *words))

    def _daemon(self, name: str, role: str, *words: object) -> Daemon:
        program = str(spark_home() / "bin" / "spark-class")
        start = [program, f"org.apache.spark.deploy.{role}", "--host", LOOPBACK]
        return Daemon(name, [*start, *map(str, words)], self.folder)


class ConnectServer:
    """A Spark Connect server."""

    def __init__(self, folder: Path, master: str) -> None:
        port = free_port()
        self.url = f"sc://{LOOPBACK}:{port}"
        conf = {
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": port,
        }
        command = [str(spark_home() / "bin" / "spark-submit"), "--master", master]
        for name, value in conf.items():
            command += ["--conf", f"{name}={value}"]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        self.server = Daemon("connect", [*command, "spark-internal"], folder)
        self.server.wait_until(lambda: answers(port))

    def stop(self) -> None:
        """End it."""
        self.server.kill()
