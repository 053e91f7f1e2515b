"""What an engine says of files, encodings and limits names the file and the remedy, in a line."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.errors import OptionError, SourceError

TEXT = "name,size,class\n" + "".join(f"café {i % 3},{i % 7},{'ab'[i % 2]}\n" for i in range(200))


def told(data: object, **options: object) -> str:
    with pytest.raises((SourceError, OptionError)) as error:
        sqlbn.fit(data, "class", "nb", **options)
    line = str(error.value)
    assert "\n" not in line
    return line


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    rng = random.Random(3)
    rows = {"x": [rng.random() for _ in range(5000)], "class": ["ab"[i % 2] for i in range(5000)]}
    for name in ("good", "bad"):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(rows), path, compression="gzip", use_dictionary=False)
    return tmp_path / "bad.parquet"


def spoiled(path: Path, first: int, last: int) -> str:
    """A file with other bytes from one place to another."""
    content = bytearray(path.read_bytes())
    content[first:last] = b"\xa7" * len(content[first:last])
    path.write_bytes(content)
    return str(path)


def test_a_damaged_parquet_file_is_named(parquet: Path) -> None:
    both = [str(parquet.with_name("good.parquet")), str(parquet)]
    size = parquet.stat().st_size
    # In the footer, and in the rows, where it shows only when they are read.
    for first, last in ((size - 300, size - 200), (100, 20_000)):
        content = parquet.read_bytes()
        spoiled(parquet, first, last)
        line = told(both)
        assert line.startswith(f"damaged Parquet file {str(parquet)!r}"), line
        assert line.endswith("write the file again")
        parquet.write_bytes(content)


def test_what_is_no_parquet_file_is_told_as_what_it_is(parquet: Path) -> None:
    content = parquet.read_bytes()
    for found, line in (
        (content[: len(content) // 2], "its end is missing"),
        (b"", "is empty (0 bytes)"),
        (TEXT.encode(), "is no Parquet file, though it is called one, but text, such as CSV"),
        (b"\x00\x01" * 50, "is no Parquet file, though it is called one, but something else"),
        (b"PARE" + content[4:-4] + b"PARE", "encrypted"),
    ):
        parquet.write_bytes(found)
        said = told(str(parquet))
        assert repr(str(parquet)) in said and line in said


@pytest.mark.parametrize(
    ("codec", "name"), [("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16")]
)
def test_an_encoding_is_seen_and_can_be_said(codec: str, name: str, tmp_path: Path) -> None:
    path, plain = tmp_path / "a.csv", tmp_path / "plain.csv"
    path.write_bytes(TEXT.encode(codec))
    plain.write_text(TEXT, "utf-8")
    line = told(path)
    assert repr(str(path)) in line and f"encoding={name!r}" in line
    with (
        sqlbn.fit(path, "class", "nb", encoding=name) as model,
        sqlbn.fit(plain, "class", "nb") as wanted,
    ):
        assert model.cpt("name").equals(wanted.cpt("name"))
        assert model.predict(path, encoding=name).equals(model.predict(plain))
    words = ["rank", str(path), "--target", "class", "--encoding", name]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_an_encoding_that_shows_late_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"name,class\n" + b"abc,a\nabd,b\n" * 50_000 + "café,a\n".encode("latin-1"))
    line = told(path)
    assert f"{str(path)!r}, line 100002: this is not UTF-8" in line and "encoding='latin-1'" in line


def test_an_encoding_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TEXT, "utf-8")
    assert "choose utf-8, latin-1 or utf-16" in told(path, encoding="klingon")
    assert "is not UTF-16; it looks like utf-8" in told(path, encoding="utf-16")
    path.write_bytes(b"\xfe\xff" + TEXT.encode("utf-16-be"))
    assert "iconv" in told(path, encoding="utf-16")
    table = pa.table({"x": [1, 2], "class": ["a", "b"]})
    assert "encoding is that of CSV files" in told(table, encoding="latin-1")


def test_a_csv_line_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,class\n" + "1,a\n2,b\n" * 20_000 + "1,a,3,4\n")
    assert f"{str(path)!r}, line 40002: Expected Number of Columns: 2" in told(path)


def test_a_dangling_view_is_told(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x, 'a' AS class")
        connection.execute("CREATE VIEW v AS FROM t")
        connection.execute("DROP TABLE t")
    line = told(path, table="v")
    assert line.startswith(f"the view 'v' of {str(path)!r} cannot be read: ")
    assert "make the view anew" in line


@pytest.mark.parametrize("limit", ["1KB", "-1", "abc", "0", "", "1e9GB", "99999999999TB", "nan"])
def test_a_memory_limit_out_of_range_is_told(limit: str, fruit: pa.Table) -> None:
    line = told(fruit, memory_limit=limit)
    assert line.startswith("memory_limit=")
