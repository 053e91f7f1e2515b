"""AUC and area over the precision-recall curve: pairs of rows, ties, weights, what has none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import reference
from conftest import Run
from hypothesis import assume, given
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
    cases,
    examples,
    learn,
    refer,
    rounds_the_same,
    same_rankings,
)
from reference_ranking import auc, average_precision, rankings

import sqlbn
from sqlbn.engines import Session
from sqlbn.engines.sql import NAMES
from sqlbn.evaluation.metrics import (
    LOSSES,
    RANKINGS,
    Evaluation,
    RankingSums,
    kept,
    odds_sql,
    pooled,
    rank,
    rankable_sql,
    ranking_sql,
)


def ranked(rows: Sequence[tuple[int, Sequence[float], float]], unit: int = 4) -> RankingSums:
    """The figures of rows with a true class, log scores and a weight in quarters."""
    n = len(rows[0][1])
    names = [NAMES.y, NAMES.w, *(f"{NAMES.score}{j}" for j in range(n))]
    columns = zip(*((y, w, *scores) for y, scores, w in rows), strict=True)
    with Session() as engine:
        table = engine.register(pa.table([list(c) for c in columns], names=names))
        with kept(engine, rankable_sql(n, f"FROM {table}")) as relation:
            return rank(engine, relation, n, sum(w for _, _, w in rows), unit)


def toy(classes: Sequence[str], **columns: Sequence[Any]) -> pa.Table:
    return pa.table({**columns, "y": classes})


# -- against every pair of rows ------------------------------------------------------------------


@examples(60, 25)
@given(cases())
def test_rankings_of_training_rows_are_those_of_all_pairs(case: Case) -> None:
    """Training rows have more ties than new ones: copied attributes, equal rows."""
    ref = refer(case)
    assume(rounds_the_same(ref))
    known = [r for r in case.train if r[TARGET] is not None and r.get(WEIGHT, 1) > 0]
    with learn(case) as model:
        found = model.evaluate(case.train_table, weight=case.options.get("weight"))
    same_rankings(found, ref, known)


def test_the_pairs_themselves() -> None:
    """By hand: of six pairs two in order, one tied; precisions 1, 2/4 (a tie), 3/5."""
    half, one = Fraction(1, 2), Fraction(1)
    scores = ((True, 9), (False, 8), (True, 5), (False, 5), (True, 3))
    rows = [(own, Fraction(p, 10), one) for own, p in scores]
    assert auc(rows) == (1 + 1 + half) / 6
    assert average_precision(rows) == (1 + half + Fraction(3, 5)) / 3
    judged = [(int(own), (1 - p, p), 1.0) for own, p, _ in rows]
    found = ranked([(y, [math.log(q) for q in p], w) for y, p, w in judged])
    wanted = rankings(judged, 2)
    assert (found.auc, found.aoprc) == pytest.approx((wanted["auc"], wanted["aoprc"]), rel=1e-15)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_weights_are_that_many_rows(n: int) -> None:
    rows = [
        (i % n, [-0.3 * ((i * (j + 3)) % 7) for j in range(n)], i % 4 / 4) for i in range(1, 40)
    ]
    repeated = [(y, s, 0.25) for y, s, w in rows for _ in range(round(4 * w))]
    one, other = ranked([r for r in rows if r[2]]), ranked(repeated)
    assert (one.auc, one.aoprc) == (other.auc, other.aoprc)


# -- ties and the ends of the scale --------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-15, 3e-11])
def test_equal_scores_but_for_noise_are_a_tie(noise: float) -> None:
    rows = [(i % 2, [-1.0, -1.0 + noise * (i % 3)], 1.0) for i in range(10)]
    assert (ranked(rows).auc, ranked(rows).aoprc) == (0.5, 0.5)


@pytest.mark.parametrize("pieces", [1, 16, 2**34])
def test_pieces_give_the_same_sums(pieces: int) -> None:
    """Also of ties that chain through pieces, and of pieces without rows of the class."""
    draw = random.Random(5)
    rows = [
        (
            draw.randrange(3),
            draw.choice((0.0, 0.1, 7.0)) + draw.randrange(40) * 4e-11,
            draw.random(),
        )
        for _ in range(300)
    ]
    names = [NAMES.y, NAMES.w, f"{NAMES.score}0", f"{NAMES.score}1"]
    columns = [[y for y, _, _ in rows], [round(w * 4) / 4 for _, _, w in rows]]
    columns += [[0.0] * len(rows), [score for _, score, _ in rows]]
    with Session() as engine:
        table = engine.register(pa.table(columns, names=names))
        odds = [odds_sql(2, code, table, 4) for code in range(2)]
        wanted = [(code, *engine.row(ranking_sql(f"({odds[code]})"))) for code in range(2)]
        assert engine.rows(ranking_sql(f"({' UNION ALL '.join(odds)})", pieces)) == wanted


def test_without_information_it_is_chance() -> None:
    rows = toy(["a"] * 3 + ["b"], x=[1] * 4)
    with pytest.warns(sqlbn.SqlbnWarning), sqlbn.fit(rows, "y", "nb") as model:
        losses = model.evaluate(rows).losses
    assert (losses["auc"], losses["aoprc"]) == (0.5, 0.75)


@pytest.mark.parametrize("far", [30.0, 700.0, 5000.0])
def test_rows_that_are_all_but_certain_still_have_an_order(far: float) -> None:
    """P(class) of both is 1 to the last bit, or 0: the odds differ."""
    three = [
        (0, [0.0, -far - 1, -far - 2], 1.0),
        (1, [0.0, -far, -far - 2], 1.0),
        (2, [-far, -far - 1, 0.0], 1.0),
    ]
    found = ranked(three)
    # Class 1 is above both others, 0 and 2 are the best of theirs.
    assert (found.auc, found.aoprc) == (1.0, 0.0)
    two = [(1, [-far - 1, 0.0], 1.0), (0, [-far, 0.0], 1.0)]
    assert ranked(two).auc == 1.0


def test_two_best_classes_at_once() -> None:
    """Rows whose best classes tie, ordered the same whichever of them is called the best."""
    rows = [
        (0, [-1.0, -1.0, -2.0], 1.0),
        (1, [-1.0, -1.0, -3.0], 1.0),
        (2, [-1.0, -1.0, -1.0], 1.0),
    ]
    judged = [
        (y, [Fraction(math.exp(s)) / sum(Fraction(math.exp(t)) for t in scores) for s in scores], w)
        for y, scores, w in rows
    ]
    found, wanted = ranked(rows), rankings(judged, 3)
    assert (found.auc, found.aoprc) == pytest.approx((wanted["auc"], wanted["aoprc"]), rel=1e-12)


# -- what has no figure --------------------------------------------------------------------------


def test_one_class_has_no_ranking() -> None:
    rows = toy(["a", "a", "a"], x=["u", "v", "u"])
    with sqlbn.fit(rows, "y", "nb") as model:
        found = model.evaluate(rows)
    assert math.isnan(found.losses["auc"])
    assert math.isnan(found.losses["aoprc"])
    assert found.to_dict()["auc"] is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_class_without_test_rows_is_left_out_of_the_mean(fruit: pa.Table) -> None:
    some = fruit.filter(pc.not_equal(fruit["kind"], "plum"))
    with sqlbn.fit(fruit, "kind", "nb") as model:
        found = model.evaluate(some)
        p = model.predict(some).select(["p_apple", "p_pear", "p_plum"]).to_pylist()
        only = model.evaluate(fruit, where="kind = 'plum'").losses
    kinds = some["kind"].to_pylist()
    judged = [
        (("apple", "pear").index(y), [Fraction(v) for v in row.values()], 1.0)
        for y, row in zip(kinds, p, strict=True)
    ]
    wanted = rankings(judged, 3)
    assert {name: found.losses[name] for name in RANKINGS} == pytest.approx(wanted, rel=1e-11)
    assert math.isnan(only["auc"])


def test_pooled_is_the_mean_by_weight_of_parts_that_have_it() -> None:
    parts = [
        Evaluation(
            ("a",), [[weight]], ranking=RankingSums(weight, *figures) if figures else RankingSums()
        )
        for weight, figures in ((30.0, (0.9, 0.2)), (10.0, (0.5, 0.6)), (50.0, None))
    ]
    assert pooled(parts).losses["auc"] == pytest.approx(0.8)
    assert pooled(parts).losses["aoprc"] == pytest.approx(0.3)
    in_turn = pooled([pooled(parts[:2]), parts[2]])
    assert in_turn.losses == pytest.approx(pooled(parts).losses)
    assert math.isnan(pooled(parts[2:]).losses["auc"])
    assert "auc" not in pooled([*parts, Evaluation(("a",), [[1.0]])]).losses


# -- where it is, and where not ------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["nb", "a1de"])
def test_threads_do_not_change_a_bit(adult: str, learner: str, tmp_path: Path) -> None:
    rows = pq.read_table(adult)
    times = pa.array([i * 7919 % 97 / 10 for i in range(rows.num_rows)])
    path = tmp_path / "weighted.parquet"
    pq.write_table(rows.append_column("times", times), path, row_group_size=10_000)
    found = []
    for threads in (1, 2):
        with sqlbn.fit(adult, "class", learner, threads=threads) as model:
            plain = model.evaluate(path).losses
            weighted = model.evaluate(path, weight="times").losses
            found.append([losses[name] for losses in (plain, weighted) for name in RANKINGS])
    assert found[0] == found[1]
    assert found[0][:2] != found[0][2:]


def test_it_can_be_left_out(fruit: pa.Table) -> None:
    with sqlbn.fit(fruit, "kind", "nb") as model:
        without = model.evaluate(fruit, ranking=False)
        found = model.evaluate(fruit).losses
    assert tuple(without.losses) == LOSSES
    assert without.losses == {name: found[name] for name in LOSSES}
    assert "rank" not in without.seconds


def test_many_classes_are_judged_the_same_way() -> None:
    """Past some classes the scores are written down, with or without a ranking."""
    rows = toy([f"c{i % 20:02}" for i in range(400)], x=[f"v{i % 23}" for i in range(400)])
    with sqlbn.fit(rows, "y", "nb") as model:
        without = model.evaluate(rows, ranking=False).losses
        found = model.evaluate(rows).losses
    assert without == {name: found[name] for name in LOSSES}
    assert 0.5 < found["auc"] < 1


def test_folds_streams_and_curves_have_it(fruit: pa.Table) -> None:
    result = sqlbn.evaluate(fruit, "kind", "nb", folds=3)
    assert {"fit", "predict", "rank"} == set(result.seconds)
    batches = sqlbn.stream(fruit, "kind", "nb", batch=60, measure="auc")
    total = sum(b.rows for b in batches)
    assert batches[-1].running == pytest.approx(sum(b.rows * b.loss for b in batches) / total)
    points = sqlbn.curve(fruit, "kind", ["nb"], [50], repeats=2, ranking=True)
    assert 0.5 < points[0].mean("auc") <= 1
    assert "auc" not in sqlbn.curve(fruit, "kind", ["nb"], [50], repeats=1)[0].losses[0]


def test_a_stream_leaves_out_batches_of_one_class() -> None:
    kinds = ["a", "b"] * 20 + ["a"] * 20 + ["a", "b"] * 10
    rows = toy(kinds, x=[f"v{i % 3}" for i in range(80)])
    assert [b.batch for b in sqlbn.stream(rows, "y", "nb", batch=20, measure="aoprc")] == [1, 3]


def test_the_program_prints_and_draws_it(run: Run, fruit_file: str) -> None:
    done = run("evaluate", fruit_file, "--target", "kind", "--folds", 3, "--learner", "nb")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split()[-3:] == ["auc", "aoprc", "rows"]
    assert max(map(len, done.stdout.splitlines())) <= 100
    words = ("--learners", "nb", "--sizes", "50", "--repeats", 2)
    done = run("curve", fruit_file, "-t", "kind", *words, "--measure", "auc", "--json", "-q")
    assert done.returncode == 0, done.stderr
    assert 0.5 < json.loads(done.stdout)[0]["repeats"][0]["auc"] <= 1
    done = run("curve", fruit_file, "-t", "kind", *words, "--measure", "gini")
    assert done.returncode == 1
    assert "choose one of rmse" in done.stderr
    assert "aoprc" in done.stderr


def test_the_reference_knows_the_names() -> None:
    assert set(LOSSES) == {*reference.LOSSES, "accuracy", "rmse_all", "macro_f1"}
