"""The structure pass by decisions: the same structure from fewer rows, and how sure it is."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sqlbn
from sqlbn.api.describe_calls import fit_statements
from sqlbn.cli.main import app
from sqlbn.encoding.encoded import discard, sampled
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.relations import Encoded
from sqlbn.errors import OptionError
from sqlbn.search.blocks import Samples
from sqlbn.search.dependence import FilledCells, Measures

TARGET = "y"
REASONS = {"bound", "tie", "exhausted"}


def chain(rows: int, seed: int = 1, d: int = 6, noise: float = 0.35) -> pa.Table:
    """Attributes that each copy an earlier one or the class, some of the time."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    columns = [y]
    for i in range(d):
        source = columns[rng.integers(0, len(columns))]
        flip = rng.random(rows) < noise * (1 + i / d)
        columns.append(np.where(flip, rng.integers(0, 3, rows), source))
    names = [TARGET, *(f"x{i}" for i in range(d))]
    return pa.table({n: c.astype(str) for n, c in zip(names, columns, strict=True)})


@pytest.fixture(scope="module")
def large() -> pa.Table:
    return chain(30_000)


def structure(data: Any, learner: str, **options: Any) -> tuple[list[Any], list[Any]]:
    with sqlbn.fit(data, TARGET, learner, **options) as model:
        ranks = [(a["attribute"], a["rank"]) for a in model.attributes.to_pylist()]
        parents = [(p["attribute"], p["parent"]) for p in model.parents.to_pylist()]
        return ranks, parents


# ---- what rows tell


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cards=st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
    rows=st.integers(1, 60),
)
def test_mean_and_deviation_from_counts_are_those_of_the_rows(
    seed: int, cards: tuple[int, int, int], rows: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, c, rows) for c in cards]
    with Session() as engine:
        view = engine.register(pa.table(dict(zip(["x0", "x1", "y"], codes, strict=True))))
        engine.execute(f"CREATE TABLE codes AS FROM {view}")
        encoded = Encoded("codes", cards, rows, weighted=False)
        measures = Measures(engine, encoded, Samples(engine, encoded, block=100))
        measures.need(0, [(0, 1, 2), (1, 2)])
        found = measures.estimates(0, [(0, 1, 2), (1, 2)])
    x, z, y = (c.tolist() for c in codes)
    for at, (one, two, given_) in enumerate([(x, z, y), (z, y, [0] * rows)]):
        values = row_values(one, two, given_)
        assert found.means[at] == pytest.approx(max(0.0, np.mean(values)), abs=1e-9)
        unseen = math.log(rows) ** 2 / rows if rows > 1 else 1.0
        assert found.deviations[at] ** 2 == pytest.approx(np.var(values) + unseen, abs=1e-9)
        assert found.ranges is not None
        assert found.ranges[at] >= max(values) - min(values)
        assert found.slack[at] >= 0


def row_values(one: list[int], two: list[int], given_: list[int]) -> list[float]:
    """ln p(one, two | given) / (p(one | given) p(two | given)) of every row, counted by hand."""
    joint, g = Counter(zip(one, two, given_, strict=True)), Counter(given_)
    first, second = Counter(zip(one, given_, strict=True)), Counter(zip(two, given_, strict=True))
    return [
        math.log(joint[a, b, c] * g[c] / (first[a, c] * second[b, c]))
        for a, b, c in zip(one, two, given_, strict=True)
    ]


def test_a_family_too_large_for_an_array_is_told_of_alike() -> None:
    rng = np.random.default_rng(3)
    codes = {"x0": rng.integers(0, 60, 900), "x1": rng.integers(0, 50, 900)}
    codes["y"] = (codes["x0"] + rng.integers(0, 3, 900)) % 5
    counts = np.zeros((60, 50, 5), int)
    np.add.at(counts, tuple(codes.values()), 1)
    wanted = [(0, 1, 2), (0, 2), (1, 2)]
    with Session() as engine:
        engine.execute(f"CREATE TABLE codes AS FROM {engine.register(pa.table(codes))}")
        encoded = Encoded("codes", counts.shape, 900, weighted=False)
        measures = Measures(engine, encoded, Samples(engine, encoded, block=1000))
        measures.need(0, wanted)
        found = measures.estimates(0, wanted)
        # How such a family goes together with others is not known: the worst is assumed.
        assert found.correlation(0, np.array([1, 2])).tolist() == [-1.0, -1.0]
        assert (
            found.correlation(1, np.array([0, 2]))[0] == -1.0 < found.correlation(1, np.array([2]))
        )
    expected = FilledCells.of_array(counts)[0].measured(float(found.observed[0]))
    assert found.ranges is not None
    assert (found.deviations[0], found.ranges[0], found.slack[0]) == pytest.approx(
        (expected.deviation, expected.spread, expected.bias)
    )


def test_samples_double_and_hold_each_other() -> None:
    with Session() as engine:
        engine.execute("CREATE TABLE codes AS SELECT range AS x0, 0 AS y FROM range(5000)")
        encoded = Encoded("codes", (5000, 1), 5000, weighted=False)
        samples = Samples(engine, encoded, block=10)
        sets = []
        for level in range(10):
            rows = samples.at(level)
            found = {r[0] for r in engine.rows(f"SELECT x0 FROM {rows.relation}")}
            assert len(found) == rows.rows == min(10 << level, 5000)
            drawn = sampled(engine, encoded, 10 << level)
            assert found == {r[0] for r in engine.rows(f"SELECT x0 FROM {drawn.relation}")}
            if drawn is not encoded:
                discard(engine, drawn)
            sets.append(found)
        assert all(a <= b for a, b in pairwise(sets))
        assert samples.is_all(9)
        assert not samples.is_all(8)
        # Not the first rows, nor evenly spread.
        assert 1000 < np.mean(list(sets[4])) < 4000
        samples.discard()
        assert engine.rows("SELECT count(*) FROM duckdb_tables()") == [(1,)]


# ---- the structure


@pytest.mark.parametrize(
    ("learner", "options"), [("kdb", {"k": 2}), ("skdb", {"kmax": 3}), ("tan", {})]
)
@pytest.mark.parametrize("bound", ["normal", "hoeffding"])
def test_when_rows_run_out_the_structure_is_that_of_all_rows(
    learner: str, options: dict[str, Any], bound: str
) -> None:
    data = chain(1500, seed=5, d=5)
    rule = {"bound": bound, "tau": 1e-9, "block": 200, "delta": 1e-12}
    assert structure(data, learner, **options, **rule) == structure(data, learner, **options)


def test_equal_columns_tie_as_they_do_without_a_bound() -> None:
    data = chain(400, seed=2, d=3)
    for name in ("x0", "x2"):
        data = data.append_column(f"{name}_again", data.column(name))
    for learner in ("kdb", "tan"):
        bounded = structure(data, learner, bound="normal", block=1000)
        assert bounded == structure(data, learner)


def test_few_rows_are_enough_where_links_are_strong(large: pa.Table) -> None:
    full = structure(large, "kdb", k=1)
    options: dict[str, Any] = {"k": 1, "bound": "normal", "delta": 1e-4, "tau": 0.02, "block": 500}
    with sqlbn.fit(large, TARGET, "kdb", **options) as model:
        found = [(p["attribute"], p["parent"]) for p in model.parents.to_pylist()]
        assert found == full[1]
        decisions, meta = model.decisions.to_pylist(), model.meta
        names = {a["attribute"] for a in model.attributes.to_pylist()}
    assert meta["structure_rows"] == max(d["rows"] for d in decisions) < 30_000
    assert meta["delta_star"] == pytest.approx(sum(d["delta"] for d in decisions))
    assert meta["bound"] == {
        "bound": "normal", "delta": 1e-4, "delta_star": None, "tau": 0.02, "block": 500
    }  # fmt: skip
    assert [d["step"] for d in decisions] == list(range(1, len(decisions) + 1))
    for d in decisions:
        assert {d["variable"], d["parent"]} <= names
        assert d["reason"] in REASONS
        assert d["delta"] == pytest.approx(1e-4 * d["checks"] * (d["candidates"] - 1))
        # Samples double; some that would be too small are passed over.
        assert math.log2(d["rows"] / 500) == int(math.log2(d["rows"] / 500)) >= d["checks"] - 1
        assert d["rows_read"] >= d["rows"]
        assert (d["margin"] > d["bound"]) == (d["reason"] == "bound")


@pytest.mark.parametrize("learner", ["kdb", "tan"])
def test_threads_do_not_change_decisions(large: pa.Table, learner: str) -> None:
    found = []
    for threads in (1, 2):
        with sqlbn.fit(
            large, TARGET, learner, bound="normal", block=300, tau=0.03, threads=threads
        ) as model:
            found.append((model.decisions.to_pylist(), model.cmi.to_pylist()))
    assert found[0] == found[1]


def test_the_delta_of_all_decisions_can_be_given(large: pa.Table) -> None:
    with sqlbn.fit(
        large, TARGET, "skdb", kmax=2, bound="normal", delta_star=0.01, tau=0.02, block=300
    ) as model:
        assert 0 < model.meta["delta_star"] <= 0.01


def test_nothing_is_decided_where_there_is_no_choice() -> None:
    for d in (1, 2):
        with sqlbn.fit(chain(300, d=d), TARGET, "kdb", k=2, bound="normal") as model:
            assert model.decisions.num_rows == 0
            assert (model.meta["delta_star"], model.meta["structure_rows"]) == (0, 0)
            assert model.parents.num_rows == d - 1
    with sqlbn.fit(chain(300), TARGET, "kdb", k=2) as model:
        assert model.decisions is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": "gauss"}, "bound='gauss': choose normal or hoeffding"),
        ({"bound": "normal", "learner": "nb"}, "bound does nothing for the learner nb"),
        ({"bound": "normal", "learner": "fan"}, "bound does nothing for the learner fan"),
        ({"bound": "normal", "k": 0, "learner": "kdb"}, "bound does nothing"),
        ({"bound": "normal", "structure_sample": 9}, "leave structure_sample out"),
        ({"bound": "normal", "weight": "x0"}, "leave weight out"),
        ({"bound": "normal", "delta": 0.1, "delta_star": 0.1}, "give one of them"),
        ({"bound": "normal", "delta": 0.0}, "delta=0.0: give a probability"),
        ({"bound": "normal", "delta_star": 1.0}, "delta_star=1.0: give a probability"),
        ({"bound": "normal", "tau": 0.0}, "tau=0.0: give a number above 0"),
        ({"bound": "normal", "tau": math.nan}, "tau=nan: give a number above 0"),
        ({"bound": "normal", "block": 0}, "block=0: give at least 1 row"),
        ({"tau": 0.1}, "tau requires bound"),
        ({"delta_star": 0.1}, "delta_star requires bound"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sqlbn.fit(chain(50), TARGET, **options)


def test_codes_in_a_scratch_file_give_the_same(large: pa.Table) -> None:
    options: dict[str, Any] = {"k": 1, "bound": "normal", "tau": 0.02, "block": 300}
    found = []
    for share in (0.4, 0.0):
        limits = Limits(persist_share=share)
        with sqlbn.fit(large, TARGET, "kdb", limits=limits, **options) as model:
            found.append(model.decisions.to_pylist())
    assert found[0] == found[1]


# ---- the ranking of attributes


@pytest.fixture(scope="module")
def large_file(large: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rank") / "large.parquet"
    # Sorted by class, as a lake may be.
    pq.write_table(large.sort_by(TARGET), path)
    return str(path)


def ranked_by_fit(data: Any) -> list[str]:
    with sqlbn.fit(data, TARGET, "nb") as model:
        rows = sorted(model.attributes.to_pylist(), key=lambda a: a["rank"])
        return [a["attribute"] for a in rows]


def test_without_a_bound_the_ranking_is_that_of_a_fit(large_file: str) -> None:
    order = ranked_by_fit(large_file)
    for top in (1, 4, 6, 9):
        found = sqlbn.rank(large_file, TARGET, top)
        assert [a.attribute for a in found.attributes] == order[:top]
        assert [a.rank for a in found.attributes] == list(range(1, len(order[:top]) + 1))
        assert (found.rows, found.rows_read, found.total_rows) == (30_000, 30_000, 30_000)
        assert (found.reason, found.delta, found.error) == ("exhausted", None, None)
        assert (found.margin is None) == (top >= 6)


@pytest.mark.parametrize("block", [100, 2000])
def test_with_a_bound_few_rows_choose_the_same(large_file: str, block: int) -> None:
    """Blocks of 100 are few enough that only some rows are taken out of the file."""
    order = ranked_by_fit(large_file)
    found = sqlbn.rank(large_file, TARGET, 2, bound="normal", delta=1e-4, block=block, tau=1e-4)
    assert {a.attribute for a in found.attributes} == set(order[:2])
    assert found.reason == "bound"
    assert found.rows < 30_000
    assert found.margin is not None
    assert found.error is not None
    assert found.margin > found.error
    assert found.delta == pytest.approx(1e-4 * found.checks * 2 * 4)
    assert found.rows <= found.rows_read < 2 * found.rows


def test_where_a_sample_is_not_sure_all_rows_are_read(large_file: str) -> None:
    found = sqlbn.rank(
        large_file, TARGET, 3, bound="hoeffding", delta_star=1e-6, block=20, tau=1e-9
    )
    assert [a.attribute for a in found.attributes] == ranked_by_fit(large_file)[:3]
    assert (found.reason, found.rows) == ("exhausted", 30_000)
    assert found.rows_read > 30_000
    assert found.delta is not None
    assert 0 < found.delta <= 1e-6


def say(*words: object) -> str:
    """What the program prints, without starting one."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_rank_as_a_command(large_file: str) -> None:
    words = ("rank", large_file, "--target", TARGET, "--top", 2, "--bound", "normal", "-q")
    text = say(*words, "--block", 500)
    found = json.loads(say(*words, "--block", 500, "--json"))
    same = sqlbn.rank(large_file, TARGET, 2, bound="normal", block=500)
    assert found == json.loads(json.dumps(same.to_dict()))
    assert all(a["attribute"] in text for a in found["attributes"])
    assert f"{found['rows']:,} of 30,000 rows" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top=0: give at least 1"),
        ({"weight": "x0"}, "weight is not for rank"),
        ({"learner": "nb"}, "learner is not for rank"),
        ({"discretise": "auto"}, "discretise='auto' needs a learner"),
        ({"delta": 0.1}, "delta requires bound"),
    ],
)
def test_options_that_rank_does_not_take(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sqlbn.rank(chain(50), TARGET, **options)


def test_the_statements_of_decisions_are_not_known_beforehand() -> None:
    with pytest.raises(OptionError, match="bound decides what to count"):
        fit_statements(chain(50), TARGET, "kdb", bound="normal")


# ---- stored models


def test_a_stored_model_tells_of_its_decisions_and_outlives_an_update(
    tmp_path: Path, large: pa.Table
) -> None:
    store = tmp_path / "m.duckdb"
    with sqlbn.fit(
        large, TARGET, "kdb", k=1, bound="normal", tau=0.02, block=500, store=store, name="m"
    ) as model:
        decisions, parents = model.decisions.to_pylist(), model.parents.to_pylist()
        meta = model.meta
    change = sqlbn.update(store, "m", chain(2000, seed=9))
    assert any("the structure stays as it is" in note for note in change.notes)
    with sqlbn.load(store, "m") as model:
        assert model.decisions.to_pylist() == decisions
        assert [(p["attribute"], p["parent"]) for p in model.parents.to_pylist()] == [
            (p["attribute"], p["parent"]) for p in parents
        ]
        assert model.meta["delta_star"] == meta["delta_star"]
        assert model.meta["rows"] == 32_000
    shown = say("show", "m", "--store", store)
    assert "rows by the normal bound" in shown
    listed = say("show", "m", "--store", store, "--decisions")
    assert all(d["variable"] in listed for d in decisions)
