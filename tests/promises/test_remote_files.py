"""A remote file is in the model already where address, size and state are the same, not the URL."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlbn
from sqlbn.data.remote import remote_files
from sqlbn.engines import Session
from sqlbn.engines.relations import Source
from sqlbn.errors import SourceError
from sqlbn.store.history import counted_files

# What the server says of each path.
FILES: dict[str, dict[str, str]] = {}


class Server(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        path = self.path.split("?")[0]
        signed = "signature" in self.path and self.command == "HEAD"
        self.send_response(403 if signed else 200 if path in FILES else 404)
        headers = dict(FILES.get(path, {}))
        if self.headers.get("Range"):
            headers["Content-Range"] = f"bytes 0-0/{headers['Content-Length']}"
            headers["Content-Length"] = "1"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(b"P")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    FILES.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def identity(engine: Session, url: str) -> tuple[str, int]:
    """Fingerprint and size of a file behind a URL."""
    source = Source("t", {}, "t", tuple(remote_files(engine, [url])[url]))
    found = counted_files(source, "")[0]
    return found.fingerprint, found.size


def test_a_file_behind_a_url_is_told_by_its_headers(address: str) -> None:
    url = f"{address}/a.parquet"
    with Session() as engine:

        def now(**headers: str) -> tuple[str, int]:
            FILES["/a.parquet"] = {k.replace("_", "-"): v for k, v in headers.items()}
            return identity(engine, url)

        first = now(Content_Length="100", ETag='"one"')
        assert first[1] == 100
        assert now(Content_Length="100", ETag='"one"') == first
        others = [
            now(Content_Length="100", ETag='"two"'),
            now(Content_Length="101", ETag='"one"'),
            now(Content_Length="100", Last_Modified="Wed, 18 Nov 2026 04:00:00 GMT"),
            now(Content_Length="100", Last_Modified="Wed, 18 Nov 2026 04:00:01 GMT"),
        ]
        assert len({first, *others}) == 5
        # A signature is another one every day, and good for GET alone.
        now(Content_Length="100", ETag='"one"')
        assert identity(engine, f"{url}?signature=1") == first
        assert identity(engine, f"{url}?signature=2") == first
        # Where nothing is told, or nobody answers, there is only the address.
        assert now()[1] == 0
        assert identity(engine, f"{address}/none.parquet")[1] == 0


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file system that only the engine knows."""
    memory = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem

    class Fake(memory):  # type: ignore[misc]
        protocol = "fake"
        store: dict[str, Any] = {}  # noqa: RUF012

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(memory._strip_protocol(path.replace("fake://", "memory://")))

    files, configure = Fake(skip_instance_cache=True), Session._configure

    def configured(self: Session) -> None:
        configure(self)
        self.connection.register_filesystem(files)

    monkeypatch.setattr(Session, "_configure", configured)
    return files


def test_update_takes_a_remote_file_that_has_changed(
    lake: Any, fruit: pa.Table, tmp_path: Path
) -> None:
    def put(name: str, rows: pa.Table) -> None:
        with lake.open(f"fake://lake/{name}.parquet", "wb") as file:
            pq.write_table(rows, file)

    store = tmp_path / "m.duckdb"
    put("day", fruit.slice(0, 100))
    put("other", fruit.slice(100, 50))
    sqlbn.fit("fake://lake/*.parquet", "kind", "nb", store=store, name="x").close()
    with sqlbn.load(store, "x") as model:
        files = model.meta["files"]
    assert [Path(f["path"]).name for f in files] == ["day.parquet", "other.parquet"]
    assert all(f["bytes"] > 0 for f in files)
    for again in ("fake://lake/day.parquet", "fake://lake/*.parquet"):
        with pytest.raises(SourceError, match=r"day\.parquet' is in the model already"):
            sqlbn.update(store, "x", again)
    put("day", fruit.slice(150, 120))
    sqlbn.update(store, "x", "fake://lake/day.parquet")
    assert sqlbn.models(store)["x"]["rows"] == 270
