"""A learner in one file gets everything: fit, predict, leave-one-out, changes, exports, SQL, Spark.

Two-level naive Bayes: the `tops` most informative attributes have no parent, every other one has
the top with which its CMI is highest. With `pruned`, leave-one-out keeps the attributes and parents
that predict best. Nothing else in the package knows of it. The reference below it works on rows.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import export_cases
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.kinds.kind import Kind, Needs, Selection
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.kinds.product.refinements import Selective, Whole
from sqlbn.learners import Learner, register, unregister
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure


class TwoLevel(Learner):
    """Tops without parents, all others below one of them.

    tops: attributes without parents
    pruned: keep what predicts best by leave-one-out
    """

    name: ClassVar[str] = "twolevel"
    summary: ClassVar[str] = "two-level naive Bayes, a toy"

    def __init__(self, tops: int = 1, pruned: bool = False) -> None:
        self.tops, self.pruned = tops, pruned

    @property
    def needs(self) -> Needs:
        return Needs(pairs=True)

    def structure(self, info: Information) -> Structure:
        order, parents = info.order, [()] * len(info.order)
        for i in order[self.tops :] if info.cmi is not None else ():
            parents[i] = (max(order[: self.tops], key=lambda top: info.cmi[i, top]),)
        return Structure(tuple(order), tuple(parents))

    @property
    def kind(self) -> Kind:
        pruning = Selective(Selection(range(2), "both", "rmse"))
        return ProductKind(pruning if self.pruned else Whole())


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """Known to the tests of this file alone; elsewhere `@sqlbn.register` stands above the class."""
    register(TwoLevel)
    yield
    unregister(TwoLevel)


# -- the reference: rows are tuples, the class last --------------------------------------------

Row = tuple[str, ...]
NAMES = ("shape", "colour", "size", "place")


def rows_of(n: int, seed: int) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        y = rng.choice("abc")
        shape = rng.choice("rst") if rng.random() < 0.6 else "rst"["abc".index(y)]
        colour = rng.choice("uv") if rng.random() < 0.5 else "uvu"["rst".index(shape)]
        size = rng.choice("klmn") if y != "b" else rng.choice("kl")
        found.append((shape, colour, size, rng.choice("wxyz"), y))
    return found


def as_table(rows: Sequence[Row]) -> pa.Table:
    columns = dict(zip((*NAMES, "y"), zip(*rows, strict=True), strict=True))
    return pa.table({name: list(values) for name, values in columns.items()})


def entropy(rows: Sequence[Row], *columns: int) -> float:
    counts = Counter(tuple(row[c] for c in columns) for row in rows)
    return -sum(n / len(rows) * math.log(n / len(rows)) for n in counts.values())


def mi(rows: Sequence[Row], i: int) -> float:
    return entropy(rows, i) + entropy(rows, -1) - entropy(rows, i, -1)


def cmi(rows: Sequence[Row], i: int, j: int) -> float:
    joint = entropy(rows, i, j, -1)
    return entropy(rows, i, -1) + entropy(rows, j, -1) - joint - entropy(rows, -1)


def order_of(rows: Sequence[Row]) -> list[int]:
    return sorted(range(len(NAMES)), key=lambda i: (-round(mi(rows, i), 12), i))


def parents_of(rows: Sequence[Row], tops: int) -> dict[int, int]:
    order = order_of(rows)
    return {i: max(order[:tops], key=lambda top: cmi(rows, i, top)) for i in order[tops:]}


def probability(rows: Sequence[Row], out: Row | None, x: Row, used: Any, y: str) -> float:
    """P(y) times P(x_i | parent, y) up to a factor, of rows without one; m is 1."""
    classes, n = sorted({row[-1] for row in rows}), Counter(row[-1] for row in rows)
    own = Counter([out[-1]] if out is not None else [])
    result = (n[y] - own[y] + 1 / len(classes)) / (len(rows) - own.total() + 1)
    for i, parent in used.items():
        n_values = len({row[i] for row in rows})
        left = [row for row in rows if row is not out]
        alike = [row for row in left if row[i] == x[i]]
        if not alike:
            continue  # a value that no row has says nothing
        given = left
        if parent is not None and any(row[parent] == x[parent] for row in alike):
            given = [row for row in left if row[parent] == x[parent]]
        among = [row for row in given if row[-1] == y]
        result *= (sum(row[i] == x[i] for row in among) + 1 / n_values) / (len(among) + 1)
    return result


def posterior(rows: Sequence[Row], x: Row, used: Any, out: Row | None = None) -> list[float]:
    classes = sorted({row[-1] for row in rows})
    scores = [probability(rows, out, x, used, y) for y in classes]
    return [score / sum(scores) for score in scores]


def used_of(rows: Sequence[Row], tops: int, k: int = 1, n: int = len(NAMES)) -> Any:
    parents = parents_of(rows, tops)
    return {i: parents.get(i) if k else None for i in order_of(rows)[:n]}


def loo_rmse(rows: Sequence[Row], used: Any) -> float:
    classes = sorted({row[-1] for row in rows})
    total = sum((1 - posterior(rows, row, used, row)[classes.index(row[-1])]) ** 2 for row in rows)
    return math.sqrt(total / len(rows))


# -- what the learner gets ---------------------------------------------------------------------

TRAIN, MORE, NEW = rows_of(90, 1), rows_of(60, 2), rows_of(30, 3)


def check(found: pa.Table, rows: Sequence[Row], used: Any) -> None:
    columns = [f"p_{y}" for y in "abc"]
    for x, got in zip(NEW, found.to_pylist(), strict=True):
        assert [got[c] for c in columns] == pytest.approx(posterior(rows, x, used), rel=1e-9)


@pytest.mark.parametrize("tops", [1, 2])
def test_fit_and_predict(tops: int) -> None:
    with sqlbn.fit(as_table(TRAIN), "y", TwoLevel(tops=tops)) as model:
        pairs = zip(*(model.parents[c].to_pylist() for c in ("attribute", "parent")), strict=True)
        wanted = {NAMES[i]: NAMES[p] for i, p in parents_of(TRAIN, tops).items()}
        assert dict(pairs) == wanted
        check(model.predict(as_table(NEW)), TRAIN, used_of(TRAIN, tops))


def test_leave_one_out() -> None:
    with sqlbn.fit(as_table(TRAIN), "y", "twolevel", pruned=True) as model:
        assert model.loocv is not None
        surface = {(r["k"], r["n_attributes"]): r["value"] for r in model.loocv.to_pylist()}
        wanted = {
            (k, n): loo_rmse(TRAIN, used_of(TRAIN, 1, k, n))
            for k in range(2)
            for n in range(len(NAMES) + 1)
        }
        assert surface == pytest.approx(wanted, rel=1e-9)
        k, n = min(wanted, key=lambda cell: (round(wanted[cell], 12), cell[1], cell[0]))
        assert (int(model.meta["selected_k"]), int(model.meta["selected_attributes"])) == (k, n)
        check(model.predict(as_table(NEW)), TRAIN, used_of(TRAIN, 1, k, n))


def test_encoding_by_leave_one_out() -> None:
    options = {"discretise": "auto", "encodings": "ef:2,ef:5", "tops": 2}
    with sqlbn.fit(as_table(TRAIN), "y", "twolevel", **options) as model:
        trials = model._workspace.read("encodings", "value", "chosen")
        wanted = loo_rmse(TRAIN, used_of(TRAIN, 2))
        assert [value for value, chosen in trials if chosen] == [pytest.approx(wanted, rel=1e-9)]


def updated() -> sqlbn.Model:
    model = sqlbn.fit(as_table(TRAIN), "y", "twolevel", tops=2)
    model.update(as_table(MORE))
    return model


def forgotten() -> sqlbn.Model:
    model = sqlbn.fit(as_table([*TRAIN, *MORE, *NEW]), "y", "twolevel", tops=2)
    model.forget(as_table(NEW))
    return model


def merged() -> sqlbn.Model:
    model = sqlbn.fit(as_table(TRAIN), "y", "twolevel", tops=2)
    with sqlbn.fit(as_table(MORE), "y", "twolevel", like=model, tops=2) as other:
        model.merge(other)
    return model


@pytest.mark.parametrize("change", [updated, forgotten, merged])
def test_changes(change: Callable[[], sqlbn.Model]) -> None:
    rows = [*TRAIN, *MORE]
    with change() as model:
        assert model.meta["rows"] == len(rows)
        check(model.predict(as_table(NEW)), rows, used_of(rows, 2))


def test_exports_and_sql(tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    new = as_table(NEW).append_column("id", pa.array(range(len(NEW))))
    with sqlbn.fit(as_table(TRAIN), "y", "twolevel", store=store, name="toy") as model:
        wanted = model.predict(new)
        script = str(model.export(key=["id"], table="main.new_rows", name="toy"))
        document = export_cases.Document(json.loads(str(model.export(format="json"))))
    export_cases.check_equal(
        {row["id"]: document.predict(row) for row in new.to_pylist()}, wanted, 3
    )
    with duckdb.connect() as database:
        database.register("new_rows", new)
        rows = database.execute(script).fetchall()
        export_cases.check_equal({row[0]: list(row[1:]) for row in rows}, wanted, 3)
        database.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        database.execute("CREATE TABLE given AS FROM new_rows")
        found = database.sql("SELECT * FROM m.toy.predict('given')").to_arrow_table()
    assert found["p_a"].to_pylist() == pytest.approx(wanted["p_a"].to_pylist(), rel=1e-12)


def test_spark(cluster: Any) -> None:
    pytest.importorskip("pyspark", reason="pip install 'sqlbn[spark]'")
    engine = {"engine": "spark", "master": cluster.url}
    with sqlbn.fit(as_table(TRAIN), "y", "twolevel", tops=2, **engine) as model:
        check(model.predict(as_table(NEW)), TRAIN, used_of(TRAIN, 2))
