"""What cannot be a store, or cannot be read or written, is said in one line and left as it was."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import without_rights

import sqlbn
from sqlbn.engines import Session
from sqlbn.errors import StoreError

ROWS = pa.table({"x": ["u", "v"] * 20, "z": [1, 2, 3, 4] * 10, "y": ["a", "b"] * 20})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a model."""
    path = tmp_path_factory.mktemp("whole") / "models.duckdb"
    sqlbn.fit(ROWS, "y", "nb", store=path, name="m").close()
    return path


def refused(path: str | Path, *signs: str) -> str:
    """The line with which a store is refused for reading and for writing."""
    with pytest.raises(StoreError) as read:
        sqlbn.load(path, "m").close()
    with pytest.raises(StoreError) as written:
        sqlbn.fit(ROWS, "y", "nb", store=path, name="m2").close()
    for line in (str(read.value), str(written.value)):
        assert "\n" not in line
        assert "held by" not in line
        for sign in signs:
            assert sign in line, line
    return str(written.value)


# -- paths that are no store -------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", " ", ":memory:", ":memory:x", "a\x00b"])
@pytest.mark.parametrize("command", ["store", "store_table"])
def test_what_is_no_path(path: str, command: str) -> None:
    with pytest.raises(StoreError):
        sqlbn.fit(ROWS, "y", "nb", name="m", **{command: path})
    with pytest.raises(StoreError):
        sqlbn.load(path, "m")
    with pytest.raises(StoreError):
        sqlbn.models(path)


@pytest.mark.parametrize("path", ["md:models", "sqlite:models.db", "postgres:dbname=x", "mysql:x"])
def test_another_database(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(path, "a store is a DuckDB file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["new.parquet", "new.csv", "new.JSON"])
def test_a_new_store_is_not_called_like_data(name: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"models\.duckdb"):
        sqlbn.fit(ROWS, "y", "nb", store=tmp_path / name, name="m")
    assert list(tmp_path.iterdir()) == []


def a_parquet_file(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(ROWS, path)


def an_sqlite_file(path: Path) -> None:
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE t (i)")
    con.close()


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # names of sockets are short
        one.bind(path.name)
        os.chdir(here)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a.parquet": (a_parquet_file, "is a Parquet file, not a DuckDB file"),
    "no-ending": (a_parquet_file, "is a Parquet file, not a DuckDB file"),
    "a.csv": (lambda p: p.write_text("a,b\n1,2\n"), "is a .csv file, not a DuckDB file"),
    "a.db": (an_sqlite_file, "is an SQLite database, not a DuckDB file"),
    "a.duckdb": (lambda p: p.write_text("hello " * 900), "is not a DuckDB file, or it is damaged"),
    "empty.duckdb": (lambda p: p.touch(), "is empty (0 bytes)"),
    "pipe": (os.mkfifo, "is a pipe"),
    "socket": (a_socket, "is a socket"),
    "link": (lambda p: p.symlink_to("nowhere"), "is a link to a file that is not there"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_store(name: str, tmp_path: Path) -> None:
    make, sign = FILES[name]
    path = tmp_path / name
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    refused(path, sign, name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert not path.is_file() or path.read_bytes() == before


def test_a_device_is_no_store() -> None:
    for path in ("/dev/null", "/dev/zero"):
        refused(path, "is a device")


def test_nothing_is_installed_by_itself() -> None:
    with Session() as engine:
        assert engine.row("SELECT current_setting('autoinstall_known_extensions')") == (False,)
        with engine.beside("SELECT current_setting('autoinstall_known_extensions') AS s", 1) as all:
            assert all.read_all()["s"].to_pylist() == [False]


def test_a_remote_file_without_its_extension_says_how_to_get_it() -> None:
    with Session() as engine:
        engine.execute("SET extension_directory = '/nonexistent'")
        with pytest.raises(sqlbn.SqlbnError, match="run INSTALL httpfs in DuckDB once"):
            engine.execute("FROM read_parquet('s3://bucket/x.parquet')")


# -- damage --------------------------------------------------------------------------------------


def checksum(block: bytes) -> int:
    """DuckDB's, of a block without its first eight bytes."""
    found = 5381
    for (word,) in struct.iter_unpack("<Q", block):
        found ^= word * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    return found


def with_version(data: bytes, version: int) -> bytes:
    """The same file, as if it had another storage version."""
    header = bytearray(data[:4096])
    struct.pack_into("<Q", header, 12, version)
    struct.pack_into("<Q", header, 0, checksum(bytes(header[8:])))
    return bytes(header) + data[4096:]


@pytest.mark.parametrize("version", [100, 1_000_000])
def test_a_newer_storage_version(version: int, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.duckdb"
    path.write_bytes(with_version(whole.read_bytes(), version))
    refused(path, "a newer version of DuckDB", "upgrade duckdb")


def test_an_older_storage_version(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.duckdb"
    path.write_bytes(with_version(whole.read_bytes(), 39))
    refused(path, "an older version of DuckDB")


def test_a_newer_format_of_a_model(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.duckdb"
    shutil.copy(whole, path)
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE m.meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(StoreError, match=r"in format 99.*upgrade sqlbn"):
        sqlbn.load(path, "m")


@pytest.mark.parametrize("offset", [0, 8, 12, 40, 200, 4096, 4110, 8192, 8300])
def test_flipped_bytes_in_the_headers(offset: int, whole: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "models.duckdb", bytearray(whole.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)
    refused(path, "damaged")
    assert path.read_bytes() == data
    assert [p.name for p in tmp_path.iterdir()] == ["models.duckdb"]


def test_flipped_bytes_in_the_blocks(whole: Path, tmp_path: Path) -> None:
    """Where a block is in use, it is said; where it is not, the model is whole."""
    path, data = tmp_path / "models.duckdb", whole.read_bytes()
    said = 0
    for block in range(12288, len(data), 262144):
        flipped = bytearray(data)
        for offset in range(block, block + 2000, 97):
            flipped[offset] ^= 0xFF
        path.write_bytes(flipped)
        try:
            sqlbn.load(path, "m").close()
        except StoreError as error:
            assert str(error).endswith(
                "is damaged; restore it from a copy, or fit its models again"
            )
            said += 1
    assert said >= 2


# Not less at its end: the last blocks may hold what only a reader of that model looks at.
@pytest.mark.parametrize("size", [5, 100, 4096, 12288, 20000, -300_000, -150_000])
def test_a_file_that_was_cut_off(size: int, whole: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "models.duckdb", whole.read_bytes()
    path.write_bytes(data[:size])
    refused(path, "damaged")
    assert path.read_bytes() == data[:size]


def test_a_damaged_log(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.duckdb"
    shutil.copy(whole, path)
    program = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1])\n"
        "con.execute('CREATE TABLE t AS FROM range(1000)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, path], check=True)
    log = Path(f"{path}.wal")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    refused(path, "the last changes of the store", "'models.duckdb.wal'", "damaged")
    assert log.read_bytes() == data


def test_a_store_that_is_open_elsewhere_is_still_busy(whole: Path, tmp_path: Path) -> None:
    from sqlbn.engines.limits import Limits
    from sqlbn.errors import StoreBusyError

    path = tmp_path / "models.duckdb"
    shutil.copy(whole, path)
    with duckdb.connect(str(path)), pytest.raises(StoreBusyError, match="is held by"):
        sqlbn.load(path, "m", limits=Limits(store_patience=0.0))


def test_a_store_made_by_another_meanwhile_is_not_removed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlbn.store.duckdb_file import StoreFile

    path = tmp_path / "models.duckdb"
    waiting = StoreFile._attach

    def late(self: StoreFile, *args: object) -> object:
        shutil.copy(whole, path)
        return waiting(self, *args)  # type: ignore[arg-type]

    with sqlbn.fit(ROWS, "y", "nb") as model:
        monkeypatch.setattr(StoreFile, "_attach", late)
        with pytest.raises(StoreError, match="already holds a model 'm'"):
            model.save(path, "m")
    monkeypatch.undo()
    assert list(sqlbn.models(path)) == ["m"]


# -- what cannot be written ----------------------------------------------------------------------


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can get to."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)
        Path(made).chmod(0o755)


def unchanged(path: Path, change: Callable[[], object], *signs: str) -> None:
    """A change that fails, and leaves the store and its folder as they were."""
    before = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    with pytest.raises(StoreError) as caught:
        change()
    assert "cannot be written" in str(caught.value)
    assert "\n" not in str(caught.value)
    for sign in signs:
        assert sign in str(caught.value)
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == before


CHANGES: dict[str, Callable[[Path], object]] = {
    "fit": lambda p: sqlbn.fit(ROWS, "y", "nb", store=p, name="m2"),
    "replace": lambda p: sqlbn.fit(ROWS, "y", "nb", store=p, name="m", replace=True),
    "update": lambda p: sqlbn.update(p, "m", ROWS),
    "drop": lambda p: sqlbn.drop(p, "m"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_in_a_read_only_folder(change: str, whole: Path, folder: Path) -> None:
    path = folder / "models.duckdb"
    shutil.copy(whole, path)
    path.chmod(0o666)
    folder.chmod(0o555)
    with without_rights():
        unchanged(path, lambda: CHANGES[change](path), "its folder is read-only")
        assert list(sqlbn.models(path)) == ["m"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_store(change: str, whole: Path, folder: Path) -> None:
    path = folder / "models.duckdb"
    shutil.copy(whole, path)
    path.chmod(0o444)
    folder.chmod(0o777)
    with without_rights():
        unchanged(path, lambda: CHANGES[change](path), "it is read-only for you")
        assert list(sqlbn.models(path)) == ["m"]


def test_a_new_store_in_a_read_only_folder(folder: Path) -> None:
    folder.chmod(0o555)
    with without_rights():
        unchanged(folder / "new.duckdb", lambda: CHANGES["fit"](folder / "new.duckdb"))


def test_a_store_that_may_not_be_read(whole: Path, folder: Path) -> None:
    path = folder / "models.duckdb"
    shutil.copy(whole, path)
    path.chmod(0)
    with without_rights():
        refused(path, "Permission denied")
    path.chmod(0o644)


def test_a_folder_that_may_not_be_read_is_no_store(folder: Path) -> None:
    (folder / "inner").mkdir(mode=0)
    with without_rights():
        refused(folder / "inner", "inner")
        refused(folder / "inner" / "models.duckdb", "inner")


@pytest.mark.parametrize("change", ["fit", "replace", "update"])
def test_a_full_disk(change: str, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.duckdb"
    shutil.copy(whole, path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        unchanged(path, lambda: CHANGES[change](path), "the disk is full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(sqlbn.models(path)) == ["m"]


def test_a_full_disk_leaves_no_new_store(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(StoreError, match="the disk is full"):
            CHANGES["fit"](tmp_path / "new.duckdb")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
