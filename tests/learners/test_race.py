"""The race of nested models in pass 3: it changes what is evaluated, never what is chosen."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loo_cases import REPORTED, forced
from random_tables import TARGET, WEIGHT, examples

import sqlbn
from sqlbn.api import results
from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError
from sqlbn.search.race import ModelRace, RaceRule

# Limits by which a few thousand rows race, by queries.
FEW: dict[str, Any] = {"race_rows": 600, "race_least_parts": 2, "loo_few_estimates": 0}
FEW |= {"race_dearer": 0.1, "race_cell": 0}


def random_table(seed: int, rows: int = 3000) -> pa.Table:
    """Attributes near the class, of noise, of pairs that tell it together, copies, constants."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    y = rng.choice(n_classes, rows, p=rng.dirichlet(np.full(n_classes, 3.0)))
    columns: dict[str, Any] = {}
    for i in range(int(rng.integers(2, 7))):
        how = rng.choice(("near", "noise", "copy", "constant", "both"))
        size = int(rng.integers(2, 6))
        x = rng.integers(0, size, rows)
        if how == "near":
            x = np.where(rng.random(rows) < rng.uniform(0.1, 0.9), y, x)
        elif how == "copy" and columns:
            x = columns[str(rng.choice(list(columns)))]
        elif how == "constant":
            x = np.zeros(rows, int)
        elif how == "both" and columns:
            other = columns[str(rng.choice(list(columns)))]
            x = np.where(rng.random(rows) < 0.8, (y + other) % size, x)
        columns[f"x{i}"] = x
    found = {}
    for name, values in columns.items():
        lacking = rng.random(rows) < rng.choice((0.0, 0.0, 0.2))
        found[name] = pa.array([f"v{v}" for v in values], mask=lacking)
    weights = rng.integers(0, 4, rows)
    return pa.table({**found, WEIGHT: weights, TARGET: [f"c{v}" for v in y]})


def fitted(table: pa.Table, race: str, **options: Any) -> tuple[Any, Any, list[dict[str, Any]]]:
    """What was chosen, what meta says of the race, and the table of losses."""
    used = [n for n in table.column_names if n not in (TARGET, WEIGHT)]
    if options.get("weight") is None:
        table = table.drop_columns([WEIGHT])
    asked = {"kmax": 3, "keep": used, **options}
    with sqlbn.fit(table, TARGET, "skdb", race=race, **asked) as model:
        meta = model.meta
        return (
            (meta["selected_k"], meta["selected_attributes"]),
            meta.get("race"),
            model.loocv.to_pylist(),
        )


def compare(table: pa.Table, **options: Any) -> dict[str, Any] | None:
    """With the race and without: the same choice, and the same losses of those that are left."""
    chosen, no_race, exact = fitted(table, "off", **options)
    raced, race, losses = fitted(table, "on", **options)
    assert no_race is None
    assert raced == chosen
    population = max(row["rows"] for row in exact)
    assert {row["rows"] for row in exact} == {population}
    by_cell = {(r["loss"], r["k"], r["n_attributes"]): r for r in exact}
    assert len(losses) == len(exact)
    for row in losses:
        wanted = by_cell[row["loss"], row["k"], row["n_attributes"]]
        if row["rows"] == population:
            assert row["value"] == pytest.approx(wanted["value"], rel=0, abs=1e-12)
        else:
            assert race is not None
            assert 0 < row["rows"] <= 2 * sum(race["parts"])
            # Of a part of the rows: near it, but for chance.
            assert row["value"] == pytest.approx(wanted["value"], rel=0.4, abs=0.05)
    loss = options.get("loss", "rmse")
    assert {row["loss"] for row in losses} == REPORTED[loss]
    of_chosen = next(r for r in losses if (r["loss"], r["k"], r["n_attributes"]) == (loss, *chosen))
    assert of_chosen["rows"] == population
    if race is not None:
        beaten = sum(row["rows"] < population for row in losses if row["loss"] == loss)
        assert race["models"] - race["left"] <= beaten or options.get("select") == "k"
        tied = [
            r
            for r in losses
            if r["loss"] == loss
            and abs(by_cell[loss, r["k"], r["n_attributes"]]["value"] - of_chosen["value"]) < 1e-13
        ]
        if options.get("select") != "k":
            assert {row["rows"] for row in tied} == {population}
    return race


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sparse": {"loo_dense_values": 0},
    "state after two joins": {"joins_at_once": 2},
    "kept after two joins": {"joins_at_once": 2, "joins_once": True},
    "state after little change": {"loo_first_bound": 1.0, "loo_bound": 0.5},
    "counts in the engine": {"array_cells": 10},
}


@examples(60, 20)
@given(
    st.integers(0, 2**32),
    st.sampled_from(("rmse", "rmse", "zero_one", "log_loss", "brier")),
    st.sampled_from(("both", "both", "attributes", "k")),
    st.sampled_from(("backoff", "hierarchical")),
    st.sampled_from((None, "frequency", "importance")),
    st.sampled_from(sorted(WAYS)),
)
def test_the_choice_is_the_same(
    seed: int, loss: str, select: str, smoothing: str, weighting: str | None, way: str
) -> None:
    options = {"loss": loss, "select": select, "smoothing": smoothing}
    if weighting is not None:
        options |= {"weight": WEIGHT, "weight_kind": weighting}
    with ExitStack() as stack:
        stack.enter_context(forced(**FEW, **WAYS[way]))
        compare(random_table(seed), **options)


@pytest.fixture(scope="module")
def clear() -> pa.Table:
    """Every attribute adds to what the others say, as naive Bayes has it."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 6000)
    near = {
        f"near {i}": np.where(rng.random(6000) < 0.55, y, rng.integers(0, 2, 6000)).astype(str)
        for i in range(8)
    }
    return pa.table({**near, WEIGHT: np.ones(6000, int), TARGET: y.astype(str)})


@pytest.mark.parametrize("loss", ["rmse", "zero_one", "brier"])
def test_most_models_are_out(clear: pa.Table, loss: str) -> None:
    with forced(**FEW):
        race = compare(clear, loss=loss)
    assert race is not None
    assert race["left"] < race["models"] / 2


def test_whole_numbers_of_parents_are_out() -> None:
    """Counts of single rows: many parents are far worse, and need no query over all rows."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 8000)
    data = {f"x{i}": (rng.integers(0, 12, 8000) + 3 * y * (i == 0)) for i in range(5)}
    table = pa.table({**{n: v.astype(str) for n, v in data.items()}, WEIGHT: y, TARGET: y})
    with forced(**FEW):
        race = compare(table, loss="rmse", select="k")
    assert race is not None
    assert race["rows_saved"] > 8000


def test_copies_and_constants_tie(clear: pa.Table) -> None:
    """What ties with the best is evaluated on all rows, and the smallest model is chosen."""
    constant = pa.array(["one"] * clear.num_rows)
    table = clear.append_column("c1", constant).append_column("c2", constant)
    with forced(**FEW):
        compare(table.select(["near 0", "c1", "c2", WEIGHT, TARGET]))
        compare(table.select(["c1", "c2", WEIGHT, TARGET]))


def test_threads_do_not_change_a_race(clear: pa.Table) -> None:
    with forced(**FEW):
        one, two = (fitted(clear, "on", threads=threads) for threads in (1, 2))
    assert one[:2] == two[:2]
    assert [row["rows"] for row in one[2]] == [row["rows"] for row in two[2]]
    for a, b in zip(one[2], two[2], strict=True):
        assert a["value"] == pytest.approx(b["value"], rel=0, abs=1e-12)


def test_a_sample_races_too(clear: pa.Table) -> None:
    with forced(**FEW):
        race = compare(clear, loocv_sample=4000)
        _, _, losses = fitted(clear, "on", loocv_sample=4000)
    assert race is not None
    assert max(row["rows"] for row in losses) == 4000


def test_a_difference_that_nobody_cares_about_is_settled(clear: pa.Table) -> None:
    """All models are within tau: a bound below that is enough."""
    with forced(**FEW):
        _, race, losses = fitted(clear, "on", tau=0.9)
        _, plain, _ = fitted(clear, "on")
    assert race["left"] == 1
    assert plain["left"] > 1
    assert sum(row["rows"] == 6000 for row in losses) >= 1


def test_members_of_an_ensemble_race(clear: pa.Table) -> None:
    limits = Limits(**FEW)
    with sqlbn.fit(clear, TARGET, "eskdb", members=2, kmax=2, limits=limits) as model:
        table = model._workspace.table("member_loocv")
        rows = model._session.rows(f"SELECT rows, count(*) FROM {table} GROUP BY ALL")
        assert model.meta["race"]["models"] > model.meta["race"]["left"]
    assert len(rows) > 1
    assert max(rows)[0] == 6000


# ---- what is said


def test_a_race_is_told(clear: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    limits = Limits(**FEW)
    sqlbn.fit(clear, TARGET, "skdb", kmax=2, limits=limits, quiet=False).close()
    said = capsys.readouterr().err
    assert "pass 3: race of nested models" in said
    assert "· race: " in said
    assert "of 6,000 rows leave " in said


def test_who_is_out_is_marked(clear: pa.Table, tmp_path: Path, run: Any) -> None:
    """In what `show` prints, and the numbers of rows are in its JSON."""
    store, limits = tmp_path / "m.duckdb", Limits(**FEW)
    sqlbn.fit(clear, TARGET, "skdb", kmax=2, limits=limits, store=store, name="m").close()
    shown = run("show", "m", "--store", store, "--loocv").stdout
    assert " ~" in shown
    assert shown.rstrip().endswith("~ out in the race, by a part of the rows; the others by all")
    listed = json.loads(run("show", "m", "--store", store, "--loocv", "--json").stdout)
    rows = {row["rows"] for row in listed}
    assert max(rows) == 6000
    assert len(rows) > 1


def test_a_dry_run_says_that_they_will_race(clear: pa.Table, tmp_path: Path, run: Any) -> None:
    path = tmp_path / "clear.parquet"
    pq.write_table(clear, path)
    for options, end in (((), ", in a race"), (("--race", "off"), "by leave-one-out")):
        line = ("fit", path, "-t", TARGET, "--learner", "skdb", "--dry-run", *options)
        said = run(*line)
        told = [t for t in (said.stdout + said.stderr).splitlines() if "attributes and par" in t]
        assert told[0].endswith(end)
        assert "leave-one-out: in arrays, about 0." in said.stdout


def test_a_dry_run_says_the_form_that_is_asked_for(clear: pa.Table) -> None:
    for form, words in (("wide", "a join for every"), ("long", "rows times attributes")):
        lines = results.plan(TARGET, "skdb", data=clear, limits=Limits(loo_form=form))
        assert [line for line in lines if "leave-one-out: " in line and words in line]
    for learner in ("nb", "ande"):
        assert not [x for x in results.plan(TARGET, learner, data=clear) if "leave-one-out:" in x]


def test_what_cannot_race_says_so(clear: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    limits = Limits(**FEW)
    with sqlbn.fit(clear, TARGET, "skdb", kmax=1, loss="mcc", limits=limits, quiet=False) as model:
        assert "race" not in model.meta
        assert set(model.loocv["rows"].to_pylist()) == {6000}
    assert "no race: mcc is no mean of rows" in capsys.readouterr().err


def test_few_rows_do_not_race(clear: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    for limits in (Limits(loo_few_estimates=0), Limits(race_rows=6001, loo_few_estimates=0)):
        with sqlbn.fit(clear, TARGET, "skdb", kmax=1, limits=limits, quiet=False) as model:
            assert "race" not in model.meta
    assert "race" not in capsys.readouterr().err


def test_a_tau_that_changes_nothing_says_so(
    clear: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for estimates, said in ((0, "no race of fewer than 65,536 rows"), (10**9, "no race in arrays")):
        limits = Limits(loo_few_estimates=estimates)
        sqlbn.fit(clear, TARGET, "skdb", kmax=1, tau=0.1, limits=limits, quiet=False).close()
        assert f"{said}: tau changes nothing" in capsys.readouterr().err


def test_a_bound_that_never_decides(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing tells anything: one part is looked at, and no more."""
    rng = np.random.default_rng(2)
    table = pa.table(
        {f"x{i}": rng.integers(0, 2, 4000).astype(str) for i in range(3)}
        | {WEIGHT: np.ones(4000, int), TARGET: rng.integers(0, 2, 4000).astype(str)}
    )
    with forced(**FEW):
        race = compare(table, kmax=2)
    assert race is not None
    assert race["left"] == race["models"]
    assert len(race["parts"]) == 1
    assert race["rows_saved"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "nb", "race": "on"}, "race does nothing for the learner nb"),
        ({"learner": "ande", "race": "off"}, "race does nothing for the learner ande"),
        ({"learner": "skdb", "race": "maybe"}, "race='maybe': choose on or off"),
        ({"learner": "skdb", "race": "off", "tau": 0.1}, "tau requires bound"),
        ({"learner": "nb", "tau": 0.1}, "tau requires bound"),
        ({"learner": "skdb", "tau": -0.1}, "tau=-0.1: give a number above 0"),
    ],
)
def test_options_that_cannot_be(clear: pa.Table, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        sqlbn.fit(clear, TARGET, **options)
    assert message in str(caught.value)


# ---- decisions


def test_an_exact_tie_is_never_out() -> None:
    losses = np.random.default_rng(1).random(100_000)
    race = ModelRace(3, 10**6, RaceRule(), looks=1)
    race.look(np.stack([losses, losses, losses + 1e-14]), worst=1.0)
    assert race.alive.tolist() == [0, 1, 2]


def test_what_rests_on_rare_rows_is_not_out() -> None:
    """The second is a little worse on every row that was seen, and right where the first fails."""
    first, rare = np.full(16_384, 0.1), np.full(16_384, 0.101)
    race = ModelRace(2, 10**6, RaceRule(), looks=1)
    race.look(np.stack([first, rare]), worst=1.0)
    assert race.alive.tolist() == [0, 1]


def test_all_rows_settle_it() -> None:
    losses = np.stack([np.full(1000, 0.1), np.full(1000, 0.1001)])
    race = ModelRace(2, 1000, RaceRule(), looks=1)
    race.look(losses, worst=1.0)
    assert race.alive.tolist() == [0]


def test_the_best_is_not_out_by_chance() -> None:
    """By far the most looks at candidates of nearly the same loss leave the best."""
    rng, n = np.random.default_rng(3), 20_000
    for _ in range(200):
        hard = rng.beta(0.3, 1.0, n)
        shifts = rng.normal(0, 0.003, (20, 1))
        losses = np.clip(hard + shifts + rng.normal(0, 0.1, (20, n)), 0, 1)
        best = int(np.argmin(losses.mean(axis=1)))
        race = ModelRace(20, n, RaceRule(), looks=3)
        order = rng.permutation(n)
        for start, stop in ((0, 1000), (1000, 3000), (3000, 7000)):
            race.look(losses[race.alive][:, order[start:stop]], worst=1.0)
        assert best in race.alive


def test_a_tie_within_tau_is_settled() -> None:
    """By the bound, not by what was seen: tau is of means, or of their roots."""
    rng = np.random.default_rng(6)
    losses = np.clip(0.25 + rng.normal(0, 0.05, (3, 50_000)), 0, 1)
    for tau, is_root, left in ((0.01, False, 1), (0.01, True, 1), (0.0, True, 3), (1e-5, True, 3)):
        race = ModelRace(3, 10**6, RaceRule(tau), looks=1)
        race.look(losses, 1.0, is_root)
        assert len(race.alive) == left


def test_what_would_be_left_is_what_is_left() -> None:
    rng = np.random.default_rng(4)
    losses = np.clip(np.linspace(0.1, 0.3, 30)[:, None] + rng.normal(0, 0.2, (30, 64_000)), 0, 1)
    race = ModelRace(30, 10**6, RaceRule(), looks=3)
    race.look(losses[:, :16_000], worst=1.0)
    expected = race.alive[race.would_leave(64_000)]
    race.look(losses[race.alive][:, 16_000:], worst=1.0)
    assert abs(len(expected) - len(race.alive)) <= 2
