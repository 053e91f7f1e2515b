"""Selective KDB: what is chosen, what is stored of it, samples, errors, the golden surfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
from golden_sets import LONG, QUICK, golden, split
from hypothesis import assume, given
from loo_cases import forced, is_clear, kdb_reference, learn, loocv, selections
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
    examples,
    parents_of,
    rounds_the_same,
    same_losses,
    same_predictions,
)

import sqlbn
from sqlbn.errors import ColumnError, OptionError
from sqlbn.structure.shape import Choice, choose

SURFACE = 1e-9
TEST_LOSSES = 1e-9

# ---- the choice


def surface(*lines: list[float]) -> Any:
    return np.array(lines)


def test_the_smallest_loss_is_chosen() -> None:
    lines = surface([0.5, 0.4, 0.3], [0.5, 0.2, 0.35])
    assert choose(lines, [0, 1], "both") == Choice(k=1, n_attributes=1)
    assert choose(lines, [0, 1], "k") == Choice(k=0, n_attributes=2)
    assert choose(lines[1:], [1], "attributes") == Choice(k=1, n_attributes=1)


def test_ties_go_to_fewer_attributes_then_to_fewer_parents() -> None:
    fewer_attributes = surface([0.5, 0.4, 0.2], [0.5, 0.2, 0.2])
    assert choose(fewer_attributes, [0, 1], "both") == Choice(k=1, n_attributes=1)
    fewer_parents = surface([0.5, 0.4, 0.3], [0.5, 0.2, 0.3], [0.5, 0.2, 0.3])
    assert choose(fewer_parents, [0, 1, 2], "both") == Choice(k=1, n_attributes=1)
    assert choose(fewer_parents, [0, 1, 2], "k") == Choice(k=0, n_attributes=2)
    assert choose(surface([0.5] * 4, [0.5] * 4), [0, 1], "both") == Choice(k=0, n_attributes=0)


def test_the_last_bits_do_not_decide() -> None:
    bits = surface([0.5, 0.3, 0.3 - 4e-16], [0.5, 0.3 - 3e-16, 0.3 - 1e-15])
    assert choose(bits, [0, 1], "both") == Choice(k=0, n_attributes=1)
    real = surface([0.5, 0.3, 0.3 - 1e-11], [0.5, 0.3, 0.3])
    assert choose(real, [0, 1], "both") == Choice(k=0, n_attributes=2)


def test_the_largest_correlation_is_chosen() -> None:
    lines = surface([0.0, 0.4, 0.7], [0.0, 0.7, -0.2])
    assert choose(lines, [0, 1], "both", larger_is_better=True) == Choice(k=1, n_attributes=1)
    assert choose(lines, [0, 1], "k", larger_is_better=True) == Choice(k=0, n_attributes=2)
    below = surface([0.0, -0.4], [-0.0, -0.3])
    assert choose(below, [0, 1], "both", larger_is_better=True) == Choice(k=0, n_attributes=0)


def restricted(case: Case, names: list[str], k: int) -> Case:
    """A KDB fit of only these attributes."""
    kept = {n for n in case.schema.names if n in (*names, TARGET, WEIGHT)}
    options = {
        key: [n for n in value if n in kept] if isinstance(value, list) else value
        for key, value in case.options.items()
        if key not in ("kmax", "select", "loss")
    }
    return Case(
        pa.schema([f for f in case.schema if f.name in kept]),
        [{n: v for n, v in row.items() if n in kept} for row in case.train],
        [{n: v for n, v in row.items() if n in kept} for row in case.new],
        {**options, "learner": "kdb", "k": k},
    )


@examples(70, 25)
@given(selections())
def test_choice_and_model_are_those_of_the_reference(case: Case) -> None:
    ref = kdb_reference(case)
    assume(rounds_the_same(ref))
    loss = case.options["loss"]
    wanted = reference.loocv_surfaces(ref, case.options["kmax"])[loss]
    assume(is_clear(wanted, case))
    k, length = reference.choose(wanted, case.options["select"], loss)
    ranked = [ref.attributes[i].name for i in ref.order]
    names = [a.name for i, a in enumerate(ref.attributes) if ref.order.index(i) < length]
    parents = {
        ref.attributes[i].name: [ref.attributes[j].name for j in ref.parents[i][:k]]
        if place < length
        else []
        for place, i in enumerate(ref.order)
    }
    smaller = restricted(case, names, k)
    with learn(case) as model:
        rows = model.attributes.to_pylist()
        assert [r["attribute"] for r in rows if r["selected"]] == names
        assert [r["attribute"] for r in sorted(rows, key=lambda r: r["rank"])] == ranked
        assert parents_of(model) == parents
        # Only what was selected is needed, and only what was selected counts.
        kdb = reference.fit(smaller.train, smaller.attributes, TARGET, **smaller.options)
        assert [a.name for a in kdb.attributes] == [n for n in names if n in smaller.attributes]
        same_predictions(model, kdb, case)
        same_predictions(model, kdb, smaller)
        same_losses(model, kdb, smaller)


# ---- what is stored


FEW = 2000


@pytest.fixture(scope="module")
def useful() -> pa.Table:
    """Two attributes that tell the class together, one that tells a little, three of noise."""
    rng = np.random.default_rng(3)
    a, b, noise = rng.integers(0, 4, FEW), rng.integers(0, 4, FEW), rng.random((4, FEW))
    y = np.where(noise[0] < 0.05, 1 - (a > b), a > b).astype(int)
    data = {"noise 1": (noise[1] * 9).astype(int), "a": a, "noise 2": (noise[2] * 9).astype(int)}
    data |= {"b": b, "little": np.where(noise[3] < 0.2, y, 2), "noise 3": rng.integers(0, 9, FEW)}
    return pa.table({**{n: pa.array(v) for n, v in data.items()}, TARGET: pa.array(y)})


def chosen(model: sqlbn.Model) -> list[str]:
    return [r["attribute"] for r in model.attributes.to_pylist() if r["selected"]]


def views(path: Path) -> set[str]:
    with duckdb.connect(str(path), read_only=True) as con:
        sql = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'm' AND NOT internal"
        return {name for (name,) in con.execute(sql).fetchall() if name.startswith("cpt_")}


@pytest.mark.parametrize("way", [{}, {"loo_dense_values": 0}], ids=["dense", "sparse"])
def test_only_the_selected_are_stored_and_needed(
    useful: pa.Table, tmp_path: Path, way: dict[str, Any]
) -> None:
    path = tmp_path / "models.duckdb"
    with forced(**way), sqlbn.fit(useful, TARGET, "skdb", kmax=3, store=path, name="m") as model:
        names = chosen(model)
        assert {"a", "b"} <= set(names) < set(useful.column_names) - {TARGET}
        assert {p for r in model.parents.to_pylist() for p in (r["attribute"], r["parent"])} <= set(
            names
        )
        with pytest.raises(ColumnError, match="noise 1"):
            model.cpt("noise 1")
        wanted = model.predict(useful.select(names))
        with pytest.raises(ColumnError):
            model.predict(useful.select(names[1:]))
        deepest = max(len(p) for p in parents_of(model).values())
        surface_of_model = loocv(model)
    assert views(path) == {f"cpt_{n}" for n in names}
    with sqlbn.fit(useful, TARGET, "kdb", k=deepest, columns=names) as kdb:
        assert kdb.predict(useful.select(names)).equals(wanted)
    with duckdb.connect(str(path)) as con:
        con.register("rows_", useful.select(names))
        con.execute("CREATE TABLE input AS FROM rows_")
        con.execute("USE m")
        found = con.sql("FROM m.predict('main.input')").to_arrow_table()
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))
    with sqlbn.load(path, "m") as loaded:
        assert loocv(loaded) == surface_of_model
        assert loaded.predict(useful.select(names)).equals(wanted)
        loaded.save(path, "again")
    with sqlbn.load(path, "again") as loaded:
        assert loocv(loaded) == surface_of_model


def test_nothing_selected_leaves_the_prior(tmp_path: Path) -> None:
    """Attributes that say nothing: each value as often with each class."""
    rows = [(x, z, y) for x in "abc" for z in "de" for y in "pqq" for _ in range(3)]
    names = ("x", "z", TARGET)
    table = pa.table({n: list(v) for n, v in zip(names, zip(*rows, strict=True), strict=True)})
    path = tmp_path / "models.duckdb"
    with sqlbn.fit(table, TARGET, "skdb", kmax=2, store=path, name="m") as model:
        assert chosen(model) == []
        scored = model.predict(pa.table({"other": [1, 2]})).to_pylist()
    assert [r["prediction"] for r in scored] == ["q", "q"]
    assert scored[0]["p_p"] == pytest.approx((18 + 0.5) / 55, abs=1e-12)
    assert views(path) == set()
    with sqlbn.load(path, "m") as model:
        assert model.predict(pa.table({"other": [1, 2]})).to_pylist() == scored


# ---- samples


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """20,000 rows in row groups of 2048, so that threads do share them."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 20_000)
    data = {
        f"x{i}": np.where(rng.random(20_000) < 0.3, y, rng.integers(0, 5, 20_000)) for i in "abcd"
    }
    pq.write_table(pa.table({**data, TARGET: y}), path, row_group_size=2048)
    return str(path)


def fitted(data: Any, **options: Any) -> tuple[Any, ...]:
    with sqlbn.fit(data, TARGET, "skdb", kmax=2, **options) as model:
        return model.attributes.to_pylist(), model.parents.to_pylist(), loocv(model)


def same_fit(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert one[:2] == other[:2]
    for loss, cells in one[2].items():
        assert cells == pytest.approx(other[2][loss], rel=0, abs=1e-12)


@pytest.mark.parametrize("loss", reference.LOSSES)
def test_threads_do_not_change_the_surface(large: str, loss: str) -> None:
    same_fit(fitted(large, loss=loss, threads=1), fitted(large, loss=loss, threads=2))


@pytest.mark.parametrize("option", ["loocv_sample", "structure_sample"])
def test_samples_are_deterministic(large: str, option: str) -> None:
    full = fitted(large)
    sample = fitted(large, threads=1, **{option: 500})
    same_fit(sample, fitted(large, threads=2, **{option: 500}))
    same_fit(sample, fitted(large, threads=2, **{option: 500}))
    assert sample != full
    assert (sample[0] == full[0]) == (option == "loocv_sample")
    for size in (20_000, 10**9):
        same_fit(full, fitted(large, **{option: size}))


def test_a_sample_of_one_row_is_the_loss_of_one_row(fruit: pa.Table) -> None:
    """All rows are trained on; only the sample is left out in turn."""
    options = {"learner": "skdb", "kmax": 2, "select": "both", "loss": "rmse"}
    table = fruit.select(["colour", "spots", "ripe", "kind"]).rename_columns(
        ["colour", "spots", "ripe", TARGET]
    )
    case = Case(table.schema, table.to_pylist()[:60], [], options)
    with learn(case, loocv_sample=1) as model:
        got = loocv(model)["rmse"]
    ref = kdb_reference(case)
    found = []
    for codes, y in ref.table:
        n = reference.tally(ref, left_out=(codes, y))
        joint, cells = reference.prior(ref, n), {}
        for k in range(3):
            p = joint
            cells[k, 0] = float(1 - reference.normalised(p)[y])
            for length, i in enumerate(ref.order, start=1):
                factors = reference.factor(ref, n, i, codes, k, "cell")
                p = [a * b for a, b in zip(p, factors, strict=True)]
                cells[k, length] = float(1 - reference.normalised(p)[y])
        found.append(cells)
    assert any(got == pytest.approx(cells, rel=0, abs=1e-10) for cells in found)


def test_rows_in_another_order_give_the_same_surface_with_decimal_weights() -> None:
    """Weights that are 1 together, but for the last bit, decide on back-off alike in any order."""
    rows = [{"x": x, "z": z, TARGET: y, WEIGHT: 1.0} for x in "aab" for z in "cd" for y in "pqq"]
    rows.append({"x": "b", "z": "c", TARGET: "p", WEIGHT: 1.0})
    surfaces = []
    for weights in ((0.1, 0.3, 0.4, 0.2), (0.2, 0.4, 0.3, 0.1), (0.4, 0.3, 0.2, 0.1)):
        cell = [{"x": "b", "z": "e", TARGET: "q", WEIGHT: w} for w in weights]
        table = pa.Table.from_pylist(rows + cell)
        with sqlbn.fit(table, TARGET, "skdb", kmax=1, weight=WEIGHT, threads=1) as model:
            surfaces.append(loocv(model)["rmse"])
    for other in surfaces[1:]:
        assert other == pytest.approx(surfaces[0], rel=0, abs=1e-10)


# ---- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "nb", "loocv_sample": 9}, "loocv_sample does nothing for the learner nb"),
        ({"learner": "kdb", "loocv_sample": 9}, "loocv_sample does nothing"),
        ({"learner": "nb", "structure_sample": 9}, "structure_sample does nothing"),
        ({"learner": "kdb", "kmax": 2}, "kmax is not for the learner kdb"),
        ({"learner": "skdb", "k": 2}, "k is not for the learner skdb"),
        ({"loocv_sample": 0}, "loocv_sample=0: give at least 1 row"),
        ({"structure_sample": -1}, "structure_sample=-1: give at least 1 row"),
        ({"kmax": -1}, "kmax=-1: give 0 or more parents"),
        ({"loss": "auc"}, "loss='auc': choose rmse, zero_one, log_loss, brier or mcc"),
        ({"select": "none"}, "select='none': choose both, attributes or k"),
    ],
)
def test_options_that_cannot_be(fruit: pa.Table, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        sqlbn.fit(fruit, "kind", **options)
    assert message in str(caught.value)


def test_options_that_cannot_be_on_the_command_line(fruit_file: str, run: Any) -> None:
    result = run("fit", fruit_file, "--target", "kind", "--learner", "nb", "--loocv-sample", 9)
    assert result.returncode != 0
    assert "--loocv-sample" in result.stderr


# ---- an independent program's results


def check_golden(shared: Path, name: str, folder: Path) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], folder)
    best, kmax = wanted["best"], wanted["kmax"]
    options = {"columns": names, "categorical": names, "unseen": "smoothed"}
    for loss in ("rmse", "zero_one"):
        with sqlbn.fit(train, wanted["target"], kmax=kmax, loss=loss, **options) as model:
            got = loocv(model)
            if loss == "rmse":
                assert set(chosen(model)) == set(names[: best["n_attributes"]])
                parents = {
                    n: wanted["parents"][n][: best["k"]] if i < best["n_attributes"] else []
                    for i, n in enumerate(names)
                }
                assert parents_of(model) == parents
                losses = model.evaluate(test).losses
        for other, cells in got.items():
            lines = wanted[f"loocv_{other}"]
            given = {(k, n): v for k, line in enumerate(lines) for n, v in enumerate(line)}
            assert cells == pytest.approx(given, rel=0, abs=SURFACE), other
        if loss == "rmse":
            lines = np.array(
                [[cells[k, n] for n in range(len(names) + 1)] for k in range(kmax + 1)]
            )
            assert choose(lines, list(range(kmax + 1)), "both") == Choice(**best)
    for loss, value in wanted["test"]["skdb"].items():
        assert losses[loss] == pytest.approx(value, abs=TEST_LOSSES), loss


@pytest.mark.parametrize("name", QUICK)
def test_golden_selection(shared: Path, name: str, tmp_path: Path) -> None:
    check_golden(shared, name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_golden_selection_of_larger_sets(shared: Path, name: str, tmp_path: Path) -> None:
    check_golden(shared, name, tmp_path)
