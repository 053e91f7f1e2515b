"""Drawing rows: frequencies, seeds, chunks, threads, noise, missing values, the program."""

from __future__ import annotations

import csv
import json
import threading
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError, SqlbnError
from sqlbn.networks import Network, Variable
from sqlbn.networks import random_networks as sampling
from sqlbn.networks import sample_rows as row_files
from sqlbn.networks.random_networks import CHUNK, Disturbance, Sampler
from sqlbn.networks.sample_rows import write_rows

SMALL_CHUNK = 100


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a few rows: many of them in a small file."""
    monkeypatch.setattr(sampling, "CHUNK", SMALL_CHUNK)
    monkeypatch.setattr(row_files, "CHUNK", SMALL_CHUNK)


def diamond() -> Network:
    """States from 1 to 5 in number, certain and impossible ones, a child declared first."""
    rng = np.random.default_rng(3)

    def rows(*shape: int) -> Any:
        table = rng.exponential(size=shape)
        return table / table.sum(axis=-1, keepdims=True)

    bottom = rows(3, 1, 2, 5)
    bottom[0, 0, 0] = [0, 0.5, 0, 0.5, 0]
    bottom[1, 0, 1] = [0, 0, 1, 0, 0]
    return Network(
        (
            Variable("bottom", "abcde", ("left", "only", "right"), bottom),
            Variable("top", "yn", (), [0.3, 0.7]),
            Variable("left", "xyz", ("top",), rows(2, 3)),
            Variable("right", "01", ("top",), [[0.0, 1.0], [0.25, 0.75]]),
            Variable("only", ("one",), (), [1.0]),
        )
    )


def joint(network: Network) -> dict[tuple[str, ...], float]:
    """The probability of every row, by multiplication."""
    result = {}
    for states in product(*(range(len(v.states)) for v in network)):
        tables = zip(network, network.parents, states, strict=True)
        p = np.prod([v.table[(*(states[i] for i in above), s)] for v, above, s in tables])
        result[tuple(v.states[s] for v, s in zip(network, states, strict=True))] = float(p)
    return result


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def counts(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for row in rows:
        found[row] = found.get(row, 0) + 1
    return found


def check_frequencies(found: dict[Any, int], wanted: dict[Any, float]) -> None:
    """Six standard deviations for each cell, and nothing where the probability is 0."""
    total = sum(found.values())
    assert set(found) <= {cell for cell, p in wanted.items() if p > 0}
    for cell, p in wanted.items():
        allowed = 6 * np.sqrt(total * p * (1 - p)) + 1e-6
        assert abs(found.get(cell, 0) - total * p) <= allowed, cell


# -- what is drawn --------------------------------------------------------------------------------


def test_frequencies_of_whole_rows() -> None:
    found = counts(rows_of(Sampler(diamond(), seed=5).chunk(3)))
    check_frequencies(found, joint(diamond()))
    # All cells together: the statistic has a mean of its degrees of freedom.
    cells = {cell: p for cell, p in joint(diamond()).items() if p > 0}
    chi = sum((found.get(c, 0) - CHUNK * p) ** 2 / (CHUNK * p) for c, p in cells.items())
    degrees = len(cells) - 1
    assert abs(chi - degrees) < 6 * np.sqrt(2 * degrees)


@pytest.mark.parametrize("states", [1, 2, 3, 7, 8, 9, 128, 129, 300])
def test_any_number_of_states(states: int) -> None:
    p = np.random.default_rng(states).exponential(size=states)
    p[::5] = 0 if states > 5 else p[::5]
    names = [f"s{i}" for i in range(states)]
    network = Network((Variable("a", names, (), p / p.sum()),))
    chunk = Sampler(network, seed=1, disturbance=Disturbance()).chunk(0)
    wanted = {(n,): float(q) for n, q in zip(names, network["a"].table, strict=True)}
    check_frequencies(counts(rows_of(chunk)), wanted)


def test_columns_and_chunks_are_independent() -> None:
    fair = [Variable(name, "01", (), [0.5, 0.5]) for name in "ab"]
    sampler = Sampler(Network(tuple(fair)), seed=0)
    drawn = {
        (chunk, name): np.array(sampler.chunk(chunk).column(name).indices)
        for chunk in (0, 1)
        for name in "ab"
    }
    keys = list(drawn)
    for i, one in enumerate(keys):
        for other in keys[:i]:
            assert abs((drawn[one] == drawn[other]).mean() - 0.5) < 6 * 0.5 / np.sqrt(CHUNK)


def test_a_known_network(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "bif" / "asia.bif.gz"
    if not path.exists():
        pytest.skip("asia.bif.gz is not in ../shared")
    network = sqlbn.sample(tmp_path / "asia.parquet", 50_000, bif=path, seed=2)
    rows = rows_of(pq.read_table(tmp_path / "asia.parquet"))
    check_frequencies(counts(rows), joint(network))


# -- seeds, chunks, threads -----------------------------------------------------------------------


def test_seeds(tmp_path: Path) -> None:
    def drawn(seed: int, name: str) -> bytes:
        sqlbn.sample(tmp_path / name, 1000, random="tan", seed=seed)
        return (tmp_path / name).read_bytes()

    assert drawn(7, "a.parquet") == drawn(7, "b.parquet")
    assert drawn(7, "a.parquet") != drawn(8, "b.parquet")


def test_a_seed_means_the_same_rows_tomorrow() -> None:
    network = Network((Variable("a", "abc", (), [0.5, 0.25, 0.25]),))
    chunk = Sampler(network, 11, Disturbance(noise=0.3, missing=0.2)).chunk(2, 12)
    assert "".join(value or "-" for (value,) in rows_of(chunk)) == "a-aa-cccaaac"


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("rows", [1, 99, 100, 101, 250, 1000])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_threads_and_chunk_boundaries(tmp_path: Path, rows: int, form: str) -> None:
    sampler = Sampler(diamond(), seed=1, disturbance=Disturbance(0.2, 0.2, "top"))
    files = []
    for threads in (1, 2, 3, 20):
        path = tmp_path / f"{threads}.{form}"
        write_rows(sampler, path, rows, threads, Progress())
        files.append(path.read_bytes())
    assert set(files) == {files[0]}
    if form == "parquet":
        whole = pq.ParquetFile(tmp_path / "1.parquet")
        assert whole.metadata.num_rows == rows
        assert whole.metadata.num_row_groups == -(-rows // SMALL_CHUNK)


@pytest.mark.usefixtures("small_chunks")
def test_the_first_rows_do_not_depend_on_how_many_follow(tmp_path: Path) -> None:
    sampler = Sampler(diamond(), seed=1, disturbance=Disturbance(0.3, 0.3))
    drawn = []
    for rows in (1, 37, 100, 137, 500):
        write_rows(sampler, tmp_path / "a.parquet", rows, 2, Progress())
        drawn.append(rows_of(pq.read_table(tmp_path / "a.parquet")))
    for rows in drawn:
        assert rows == drawn[-1][: len(rows)]


def test_several_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    sqlbn.sample(path, 2 * CHUNK + 5, random="nb", attributes=2, seed=1)
    groups = pq.ParquetFile(path).metadata
    assert [groups.row_group(i).num_rows for i in range(3)] == [CHUNK, CHUNK, 5]
    other = tmp_path / "b.parquet"
    sqlbn.sample(other, CHUNK + 9, random="nb", attributes=2, seed=1, threads=1)
    first = pq.read_table(other)
    assert pq.read_table(path).slice(0, CHUNK + 9).equals(first)


# -- noise, missing values, irrelevant attributes -------------------------------------------------


def test_extras_change_nothing_else(tmp_path: Path) -> None:
    def drawn(**extras: Any) -> pa.Table:
        sqlbn.sample(tmp_path / "a.parquet", 20_000, random="ban", seed=3, **extras)
        return pq.read_table(tmp_path / "a.parquet")

    plain = drawn()
    wide = drawn(irrelevant=3)
    assert wide.column_names == [*plain.column_names, "noise1", "noise2", "noise3"]
    assert wide.select(plain.column_names).equals(plain)
    assert drawn(irrelevant=5).select(wide.column_names).equals(wide)

    noisy, holey = drawn(noise=0.1), drawn(missing=0.2)
    both = drawn(noise=0.1, missing=0.2, irrelevant=2)
    for table in (noisy, holey, both):
        assert table["class"].equals(plain["class"])
    for name in plain.column_names[1:]:
        columns = [table[name].to_pylist() for table in (plain, noisy, holey, both)]
        for clean, replaced, hole, spoiled in zip(*columns, strict=True):
            assert hole in (clean, None)
            assert spoiled == (None if hole is None else replaced)
    assert both["noise2"].null_count > 0


def test_shares_of_noise_and_missing_values() -> None:
    network = Network((Variable("a", "xyz", (), [1, 0, 0]), Variable("b", "xy", (), [1, 0])))
    chunk = Sampler(network, 1, Disturbance(noise=0.3, missing=0.1, spared="b")).chunk(0)
    wanted = {("x",): 0.9 * 0.8, ("y",): 0.9 * 0.1, ("z",): 0.9 * 0.1, (None,): 0.1}
    check_frequencies(counts(rows_of(chunk.select(["a"]))), wanted)
    assert set(chunk.column("b").to_pylist()) == {"x"}


@pytest.mark.parametrize("share", [1e-320, 1e-9, 0.001, 0.5, 0.999, 1 - 2**-53, 1.0])
def test_any_share(share: float) -> None:
    network = Network((Variable("a", "xy", (), [0.5, 0.5]),))
    chunk = Sampler(network, 1, Disturbance(missing=share)).chunk(0)
    found = chunk.column("a").null_count
    assert abs(found - CHUNK * share) <= 6 * np.sqrt(CHUNK * share * (1 - share)) + 1e-3


def test_without_a_target_no_variable_is_spared(tmp_path: Path) -> None:
    sqlbn.sample(tmp_path / "a.parquet", 100, bif=diamond(), missing=1.0)
    assert all(column.null_count == 100 for column in pq.read_table(tmp_path / "a.parquet").columns)
    sqlbn.sample(tmp_path / "a.parquet", 100, bif=diamond(), missing=1.0, target="left")
    table = pq.read_table(tmp_path / "a.parquet")
    assert [name for name in table.column_names if table[name].null_count == 0] == ["left"]


# -- files ----------------------------------------------------------------------------------------

HOSTILE = ("select", "two words", 'quo"te', "it's", "größe", "a,b", "line\nbreak", " ")


def test_hostile_names(tmp_path: Path) -> None:
    states = ("", "NULL", 'a"b', "c,d", "\r\n", "ä", " ")
    table = np.full(len(states), 1 / len(states))
    network = Network(tuple(Variable(name, states, (), table) for name in HOSTILE))
    sqlbn.write_bif(network, tmp_path / "net.bif")
    drawn = {}
    for form in ("parquet", "csv"):
        path = tmp_path / f"rows.{form}"
        assert sqlbn.sample(path, 500, bif=tmp_path / "net.bif", missing=0.1) == network
        drawn[form] = path
    table = pq.read_table(drawn["parquet"])
    assert table.column_names == list(HOSTILE)
    found = duckdb.sql(f"FROM '{drawn['parquet']}'")
    assert (found.columns, found.fetchall()) == (list(HOSTILE), rows_of(table))
    with drawn["csv"].open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == list(HOSTILE)
    assert [tuple(line) for line in lines[1:]] == [
        tuple(value or "" for value in row) for row in rows_of(table)
    ]


def test_columns_are_small(tmp_path: Path) -> None:
    sqlbn.sample(tmp_path / "a.parquet", CHUNK, random="nb")
    assert (tmp_path / "a.parquet").stat().st_size < CHUNK * 20 / 8 * 1.3
    kinds = set(pq.read_schema(tmp_path / "a.parquet").types)
    assert kinds == {pa.dictionary(pa.int8(), pa.string())}


def test_what_is_drawn_can_be_learned(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    sqlbn.sample(path, 30_000, random="tan", attributes=6, seed=9)
    tan = sqlbn.evaluate(str(path), "class", "tan", folds=2).losses["rmse"]
    nb = sqlbn.evaluate(str(path), "class", "nb", folds=2).losses["rmse"]
    assert tan < nb


def test_the_saved_network_draws_the_same_rows(tmp_path: Path) -> None:
    saved = tmp_path / "net.bif.gz"
    options: dict[str, Any] = {"seed": 4, "noise": 0.1}
    network = sqlbn.sample(
        tmp_path / "a.parquet", 500, random="ban", irrelevant=2, save_bif=saved, **options
    )
    assert sqlbn.read_bif(saved) == network
    sqlbn.sample(tmp_path / "b.parquet", 500, bif=saved, target="class", **options)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_an_interrupted_run_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("old")
    before = threading.active_count()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sqlbn.sample(path, 10 * CHUNK, random="nb", save_bif=tmp_path / "net.bif")
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]
    assert path.read_text() == "old"
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of bif, store with name, and random"),
        ({"random": "nb", "bif": "net.bif"}, "give one of bif, store"),
        ({"random": "nb", "store": "m.duckdb"}, "give one of bif, store"),
        ({"store": "m.duckdb"}, "say which of its models with name"),
        ({"random": "nb", "rows": 0}, "rows=0: give at least 1"),
        ({"random": "nb", "threads": 0}, "threads=0: give at least 1"),
        ({"random": "nb", "seed": -1}, "seed=-1: give 0 or more"),
        ({"bif": "net.bif", "seed": -1}, "seed=-1: give 0 or more"),
        ({"random": "nb", "noise": 1.5}, "noise=1.5: give a probability from 0 to 1"),
        ({"random": "nb", "missing": float("nan")}, "missing=nan: give a probability"),
        ({"random": "nb", "irrelevant": -1}, "irrelevant=-1: give 0 or more"),
        ({"random": "nb", "target": "class"}, "target is for bif"),
        ({"random": "nb", "edges": 30}, "edges is for random='ban'"),
        ({"random": "nb", "out": "rows.txt"}, "must end in .parquet or .csv"),
        ({"random": "nb", "out": "none/rows.parquet"}, "the folder does not exist"),
        ({"random": "nb", "save_bif": "none/net.bif"}, "save_bif='none/net.bif': the folder"),
        ({"random": "nb", "save_bif": "rows.parquet"}, "is what out names"),
        ({"random": "nb", "out": "folder.parquet"}, "that is a folder"),
        ({"bif": "none.bif"}, "cannot read 'none.bif'"),
        ({"bif": "net.bif", "attributes": 3}, "attributes is for random"),
        ({"bif": "net.bif", "values": 3}, "values is for random or irrelevant"),
        ({"bif": "net.bif", "values": 1, "irrelevant": 1}, "values=1: give at least 2"),
        ({"bif": "net.bif", "target": "top"}, "target spares a variable from"),
        ({"bif": "net.bif", "target": "no", "noise": 0.1}, "no variable 'no'; it has 'bottom'"),
        ({"bif": "net.bif", "save_bif": "net.bif"}, "save_bif='net.bif' is the file that is read"),
        ({"bif": "net.csv", "out": "net.csv"}, "out='net.csv' is the file that is read"),
    ],
)
def test_options_that_make_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("net.bif", "net.csv"):
        sqlbn.write_bif(diamond(), name)
    (tmp_path / "folder.parquet").mkdir()
    before = {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SqlbnError) as caught:
        sqlbn.sample(**{"out": "rows.parquet", "rows": 10, **options})
    assert message in str(caught.value)
    assert {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OptionError, match=r"a\.parquet': No space left on device"):
        sqlbn.sample(tmp_path / "a.parquet", 10, random="nb")
    assert list(tmp_path.iterdir()) == []


# -- the program ----------------------------------------------------------------------------------


def test_sample_with_the_program(run: Run, tmp_path: Path) -> None:
    size = ["--attributes", 4, "--values", 3, "--classes", 4]
    common = ["--rows", 2000, "--seed", 5]
    done = run("sample", "--random", "tan", *size, *common, "--out", "a.parquet",
               "--save-bif", "net.bif")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2,000 rows of 5 variables (7 arcs) drawn into a.parquet\n"
    assert done.stderr.startswith("✓ drawing  2,000 rows")
    done = run("sample", "--bif", "net.bif", *common, "-o", "b.parquet", "--json", "--quiet",
               "--threads", 1)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    wanted = {"rows": 2000, "out": "b.parquet", "variables": 5, "arcs": 7, "seed": 5}
    assert json.loads(done.stdout) == wanted
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    done = run("fit", "a.parquet", "--target", "class", "--learner", "tan", "--quiet")
    assert done.returncode == 0, done.stderr


def test_extras_with_the_program(run: Run, tmp_path: Path) -> None:
    done = run("sample", "--random", "ban", "--edges", 40, "--rows", 500, "--out", "a.csv", "-q",
               "--irrelevant", 10, "--noise", 0.05, "--missing", 0.05)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    sizes = duckdb.sql(f"SELECT count(*), count(class), count(x1) FROM '{tmp_path / 'a.csv'}'")
    rows, classes, values = sizes.fetchall()[0]
    assert (rows, classes) == (500, 500)
    assert values < 500


def test_mistakes_with_the_program(run: Run, tmp_path: Path) -> None:
    (tmp_path / "net.bif").write_text("network x {\n}\nvariable a {\n  kind\n}\n")
    done = run("sample", "--bif", "net.bif", "--rows", 5, "--out", "a.parquet")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sqlbn: 'net.bif', line 4: expected 'type', 'property' or '}', found 'kind'\n"
    )
    assert run("sample", "--random", "nb", "--out", "a.parquet").returncode == 2
    assert run("sample", "--random", "nb", "--rows", "many", "--out", "a.parquet").returncode == 2
