"""A PostgreSQL server of the tests' own, on a socket in a folder that goes away with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

_NAMES = ("initdb", "pg_ctl", "psql")


def programs() -> Path | None:
    """The folder of the server's programs; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if all((f / name).exists() for name in _NAMES)), None)


def other_user() -> str | None:
    """Who the server runs as: root may not. None is whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def why_not() -> str | None:
    """Why there can be no server here, or None where there can."""
    if programs() is None:
        return "PostgreSQL's server is not installed (Debian: postgresql)"
    if other_user() is not None and shutil.which("setpriv") is None:
        return "PostgreSQL does not run as root, and setpriv is not here"
    return None


class Server:
    """Started when it is made; `stop` ends it and removes its folder."""

    def __init__(self) -> None:
        bin_folder = programs()
        assert bin_folder is not None
        self._bin, self._user = bin_folder, other_user()
        self.folder = Path(tempfile.mkdtemp(prefix="sqlbn-pg-"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._data = str(self.folder / "data")
        self._run("initdb", "-D", self._data, "-U", "sqlbn", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self._data, "-l", log, "-w", "-o", options, "start")

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._bin / program), *words]
        if self._user is not None:
            user = pwd.getpwnam(self._user)
            ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            command = ["setpriv", *ids, *command]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd="/")

    def psql(self, script: str) -> str:
        """Run a script as it is; what it prints."""
        words = ["-X", "-q", "-h", str(self.folder), "-U", "sqlbn", "-d", "postgres"]
        done = subprocess.run(
            [str(self._bin / "psql"), *words, "-v", "ON_ERROR_STOP=1", "-f", "-"],
            input=script,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "PGCLIENTENCODING": "UTF8"},
            check=False,
        )
        assert done.returncode == 0, done.stderr[:2000]
        return done.stdout

    def stop(self) -> None:
        """End it."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")
        shutil.rmtree(self.folder)
