"""Evaluation: folds, encodings of the training part alone, losses against numpy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.data import open_source
from sqlbn.engines import Session, Settings
from sqlbn.errors import OptionError
from sqlbn.evaluation import cross_validation as folds_module
from sqlbn.evaluation.cross_validation import PLACE, deal
from sqlbn.evaluation.metrics import matthews
from sqlbn.learners.fit_options import fit_options

LEARNERS = [("nb", {}), ("tan", {}), ("kdb", {"k": 2}), ("skdb", {"kmax": 2})]
FOLD = "__sqlbn_fold"


def dealt(data: Any, folds: int, seed: int = 0, threads: int = 1, **options: Any) -> pa.Table:
    """The rows with their folds."""
    chosen = fit_options("kind", options)
    with Session(Settings(seed=seed, threads=threads)) as engine:
        source, _ = deal(engine, open_source(engine, data), chosen, seed, stratified=True)
        items = f"* EXCLUDE ({PLACE}), {PLACE} % {folds} AS {FOLD}"
        return engine.arrow(f"SELECT {items} FROM {source.relation} ORDER BY __sqlbn_row")


def direct_losses(scored: pa.Table, target: str, weights: list[float] | None = None) -> dict:
    """The losses by numpy from predicted probabilities."""
    columns = [c for c in scored.column_names if c.startswith("p_")]
    classes = [c[2:] for c in columns]
    p = np.column_stack([scored[c].to_numpy() for c in columns])
    y = np.array([classes.index(c) for c in scored[target].to_pylist()])
    w = np.ones(len(y)) if weights is None else np.array(weights)
    guess = np.array([classes.index(c) for c in scored["prediction"].to_pylist()])
    true = p[np.arange(len(y)), y]
    hot = np.eye(len(classes))
    x, z = hot[y] * w[:, None], hot[guess]
    return {
        "rmse": math.sqrt((w * (1 - true) ** 2).sum() / w.sum()),
        "zero_one": (w * (guess != y)).sum() / w.sum(),
        "log_loss": (w * -np.log(true)).sum() / w.sum(),
        "brier": (w[:, None] * (p - hot[y]) ** 2).sum() / w.sum(),
        "mcc": matthews_by_covariance(x.T @ z),
        "accuracy": (w * (guess == y)).sum() / w.sum(),
        "rmse_all": math.sqrt((w[:, None] * (p - hot[y]) ** 2).sum() / w.sum() / len(classes)),
        "macro_f1": f1_by_class(x, z),
    }


def f1_by_class(truth: np.ndarray, guess: np.ndarray) -> float:
    """Precision and recall of each class, their harmonic mean, the mean of these."""
    found = []
    for j in range(truth.shape[1]):
        both, said = (truth[:, j] * guess[:, j]).sum(), (truth.sum(axis=1) * guess[:, j]).sum()
        if truth[:, j].sum() or said:
            precision = both / said if said else 0.0
            recall = both / truth[:, j].sum() if truth[:, j].sum() else 0.0
            mean = 2 * precision * recall / (precision + recall) if both else 0.0
            found.append(mean)
    return float(np.mean(found))


def sums(losses: dict[str, float]) -> dict[str, float]:
    """The losses that are sums over rows: AUC and aoPRC have tests of their own."""
    return {name: value for name, value in losses.items() if name not in ("auc", "aoprc")}


def matthews_by_covariance(confusion: np.ndarray) -> float:
    """Gorodkin's definition: the correlation of two indicator matrices."""
    total = confusion.sum()
    truth, guess = confusion.sum(axis=1) / total, confusion.sum(axis=0) / total
    both = np.trace(confusion) / total - (truth * guess).sum()
    return float(both / math.sqrt((1 - (truth**2).sum()) * (1 - (guess**2).sum())))


# -- folds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_are_stratified(fruit: pa.Table, folds: int) -> None:
    rows = dealt(fruit, folds)
    assert rows.num_rows == fruit.num_rows
    counts = rows.group_by(["kind", FOLD]).aggregate([([], "count_all")])
    for kind in ("apple", "pear", "plum"):
        of_kind = counts.filter(pc.equal(counts["kind"], kind))["count_all"].to_pylist()
        assert len(of_kind) == folds
        assert max(of_kind) - min(of_kind) <= 1
    sizes = rows.group_by(FOLD).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert max(sizes) - min(sizes) <= 1


def test_folds_depend_on_the_seed_and_on_nothing_else(fruit: pa.Table) -> None:
    first = dealt(fruit, 5)[FOLD].to_pylist()
    assert dealt(fruit, 5, threads=2)[FOLD].to_pylist() == first
    assert dealt(fruit, 5, exclude=["weight"])[FOLD].to_pylist() == first
    assert dealt(fruit, 5, seed=1)[FOLD].to_pylist() != first


def test_folds_are_not_a_pattern_of_the_row_number(fruit: pa.Table) -> None:
    folds = np.array(dealt(fruit, 2)[FOLD].to_pylist())
    runs = int((folds[1:] != folds[:-1]).sum())
    assert 110 < runs < 190  # alternating would be 299


@pytest.mark.parametrize(("learner", "options"), LEARNERS)
def test_every_learner_meets_the_same_folds(
    fruit: pa.Table, learner: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(engine: Session, *words: Any, **more: Any) -> Any:
        source, path = deal(engine, *words, **more)
        seen.append(engine.rows(f"SELECT {PLACE} % 4 FROM {source.relation} ORDER BY __sqlbn_row"))
        return source, path

    monkeypatch.setattr(folds_module, "deal", watched)
    sqlbn.evaluate(fruit, "kind", learner, folds=4, **options)
    assert [row[0] for row in seen[0]] == dealt(fruit, 4)[FOLD].to_pylist()


def test_each_row_is_predicted_once(fruit: pa.Table) -> None:
    result = sqlbn.evaluate(fruit, "kind", "nb", folds=7)
    assert result.rows == 300
    assert result.skipped == 0
    truth = dict(zip(result.classes, map(sum, result.confusion), strict=True))
    kinds = fruit["kind"].to_pylist()
    assert truth == {kind: kinds.count(kind) for kind in set(kinds)}


def test_cross_validation_equals_fits_by_hand(fruit: pa.Table) -> None:
    rows = dealt(fruit, 3)
    scored = []
    for fold in range(3):
        mask = pc.equal(rows[FOLD], fold)
        plain = rows.drop_columns([FOLD, "__sqlbn_row"])
        with sqlbn.fit(plain.filter(pc.invert(mask)), "kind", "kdb", k=1) as model:
            scored.append(model.predict(plain.filter(mask)))
    result = sqlbn.evaluate(fruit, "kind", "kdb", k=1, folds=3)
    wanted = direct_losses(pa.concat_tables(scored), "kind")
    assert sums(result.losses) == pytest.approx(wanted, rel=1e-11)


def test_the_same_evaluation_twice_is_the_same_to_the_last_bit(fruit: pa.Table) -> None:
    first = sqlbn.evaluate(fruit, "kind", "tan", folds=4, threads=1)
    second = sqlbn.evaluate(fruit, "kind", "tan", folds=4, threads=2)
    assert first.losses == second.losses
    assert first.confusion == second.confusion


@pytest.mark.parametrize("folds", [1, 0, -3])
def test_too_few_folds(fruit: pa.Table, folds: int) -> None:
    with pytest.raises(OptionError, match=f"folds={folds}: give at least 2"):
        sqlbn.evaluate(fruit, "kind", "nb", folds=folds)


def test_folds_and_test_do_not_go_together(fruit: pa.Table) -> None:
    with pytest.raises(OptionError, match="not both"):
        sqlbn.evaluate(fruit, "kind", "nb", folds=3, test=fruit)


def test_more_folds_than_rows_of_a_class_still_work() -> None:
    rows = pa.table({"x": ["a", "b"] * 6, "y": ["rare"] + ["often"] * 11})
    result = sqlbn.evaluate(rows, "y", "nb", folds=6, keep=["x"])
    assert (result.rows, result.skipped) == (11, 1)


# -- encodings --------------------------------------------------------------------------------


def test_cuts_and_categories_come_from_the_training_part_alone() -> None:
    """A test row far outside, and a new category, must not change the model."""
    train = pa.table({"x": [float(i) for i in range(20)], "c": ["a", "b"] * 10, "y": [0, 1] * 10})
    test = pa.table({"x": [1e9, -1e9], "c": ["new", None], "y": [0, 1]})
    with sqlbn.fit(train, "y", "nb") as model:
        wanted = direct_losses_of_integers(model.predict(test))
    found = sqlbn.evaluate(train, "y", "nb", test=test).losses
    assert found["log_loss"] == pytest.approx(wanted, rel=1e-12)


def direct_losses_of_integers(scored: pa.Table) -> float:
    rows = scored.to_pylist()
    return math.fsum(-math.log(row[f"p_{row['y']}"]) for row in rows) / len(rows)


# -- losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("learner", "options"), LEARNERS)
def test_losses_equal_numpy(fruit: pa.Table, learner: str, options: dict[str, Any]) -> None:
    train, test = fruit.slice(0, 200), fruit.slice(200)
    with sqlbn.fit(train, "kind", learner, **options) as model:
        wanted = direct_losses(model.predict(test), "kind")
        assert sums(model.evaluate(test).losses) == pytest.approx(wanted, rel=1e-11)
    found = sqlbn.evaluate(train, "kind", learner, test=test, **options)
    assert sums(found.losses) == pytest.approx(wanted, rel=1e-11)


def test_weighted_losses_equal_numpy(fruit: pa.Table) -> None:
    weights = [0.5 * (i % 5) for i in range(300)]
    rows = fruit.append_column("times", pa.array(weights))
    with sqlbn.fit(rows, "kind", "nb", weight="times") as model:
        wanted = direct_losses(model.predict(rows), "kind", weights)
        found = model.evaluate(rows, weight="times")
    assert sums(found.losses) == pytest.approx(wanted, rel=1e-11)
    assert found.weight == pytest.approx(sum(weights))


def test_a_weight_is_that_many_rows(fruit: pa.Table) -> None:
    times = [i % 3 for i in range(300)]
    weighted = fruit.append_column("times", pa.array(times))
    repeated = fruit.take(pa.array([i for i, n in enumerate(times) for _ in range(n)]))
    one = sqlbn.evaluate(weighted, "kind", "kdb", k=1, weight="times", test=weighted)
    other = sqlbn.evaluate(repeated, "kind", "kdb", k=1, test=repeated)
    assert one.losses == pytest.approx(other.losses, rel=1e-11)


def test_rows_of_unknown_class_are_left_out_and_counted(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "nb") as model:
        wanted = model.evaluate(fruit)
        strange = ["quince"] * 4 + [None] * 3
        extra = fruit.slice(0, 7).set_column(fruit.num_columns - 1, "kind", pa.array(strange))
        found = model.evaluate(pa.concat_tables([fruit, extra]))
    assert (found.rows, found.skipped) == (300, 7)
    assert found.losses == pytest.approx(wanted.losses, rel=1e-12)


def test_no_row_to_judge_gives_nan(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "nb") as model:
        result = model.evaluate(fruit.slice(0, 0))
    assert result.rows == 0
    assert all(math.isnan(v) for v in result.losses.values())


@pytest.mark.parametrize("seed", range(5))
def test_matthews_equals_the_correlation(seed: int) -> None:
    confusion = np.random.default_rng(seed).integers(1, 50, (4, 4)).astype(float)
    found = matthews(confusion.tolist())
    assert found == pytest.approx(matthews_by_covariance(confusion), rel=1e-12)


def test_matthews_without_variation_is_zero() -> None:
    assert matthews([[3, 0], [4, 0]]) == 0.0
    assert matthews([[0, 0], [0, 0]]) == 0.0


def test_an_evaluation_as_a_dict_is_plain(fruit: pa.Table, fruit_file: str) -> None:
    found = sqlbn.evaluate(Path(fruit_file), "kind", "nb", folds=3).to_dict()
    losses = {"rmse", "zero_one", "log_loss", "brier", "mcc", "accuracy", "auc", "aoprc"}
    losses |= {"rmse_all", "macro_f1"}
    assert losses | {"confusion", "classes", "rows", "rows_skipped", "seconds"} <= set(found)
    assert {"fit", "predict"} <= set(found["seconds"])


def test_columns_may_be_left_out(fruit: pa.Table) -> None:
    """Of a copy that has only the columns of the fit, they cannot be left out once more."""
    less = fruit.drop_columns(["weight"])
    for options in ({"exclude": ["weight"]}, {"columns": less.drop_columns(["kind"]).column_names}):
        options["learner"] = "nb"
        found = sqlbn.evaluate(fruit, target="kind", folds=2, **options)
        wanted = sqlbn.evaluate(less, target="kind", folds=2, learner="nb")
        assert found.losses == pytest.approx(wanted.losses, abs=1e-12)
        del options["learner"]
        (point,) = sqlbn.curve(fruit, "kind", learners=["nb"], sizes=[100], repeats=1, **options)
        (same,) = sqlbn.curve(less, "kind", learners=["nb"], sizes=[100], repeats=1)
        assert point.losses[0] == pytest.approx(same.losses[0], abs=1e-12)
        streamed = list(sqlbn.stream(fruit, "kind", learner="nb", batch=100, **options))
        assert [b.loss for b in streamed] == [
            b.loss for b in sqlbn.stream(less, "kind", learner="nb", batch=100)
        ]


# -- repeats, rows one by one, stored models ---------------------------------------------------


def test_repeats_deal_the_rows_anew(fruit: pa.Table) -> None:
    again = sqlbn.evaluate(fruit, target="kind", learner="nb", folds=3, repeats=2)
    parts = [sqlbn.evaluate(fruit, target="kind", learner="nb", folds=3, seed=s) for s in (0, 1)]
    assert again.rows == sum(part.rows for part in parts) == 600
    assert again.zero_one == pytest.approx(sum(p.zero_one for p in parts) / 2, abs=1e-12)
    assert parts[0].rmse != parts[1].rmse


@pytest.mark.parametrize("learner", ["nb", "a1de", "eskdb"])
def test_rows_one_by_one_add_up_to_the_losses(
    learner: str, fruit_file: str, fruit: pa.Table, tmp_path: Path
) -> None:
    out = tmp_path / "rows.parquet"
    found = sqlbn.evaluate(fruit_file, target="kind", learner=learner, folds=2, repeats=2, out=out)
    rows = pq.read_table(out).to_pylist()
    assert len(rows) == found.rows == 600
    kinds = fruit["kind"].to_pylist()
    assert [r["class"] for r in rows if r["repeat"] == 0 and r["fold"] == 1] == [
        kinds[r["row"]] for r in rows if r["repeat"] == 0 and r["fold"] == 1
    ]
    assert {(r["repeat"], r["row"]) for r in rows} == {(i, j) for i in (0, 1) for j in range(300)}
    squared = sum((1 - r["p_true"]) ** 2 for r in rows) / 600
    assert math.sqrt(squared) == pytest.approx(found.rmse, rel=1e-12)
    assert sum(r["class"] != r["predicted"] for r in rows) / 600 == found.zero_one


def test_a_stored_model_on_new_rows(
    store_of_fruit: Path, fruit: pa.Table, run: Run, tmp_path: Path
) -> None:
    pq.write_table(fruit.slice(0, 100), tmp_path / "new.parquet")
    words = ("evaluate", tmp_path / "new.parquet", "--name", "fruit", "--store", store_of_fruit)
    done = run(*words, "--json", "--out", "rows.csv", "-q")
    assert done.returncode == 0, done.stderr
    with sqlbn.load(store_of_fruit, "fruit") as model:
        wanted = model.evaluate(fruit.slice(0, 100))
    assert json.loads(done.stdout)["rmse"] == pytest.approx(wanted.rmse, rel=1e-12)
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 101
    for more in (("--target", "kind"), ("--learner", "nb"), ("--folds", 3), ("--repeats", 2)):
        refused = run(*words, *more)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
        assert more[0] in refused.stderr and "stored model" in refused.stderr
    assert run("evaluate", tmp_path / "new.parquet").returncode == 1


def test_repeats_and_files_are_checked(fruit_file: str, tmp_path: Path) -> None:
    for options, says in (
        ({"repeats": 0}, "repeats=0"),
        ({"repeats": 2, "test": fruit_file}, "repeats"),
        ({"out": tmp_path / "rows.txt"}, "parquet"),
    ):
        with pytest.raises(OptionError, match=says):
            sqlbn.evaluate(fruit_file, target="kind", learner="nb", **options)
