"""Hostile inputs, and the one line that each of them gets; or success, where it is no mistake."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.cli.output import ShellSpelling
from sqlbn.errors import (
    ColumnError,
    OptionError,
    SourceError,
    spelling,
)

N = 40
GOOD = pa.table(
    {
        "x": [f"v{i % 3}" for i in range(N)],
        "z": [i % 2 for i in range(N)],
        "y": ["a" if i % 4 else "b" for i in range(N)],
    }
)


def written(folder: Path, table: pa.Table, name: str = "data.parquet") -> str:
    pq.write_table(table, folder / name)
    return str(folder / name)


def with_column(name: str, values: Any) -> pa.Table:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return GOOD.append_column(name, array)


# -- mistakes ---------------------------------------------------------------------------------
# name -> (what makes the data in a folder, options, kind of error, the line; {0} is the folder)

Maker = Callable[[Path], Any]
Case = tuple[Maker, dict[str, Any], type[Exception], str]


def good(folder: Path) -> str:
    return written(folder, GOOD)


def empty_file(folder: Path) -> str:
    (folder / "data.parquet").touch()
    return str(folder / "data.parquet")


def truncated(folder: Path) -> str:
    path = Path(written(folder, GOOD))
    path.write_bytes(path.read_bytes()[:-20])
    return str(path)


def two_files(first: pa.Table, second: pa.Table) -> Maker:
    def make(folder: Path) -> str:
        written(folder, first, "a.parquet")
        written(folder, second, "b.parquet")
        return str(folder / "*.parquet")

    return make


def table(rows: pa.Table) -> Maker:
    return lambda folder: written(folder, rows)


MISTAKES: dict[str, Case] = {
    "empty file": (
        empty_file, {}, SourceError,
        "'{0}/data.parquet' is empty (0 bytes); write the file again",
    ),
    "truncated file": (
        truncated, {}, SourceError,
        "damaged Parquet file '{0}/data.parquet': its end is missing",
    ),
    "no rows": (
        table(GOOD.slice(0, 0)), {}, ColumnError,
        "no row of {0}/data.parquet has a value in the target 'y'",
    ),
    "no file": (
        lambda folder: str(folder / "no-*.parquet"), {}, SourceError,
        "no file matches '{0}/no-*.parquet'; check the path or the pattern",
    ),
    "missing target": (
        good, {"target": "zz"}, ColumnError,
        "the target 'zz' is not in {0}/data.parquet; there is 'z'",
    ),
    "target of NULLs": (
        table(with_column("t", pa.nulls(N, pa.string()))), {"target": "t"}, ColumnError,
        "no row of {0}/data.parquet has a value in the target 't'",
    ),
    "target with a thousand classes": (
        table(pa.table({"x": ["a", "b"] * 600, "y": range(1200)})), {}, ColumnError,
        "the target 'y' has more than 1,000 different values; "
        "choose a column with classes, or group its values with query",
    ),
    "target that is a list": (
        table(with_column("t", [[1]] * N)), {"target": "t"}, ColumnError,
        "the target 't' has type BIGINT[]; it must be text or a number",
    ),
    "types that differ": (
        two_files(GOOD, GOOD.set_column(1, "z", pa.array(["1"] * N))), {}, SourceError,
        "column 'z' is VARCHAR in '{0}/b.parquet' but BIGINT in '{0}/a.parquet'; "
        "write the files with one type, or exclude it",
    ),
    "column missing in the second file": (
        two_files(GOOD, GOOD.drop_columns(["z"])), {}, SourceError,
        "'{0}/b.parquet' has no column 'z', which '{0}/a.parquet' has; exclude it",
    ),
    "column missing in the first file": (
        two_files(GOOD.drop_columns(["z"]), GOOD), {}, SourceError,
        "'{0}/b.parquet' has a column 'z' that '{0}/a.parquet' lacks; exclude it",
    ),
    "negative weights": (
        table(with_column("w", [-1.0, math.nan, None, math.inf] + [1.0] * (N - 4))),
        {"weight": "w"}, ColumnError,
        "weight='w': 4 rows have a negative, missing or infinite weight; "
        "weights must be numbers from 0",
    ),
    "weights that are text": (
        good, {"weight": "x"}, ColumnError,
        "weight='x': 40 rows have a negative, missing or infinite weight; "
        "weights must be numbers from 0",
    ),
    "weights all zero": (
        table(with_column("w", [0] * N)), {"weight": "w"}, ColumnError,
        "no row of {0}/data.parquet has a value in the target 'y'",
    ),
    "weights too large": (
        table(with_column("w", [1e18] * N)), {"weight": "w"}, ColumnError,
        "weight='w': the weights add up to more than 2^52; scale them down",
    ),
    "weight is the target": (
        good, {"weight": "y"}, OptionError, "weight='y': that is the target",
    ),
    "unknown learner": (
        good, {"learner": "forest"}, OptionError,
        "there is no learner 'forest'; choose one of ande, collection, eskdb, fan",
    ),
    "k for naive Bayes": (
        good, {"learner": "nb", "k": 2}, OptionError,
        "k is not for the learner nb; it goes with kdb",
    ),
    "negative k": (good, {"k": -1}, OptionError, "k=-1: give 0 or more parents"),
    "m of zero": (good, {"m": 0}, OptionError, "m=0"),
    "m that is no number": (good, {"m": math.nan}, OptionError, "m=nan: give a number above 0"),
    "m that is infinite": (good, {"m": math.inf}, OptionError, "m=inf: give a number above 0"),
    "one bin": (good, {"bins": 1}, OptionError, "bins=1: give at least 2"),
    "unknown backoff": (
        good, {"backoff": "none"}, OptionError, "backoff='none': choose cell, parents",
    ),
    "no threads": (good, {"threads": 0}, OptionError, "threads=0: give at least 1"),
    "memory that is no size": (
        good, {"memory_limit": "much"}, OptionError,
        "memory_limit='much' is not a size: write for example 1GB or 512MB",
    ),
    "where that is not SQL": (
        good, {"where": "z ="}, ColumnError, "where='z =' cannot be used: ",
    ),
    "where with a second statement": (
        good, {"where": "true); DROP TABLE t; SELECT (1"}, sqlbn.SqlbnError,
        "where='true); DROP TABLE t; SELECT (1' ",
    ),
    "where that closes our bracket": (
        good, {"where": "z = 1) OR (z = 0"}, sqlbn.SqlbnError, "where='z = 1) OR (z = 0' ",
    ),
    "where of an unknown column": (
        good, {"where": "q = 1"}, ColumnError, "where='q = 1' cannot be used: ",
    ),
    "numeric text": (
        good, {"numeric": ["x"]}, ColumnError,
        "numeric='x': the column is VARCHAR, not a number; "
        "cast it with query or leave it categorical",
    ),
    "column both ways": (
        good, {"numeric": ["z"], "categorical": ["z"]}, OptionError,
        "'z' cannot be both categorical and numeric",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_line(name: str, tmp_path: Path) -> None:
    make, options, kind, line = MISTAKES[name]
    with pytest.raises(kind) as caught:
        sqlbn.fit(make(tmp_path), **{"target": "y", **options}).close()
    found = str(caught.value)
    assert found.startswith(line.format(tmp_path))
    assert "\n" not in found


CLI_MISTAKES = (
    "empty file", "truncated file", "no rows", "no file", "missing target", "types that differ",
    "negative weights", "unknown learner", "k for naive Bayes", "one bin",
    "where that is not SQL", "where with a second statement",
)  # fmt: skip


@pytest.mark.parametrize("name", CLI_MISTAKES)
def test_the_program_prints_that_line_and_exits_with_1(
    name: str, tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, options, kind, _ = MISTAKES[name]
    words: list[object] = []
    for key, value in {"target": "y", **options}.items():
        words += [f"--{key.replace('_', '-')}", value]
    done = cli("fit", make(tmp_path), "--quiet", *words)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    # The same line, with the options as a shell has them.
    with pytest.raises(kind) as caught, spelling(ShellSpelling()):
        sqlbn.fit(make(tmp_path), **{"target": "y", **options}).close()
    assert lines[0].removeprefix("sqlbn: ") == str(caught.value)
    assert not any(f"{key}=" in lines[0] for key in options)
    assert not (tmp_path / "models.duckdb").exists()


# -- names and values that look like mistakes -------------------------------------------------

NAMES = [
    'quo"te', "it's", "two words", "select", "from", "🍎", "a;b", "a--b", "größe", "a.b", "%s",
    "code", "value", "n", "class", "probability", "w", "x0", "x1", "key", "i", "k", "c", "d0",
    "f0", "tbl", "rowid", "file_row_number", "filename", "shuffle", "row_key", "position",
    "attribute", "total", "predicted", "file_index", "{{ x }}", "y", "z", "i.x",
]  # fmt: skip


def fit_and_score(rows: pa.Table, store: Path, target: str = "y", **options: Any) -> pa.Table:
    """Through files, the store, Python and SQL; all must agree."""
    path = written(store.parent, rows, "named.parquet")
    with sqlbn.fit(path, target, store=store, name="m", replace=True, **options) as model:
        scored = model.predict(path)
        assert model.evaluate(path).rows == rows.num_rows
        for row in model.attributes.to_pylist():
            assert model.cpt(row["attribute"]).num_rows
    with duckdb.connect(str(store), read_only=True) as con:
        con.execute("USE m")
        by_sql = con.execute(f"SELECT prediction FROM predict('{path}')").fetchall()
    assert sorted(map(str, (r[0] for r in by_sql))) == sorted(
        map(str, scored["prediction"].to_pylist())
    )
    return scored


def test_attributes_of_all_these_names_together(tmp_path: Path) -> None:
    columns = {name: [f"{(i + j) % 3}" for i in range(N)] for j, name in enumerate(NAMES)}
    rows = pa.table({**columns, "target": GOOD["y"]})
    assert fit_and_score(rows, tmp_path / "models.duckdb", "target", k=1).num_rows == N


@pytest.mark.hostile
@pytest.mark.parametrize("name", ['quo"te', "select", "🍎", "a;b", "class", "y", "x0", "code", "i"])
def test_a_target_of_any_name(name: str, tmp_path: Path) -> None:
    rows = GOOD.rename_columns(["a", "b", name])
    assert fit_and_score(rows, tmp_path / "models.duckdb", name, k=1).num_rows == N


def test_names_that_meet_in_lower_case(tmp_path: Path) -> None:
    """DuckDB cannot tell them apart in a Parquet file; it must not be a crash."""
    rows = GOOD.rename_columns(["A", "a", "y"])
    with sqlbn.fit(written(tmp_path, rows), "y", "nb") as model:
        assert model.predict(written(tmp_path, rows)).num_rows == N


CLASSES = [
    ["it's", 'quo"te'], ["a", "A"], ["", " "], ["NULL", "null"], ["🍎", "a;b"], ["x" * 5000, "y"],
    ["nul\x00char", "nul"], ["a", "a "], ["prediction", "p_a"], ["{{ x }}", "--"],
]  # fmt: skip


@pytest.mark.parametrize("classes", CLASSES, ids=range(len(CLASSES)))
def test_classes_of_any_text(classes: list[str], tmp_path: Path) -> None:
    rows = pa.table({"x": ["u", "v"] * 20, "z": [1, 2, 3, 4] * 10, "y": classes * 20})
    scored = fit_and_score(rows, tmp_path / "models.duckdb", k=1)
    assert scored["prediction"].to_pylist() == classes * 20


@pytest.mark.hostile
@pytest.mark.parametrize("classes", CLASSES, ids=range(len(CLASSES)))
def test_categories_of_any_text(classes: list[str], tmp_path: Path) -> None:
    rows = pa.table({"x": classes * 20, "z": [1, 2, 3, 4] * 10, "y": ["u", "v"] * 20})
    scored = fit_and_score(rows, tmp_path / "models.duckdb", k=1)
    assert scored["prediction"].to_pylist() == ["u", "v"] * 20


def moments(kind: Any) -> list[Any]:
    return [kind(2020, 1, 1 + i % 28) for i in range(N)]


TYPES: dict[str, Any] = {
    "dates": pa.array(moments(dt.date)),
    "timestamps": pa.array(moments(dt.datetime), pa.timestamp("us")),
    "nanoseconds": pa.array(moments(dt.datetime), pa.timestamp("ns")),
    "seconds": pa.array(moments(dt.datetime), pa.timestamp("s")),
    "time zones": pa.array([m.replace(tzinfo=dt.UTC) for m in moments(dt.datetime)]),
    "times": pa.array([dt.time(i % 24, i % 60) for i in range(N)]),
    "decimals": pa.array([decimal.Decimal(f"{i % 7}.25") for i in range(N)]),
    "wide decimals": pa.array([decimal.Decimal(10) ** 30 + i for i in range(N)]),
    "unsigned": pa.array([2**64 - 1 - i % 3 for i in range(N)], pa.uint64()),
    "booleans": pa.array([i % 3 == 0 for i in range(N)]),
    "enums": pa.array(["u", "v"] * 20).dictionary_encode(),
    "infinite": pa.array([math.inf, -math.inf, math.nan, None] + [1.0 * i for i in range(N - 4)]),
    "only infinities": pa.array([math.inf, -math.inf] * 20),
    "floats": pa.array([0.1 * i for i in range(N)], pa.float32()),
    "tiny and huge": pa.array([5e-324, -1.7e308, 1.7e308, 0.0] * 10),
    "long text": pa.array(["x" * 100_000 + str(i % 2) for i in range(N)]),
    "half missing": pa.array([None, "a"] * 20),
}


@pytest.mark.hostile
@pytest.mark.parametrize("kind", TYPES)
def test_a_column_of_any_type(kind: str, tmp_path: Path) -> None:
    scored = fit_and_score(with_column("q", TYPES[kind]), tmp_path / "models.duckdb", k=2)
    assert scored.num_rows == N


@pytest.mark.parametrize("values", [[[1]] * N, [{"a": 1}] * N, [b"x"] * N])
def test_a_type_that_cannot_be_an_attribute_is_left_out(values: list[Any], tmp_path: Path) -> None:
    rows = with_column("odd", values)
    with (
        pytest.warns(sqlbn.SqlbnWarning, match="left out: odd has type"),
        sqlbn.fit(written(tmp_path, rows), "y", "nb") as model,
    ):
        assert model.attributes["attribute"].to_pylist() == ["x", "z"]
        assert model.predict(rows).num_rows == N


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.nulls(N, pa.string()), "left out, they are constant: odd .*keep='odd'"),
        (pa.nulls(N), "left out"),
        (pa.array([7] * N), "left out, they are constant: odd .*keep='odd'"),
        (pa.array([math.nan] * N), "left out, they are constant: odd .*keep='odd'"),
    ],
)
def test_a_column_that_says_nothing_is_left_out(values: pa.Array, words: str) -> None:
    with (
        pytest.warns(sqlbn.SqlbnWarning, match=words),
        sqlbn.fit(with_column("odd", values), "y", "nb") as model,
    ):
        assert "odd" not in model.attributes["attribute"].to_pylist()


def test_a_column_like_an_identifier_is_left_out_unless_kept() -> None:
    rows = pa.table({"id": [f"#{i}" for i in range(2000)], "x": [0, 1] * 1000, "y": [0, 1] * 1000})
    with pytest.warns(
        sqlbn.SqlbnWarning, match="left out, they look like identifiers: id .*keep='id'"
    ):
        sqlbn.fit(rows, "y", "nb").close()
    with sqlbn.fit(rows, "y", "nb", keep=["id"]) as model:
        assert model.attributes["attribute"].to_pylist() == ["id", "x"]


def test_a_target_of_one_value_is_learned() -> None:
    rows = GOOD.set_column(2, "y", pa.array(["only"] * N))
    with sqlbn.fit(rows, "y") as model:
        scored = model.predict(rows)
    assert set(scored["prediction"].to_pylist()) == {"only"}
    assert set(scored["p_only"].to_pylist()) == {1.0}


def test_no_attribute_leaves_the_prior() -> None:
    with sqlbn.fit(GOOD.select(["y"]), "y", "nb") as model:
        scored = model.predict(GOOD)
    assert set(scored["prediction"].to_pylist()) == {"a"}
    assert scored["p_a"].to_pylist() == pytest.approx([(30 + 0.5) / 41] * N)


# -- at prediction ----------------------------------------------------------------------------


def test_an_attribute_that_is_lacking_is_named() -> None:
    with (
        sqlbn.fit(GOOD, "y", "nb") as model,
        pytest.raises(ColumnError, match="the model's attribute 'x' is not in the Table; there is"),
    ):
        model.predict(GOOD.drop_columns(["x"]))


@pytest.mark.parametrize("name", ["prediction", "PREDICTION", "p_a", "__sqlbn_s0"])
def test_a_column_in_the_way_is_named(name: str) -> None:
    rows = with_column(name, range(N))
    with sqlbn.fit(GOOD, "y") as model:
        with pytest.raises(ColumnError, match=f"already has a column '{name}'.*exclude='{name}'"):
            model.predict(rows)
        assert model.predict(rows, exclude=[name]).num_rows == N


@pytest.mark.parametrize("learner", ["nb", "tan", "kdb"])
def test_unseen_and_missing_values_drop_no_row(learner: str) -> None:
    rows = with_column("q", [0.5 * i for i in range(N)])
    strange = pa.table(
        {
            "x": ["new", None, "v0", "", "v1", None],
            "z": pa.array([99, None, -(2**63), 1, 0, None], pa.int64()),
            "q": [math.nan, None, math.inf, -math.inf, 1e300, None],
        }
    )
    with sqlbn.fit(rows, "y", learner) as model:
        scored = model.predict(strange)
    p = np.column_stack([scored["p_a"].to_numpy(), scored["p_b"].to_numpy()])
    assert scored["prediction"].null_count == 0
    assert len(p) == 6
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-9


def test_values_of_another_type_are_unseen_not_an_error() -> None:
    other = pa.table({"x": [1, 2], "z": ["one", "0"]})
    with sqlbn.fit(GOOD, "y", "nb") as model:
        assert model.predict(other)["prediction"].null_count == 0
