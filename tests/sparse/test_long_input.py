"""Long input gives the model of the same rows pivoted to columns, whatever cells hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.errors import SqlbnError

D = 9
FEATURES = [f"w{j:02}" for j in range(D)]
NAMES = ["doc", "word", "what"]
# What a present cell may hold, by feature and class.
VALUES: dict[str, Any] = {
    "presence": lambda r, j, y: None,
    "text": lambda r, j, y: r.choice("xyz" if y else "xx"),
    "boolean": lambda r, j, y: r.random() < 0.3 + 0.4 * y,
    "whole": lambda r, j, y: r.randint(1, 4 + y) if j % 2 else r.randint(1, 200 + 50 * y),
    "number": lambda r, j, y: r.gauss(y, 1.0 + j),
}
Rows = list[dict[str, Any]]


def drawn(
    kind: str, n: int, seed: int, more: Sequence[str] = (), start: int = 0
) -> tuple[Rows, Rows]:
    """Cells, and labels; a few rows have no cell, a few cells no value."""
    r = random.Random(seed)
    cells, labels = [], []
    for i in range(start, start + n):
        y = r.randint(0, 2)
        labels.append({"doc": i, "sort": "abc"[y]})
        for j, word in enumerate([*FEATURES, *more]):
            if r.random() < 0.1 + 0.4 * (j % 3 == y):
                cell = {"doc": i, "word": word, "what": VALUES[kind](r, j, y)}
                cells.append(cell)
                if kind != "presence" and r.random() < 0.05:
                    cell["what"] = None
    return cells, labels


def pivoted(kind: str, cells: Rows, labels: Rows) -> pa.Table:
    """The same as columns: an absent cell is NULL."""
    rows = {row["doc"]: {"sort": row["sort"], **dict.fromkeys(FEATURES)} for row in labels}
    for cell in cells:
        rows[cell["doc"]][cell["word"]] = "there" if kind == "presence" else cell["what"]
    columns = {f: [row.get(f) for row in rows.values()] for f in ["sort", *FEATURES]}
    return pa.table(columns)


def long_of(kind: str) -> list[str]:
    return NAMES[:2] if kind == "presence" else NAMES


def probabilities(table: pa.Table) -> Any:
    return np.column_stack([table.column(f"p_{c}").to_numpy() for c in "abc"])


def fitted(kind: str, cells: Rows, labels: Rows, learner: str = "nb", **options: Any) -> Any:
    return sqlbn.fit(
        pa.Table.from_pylist(cells),
        "sort",
        learner,
        long=long_of(kind),
        labels=pa.Table.from_pylist(labels),
        **options,
    )


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(
    "options",
    [{}, {"m": 0.5, "unseen": "smoothed"}, {"estimate": "laplace"}, {"missing": "ignore"}],
)
@pytest.mark.filterwarnings("ignore:left out")
def test_the_same_as_columns(kind: str, options: dict[str, Any]) -> None:
    cells, labels = drawn(kind, 220, 1)
    new, ids = drawn(kind, 60, 2, more=["never"], start=1000)
    if kind == "text":
        new += [{"doc": 1000 + i, "word": "w08", "what": "odd"} for i in range(60)]
        new = list({(c["doc"], c["word"]): c for c in new}.values())
    wide = sqlbn.fit(pivoted(kind, cells, labels), "sort", "nb", keep=FEATURES, **options)
    with wide, fitted(kind, cells, labels, **options) as model:
        found = model.predict(pa.Table.from_pylist(new), labels=pa.Table.from_pylist(ids))
        columns = pivoted(kind, new, ids)
        expected = wide.predict(columns)
        assert found.column("doc").to_pylist() == [row["doc"] for row in ids]
        np.testing.assert_allclose(
            probabilities(found), probabilities(expected), rtol=0, atol=1e-12
        )
        assert found.column("prediction").equals(expected.column("prediction"))
        assert "word" in model.unseen.columns
        known = {row["attribute"]: row["mi"] for row in wide.attributes.to_pylist()}
        for row in model.features.to_pylist():
            assert row["mi"] == pytest.approx(known[row["feature"]], abs=1e-12)
        of_long = model.evaluate(pa.Table.from_pylist(new), labels=pa.Table.from_pylist(ids))
        of_wide = wide.evaluate(columns)
        for loss, value in of_wide.losses.items():
            assert of_long.losses[loss] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "k", "options"),
    [
        ("presence", 1, {}),
        ("presence", 3, {"unseen": "smoothed"}),
        ("text", 1, {"missing": "ignore"}),
        ("text", 2, {}),
        ("whole", 2, {"unseen": "smoothed", "backoff": "parents"}),
        ("number", 1, {}),
    ],
)
@pytest.mark.filterwarnings("ignore:left out")
def test_parents_are_those_of_columns(
    kind: str, k: int, options: dict[str, Any], tmp_path: Path
) -> None:
    cells, labels = drawn(kind, 220, 1)
    new, ids = drawn(kind, 60, 2, more=["never"], start=1000)
    if kind == "text":
        new += [{"doc": 1000 + i, "word": FEATURES[i % D], "what": "odd"} for i in range(60)]
        new = list({(c["doc"], c["word"]): c for c in new}.values())
    given: dict[str, Any] = {**options, "k": k}
    wide = sqlbn.fit(pivoted(kind, cells, labels), "sort", "kdb", keep=FEATURES, **given)
    # Joins of a few cells at a time: the parts add up.
    limits = Limits(sparse_part_cells=100)
    table, wanted = pa.Table.from_pylist(new), pa.Table.from_pylist(ids)
    with wide, fitted(kind, cells, labels, "kdb", limits=limits, **given) as model:
        found = model.predict(table, labels=wanted)
        expected = wide.predict(pivoted(kind, new, ids))
        np.testing.assert_allclose(
            probabilities(found), probabilities(expected), rtol=0, atol=1e-12
        )
        names = {row["place"]: row["feature"] for row in model.features.to_pylist()}
        arcs = model._workspace.arrow("feature_parents").to_pylist()
        assert {(names[a["place"]], names[a["parent"]], a["rank"]) for a in arcs} == {
            (a["attribute"], a["parent"], a["rank"]) for a in wide.parents.to_pylist()
        }
        model.save(tmp_path / "m.duckdb", "words")
        known = model.predict(table)
        with pytest.raises(SqlbnError, match="a model of long input by kdb cannot be changed"):
            model.update(table, labels=wanted)
    con = duckdb.connect()
    con.execute(f"ATTACH '{tmp_path / 'm.duckdb'}' AS m (READ_ONLY)")
    con.register("given", table)
    con.execute("CREATE TABLE cells AS FROM given")
    of_macro = con.sql("FROM m.words.predict('cells')").to_arrow_table()
    np.testing.assert_allclose(probabilities(of_macro), probabilities(known), rtol=0, atol=1e-14)


def test_features_without_pairs_depend_on_the_class_alone() -> None:
    """The most informative ones have parents, the others none; which, and why, is said."""
    cells, labels = drawn("presence", 200, 13)
    said: list[str] = []

    class Listening(Progress):
        def note(self, text: str) -> None:
            said.append(text)

    for limits in (Limits(sparse_pair_cells=8 * 8 * 3), Limits(sparse_pair_load=150)):
        with fitted(
            "presence", cells, labels, "kdb", k=1, limits=limits, progress=Listening()
        ) as model:
            n = model.meta["paired_features"]
            assert 1 < n < D
            assert f"pairs are counted of the {n} most informative of {D} features" in said.pop()
            first = {f["place"] for f in model.features.to_pylist() if f["rank"] < n}
            arcs = model._workspace.arrow("feature_parents").to_pylist()
            assert {a[end] for a in arcs for end in ("place", "parent")} == first


@pytest.mark.parametrize("kind", VALUES)
def test_the_macro_predicts_the_same(kind: str, tmp_path: Path) -> None:
    cells, labels = drawn(kind, 150, 3)
    new = pa.Table.from_pylist(drawn(kind, 40, 4, more=["never"])[0])
    with fitted(kind, cells, labels) as model:
        expected = model.predict(new)
        model.save(tmp_path / "m.duckdb", "words")
    with sqlbn.load(tmp_path / "m.duckdb", "words") as model:
        assert model.predict(new).equals(expected)
    con = duckdb.connect()
    con.execute(f"ATTACH '{tmp_path / 'm.duckdb'}' AS m (READ_ONLY)")
    con.register("given", new)
    con.execute("CREATE TABLE cells AS FROM given")
    found = con.sql("FROM m.words.predict('cells')").to_arrow_table()
    assert found.column_names == expected.column_names
    np.testing.assert_allclose(probabilities(found), probabilities(expected), rtol=0, atol=1e-14)
    con.execute("CREATE TABLE other AS SELECT 1 AS doc")
    with pytest.raises(duckdb.Error, match="the model 'words' needs the column 'word'"):
        con.sql("FROM m.words.predict('other')")


def test_the_class_as_a_feature() -> None:
    cells, labels = drawn("text", 150, 5)
    as_cells = [{"doc": r["doc"], "word": "sort", "what": r["sort"]} for r in labels]
    both = pa.Table.from_pylist(cells + as_cells)
    with fitted("text", cells, labels) as one, sqlbn.fit(both, "sort", long=NAMES) as other:
        assert other.meta["learner"] == "nb"
        assert one.predict(pa.Table.from_pylist(cells)).equals(
            other.predict(both.slice(0, len(cells)))
        )
        ours = sqlbn.evaluate(both, "sort", long="doc,word,what", folds=3)
        given = {"long": NAMES, "labels": pa.Table.from_pylist(labels)}
        theirs = sqlbn.evaluate(pa.Table.from_pylist(cells), "sort", folds=3, **given)
        assert ours.losses == theirs.losses
        assert other.evaluate(both).rows == 150


@pytest.mark.parametrize("kind", VALUES)
def test_features_are_projected(kind: str) -> None:
    """Whole numbers modulo N; cells that meet are one, their numbers added up."""
    r = random.Random(6)
    cells, labels = drawn(kind, 150, 6)
    number = {f: 3 + 7 * j for j, f in enumerate(FEATURES)}
    cells = [{**c, "word": number[c["word"]]} for c in cells]
    r.shuffle(cells)
    with fitted(kind, cells, labels, features=5) as model:
        found = model.predict(pa.Table.from_pylist(cells), labels=pa.Table.from_pylist(labels))
        if kind in ("text", "boolean"):
            assert model.features.num_rows <= 5
            assert {row["n_values"] for row in model.features.to_pylist()} <= {1, 2}
            return
        merged: dict[tuple[int, str], Any] = {}
        for c in sorted(cells, key=lambda c: c["what"] or 0):
            if kind == "presence" or c["what"] is not None:
                key = c["doc"], str(c["word"] % 5)
                merged[key] = merged.get(key, 0) + (c["what"] or 0)
        by_hand = [{"doc": d, "word": f, "what": v} for (d, f), v in merged.items()]
    with fitted(kind, by_hand, labels) as model:
        ids = pa.Table.from_pylist(labels)
        expected = model.predict(pa.Table.from_pylist(by_hand), labels=ids)
        assert [f["feature"] for f in model.features.to_pylist()] == list("01234")
        np.testing.assert_allclose(probabilities(found), probabilities(expected), atol=1e-12)


# -- changes --------------------------------------------------------------------------------------


def contents(model: Any) -> dict[str, Any]:
    """Features with all that is known of them, and their values and counts by name."""
    workspace = model._workspace
    names = {row["place"]: row["feature"] for row in model.features.to_pylist()}
    values = {
        (names[row["place"]], row["code"]): (row["value"], row["upper"], row["n"])
        for row in workspace.arrow("feature_values").to_pylist()
    }
    counts = sorted(
        (names[row["place"]], row["code"], row["class"], row["n"])
        for row in workspace.arrow("feature_counts").to_pylist()
    )
    return {"features": model.features.to_pylist(), "values": values, "counts": counts,
            "classes": model.classes.to_pylist()}  # fmt: skip


@pytest.mark.parametrize("kind", ["presence", "text", "boolean", "whole"])
def test_changes_are_exact(kind: str, tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    parts = [drawn(kind, 90, 7), drawn(kind, 70, 8, more=["late"], start=500)]
    if kind == "whole":  # of features of many values cuts are kept: the same only for the others
        parts = [([c for c in cells if c["word"][-1] in "1357"], ids) for cells, ids in parts]
    (first, ids), (second, more) = parts
    more = [*more, {"doc": 9999, "sort": "d"}]
    tables = [pa.Table.from_pylist(rows) for rows in (first, ids, second, more)]
    with fitted(kind, first, ids) as model, fitted(kind, second, more) as other:
        before = contents(model)
        model.save(store, "first")
        other.save(store, "second")
    with fitted(kind, first + second, ids + more) as model:
        expected = contents(model)
    change = sqlbn.update(store, "first", tables[2], labels=tables[3])
    assert (change.rows, change.total) == (71, 161)
    assert "new class 'd'" in change.news
    with sqlbn.load(store, "first") as model:
        assert contents(model) == expected
    sqlbn.forget(store, "first", tables[2], labels=tables[3])
    with sqlbn.load(store, "first") as model:
        assert contents(model) == before
        model.update(tables[2], labels=tables[3])
        assert contents(model) == expected
    sqlbn.merge(store, "first", "second", "both")
    with sqlbn.load(store, "both") as model:
        assert contents(model) == expected
        assert [s["action"] for s in model.history.to_pylist()] == [
            "fit", "update", "forget", "fit", "merge",
        ]  # fmt: skip
    with pytest.raises(SqlbnError, match="these rows were not all in the model"):
        sqlbn.forget(store, "first", tables[2], labels=tables[3])
    with sqlbn.load(store, "first") as model:
        assert contents(model) == before


def test_numbers_keep_their_cuts(tmp_path: Path) -> None:
    """As columns do: predictions after an update and a forget are those of columns."""
    (first, ids), (second, more) = drawn("number", 120, 9), drawn("number", 80, 10, start=500)
    wide = sqlbn.fit(pivoted("number", first, ids), "sort", "nb", keep=FEATURES)
    with wide, fitted("number", first, ids) as model:
        for action in ("update", "forget"):
            rows = (second, more) if action == "update" else (first[:40], ids[: first[39]["doc"]])
            if action == "forget":
                kept = {row["doc"] for row in rows[1]}
                rows = ([c for c in first if c["doc"] in kept], rows[1])
            getattr(wide, action)(pivoted("number", *rows))
            getattr(model, action)(
                pa.Table.from_pylist(rows[0]), labels=pa.Table.from_pylist(rows[1])
            )
            test, wanted = drawn("number", 50, 11)
            found = model.predict(pa.Table.from_pylist(test), labels=pa.Table.from_pylist(wanted))
            expected = wide.predict(pivoted("number", test, wanted))
            np.testing.assert_allclose(
                probabilities(found), probabilities(expected), rtol=0, atol=1e-12
            )


def test_models_with_other_cuts_do_not_merge(tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    for name, seed in (("one", 1), ("other", 2)):
        with fitted("number", *drawn("number", 90, seed)) as model:
            model.save(store, name)
    with pytest.raises(SqlbnError, match=r"cut the numbers of 'w0.' into different parts"):
        sqlbn.merge(store, "one", "other", "both")


# -- bad input ------------------------------------------------------------------------------------

CELLS, LABELS = drawn("text", 60, 12)


@pytest.mark.parametrize(
    ("cells", "labels", "options", "line"),
    [
        ([*CELLS, CELLS[0]], LABELS, {}, r"1 cells of .* are there more than once, such as word '"),
        ([*CELLS, {"doc": None, "word": "a", "what": "x"}], LABELS, {}, "1 cells .* have no 'doc'"),
        ([*CELLS, {"doc": 1, "word": None, "what": "x"}], LABELS, {}, "1 cells .* have no 'word'"),
        (CELLS, [*LABELS, LABELS[0]], {}, "1 rows .* have more than one class, such as doc 0"),
        (CELLS, [*LABELS, {"doc": None, "sort": "a"}], {}, "1 rows with a class have no 'doc'"),
        (CELLS, LABELS, {"features": 0}, "features=0: give at least 1"),
        (CELLS, LABELS, {"long": "doc"}, "give the columns of row ids, features and, if there is"),
        (CELLS, LABELS, {"long": "doc,words"}, "long feature 'words' is not in .*; there is"),
        (CELLS, LABELS, {"long": "doc,doc"}, "the columns must be different"),
        (CELLS, [{"id": 1, "sort": "a"}], {}, "the column of labels 'doc' is not in"),
        (CELLS, [{"doc": "x", "sort": "a"}], {}, "the row ids 'doc' are BIGINT in .* but VARCHAR"),
        (CELLS, LABELS, {"learner": "skdb"}, "long does not go with the learner skdb; it goes wi"),
        (CELLS, LABELS, {"weight": "w"}, "weight does not go with long"),
        (CELLS, LABELS, {"discretise": "mdl"}, "discretise does not go with long"),
        (CELLS, LABELS, {"columns": ["w01"]}, "columns does not go with long"),
        (CELLS, LABELS, {"effort": "best"}, "long does not go with the learner eskdb"),
        (CELLS, [{"doc": 777, "sort": "a"}], {}, "no cell of .* belongs to a row that has a class"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    cells: Rows, labels: Rows, options: dict[str, Any], line: str
) -> None:
    given = {"long": NAMES, "labels": pa.Table.from_pylist(labels), **options}
    with pytest.raises(SqlbnError, match=line) as caught:
        sqlbn.fit(pa.Table.from_pylist(cells), "sort", **given)
    assert "\n" not in str(caught.value)


def test_what_goes_with_long_input_alone() -> None:
    table = pivoted("text", CELLS, LABELS)
    for option in ({"labels": table}, {"features": 5}):
        with pytest.raises(SqlbnError, match=f"{next(iter(option))} requires long"):
            sqlbn.fit(table, "sort", "nb", **option)
    with pytest.raises(SqlbnError, match="without values has no class: give labels"):
        sqlbn.fit(pa.Table.from_pylist(CELLS), "sort", long=NAMES[:2])
    with pytest.raises(SqlbnError, match="long goes with fit, evaluate"):
        sqlbn.curve(pa.Table.from_pylist(CELLS), "sort", ["nb"], [20], long=NAMES)
    with sqlbn.fit(table, "sort", "nb") as model, pytest.raises(SqlbnError, match="labels goes wi"):
        model.predict(table, labels=table)


def test_cells_of_rows_without_a_class_are_ignored() -> None:
    nobody = [{"doc": 700 + i, "word": f"n{i}", "what": "x"} for i in range(5)]
    unknown = [{"doc": 700, "sort": None}]
    with (
        fitted("text", CELLS, LABELS) as one,
        fitted("text", CELLS + nobody, LABELS + unknown) as m,
    ):
        assert contents(one) == contents(m)
        assert (m.meta["rows"], m.meta["rows_skipped"], m.meta["cells_ignored"]) == (60, 1, 5)


def test_what_a_long_model_cannot_do(tmp_path: Path) -> None:
    with fitted("text", CELLS, LABELS) as model:
        cells = pa.Table.from_pylist(CELLS)
        for format in ("sql", "json", "bif", "pmml"):
            with pytest.raises(SqlbnError, match="the model is of long input"):
                model.export(format=format)
        with pytest.raises(SqlbnError, match="no other can follow the columns"):
            sqlbn.fit(cells, "sort", like=model)
        with pytest.raises(SqlbnError, match="order_by does not go with long input"):
            model.predict(cells, order_by="doc")
        with pytest.raises(SqlbnError, match="the model has its classes from a table of labels"):
            model.evaluate(cells)
        with pytest.raises(SqlbnError, match=r"1 cells of .* are there more than once"):
            model.predict(pa.Table.from_pylist([*CELLS, CELLS[0]]))
        with pytest.raises(SqlbnError, match="values that the model has never seen: word"):
            model.predict(pa.table({"doc": [1], "word": ["new"], "what": ["x"]}), strict=True)
        whole = pa.table({"doc": [1], "word": ["w01"], "what": [3]})
        with pytest.raises(SqlbnError, match=r"the values 'what' of .* are BIGINT, and were text"):
            model.predict(whole)
