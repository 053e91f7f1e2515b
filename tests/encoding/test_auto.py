"""`--discretise auto`: which encodings are tried, which is kept, and that the losses are right."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import reference
from conftest import Run
from limited import limit
from update_cases import contents

import sqlbn
from sqlbn.api.describe_calls import fit_statements
from sqlbn.encoding.learn_codebooks import Discretisation, candidates
from sqlbn.engines.limits import Limits
from sqlbn.kinds.product.array_loo import ArrayLoo
from sqlbn.kinds.product.product_loo import LeaveOneOut

pytestmark = pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
FOUR = "ef:3,ef:8,mdl,modl"
# Parts of so few rows that small tables have one.
SMALL_PARTS = Limits(trial_rows=100)
LEARNERS: list[dict[str, Any]] = [
    {"learner": "nb"},
    {"learner": "nb", "weight": "w", "m": 2.0},
    {"learner": "tan"},
    {"learner": "kdb", "k": 2, "backoff": "parents"},
    {"learner": "skdb", "kmax": 2},
    {"learner": "skdb", "kmax": 1, "select": "k", "loss": "mcc"},
    {"learner": "a1de"},
    {"learner": "a1de-w", "select": "attributes", "loss": "log_loss"},
]


def shells(size: int = 400, seed: int = 8) -> pa.Table:
    """Quantities whose edges lie where equal frequency does not cut; `age` is the class."""
    rng, rows = random.Random(seed), []
    for _ in range(size):
        age = rng.choice(["old", "young", "young"])
        old = age == "old"
        rows.append(
            {
                "length": rng.choice([0.93, 0.1, 0.2]) + 0.05 * rng.random() * old,
                "rings": rng.randrange(40) + 12 * old,
                "sand": rng.random(),
                "shore": rng.choice("aabc" if old else "bcdd"),
                "weight": rng.gauss(5 + old, 1.0) if rng.random() < 0.9 else None,
                "w": rng.choice((0.5, 1.0, 2.0)),
                "age": age,
            }
        )
    return pa.Table.from_pylist(rows)


def fit(table: Any, **options: Any) -> Any:
    """Without the column of weights among the attributes."""
    if "weight" not in options and "w" in getattr(table, "column_names", ()):
        options |= {"exclude": ["w"], "threads": 1}
    return sqlbn.fit(table, "age", **options)


def trials(model: Any) -> list[dict[str, Any]]:
    names = ("encoding", "rows", "codes", "loss", "value", "cross_fitted", "expected", "chosen")
    rows = model._session.rows(f"FROM {model._workspace.table('encodings')}")
    return [dict(zip(names, row, strict=True)) for row in rows]


def chosen(model: Any) -> dict[str, Any]:
    (found,) = [t for t in trials(model) if t["chosen"]]
    return found


def direct(encoding: str) -> dict[str, Any]:
    method, _, bins = encoding.partition(":")
    return {"discretise": method} | ({"bins": int(bins)} if bins else {})


def same_tables(one: Any, other: Any) -> None:
    got, wanted = contents(one), contents(other)
    got.pop("encodings", None)
    wanted.pop("encodings", None)
    assert got == wanted
    told = ("learner", "options", "rows", "m", "selected_k", "selected_attributes", "elementary")
    assert {k: one.meta.get(k) for k in told} == {k: other.meta.get(k) for k in told}


def rank(trial: dict[str, Any]) -> float:
    value: float = -trial["expected"] if trial["loss"] == "mcc" else trial["expected"]
    return round(value, 12)


@pytest.mark.parametrize("options", LEARNERS, ids=lambda o: "-".join(map(str, o.values())))
def test_the_best_of_all_encodings_is_kept(options: dict[str, Any]) -> None:
    table = shells()
    with fit(table, discretise="auto", encodings=FOUR, **options) as model:
        found = trials(model)
        assert [t["encoding"] for t in found] == FOUR.split(",")
        assert {t["rows"] for t in found} == {400}
        assert {t["loss"] for t in found} == {options.get("loss", "rmse")}
        best = chosen(model)
        assert best == min(found, key=rank)
        with fit(table, **direct(best["encoding"]), **options) as same:
            same_tables(model, same)


def own_loss(table: pa.Table, encoding: str, options: dict[str, Any]) -> float:
    """What a learner with leave-one-out says of all attributes with all parents."""
    k = {"nb": 0, "kdb": options.get("k", 2)}[options["learner"]]
    rest = {key: value for key, value in options.items() if key not in ("learner", "k")}
    with fit(table, learner="skdb", kmax=k, select="k", **rest, **direct(encoding)) as model:
        d = model.attributes.num_rows
        (value,) = [
            row["value"]
            for row in model.loocv.to_pylist()
            if (row["k"], row["n_attributes"], row["loss"]) == (k, d, "rmse")
        ]
    return float(value)


@pytest.mark.parametrize("options", LEARNERS[:2] + LEARNERS[3:4], ids=["nb", "weighted", "kdb"])
def test_losses_are_those_of_leave_one_out(options: dict[str, Any]) -> None:
    table = shells(200)
    with fit(table, discretise="auto", encodings="ef:4,modl", **options) as model:
        for trial in trials(model):
            wanted = own_loss(table, trial["encoding"], options)
            assert trial["value"] == pytest.approx(wanted, abs=1e-12)


def test_losses_of_whole_models_in_several_batches() -> None:
    """More attributes than one query joins."""
    few = Limits(joins_at_once=4)
    rng = random.Random(6)
    ages = [rng.choice(["old", "young"]) for _ in range(120)]
    wide = pa.table(
        {f"x{i}": [rng.random() + (a == "old") / 9 for a in ages] for i in range(11)}
        | {"age": ages}
    )
    with fit(wide, learner="nb", discretise="auto", encodings="ef:3", limits=few) as model:
        got = chosen(model)["value"]
    with fit(wide, learner="skdb", kmax=0, select="k", bins=3, limits=few) as model:
        (wanted,) = [
            row["value"]
            for row in model.loocv.to_pylist()
            if (row["n_attributes"], row["loss"]) == (11, "rmse")
        ]
    assert got == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("learner", ["a1de", "a1de-sw", "a2de"])
def test_losses_of_whole_averages(learner: str) -> None:
    table = shells(200)
    with fit(table, learner=learner, discretise="auto", encodings="ef:4") as model:
        got = chosen(model)["value"]
    with fit(table, learner=learner, select="attributes", bins=4) as model:
        (wanted,) = [
            row["value"]
            for row in model.loocv.to_pylist()
            if (row["n_attributes"], row["loss"]) == (5, "rmse")
        ]
    assert got == pytest.approx(wanted, abs=1e-12)


def test_of_tan_against_plain_python() -> None:
    names = ["rings", "shore", "weight"]
    table = shells(80).select([*names, "age"])
    with fit(table, learner="tan", discretise="auto", encodings="ef:2,ef:4") as model:
        for trial, bins in zip(trials(model), (2, 4), strict=True):
            ref = reference.fit(table.to_pylist(), names, "age", learner="tan", bins=bins)
            wanted = reference.loocv_surface(ref, 1, "rmse")[1][-1]
            assert trial["value"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "skdb", "kmax": 2, "select": "k"},
        {"learner": "skdb", "kmax": 2, "select": "attributes"},
        {"learner": "skdb", "kmax": 2, "loss": "zero_one"},
        {"learner": "a1de", "select": "attributes"},
    ],
    ids=["k", "attributes", "both", "a1de"],
)
def test_the_loss_of_a_selection_is_that_of_the_model_that_it_keeps(
    options: dict[str, Any],
) -> None:
    with fit(shells(200), discretise="auto", encodings="ef:4,mdl", **options) as model:
        k, n = model.meta["selected_k"], model.meta["selected_attributes"]
        (wanted,) = [
            row["value"]
            for row in model.loocv.to_pylist()
            if (row["k"], row["n_attributes"]) == (k, n)
            and row["loss"] == options.get("loss", "rmse")
        ]
        assert chosen(model)["value"] == wanted


# -- which are tried --------------------------------------------------------------------------


def test_what_is_tried_unless_told() -> None:
    with fit(shells(), learner="nb", discretise="auto") as model:
        assert [t["encoding"] for t in trials(model)] == [str(c) for c in candidates()]


def test_words_of_encodings() -> None:
    assert candidates("ef, ef:5 ,ef:7,mdl") == [
        Discretisation("ef", 5),
        Discretisation("ef", 7),
        Discretisation("mdl"),
    ]


def test_categories_alone_are_not_tried_twice() -> None:
    table = shells().select(["shore", "age"])
    table = table.append_column("dry", [[i % 3 == 0 for i in range(400)]])
    table = table.append_column("few", [[i % 7 for i in range(400)]])
    with fit(table, learner="nb", discretise="auto") as model:
        assert [t["encoding"] for t in trials(model)] == ["ef:5", "modl"]


def test_a_quantity_that_the_first_encoding_leaves_out_is_tried_in_the_others() -> None:
    """No cut of mdl, and one value in nine of ten rows: only fine intervals tell them apart."""
    rng = random.Random(3)
    ages = [rng.choice(["old", "young"]) for _ in range(300)]
    rare = [0.0 if rng.random() < 0.9 else rng.random() for _ in range(300)]
    for first in ("mdl", "ef:2"):
        table = pa.table({"rare": rare, "age": ages})
        with fit(table, learner="nb", discretise="auto", encodings=f"{first},ef:50") as model:
            found = {t["encoding"]: t["codes"] for t in trials(model)}
        assert found.keys() == {first, "ef:50"}
        assert found["ef:50"] > found[first]


def test_all_columns_may_be_of_no_use() -> None:
    rng = random.Random(4)
    table = pa.table(
        {
            "noise": [rng.random() for _ in range(300)],
            "age": [rng.choice(["old", "young"]) for _ in range(300)],
        }
    )
    with fit(table, learner="nb", discretise="auto", encodings="ef:5,modl") as model:
        assert chosen(model)["encoding"] == "modl"
        assert model.attributes.num_rows == 0


# -- a part of the rows first -----------------------------------------------------------------


def test_all_are_tried_on_a_part_and_few_on_all_rows() -> None:
    table = shells(800)
    found = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        how = {"encodings": FOUR, "seed": seed, "threads": threads, "limits": SMALL_PARTS}
        with fit(table, learner="nb", discretise="auto", **how) as model:
            found.append(trials(model))
            part = [t for t in found[-1] if t["rows"] < 800]
            whole = [t for t in found[-1] if t["rows"] == 800]
            assert [t["encoding"] for t in part] == FOUR.split(",")
            assert 70 < part[0]["rows"] < 140
            assert None not in [t["cross_fitted"] for t in part]
            assert {t["cross_fitted"] for t in whole} == {None}
            assert whole[0]["encoding"] == min(part, key=rank)["encoding"]
            assert len(whole) in (1, 2)
            assert chosen(model) == min(whole, key=rank)
            with fit(table, learner="nb", seed=seed, **direct(chosen(model)["encoding"])) as same:
                same_tables(model, same)
    one, two, other = ([(*t.values(),) for t in trial] for trial in found)
    assert [(*t[:4], t[7]) for t in one] == [(*t[:4], t[7]) for t in two]
    assert [t[4] for t in one] == pytest.approx([t[4] for t in two], abs=1e-12)
    assert one != other


def note_ks(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str) -> list[int]:
    """The k' that are evaluated, as they come."""
    asked: list[int] = []
    original = getattr(owner, method)

    def noted(self: Any, k: int, *rest: Any) -> Any:
        asked.append(k)
        return original(self, k, *rest)

    monkeypatch.setattr(owner, method, noted)
    return asked


@pytest.mark.parametrize("in_arrays", [True, False], ids=["arrays", "sql"])
def test_large_k_that_is_of_no_use_to_a_trial_is_not_evaluated(
    monkeypatch: pytest.MonkeyPatch, in_arrays: bool
) -> None:
    """All attributes are noise but one: more parents only make it worse."""
    if not in_arrays:
        limit(monkeypatch, loo_array_estimates=0, loo_few_estimates=0, loo_form="wide")
    asked = note_ks(monkeypatch, LeaveOneOut, "losses_at")
    tried = note_ks(monkeypatch, ArrayLoo, "_losses_at")
    rng = random.Random(5)
    ages = [rng.choice(["old", "young"]) for _ in range(300)]
    table = pa.table(
        {f"x{i}": [rng.random() + (i == 0) * (a == "old") for a in ages] for i in range(6)}
        | {"age": ages}
    )
    # With several threads trials go side by side.
    how = {"learner": "skdb", "kmax": 5, "encodings": "ef:3,ef:4,ef:6", "threads": 1}
    with fit(table, discretise="auto", **how) as model:
        # Three trials, and models of two halves with no more parents than their trial had use for;
        # then the model of all rows.
        wanted = [0, 1, 2] * 3 + [0] * 6 + list(range(6))
        assert (tried, asked) == ((wanted, []) if in_arrays else ([], wanted))
        surface = model.loocv.to_pylist()
        assert {row["k"] for row in surface} == set(range(6))
        assert chosen(model)["value"] == min(r["value"] for r in surface if r["loss"] == "rmse")


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "nb", "m": 0.3},
        {"learner": "kdb", "k": 3},
        {"learner": "skdb", "kmax": 3},
        {"learner": "skdb", "kmax": 2, "select": "attributes"},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_trials_in_arrays_are_those_in_the_database(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """With a class of one row, a column of one row a value, and values that are missing."""
    table = shells(150)
    ages = ["ancient", *table["age"].to_pylist()[1:]]
    table = table.set_column(table.column_names.index("age"), "age", [ages])
    table = table.append_column("shell", [[f"s{i // 2}" for i in range(150)]])
    found = []
    for most in (1 << 22, 0):
        limit(monkeypatch, loo_array_estimates=most)
        with fit(table, discretise="auto", encodings="ef:2,ef:9,modl", **options) as model:
            found.append(trials(model))
    assert [t["encoding"] for t in found[0]] == [t["encoding"] for t in found[1]]
    assert [t["chosen"] for t in found[0]] == [t["chosen"] for t in found[1]]
    assert [t["value"] for t in found[0]] == pytest.approx(
        [t["value"] for t in found[1]], abs=1e-12
    )


def test_rows_without_a_weight_do_not_make_the_data_large() -> None:
    table = shells(1200)
    weights = [1.0 if i % 20 == 0 else 0.0 for i in range(1200)]
    table = table.set_column(table.column_names.index("w"), "w", [weights])
    how = {"learner": "nb", "weight": "w", "encodings": FOUR, "limits": SMALL_PARTS}
    with fit(table, discretise="auto", **how) as model:
        assert {t["rows"] for t in trials(model)} == {60}


def test_rows_without_a_class_do_not_make_the_data_large() -> None:
    table = shells(1200)
    age = [y if i < 60 else None for i, y in enumerate(table["age"].to_pylist())]
    table = table.set_column(table.column_names.index("age"), "age", [age])
    how = {"learner": "nb", "encodings": FOUR, "limits": SMALL_PARTS}
    with fit(table, discretise="auto", **how) as model:
        assert {t["rows"] for t in trials(model)} == {60}


def test_rows_that_come_only_once(tmp_path: Path) -> None:
    table = shells(500)
    pc.write_csv(table, tmp_path / "shells.csv")
    pq.write_table(table, tmp_path / "shells.parquet")
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    found = []
    for data in (str(tmp_path / "shells.parquet"), str(tmp_path / "shells.csv"), reader):
        options: dict[str, Any] = {"learner": "nb", "discretise": "auto"}
        options["encodings"] = "ef:3,ef:8,mdl"
        options |= {"exclude": ["w"], "threads": 1, "limits": SMALL_PARTS}
        with sqlbn.fit(data, "age", **options) as model:
            found.append(trials(model))
    assert found[0] == found[1] == found[2]


# -- refusals, folds, the program -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"learner": "fanc"}, "needs leave-one-out"),
        ({"learner": "tc"}, "needs leave-one-out"),
        ({"learner": "fan"}, "needs leave-one-out"),
        ({"learner": "snb"}, "needs leave-one-out"),
        ({"learner": "nb", "estimate": "laplace"}, "needs leave-one-out"),
        ({"learner": "kdb", "missing": "ignore"}, "needs leave-one-out"),
        ({"learner": "nb", "bins": 7}, "bins requires discretise='ef'"),
        ({"learner": "nb", "encodings": "ef:5,best"}, "encodings='best'"),
        ({"learner": "nb", "encodings": "mdl:5"}, "encodings='mdl:5'"),
        ({"learner": "nb", "encodings": "ef:-5"}, "encodings='ef:-5'"),
        ({"learner": "nb", "encodings": "ef:1"}, "at least 2 intervals"),
        ({"learner": "nb", "encodings": ""}, "encodings=''"),
        ({"learner": "nb", "encodings": "ef:x"}, "encodings='ef:x'"),
        ({"learner": "nb", "encodings": "auto"}, "encodings='auto'"),
        ({"learner": "nb", "discretise": "ef", "encodings": "mdl"}, "requires discretise='auto'"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_what_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(sqlbn.SqlbnError, match=match):
        fit(shells(20), **{"discretise": "auto", **options})


def test_the_statements_of_several_fits_are_not_told() -> None:
    with pytest.raises(sqlbn.SqlbnError, match="name the encoding"):
        fit_statements(shells(20), "age", "nb", discretise="auto")


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(sqlbn.SqlbnError, match="nowhere"):
        fit(shells(50), learner="nb", discretise="auto", keep=["nowhere"])


def test_only_the_warnings_of_the_kept_model_are_heard() -> None:
    with pytest.warns(sqlbn.SqlbnWarning) as told:
        fit(shells(), learner="nb", discretise="auto", encodings="ef:5,mdl,modl").close()
    heard = [str(w.message) for w in told]
    assert len(heard) == len(set(heard)) == 1


def test_folds_choose_by_their_own_rows() -> None:
    table = shells().drop_columns(["w"])
    options = {"learner": "nb", "discretise": "auto", "encodings": "ef:3,mdl"}
    found = sqlbn.evaluate(table, target="age", folds=2, seed=1, **options)
    assert found.rows == 400
    singles = [
        sqlbn.evaluate(
            table, target="age", folds=2, seed=1, learner="nb", **direct(encoding)
        ).losses["rmse"]
        for encoding in ("ef:3", "mdl")
    ]
    assert min(singles) - 1e-12 <= found.losses["rmse"] <= max(singles) + 1e-12


def test_the_model_lives_on() -> None:
    table = shells()
    with fit(table.slice(0, 300), learner="nb", discretise="auto", encodings=FOUR) as model:
        model.update(table.slice(300))
        with sqlbn.fit(table, "age", like=model, same_structure=True) as again:
            got, wanted = contents(model), contents(again)
            assert got.keys() - {"encodings"} == wanted.keys()
            assert all(got[name] == rows for name, rows in wanted.items())


def test_the_program(run: Run, tmp_path: Path) -> None:
    pq.write_table(shells(), tmp_path / "shells.parquet")
    words = ("shells.parquet", "-t", "age", "-l", "nb", "--exclude", "w", "--discretise", "auto")
    said = run("fit", *words, "--encodings", "ef:3,mdl", "--json", "-q")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["options"]["discretise"] in ("ef", "mdl")
    said = run("fit", *words, "--encodings", "ef:3,mdl", "--replace")
    assert "by leave-one-out on 400 rows" in said.stdout + said.stderr
    wrong = run("fit", *words, "--bins", "4")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "--bins requires --discretise ef" in wrong.stderr
