"""A value that no training row has says nothing of the class, in any learner, however it is scored.

Random tables are compared with brute force in test_properties.py, test_ande.py, test_loo_surface.py
and test_collections_properties.py, by this rule and by the papers'. Here: what the rule promises.
"""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import export_cases
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from limited import limit
from random_tables import as_if_large, examples

import sqlbn
from sqlbn.cli.command import made
from sqlbn.errors import OptionError, StoreError

Row = dict[str, Any]
NEAR = 1e-12
TEXTS, ALL = ("a", "b", "c"), ("a", "b", "c", "n")
# What training has not: a text, a missing text, a missing number.
NEVER: dict[str, tuple[Any, ...]] = {"a": ("zz", None), "b": ("zz",), "c": (None,), "n": (None,)}
LEARNERS: dict[str, dict[str, Any]] = {
    "nb": {"learner": "nb"},
    "nb, laplace": {"learner": "nb", "estimate": "laplace", "missing": "ignore"},
    "tan": {"learner": "tan"},
    "kdb": {"learner": "kdb", "k": 2},
    "kdb, parents": {"learner": "kdb", "k": 2, "backoff": "parents"},
    "skdb": {"learner": "skdb", "kmax": 2, "select": "k"},
    "kdb, mixed": {"learner": "kdb", "k": 2, "smoothing": "hierarchical"},
    "a1de": {"learner": "a1de"},
    "a2de-w": {"learner": "a2de-w"},
    "a1de-s": {"learner": "a1de-s", "min_count": 20},
    "ande, selected": {"learner": "ande", "select": "attributes"},
    "fan": {"learner": "fan"},
    "fan, value": {"learner": "fan", "missing": "value", "estimate": "m"},
    "superparent": {"learner": "superparent", "superparent": "a"},
    "fanc": {"learner": "fanc"},
    "spc": {"learner": "spc"},
    "spcr": {"learner": "spcr"},
    "tc": {"learner": "tc", "missing": "value"},
    "collection": {"learner": "collection", "parents": {"b": [["a"], ["a", "c"]], "c": [["a"]]}},
    "snb": {"learner": "snb", "discretise": "ef"},
    "snb, map": {"learner": "snb", "map": True, "discretise": "ef"},
    "hgc": {"learner": "hgc"},
    "vfbn1": {"learner": "vfbn1"},
    "vfbn2": {"learner": "vfbn2"},
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def rare(size: int = 340, seed: int = 5) -> pa.Table:
    """Columns that go with the class and each other; 7.5 rows of the class no for one of yes."""
    rng = random.Random(seed)
    rows = []
    for at in range(size):
        y = "yes" if at % 17 in (3, 11) else "no"
        a = rng.choice("pqr") if rng.random() < 0.6 else ("p" if y == "no" else "q")
        b = a if rng.random() < 0.5 else rng.choice("pqst")
        c = rng.choice("uv") if rng.random() < 0.7 else ("u" if b in "ps" else "v")
        n = rng.gauss(0 if y == "no" else 1.5, 1)
        rows.append({"a": a, "b": b, "c": c, "n": n, "y": y})
    return pa.Table.from_pylist(rows)


TRAIN = rare()


def with_values(row: Row, **values: Any) -> Row:
    return {**row, **values}


def probabilities(model: Any, rows: list[Row]) -> list[list[float]]:
    schema = pa.schema([(n, pa.float64() if n == "n" else pa.string()) for n in ALL])
    scored = model.predict(pa.Table.from_pylist(rows, schema))
    names = [n for n in scored.column_names if n.startswith("p_")]
    return [list(row.values()) for row in scored.select(names).to_pylist()]


def agree(got: Any, wanted: Any, near: float = NEAR) -> None:
    """The same probabilities, row by row."""
    for p, q in zip(got, wanted, strict=True):
        assert list(p) == pytest.approx(list(q), rel=0, abs=near)


def log_odds(model: Any, rows: list[Row]) -> list[float]:
    return [math.log(yes / no) for no, yes in probabilities(model, rows)]


@functools.cache
def fitted(name: str, large: bool = False) -> Any:
    """A model of every learner; as of large tables, with sparse ones and chains of back-off."""
    with as_if_large(6) if large else nullcontext():
        return sqlbn.fit(TRAIN, "y", **LEARNERS[name])


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    fitted.cache_clear()


SOME = TRAIN.slice(0, 24).to_pylist()


def changed(column: str) -> list[list[Row]]:
    """Some rows with each unseen value of a column."""
    return [[with_values(row, **{column: value}) for row in SOME] for value in NEVER[column]]


# ---- prediction


@every_learner
def test_of_nothing_but_unseen_values_the_prior_is_left(name: str) -> None:
    prior_is_left(fitted(name))


@pytest.mark.parametrize("name", ["nb, laplace", "kdb, parents", "a1de-s", "fan", "tc"])
def test_the_prior_is_left_where_tables_are_sparse(name: str) -> None:
    prior_is_left(fitted(name, large=True))


def prior_is_left(model: Any) -> None:
    wanted = [math.exp(p) for p in model.spec.log_prior]
    nothing = [
        {"a": a, "b": "zz", "c": c, "n": None} for a in ("zz", None) for c in ("never", None)
    ]
    agree(probabilities(model, nothing), [wanted] * len(nothing))


@every_learner
def test_every_unseen_value_is_like_every_other(name: str) -> None:
    """A text and a missing value where training had none; the odds are numbers."""
    texts, missing = (log_odds(fitted(name), rows) for rows in changed("a"))
    assert texts == missing
    assert all(math.isfinite(x) for x in texts)


@pytest.mark.parametrize("column", ALL)
@pytest.mark.parametrize("name", ["nb", "nb, laplace"])
def test_naive_bayes_is_that_without_the_attribute(name: str, column: str) -> None:
    with sqlbn.fit(TRAIN, "y", exclude=[column], **LEARNERS[name]) as without:
        wanted = probabilities(without, SOME)
    for rows in changed(column):
        agree(probabilities(fitted(name), rows), wanted)


@pytest.mark.parametrize("name", ["snb", "snb, map"])
def test_selective_naive_bayes_loses_the_weighted_factor_alone(name: str) -> None:
    model = fitted(name)
    weights = {r["attribute"]: r["weight"] for r in model.attributes.to_pylist()}
    before = log_odds(model, SOME)
    for column in [c for c in TEXTS if weights[c] > 0]:
        table = {(r[column], r["class"]): r["probability"] for r in model.cpt(column).to_pylist()}
        factor = [
            weights[column] * math.log(table[row[column], "yes"] / table[row[column], "no"])
            for row in SOME
        ]
        for rows in changed(column):
            for b, f, a in zip(before, factor, log_odds(model, rows), strict=True):
                assert a == pytest.approx(b - f, rel=0, abs=1e-9)


def blanket(model: Any, column: str) -> set[str]:
    """An attribute, its parents, its children and their parents: as the stored table has them."""
    edges = [(r["attribute"], r["parent"]) for r in model.parents.to_pylist()]
    around = {column} | {child for child, parent in edges if parent == column}
    return around | {parent for child, parent in edges if child in around}


@pytest.mark.parametrize(
    "name", ["nb", "tan", "kdb", "kdb, parents", "skdb", "fan", "superparent", "hgc", "vfbn2"]
)
def test_what_an_unseen_value_changes_is_its_own_factor_and_its_children_s(name: str) -> None:
    """The change of the odds does not depend on attributes outside the Markov blanket."""
    model = fitted(name)
    for column in TEXTS:
        for other in set(TEXTS) - blanket(model, column):
            changes = []
            for value in sorted({row[other] for row in SOME}):
                rows = [with_values(row, **{other: value}) for row in SOME]
                gone = [with_values(row, **{column: "zz"}) for row in rows]
                pairs = zip(log_odds(model, rows), log_odds(model, gone), strict=True)
                changes.append([a - b for a, b in pairs])
            for change in changes[1:]:
                assert change == pytest.approx(changes[0], rel=0, abs=1e-9)


def spread(factors: list[Any]) -> float:
    return math.log(max(factors) / min(factors))


@examples(40, 20)
@given(st.integers(0, 2**32), st.sampled_from(("nb", "tan", "kdb")), st.booleans())
def test_the_odds_move_by_no_more_than_these_factors(seed: int, learner: str, all_: bool) -> None:
    """Against brute force: tables with missing values, ties, constant columns and one class."""
    rng = random.Random(seed)
    pools = [rng.choice(["p", "pq", "pqr", ["p", "q", None]]) for _ in range(4)]
    rows = [
        {**{n: rng.choice(pool) for n, pool in zip("wxyz", pools, strict=True)}, "t": t}
        for t in rng.choices(rng.choice(["n", "nm", "nnnnnnnm", "nml"]), k=rng.randint(5, 60))
    ]
    options = {"learner": learner, "k": 2, "backoff": rng.choice(("cell", "parents"))}
    keep = {"keep": list("wxyz")} if all_ else {}
    ref = reference.fit(rows, "wxyz", "t", **options, **keep)
    n, names = reference.tally(ref), [a.name for a in ref.attributes]
    for i, name in enumerate(names):
        new = rng.choices(rows, k=3)
        for row, p, q in zip(
            new,
            reference.probabilities(ref, new),
            reference.probabilities(ref, [with_values(r, **{name: "never"}) for r in new]),
            strict=True,
        ):
            involved = [i, *(j for j, above in ref.parents.items() if i in above)]
            most = sum(
                spread(reference.factor(ref, n, j, codes, 2, ref.backoff))
                for codes in (ref.codes(row), ref.codes(with_values(row, **{name: "never"})))
                for j in involved
            )
            moved = [math.log(b / a) for a, b in zip(p, q, strict=True)]
            assert max(moved) - min(moved) <= most + NEAR
            if learner == "nb":  # exactly, in fractions
                rest = [m for m in names if m != name]
                without = reference.fit(rows, rest, "t", keep=rest)
                assert reference.probabilities(without, [row]) == [q]


def test_the_papers_rule_moves_the_odds_by_the_ratio_of_the_classes() -> None:
    """Why it is not the default: one unseen column of 7.5 : 1 makes the rare class likelier."""
    with sqlbn.fit(TRAIN, "y", "nb", unseen="smoothed") as smoothed:
        moved = [
            x - y
            for x, y in zip(
                log_odds(smoothed, changed("a")[0]),
                log_odds(fitted("nb"), changed("a")[0]),
                strict=True,
            )
        ]
    assert min(moved) == pytest.approx(max(moved))
    assert 7 < math.exp(moved[0]) < 8


# ---- leave-one-out


def numbered(weight: float = 1) -> pa.Table:
    """Rows with a name of their own each, and two classes."""
    rng = random.Random(3)
    rows = [
        {"name": f"r{i}", "x": rng.choice("pq"), "y": "nm"[rng.random() < 0.2], "w": weight}
        for i in range(60)
    ]
    return pa.Table.from_pylist(rows)


def losses_of(table: pa.Table, **options: Any) -> dict[tuple[int, int], float]:
    with sqlbn.fit(table, "y", keep=["name"], columns=["name", "x"], **options) as model:
        rows = model.loocv.to_pylist()
    return {(r["k"], r["n_attributes"]): r["value"] for r in rows if r["loss"] == "log_loss"}


@pytest.mark.parametrize("large", [False, True], ids=["arrays", "sparse"])
@pytest.mark.parametrize("learner", ["skdb", "ande"])
def test_what_only_the_left_out_row_has_is_unseen_there(
    learner: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name has the highest MI and comes first; left out, every row has a name never seen."""
    options: dict[str, Any] = {"learner": learner, "loss": "log_loss"}
    options |= {"kmax": 1} if learner == "skdb" else {"select": "attributes"}
    if large:
        limit(monkeypatch, loo_dense_values=0)
    with as_if_large(6) if large else nullcontext():
        neutral = losses_of(numbered(), **options)
        smoothed = losses_of(numbered(), unseen="smoothed", **options)
        twice = losses_of(numbered(2), weight="w", **options)
    ks = {k for k, _ in neutral}
    for k in ks:
        assert neutral[k, 1] == pytest.approx(neutral[k, 0], rel=0, abs=1e-9)
        assert abs(smoothed[k, 1] - smoothed[k, 0]) > 0.1
        # A row of weight 2 is two rows: one of them is left.
        assert twice[k, 1] < twice[k, 0] / 2


def test_trials_in_memory_leave_out_by_the_same_rule() -> None:
    """`auto` judges few rows by arrays, larger ones by tables: the losses are the same."""
    found = []
    for large in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if large:
                limit(patch, loo_array_estimates=0)
            asked: dict[str, Any] = {"discretise": "auto", "encodings": "ef:3,ef:30"}
            with sqlbn.fit(TRAIN, "y", "kdb", k=1, **asked) as model:
                table = model._workspace.table("encodings")
                found.append(model._session.rows(f"SELECT encoding, value FROM {table} ORDER BY 1"))
    assert [name for name, _ in found[0]] == [name for name, _ in found[1]]
    for (_, a), (_, b) in zip(*found, strict=True):
        assert a == pytest.approx(b, rel=0, abs=1e-10)


# ---- stores, exports, models that change


@pytest.mark.parametrize("name", ["nb", "kdb, parents", "a1de-s", "collection", "snb"])
def test_macro_and_documents_follow_the_rule(name: str, tmp_path: Path) -> None:
    model = fitted(name, large=True)
    new = [row for column in ALL for rows in changed(column) for row in rows[:4]]
    wanted = probabilities(model, new)
    scorer = export_cases.Document(json.loads(str(model.export(format="json"))))
    agree(map(scorer.probabilities, new), wanted, 1e-9)
    if name in ("nb", "kdb, parents", "snb"):
        pmml = export_cases.Pmml(str(model.export(format="pmml")))
        agree((pmml.predict(row)[1:] for row in new[::3]), wanted[::3], 1e-9)
    model.save(tmp_path / "models.duckdb", "m")
    schema = pa.schema([(n, pa.float64() if n == "n" else pa.string()) for n in ALL])
    with duckdb.connect(tmp_path / "models.duckdb", read_only=True) as con:
        con.register("new_rows", pa.Table.from_pylist(new, schema))
        con.execute("USE m")
        got = con.execute("SELECT p_no, p_yes FROM predict('new_rows')").fetchall()
    agree(sorted(got), sorted(wanted))


@pytest.mark.parametrize(
    ("name", "unseen"),
    [("kdb, parents", "neutral"), ("a1de", "neutral"), ("fanc", "neutral"), ("fan", "smoothed")],
)
def test_the_rule_outlives_updates(name: str, unseen: str, tmp_path: Path) -> None:
    store, first, second = tmp_path / "models.duckdb", TRAIN.slice(0, 170), TRAIN.slice(170)
    model = sqlbn.fit(first, "y", unseen=unseen, store=store, name="m", **LEARNERS[name])
    with model, sqlbn.fit(second, "y", unseen=unseen, like=model, **LEARNERS[name]) as other:
        other.save(store, "other")
    new = [row for column in ALL for rows in changed(column) for row in rows]
    with sqlbn.load(store, "m") as model:
        assert model.meta["unseen"] == unseen
        before = probabilities(model, new)
    sqlbn.update(store, "m", second)
    with sqlbn.load(store, "m") as model:
        assert model.spec.smoothing.unseen == unseen
        both = probabilities(model, new)
    sqlbn.forget(store, "m", second)
    with sqlbn.load(store, "m") as model:
        after = probabilities(model, new)
    agree(after, before)
    sqlbn.merge(store, "m", "other", "sum", again=True)
    with sqlbn.load(store, "sum") as model:
        agree(probabilities(model, new), both)


@pytest.mark.parametrize(
    ("name", "large"),
    [("nb", False), ("tc", False), ("kdb, parents", True), ("a1de", True), ("fanc", True)],
)
def test_an_interval_without_rows_is_unseen(name: str, large: bool, tmp_path: Path) -> None:
    """When all rows of an interval are forgotten, a value in it is one that no row has."""
    store = tmp_path / "models.duckdb"
    high = sorted(TRAIN["n"].to_pylist())[-len(TRAIN) // 5 :]
    lost = TRAIN.filter(pa.compute.greater_equal(TRAIN["n"], high[0]))
    with as_if_large(6) if large else nullcontext():
        sqlbn.fit(TRAIN, "y", store=store, name="m", bins=5, **LEARNERS[name]).close()
        sqlbn.forget(store, "m", lost)
        with sqlbn.load(store, "m") as model:
            empty, missing = ([with_values(row, n=n) for row in SOME] for n in (high[-1] + 1, None))
            wanted = probabilities(model, missing)
            agree(probabilities(model, empty), wanted)
            scorer = export_cases.Document(json.loads(str(model.export(format="json"))))
            agree(map(scorer.probabilities, empty), wanted, 1e-9)
            if name in ("nb", "kdb, parents"):
                pmml = export_cases.Pmml(str(model.export(format="pmml")))
                agree([pmml.predict(empty[0])[1:]], wanted[:1], 1e-9)


def test_a_model_of_an_earlier_sqlbn_is_smoothed(tmp_path: Path) -> None:
    """Its meta table says nothing of unseen values; it was fitted by the papers' rule."""
    store = tmp_path / "models.duckdb"
    asked = {"learner": "fanc", "missing": "ignore", "unseen": "smoothed"}
    with sqlbn.fit(TRAIN, "y", store=store, name="m", **asked) as model:
        wanted = probabilities(model, changed("a")[0])
    with duckdb.connect(store) as con:
        con.execute("DELETE FROM m.meta WHERE key = 'unseen'")
        con.execute("UPDATE m.meta SET value = '3' WHERE key = 'format'")
    with sqlbn.load(store, "m") as model:
        assert model.spec.smoothing.unseen == "smoothed"
        assert probabilities(model, changed("a")[0]) == wanted
    sqlbn.update(store, "m", TRAIN)
    with sqlbn.load(store, "m") as model:
        assert model.spec.smoothing.unseen == "smoothed"


def test_a_fit_like_another_model_has_its_rule() -> None:
    with sqlbn.fit(TRAIN, "y", "nb", unseen="smoothed") as model:
        for same in (False, True):
            with sqlbn.fit(TRAIN, "y", like=model, same_structure=same) as other:
                assert other.meta["unseen"] == "smoothed"
        with sqlbn.fit(TRAIN, "y", like=model, unseen="neutral") as other:
            assert other.meta["unseen"] == "neutral"


def test_models_of_two_rules_are_not_merged(tmp_path: Path) -> None:
    store = tmp_path / "models.duckdb"
    for rule in ("neutral", "smoothed"):
        sqlbn.fit(TRAIN, "y", "nb", unseen=rule, store=store, name=rule).close()
    with pytest.raises(StoreError, match="unseen values are neutral in one model and smoothed"):
        sqlbn.merge(store, "neutral", "smoothed", "both", again=True)


# ---- the option


def test_the_option_is_checked() -> None:
    with pytest.raises(OptionError, match="unseen='odd': choose neutral or smoothed"):
        sqlbn.fit(TRAIN, "y", "nb", unseen="odd")
    with pytest.raises(OptionError, match="unseen='neutral' is about a class"):
        sqlbn.networks.learn(TRAIN, unseen="neutral")


def test_every_command_that_learns_takes_it(tmp_path: Path, run: Callable[..., Any]) -> None:
    pq.write_table(TRAIN, tmp_path / "t.parquet")
    asked = ("t.parquet", "--target", "y", "--learner", "nb", "--unseen")
    done = run("fit", *asked, "smoothed", "--name", "m")
    assert done.returncode == 0, done.stderr
    assert "unseen smoothed" in run("show", "m").stdout
    done = run("evaluate", *asked, "odd", "--folds", "2")
    assert done.returncode == 1
    assert done.stderr.strip() == "sqlbn: --unseen odd: choose neutral or smoothed"
    for name in ("fit", "evaluate", "curve", "stream", "network learn"):
        assert "unseen" in {option.name for option in made(name).params}, name
