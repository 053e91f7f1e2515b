"""Python users write `fit(X, y)`, get frames with their index, read errors in Python's words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.cli.output import ShellSpelling
from sqlbn.errors import (
    OptionError,
    SqlbnError,
    SqlbnWarning,
    command,
    opt,
    spelling,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SUITS = ["h", "s", "c", "h"] * 15
SIZES = [i % 7 for i in range(60)]
WINS = ["yes", "no", "no", "yes"] * 15


@pytest.fixture
def frame() -> Any:
    index = pd.Index([f"r{i}" for i in range(60)], name="row")
    return pd.DataFrame({"suit": pd.Categorical(SUITS), "size": SIZES}, index=index)


def predictions(model: sqlbn.Model, rows: Any) -> list[str]:
    return model.predict(rows).column("prediction").to_pylist()


# -- fit(X, y) ------------------------------------------------------------------------------------


def test_rows_and_labels_apart(frame: Any) -> None:
    table = pa.table({"suit": SUITS, "size": SIZES})
    whole = table.append_column("wins", pa.array(WINS))
    with sqlbn.fit(whole, "wins", "nb") as model:
        wanted = predictions(model, table)
    pairs: list[tuple[Any, Any, str]] = [
        (frame, pd.Series(WINS, index=frame.index, name="wins"), "wins"),
        (frame, pd.DataFrame({"wins": WINS}, index=frame.index), "wins"),
        (frame, pd.Categorical(WINS), "target"),
        (frame, np.array(WINS), "target"),
        (frame, WINS, "target"),
        (pl.DataFrame({"suit": SUITS, "size": SIZES}), pl.Series("wins", WINS), "wins"),
        (pl.DataFrame({"suit": SUITS, "size": SIZES}), pl.DataFrame({"wins": WINS}), "wins"),
        (table, pa.array(WINS), "target"),
        (table, pa.chunked_array([WINS[:9], WINS[9:]]), "target"),
        (table, pa.table({"wins": WINS}), "wins"),
        (table, pd.Series(WINS, name="wins"), "wins"),
    ]
    for rows, labels, name in pairs:
        with sqlbn.fit(rows, labels, "nb") as model:
            assert model.target == name
            assert predictions(model, rows) == wanted, (type(rows), type(labels))
    assert list(frame.columns) == ["suit", "size"]  # the caller's own is as it was


def test_arrays_of_numbers() -> None:
    rows = np.array([[i % 2, i % 3, i % 5] for i in range(60)])
    with sqlbn.fit(rows, rows[:, 0] + 10, "nb", keep=["x0"]) as model:
        assert model.attributes["attribute"].to_pylist() == ["x0", "x1", "x2"]
        assert predictions(model, rows) == [10 + i % 2 for i in range(60)]
        assert model.predict(rows, output="pandas").shape == (60, 6)
    with pytest.raises(SqlbnError, match="this one has 1 dimensions"):
        sqlbn.fit(rows[:, 0], rows[:, 1])


def test_the_other_verbs_take_labels_too(frame: Any) -> None:
    labels = pd.Series(WINS, index=frame.index, name="wins")
    assert sqlbn.evaluate(frame, labels, "nb", folds=3).accuracy == 1
    found = sqlbn.evaluate(frame, labels, "nb", test=(frame.iloc[:9], labels.iloc[:9]))
    assert found.rows == 9
    assert sqlbn.prepare(frame, labels).target == "wins"
    assert sqlbn.rank(frame, labels, top=1).attributes[0].attribute == "suit"
    assert len(sqlbn.stream(frame, labels, batch=20)) == 2
    assert len(sqlbn.curve(frame, labels, ["nb"], [20], repeats=1)) == 1
    assert sqlbn.networks.learn(frame, "hgc", target=labels).target == "wins"


def test_labels_that_are_not_those_of_the_rows(frame: Any) -> None:
    labels = pd.Series(WINS, index=frame.index, name="wins")
    mistakes: list[tuple[Any, Any, str]] = [
        (frame, WINS[:9], "the data has 60 rows, and there are 9 labels"),
        (frame, labels[::-1], r"different indexes; to go by their order: y\.set_axis\(X\.index\)"),
        (frame, labels.rename("size"), "has a column 'size' already, the name of the labels"),
        (frame, pd.DataFrame({"a": WINS, "b": WINS}), "labels are one column; there are 2"),
        ("rows.parquet", labels, "target is the name of a column of the data; labels apart go"),
        (["rows.parquet"], labels, r"numpy array: fit\(X, y\)"),
    ]
    for rows, given, text in mistakes:
        with pytest.raises(SqlbnError, match=text):
            sqlbn.fit(rows, given)
    shuffled = labels[::-1]
    with sqlbn.fit(frame, shuffled.set_axis(frame.index), "nb") as model:
        assert model.meta["rows"] == 60


# -- frames out -----------------------------------------------------------------------------------


def test_pandas_in_pandas_out(frame: Any) -> None:
    with sqlbn.fit(frame, WINS, "nb") as model:
        frame["note"] = [{"any": i} for i in range(60)]
        found = model.predict(frame, output="pandas")
        assert found.index.equals(frame.index)
        pd.testing.assert_frame_equal(found[["suit", "size", "note"]], frame)
        assert list(found.columns) == ["suit", "size", "note", "prediction", "p_no", "p_yes"]
        assert found["p_yes"].tolist() == model.predict(frame)["p_yes"].to_pylist()
        some = model.predict(
            frame, output="pandas", where="size > 2", order_by="size", exclude="note"
        )
    wanted = frame[frame["size"] > 2]
    assert list(some.columns) == ["suit", "size", "prediction", "p_no", "p_yes"]
    assert set(some.index) == set(wanted.index)
    assert some["size"].is_monotonic_increasing
    assert (some["size"] == wanted.loc[some.index, "size"]).all()
    assert list(frame.columns) == ["suit", "size", "note"]


def test_other_frames(frame: Any) -> None:
    with sqlbn.fit(frame, WINS, "nb") as model:
        assert isinstance(model.predict(frame), pa.Table)
        assert isinstance(model.predict(frame, output="polars"), pl.DataFrame)
        assert isinstance(model.predict(pl.from_pandas(frame), output="pandas"), pd.DataFrame)
        with pytest.raises(OptionError, match="output='csv': choose arrow, pandas or polars"):
            model.predict(frame, output="csv")
        with pytest.raises(OptionError, match="give out or output='pandas', not both"):
            model.predict(frame, "scored.csv", output="pandas")


# -- Python's words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shell", "python"),
    [
        (("k", 0), "--k 0", "k=0"),
        (("m", math.nan), "--m nan", "m=nan"),
        (("score", "best"), "--score best", "score='best'"),
        (("out", Path("a b/c.x")), "--out 'a b/c.x'", "out='a b/c.x'"),
        (("out", Path("a/c.x")), "--out a/c.x", "out='a/c.x'"),
        (("where", "a = 1"), "--where 'a = 1'", "where='a = 1'"),
        (("bins",), "--bins", "bins"),
        (("discretise", "ef"), "--discretise ef", "discretise='ef'"),
        (("replace", True), "--replace", "replace=True"),
        (("min_count",), "--min-count", "min_count"),
        (("other_store",), "--from", "other_store"),
        (("master", "sc://host"), "--master sc://host", "master='sc://host'"),
        (("exclude", ""), "--exclude ''", "exclude=''"),
    ],
)
def test_options_as_their_caller_writes_them(
    given: tuple[Any, ...], shell: str, python: str
) -> None:
    assert opt(*given) == python
    with spelling(ShellSpelling()):
        assert opt(*given) == shell
    name, *value = given
    if value:
        error = OptionError("no", **{name: value[0]})
        assert str(error) == f"{python}: no"
        assert (error.option, error.value) == (name, value[0])
        with spelling(ShellSpelling()):
            assert str(OptionError("no", **{name: value[0]})) == f"{shell}: no"


def test_commands_as_their_caller_writes_them() -> None:
    assert command("fit") == "`sqlbn.fit`"
    assert command("network query") == "`sqlbn.networks.query`"
    with spelling(ShellSpelling()):
        assert command("network query") == "`sqlbn network query`"


def test_errors_and_warnings_have_no_dashes(fruit: pa.Table) -> None:
    calls: list[Callable[[], object]] = [
        lambda: sqlbn.fit(fruit, "kind", k=-1),
        lambda: sqlbn.fit(fruit, "kind", m=math.nan),
        lambda: sqlbn.fit(fruit, "kind", "nb", k=1),
        lambda: sqlbn.fit(fruit, "kind", bins=3, discretise="mdl"),
        lambda: sqlbn.fit(fruit, "kind", backoff="never"),
        lambda: sqlbn.fit(fruit, "kind", threads=0),
        lambda: sqlbn.fit(fruit, "kind", memory_limit="1MB"),
        lambda: sqlbn.fit(fruit, "kind", where="nowhere ="),
        lambda: sqlbn.fit(fruit, "kind", columns=["nobody"]),
        lambda: sqlbn.fit(fruit, "kind", same_structure=True),
        lambda: sqlbn.evaluate(fruit, "kind", folds=1),
        lambda: sqlbn.sample("x.csv", 5),
        lambda: sqlbn.networks.query("a"),
    ]
    for call in calls:
        with pytest.raises(SqlbnError) as caught:
            call()
        assert "--" not in str(caught.value)
    constant = fruit.append_column("one", pa.array([1] * 300))
    with pytest.warns(SqlbnWarning, match="to use them: keep='one'") as seen:
        sqlbn.fit(constant, "kind", "nb").close()
    assert "--" not in str(seen[0].message)


# -- what newcomers give --------------------------------------------------------------------------


def test_weights_and_targets_are_columns() -> None:
    rows = pa.table({"a": ["x", "y"] * 10, "y": ["u", "v"] * 10})
    with pytest.raises(OptionError, match="weight is the name of a column"):
        sqlbn.fit(rows, "y", "nb", weight=[1.0] * 20)
    with pytest.raises(OptionError, match="give the target"):
        sqlbn.fit(rows)
