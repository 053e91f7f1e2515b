"""Files that are not what their names say, or hold what nobody expects."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hostile_cases import ROWS, N, made_store, survived

import sqlbn
from sqlbn.errors import SqlbnError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlbn.Model]:
    with sqlbn.load(made_store(tmp_path_factory.mktemp("files")), "m") as found:
        yield found


Maker = Callable[[Path], Any]


def text(written: str, encoding: str = "utf-8") -> Maker:
    return lambda path: path.write_bytes(written.encode(encoding))


def data(written: bytes) -> Maker:
    return lambda path: path.write_bytes(written)


def parquet(**options: Any) -> Maker:
    return lambda path: pq.write_table(ROWS, path, **options)


def spoiled(change: Callable[[bytes], bytes]) -> Maker:
    """A Parquet file of which some bytes were changed."""

    def make(path: Path) -> None:
        pq.write_table(ROWS, path)
        path.write_bytes(change(path.read_bytes()))

    return make


def overwritten(share: float) -> Maker:
    def change(whole: bytes) -> bytes:
        at = int(len(whole) * share)
        return whole[:at] + b"\xff" * 40 + whole[at + 40 :]

    return spoiled(change)


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", LINES)


def feather(path: Path) -> None:
    pyarrow.feather.write_feather(ROWS, path)


def table(rows: pa.Table) -> Maker:
    return lambda path: pq.write_table(rows, path)


def header(*names: str, rows: int = 4) -> str:
    return ",".join(names) + "\n" + "v0,1,0.5,a\nv1,0,0.7,b\n" * rows


LINES = header("x", "z", "w", "y", rows=30)
QUOTED = '"' + LINES.replace(",", '","').replace("\n", '"\n"').removesuffix('"')
COLUMNS = ("x", "z", "w", "y")

# name of the file -> what makes it; whether it is read (None: either, but in one line).
FILES: dict[str, tuple[str, Maker, bool | None]] = {
    "nothing, as Parquet": ("a.parquet", data(b""), False),
    "nothing, as CSV": ("a.csv", data(b""), False),
    "nothing, as database": ("a.duckdb", data(b""), False),
    "nothing, zipped": ("a.csv.gz", data(gzip.compress(b"")), False),
    "text, as Parquet": ("a.parquet", text("hello"), False),
    "the sign of Parquet alone": ("a.parquet", data(b"PAR1"), False),
    "the sign twice": ("a.parquet", data(b"PAR1PAR1"), False),
    "the sign of an encrypted one": ("a.parquet", data(b"PARE" + b"\x00" * 40 + b"PARE"), False),
    "a footer without end": (
        "a.parquet",
        data(b"PAR1" + b"\xff" * 60 + b"\xff\xff\xff\x7fPAR1"),
        False,
    ),
    "zeros, as Parquet": ("a.parquet", data(b"\x00" * 5000), False),
    "zeros, as database": ("a.duckdb", data(b"\x00" * 5000), False),
    "text, as database": ("a.duckdb", text("hello\n" * 900), False),
    "half a file": ("a.parquet", spoiled(lambda whole: whole[: len(whole) // 2]), False),
    "without its end": ("a.parquet", spoiled(lambda whole: whole[:-1]), False),
    "without its beginning": ("a.parquet", spoiled(lambda whole: whole[1:]), False),
    "something after it": ("a.parquet", spoiled(lambda whole: whole + b"x"), False),
    **{f"overwritten at {i} of 12": ("a.parquet", overwritten(i / 12), None) for i in range(1, 12)},
    "Parquet by its bytes": ("no-ending", parquet(), True),
    "Parquet in upper case": ("A.PARQUET", parquet(), True),
    "Parquet, as CSV": ("a.csv", parquet(), False),
    "Feather, as Parquet": ("a.parquet", feather, False),
    "Feather": ("a.feather", feather, False),
    **{
        f"Parquet with {c}": ("a.parquet", parquet(compression=c), True)
        for c in ("gzip", "zstd", "lz4", "brotli", "none")
    },
    "Parquet of version 1": ("a.parquet", parquet(version="1.0"), True),
    "Parquet of pages of version 2": ("a.parquet", parquet(data_page_version="2.0"), True),
    "Parquet without dictionaries": ("a.parquet", parquet(use_dictionary=False), True),
    "Parquet of one row a group": ("a.parquet", parquet(row_group_size=1), True),
    "CSV": ("a.csv", text(LINES), True),
    "CSV with a mark": ("a.csv", text("\ufeff" + LINES), True),
    "CSV with Windows' ends": ("a.csv", text(LINES.replace("\n", "\r\n")), True),
    "CSV with semicolons": ("a.csv", text(LINES.replace(",", ";")), True),
    "CSV with tabs": ("a.tsv", text(LINES.replace(",", "\t")), True),
    "CSV with bars": ("a.csv", text(LINES.replace(",", "|")), True),
    "CSV, all quoted": ("a.csv", text(QUOTED), True),
    "CSV with a quote that stays open": ("a.csv", text(LINES + '"v0,1,0.5,a\n'), None),
    "CSV with a line too short": ("a.csv", text(LINES + "v0\n"), None),
    "CSV with a line too long": ("a.csv", text(LINES + "v0,1,2,a,b,c\n"), None),
    "CSV with empty lines": ("a.csv", text(LINES + "\n\n\n"), None),
    "CSV with null characters": ("a.csv", text(LINES.replace("v1", "v\x00")), None),
    "CSV of a header alone": ("a.csv", text("x,z,w,y\n"), None),
    "CSV without a header": ("a.csv", text(LINES.split("\n", 1)[1]), False),
    "CSV with a header twice": ("a.csv", text("x,x,w,y\n" + LINES.split("\n", 1)[1]), None),
    "CSV with names of nothing": ("a.csv", text(",,,\n" + LINES.split("\n", 1)[1]), False),
    "CSV of one long line": ("a.csv", text("x" * 3_000_000), False),
    "CSV of one long value": ("a.csv", text(f"{LINES}{'x' * 3_000_000},1,0.5,a\n"), None),
    "CSV in Latin-1": ("a.csv", text(LINES.replace("v1", "é"), "latin-1"), False),
    "CSV in UTF-16": ("a.csv", text(LINES, "utf-16"), False),
    "CSV in UTF-32": ("a.csv", text(LINES, "utf-32"), False),
    "CSV of random bytes": ("a.csv", data(bytes(i * 7919 % 251 for i in range(5000))), False),
    "CSV, zipped": ("a.csv.gz", data(gzip.compress(LINES.encode())), True),
    "CSV, zipped and cut": ("a.csv.gz", data(gzip.compress(LINES.encode())[:40]), False),
    "CSV, said to be zipped": ("a.csv.gz", text(LINES), False),
    "CSV, zipped and not said": ("a.csv", data(gzip.compress(LINES.encode())), None),
    "CSV, zipped twice": ("a.csv.gz", data(gzip.compress(gzip.compress(LINES.encode()))), False),
    "bzip2": ("a.csv.bz2", data(bz2.compress(LINES.encode())), False),
    "xz": ("a.csv.xz", data(lzma.compress(LINES.encode())), False),
    "an archive": ("a.zip", zipped, False),
    "JSON": ("a.json", text('[{"x": "v0"}]'), False),
    "a script": ("a.sql", text("SELECT 1"), False),
    "Excel by its name": ("a.xlsx", text("x"), False),
    "a folder of nothing": ("folder", lambda path: path.mkdir(), False),
    "a folder like a file": ("a.parquet", lambda path: path.mkdir(), False),
    "a link to nothing": ("a.parquet", lambda path: path.symlink_to("nowhere.parquet"), False),
    "a link to itself": ("a.parquet", lambda path: path.symlink_to("a.parquet"), False),
    "a link to a folder above": ("folder", lambda path: path.symlink_to(".."), None),
    "a log of Delta that is none": (
        "table",
        lambda path: (path / "_delta_log").mkdir(parents=True),
        False,
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file(what: str, model: sqlbn.Model, tmp_path: Path) -> None:
    name, make, fine = FILES[what]
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    make(path)
    try:
        found = model.predict(str(path))
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert not fine, error
        assert name.split(".")[0] in str(error), error
    else:
        assert fine is not False
        assert found["prediction"].null_count == 0
    survived("rank", path, "-t", "y", "-q", codes={True: (0,), False: (1,), None: (0, 1)}[fine])
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


PAIRS: dict[str, tuple[dict[str, Maker], bool | None]] = {
    "the same": ({"a.parquet": parquet(), "b.parquet": parquet()}, True),
    "columns in another order": (
        {"a.parquet": parquet(), "b.parquet": table(ROWS.select(COLUMNS[::-1]))},
        True,
    ),
    "a column more": (
        {"a.parquet": parquet(), "b.parquet": table(ROWS.append_column("q", ROWS["z"]))},
        None,
    ),
    "a column less": (
        {"a.parquet": parquet(), "b.parquet": table(ROWS.drop_columns(["z"]))},
        False,
    ),
    "another type": (
        {"a.parquet": parquet(), "b.parquet": table(ROWS.set_column(1, "z", ROWS["x"]))},
        None,
    ),
    "another case": (
        {"a.parquet": parquet(), "b.parquet": table(ROWS.rename_columns(["X", "z", "w", "y"]))},
        None,
    ),
    "one without rows": ({"a.parquet": parquet(), "b.parquet": table(ROWS.slice(0, 0))}, True),
    "one damaged": ({"a.parquet": parquet(), "b.parquet": overwritten(0.95)}, False),
    "one empty": ({"a.parquet": parquet(), "b.parquet": data(b"")}, False),
    "Parquet and CSV": ({"a.parquet": parquet(), "b.csv": text(LINES)}, None),
    "a CSV with another header": (
        {"a.csv": text(LINES), "b.csv": text(header("x", "q", "w", "y"))},
        False,
    ),
    "a CSV with other types": (
        {"a.csv": text(LINES), "b.csv": text(LINES.replace(",1,", ",one,"))},
        None,
    ),
    "hidden ones": (
        {"a.parquet": parquet(), ".b.parquet": data(b"x"), "_c.parquet": data(b"x")},
        True,
    ),
    "partitions": ({"k=1/a.parquet": parquet(), "k=2/a.parquet": parquet()}, True),
    "a partition called like a column": (
        {"z=1/a.parquet": parquet(), "z=2/a.parquet": parquet()},
        None,
    ),
    "partitions of two kinds": ({"k=1/a.parquet": parquet(), "j=2/a.parquet": parquet()}, None),
}


@pytest.mark.parametrize("what", PAIRS)
def test_files_together(what: str, model: sqlbn.Model, tmp_path: Path) -> None:
    files, fine = PAIRS[what]
    for name, make in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        make(tmp_path / name)
    try:
        found = model.predict(str(tmp_path))
    except SqlbnError as error:
        assert "\n" not in str(error)
        assert not fine, error
    else:
        assert fine is not False
        assert found.num_rows % N == 0 or "CSV" in what
